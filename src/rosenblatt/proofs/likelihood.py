"""Whether the likelihood of logistic regression has a maximum, with a proof.

Problem    complete separation, quasi-complete separation or overlap (`certificates/likelihood.py`).
Update     the face and a direction in floats (`separating_direction.py`), then in fractions (`exact_face.py`).
Guarantee  the checker of certificates has accepted whatever is returned.
Reference  A. Albert and J. A. Anderson, Biometrika 71 (1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from ..array_types import MatrixLike
from ..certificates.likelihood import MAX_LISTED_ROWS, RowList
from ..certificates.sentences import describe_likelihood
from ..certificates.statements import Inseparable, Separable, Undecided
from .certify import certify


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

    def __init__(self, certificate: Separable | Inseparable, names: Sequence[str] = ()) -> None:
        self.certificate, self.names = certificate, tuple(names)
        clause = describe_likelihood(certificate.likelihood, certificate.about, self.names)
        super().__init__(f"logistic regression without a penalty has no optimum ({clause}): use a finite C")

    def __reduce__(self) -> Any:
        return type(self), (self.certificate, self.names)

    @property
    def columns(self) -> list[int]:
        """The columns that separate; empty if only a plane of the widest margin is known."""
        return [] if self.certificate.likelihood is None else self.certificate.likelihood.columns

    @property
    def separated(self) -> RowList:
        """The rows that are separated."""
        if self.certificate.likelihood is not None:
            return self.certificate.likelihood.separated
        n_rows = self.certificate.about.n_rows
        return RowList(n_rows, tuple(range(min(n_rows, MAX_LISTED_ROWS))))

    @property
    def on_plane(self) -> RowList:
        """The rows on the plane."""
        return RowList(0, ()) if self.certificate.likelihood is None else self.certificate.likelihood.on_plane


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
