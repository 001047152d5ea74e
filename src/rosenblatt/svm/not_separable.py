"""What proves that no plane separates the rows, as an exception."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..certificates.data import Data, label_text
from ..certificates.exact_numbers import root_above
from ..certificates.statements import About, Ceiling, Inseparable, Pair, Undecided
from ..certificates.verify import verify


class NotSeparable(ValueError):  # noqa: N818  it says what is the case, as StopIteration does
    """No plane separates the rows, and here is why: some rows of both classes have convex combinations that meet.

    Problem    is there a plane with y_i (w.x_i + b) > 0 for every row?
    Guarantee  if weights >= 0 sum to 1 in each class and sum_i weight_i y_i x_i = 0, then the sum of weight_i y_i (w.x_i + b)
               is 0 for every plane, and not all of its terms can be positive. Without a bias the weights sum to 1 over all.
    Reference  P. Gordan, Math. Annalen 6 (1873); at most d + 2 rows are needed: J. Radon, Math. Annalen 83 (1921).

    Attributes
    ----------
    rows : positions in X of the rows the proof needs, at most d + 2.
    weights : their weights, `fractions.Fraction`.
    positive : the label that counts as +1; all other rows of the proof count as -1.
    free : whether the plane was allowed a bias.
    exact : True: the combinations meet exactly. False: they come within 2 `bound` of each other (without a bias: the
        combination within `bound` of the origin), so that no plane separates with a larger margin than `bound`.
    """

    def __init__(
        self,
        rows: Sequence[int],
        weights: Sequence[Fraction],
        positive: Any,
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
        return self.bound_squared == 0

    @property
    def bound(self) -> float:
        return root_above(self.bound_squared)

    def _sentence(self) -> str:
        names = ", ".join(map(str, self.rows[:12])) + (", ..." if len(self.rows) > 12 else "")
        if not self.exact:
            return (
                f"no plane separates the rows{self.about} with a margin above {self.bound:.3g}: "
                f"convex combinations of these {len(self.rows)} rows of both classes come that near: {names}"
            )
        if len(self.rows) == 1:
            return f"row {self.rows[0]} is zero, and no plane through the origin separates it{self.about}"
        if len(self.rows) == 2 and self.free:
            return f"rows {self.rows[0]} and {self.rows[1]} are the same point with opposite labels{self.about}"
        meet = "meet" if self.free else "meet the origin"
        some = f"these {len(self.rows)} rows have convex combinations that {meet}: {names}"
        return f"no plane separates the rows{self.about}: {some}"

    def certificate(self, X: Any, y: Any) -> Inseparable | Undecided:
        """The proof as `rb.verify` checks it and `rb.save_certificate` writes it.

        It speaks of X and y where y has two classes; where it has more, of X and of whether y is `positive`.
        """
        labels = self._two(y)
        data = Data(X, labels)
        this = label_text(self.positive if self._plain(y) else True)
        classes = sorted(set(data.labels), key=lambda name: name == this)
        about = About(data.n_rows, data.n_columns, tuple(classes), data.sha256(), self.free)
        share = 2 if self.free else 1
        pairs = tuple(
            Pair(row, int(data.labels[row] != this), weight / share)
            for row, weight in zip(self.rows, self.weights, strict=True)
        )
        if self.exact:
            return Inseparable(about, pairs)
        ceiling = Ceiling(self.bound_squared, pairs)
        return Undecided(about, ceiling, ceiling)

    def check(self, X: Any, y: Any) -> bool:
        """Whether the proof holds of these rows and labels, in fractions, as `rb.verify` finds."""
        return bool(verify(self.certificate(X, y), X, self._two(y)))

    @staticmethod
    def _plain(y: Any) -> bool:
        return len(set(np.asarray(y).tolist())) == 2

    def _two(self, y: Any) -> Any:
        return np.asarray(y) if self._plain(y) else np.asarray(y) == self.positive
