"""Whether the likelihood of logistic regression has a maximum, with a proof.

Problem    complete separation, quasi-complete separation or overlap (`certificates/likelihood.py`).
Update     the face and a direction in floats (`separating_direction.py`), then in fractions (`exact_face.py`).
Guarantee  the checker of certificates has accepted whatever is returned.
Reference  A. Albert and J. A. Anderson, Biometrika 71 (1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..array_types import Array, FloatArray, IntArray, Matrix, MatrixLike
from ..certificates.likelihood import MAX_LISTED_ROWS, RowList
from ..certificates.sentences import describe_likelihood
from ..certificates.statements import Inseparable, Separable, Undecided
from ..certificates.verify import verify
from ..svm.problem import heads
from .certify import certify, exact_rows


class NoMaximum(ValueError):  # noqa: N818  a statement, as StopIteration is
    """The likelihood of logistic regression without a penalty has no maximum: the classes are separated.

    Problem    finite weights that maximize the likelihood of the labels, as `SoftMargin(loss="logistic", C=inf)` looks for.
    Guarantee  if planes have y_i (w.x_i + b) >= 0 for all rows, and more for some, the likelihood rises forever along them.
               If they are positive for all rows, the separation is complete, else it is quasi-complete.
    Reference  A. Albert and J. A. Anderson, Biometrika 71 (1984).

    Parameters
    ----------
    certificate : Separable or Inseparable
        The proof, with `separation` "complete" or "quasi-complete".
    names : sequence of str, default=()
        The names of the columns.
    rows : sequence of int or None, default=None
        Positions in X of the rows that the proof is about, if some have no weight or another class. None: all rows.
    positive : object, default=None
        The class that the proof tells from all others. None: it is about the labels as they are.
    problem : str, default=""
        A clause of the message that names the classes.

    Attributes
    ----------
    columns : list of int
        The columns that separate: positions from 0.
    separated : RowList
        The number of separated rows, and the first of them: positions from 0.
    on_plane : RowList
        The number of rows on the plane, which are not separated, and the first of them.

    See Also
    --------
    rosenblatt.certify : Decide separation without an exception, with `likelihood=True`.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.proofs.likelihood import no_maximum
    >>> print(no_maximum([[0], [1], [1], [2]], [0, 0, 1, 1], names=["dose"]))  # doctest: +NORMALIZE_WHITESPACE
    logistic regression without a penalty has no optimum (quasi-complete separation: column 'dose' separates 2 of 4 rows
    (1, 4); 2 lie on the plane (2, 3)): use a finite C
    """

    def __init__(
        self,
        certificate: Separable | Inseparable,
        names: Sequence[str] = (),
        rows: Sequence[int] | None = None,
        positive: object = None,
        problem: str = "",
    ) -> None:
        self.certificate, self.names = certificate, names
        self.rows, self.positive, self.problem = None if rows is None else list(rows), positive, problem
        likelihood = certificate.likelihood
        if likelihood is not None:
            likelihood = replace(likelihood, separated=self.separated, on_plane=self.on_plane)
        clause = describe_likelihood(likelihood, certificate.about, self.names)
        super().__init__(f"logistic regression without a penalty has no optimum{problem} ({clause}): use a finite C")

    def __reduce__(self) -> Any:
        return type(self), (self.certificate, tuple(self.names), self.rows, self.positive, self.problem)

    @property
    def columns(self) -> list[int]:
        """The columns that separate; empty if only a plane of the widest margin is known."""
        return [] if self.certificate.likelihood is None else self.certificate.likelihood.columns

    @property
    def separated(self) -> RowList:
        """The rows that are separated."""
        if self.certificate.likelihood is not None:
            return self._positions(self.certificate.likelihood.separated)
        n_rows = self.certificate.about.n_rows
        return self._positions(RowList(n_rows, tuple(range(min(n_rows, MAX_LISTED_ROWS)))))

    @property
    def on_plane(self) -> RowList:
        """The rows on the plane."""
        return RowList(0, ()) if self.certificate.likelihood is None else self._positions(self.certificate.likelihood.on_plane)

    def renamed(self, names: Sequence[str], positions: IntArray | None) -> NoMaximum:
        """Return the proof with other names of columns, and with the positions of the rows in another table.

        Parameters
        ----------
        names : sequence of str
            The names of the columns.
        positions : ndarray of shape (n_rows,) or None
            The position of each row of X in the other table. None: the same.

        Returns
        -------
        NoMaximum
            The proof.
        """
        rows = self.rows
        if positions is not None:
            rows = (positions if rows is None else positions[rows]).tolist()
        return NoMaximum(self.certificate, names, rows, self.positive, self.problem)

    def _positions(self, found: RowList) -> RowList:
        rows = self.rows
        return found if rows is None else RowList(found.total, tuple(rows[row] for row in found.first))

    def check(self, X: MatrixLike, y: npt.ArrayLike) -> bool:
        """Check the proof against the rows and labels of the fit in exact arithmetic, with `rb.verify`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            The labels.

        Returns
        -------
        bool
            Whether the proof holds.
        """
        labels = np.asarray(y)
        if self.rows is not None:
            X, labels = exact_rows(X)[self.rows], labels[self.rows]
        return bool(verify(self.certificate, X, labels if self.positive is None else labels == self.positive))


def no_maximum(
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    names: Sequence[str] = (),
) -> NoMaximum | None:
    """The proof that logistic regression without a penalty has no optimum on these rows; None if it has one, or time ran out.

    The parameters are those of `certify`; `names` are the names of the columns, for the message.
    """
    certificate = certify(X, y, fit_intercept=fit_intercept, time_limit=time_limit, likelihood=True)
    if certificate.separation not in ("complete", "quasi-complete"):
        return None
    assert not isinstance(certificate, Undecided)
    return NoMaximum(certificate, names)


def check_maximum(
    X: Matrix,
    codes: IntArray,
    classes: Array,
    weights: FloatArray | None,
    scheme: str,
    problems: Sequence[int],
    *,
    fit_intercept: bool,
    names: Sequence[str] = (),
    time_limit: float | None = None,
) -> None:
    """Raise `NoMaximum` for the first of some binary problems of a scheme, or of its joint problem, that has no optimum."""
    joint = scheme == "multinomial" and len(classes) > 2
    for h in problems:
        if joint:
            rows, labels, about = _rows_of_weight(weights), classes[codes], ""
            positive = None
        else:
            head = heads(X, codes, len(classes), scheme, weights=weights)[h]
            counted = head.rows_that_count()
            rows = None if len(counted) == len(codes) else counted
            one_against_rest = head.negative is None and len(classes) > 2
            positive = classes[head.positive] if one_against_rest else None
            labels = codes == head.positive if one_against_rest else classes[codes]
            about = head.about(classes).replace(" of ", " for ", 1).replace(" from ", " against ", 1)
        part = (X, labels) if rows is None else (X[rows], labels[rows])
        found = no_maximum(*part, fit_intercept=fit_intercept, time_limit=time_limit)
        if found is not None:
            raise NoMaximum(found.certificate, names, None if rows is None else rows.tolist(), positive, about)


def _rows_of_weight(weights: FloatArray | None) -> IntArray | None:
    return None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
