"""The exception that carries a proof that no plane separates the rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..array_types import Array, MatrixLike
from ..certificates.data import Data
from ..certificates.exact_arrays import canonical_label
from ..certificates.exact_numbers import root_above
from ..certificates.sentences import ClashShape, describe_rows
from ..certificates.statements import About, Ceiling, Inseparable, Pair, Undecided
from ..certificates.verify import verify
from ..reporting.text import comma_list, short

MAX_LISTED_ROWS = 12  # rows listed in the message


class NotSeparable(ValueError):  # noqa: N818  a statement, as StopIteration is
    """No plane separates the rows, with a proof: convex combinations of rows of both classes that are equal.

    Problem    is there a plane with y_i (w.x_i + b) > 0 for every row?
    Guarantee  if weights >= 0 sum to 1 in each class and sum_i weight_i y_i x_i = 0, then the sum of weight_i y_i (w.x_i + b)
               is 0 for every plane, and not all of its terms can be positive. Without a bias the weights sum to 1 over all.
    Reference  P. Gordan, Math. Annalen 6 (1873); at most d + 2 rows are needed: J. Radon, Math. Annalen 83 (1921).

    Parameters
    ----------
    rows : sequence of int
        Positions in X of the rows of the proof, at most d + 2.
    weights : sequence of fractions.Fraction
        Their weights.
    positive : object
        The label that counts as +1; all other rows of the proof count as -1.
    free : bool, default=True
        Whether the plane may have a bias.
    bound_squared : fractions.Fraction, default=0
        The square of `bound`.
    about : str, default=""
        A clause of the message that names the classes.

    Attributes
    ----------
    exact : bool
        True: the combinations are equal. False: they are at most 2 `bound` apart (without a bias: at most `bound` from the
        origin), so that no plane separates the rows with a larger margin than `bound`.
    bound : float
        An upper bound on the margin of any plane; 0 if `exact`.

    See Also
    --------
    rosenblatt.certify : Decide separability without an exception.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0.0], [1.0], [2.0]], ["a", "b", "a"]
    >>> try:
    ...     rb.MaxMargin().fit(X, y)
    ... except rb.NotSeparable as proof:
    ...     print(proof.rows, [str(weight) for weight in proof.weights], proof.check(X, y))
    [0, 1, 2] ['1/2', '1', '1/2'] True
    """

    def __init__(
        self,
        rows: Sequence[int],
        weights: Sequence[Fraction],
        positive: object,
        free: bool = True,
        bound_squared: Fraction = Fraction(0),
        about: str = "",
    ) -> None:
        self.rows, self.weights, self.positive, self.free = list(rows), list(weights), positive, free
        self.bound_squared, self.about = bound_squared, about
        super().__init__(self._sentence())

    def __reduce__(self) -> Any:
        return type(self), (self.rows, self.weights, self.positive, self.free, self.bound_squared, self.about)

    @property
    def exact(self) -> bool:
        """Whether the combinations are equal."""
        return self.bound_squared == 0

    @property
    def bound(self) -> float:
        """An upper bound on the margin of any plane."""
        return root_above(self.bound_squared)

    def _sentence(self) -> str:
        rows = [row + 1 for row in self.rows]  # people count from 1
        problem = f"the rows{self.about}"
        if not self.exact:
            return (
                f"no plane separates {problem} with a margin above {short(self.bound)}, "
                f"as shown by these {len(rows)} rows of both classes: {comma_list(rows, MAX_LISTED_ROWS)}"
            )
        if self.free:
            shape = ClashShape.SAME_POINT if len(rows) == 2 else ClashShape.HULLS_OVERLAP
        else:
            shape = ClashShape.ZERO_ROW if len(rows) == 1 else ClashShape.ORIGIN
        return describe_rows(shape, rows, problem=problem if self.about else "")

    def certificate(self, X: MatrixLike, y: npt.ArrayLike) -> Inseparable | Undecided:
        """The proof as a certificate, for `rb.verify` and `rb.save_certificate`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows of the fit.
        y : array-like of shape (n_rows,)
            The labels of the fit.

        Returns
        -------
        Inseparable or Undecided
            A certificate about X and y if y has two classes, else about X and `y == positive`; `Undecided` if not `exact`.
        """
        labels = self._two(y)
        data = Data(X, labels)
        this = canonical_label(self.positive if self._plain(y) else True)
        classes = sorted(set(data.labels), key=lambda name: name == this)
        about = About(data.n_rows, data.n_columns, tuple(classes), data.sha256, self.free)
        share = 2 if self.free else 1
        pairs = tuple(
            Pair(row, int(data.labels[row] != this), weight / share)
            for row, weight in zip(self.rows, self.weights, strict=True)
        )
        if self.exact:
            return Inseparable(about, pairs)
        ceiling = Ceiling(self.bound_squared, pairs)
        return Undecided(about, ceiling, ceiling)

    def check(self, X: MatrixLike, y: npt.ArrayLike) -> bool:
        """Check the proof against rows and labels in exact arithmetic, with `rb.verify`.

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
        return bool(verify(self.certificate(X, y), X, self._two(y)))

    @staticmethod
    def _plain(y: npt.ArrayLike) -> bool:
        return len(set(np.asarray(y).tolist())) == 2

    def _two(self, y: npt.ArrayLike) -> Array:
        return np.asarray(y) if self._plain(y) else np.asarray(y) == self.positive
