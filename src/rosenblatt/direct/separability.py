"""What proves that no plane separates the rows, and its check, which shares nothing with any solver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any


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
        bound: float = 0.0,
        about: str = "",
    ) -> None:
        self.rows, self.weights, self.positive, self.free = list(rows), list(weights), positive, free
        self.bound, self.about = bound, about
        super().__init__(self._sentence())

    def __reduce__(self) -> Any:
        return type(self), (self.rows, self.weights, self.positive, self.free, self.bound, self.about)

    @property
    def exact(self) -> bool:
        return self.bound == 0.0

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

    def check(self, X: Any, y: Any) -> bool:
        """Whether the proof holds of these rows and labels, in fractions: a float is a whole number over a power of two."""
        labels = y.iloc if hasattr(y, "iloc") else y
        signs = [1 if labels[i] == self.positive else -1 for i in self.rows]
        if any(weight < 0 for weight in self.weights) or not len(signs) == len(self.weights) == len(set(self.rows)):
            return False
        sums = {sign: sum((a for a, s in zip(self.weights, signs, strict=True) if s == sign), Fraction(0)) for sign in (1, -1)}
        if sums[1] + sums[-1] != (2 if self.free else 1) or (self.free and sums[1] != 1):
            return False
        # The sum in whole numbers over two common denominators, of the weights and of the values.
        entries = [[(column, *value.as_integer_ratio()) for column, value in _entries(X, i)] for i in self.rows]
        of_weights = math.lcm(*(a.denominator for a in self.weights))
        of_values = max((below for row in entries for _, _, below in row), default=1)
        point: dict[int, int] = {}
        for a, sign, row in zip(self.weights, signs, entries, strict=True):
            weight = sign * a.numerator * (of_weights // a.denominator)
            for column, above, below in row:
                point[column] = point.get(column, 0) + weight * above * (of_values // below)
        square = Fraction(sum(p * p for p in point.values()), (of_weights * of_values) ** 2)
        return square <= ((2 if self.free else 1) * Fraction(self.bound)) ** 2


def _entries(X: Any, i: int) -> list[tuple[int, float]]:
    """The columns and values of a row of an array or a sparse matrix; nothing is converted but numbers to Python's."""
    if hasattr(X, "tocsr"):
        row = X.tocsr()[[i]].tocoo()
        return list(zip(map(int, row.coords[-1]), map(float, row.data), strict=True))
    row = X.iloc[i] if hasattr(X, "iloc") else X[i]
    return [(column, float(value)) for column, value in enumerate(row) if value != 0]
