"""All products of up to N columns: 2 columns to degree 2 give x1, x2, x1^2, x1 x2, x2^2.

Problem     classes that no plane parts in the columns may be parted by one in their products
Map         x -> (x_a x_b ... : a <= b <= ..., at most N factors), by degree and then in order of the columns
Guarantee   C(p + N, N) - 1 features of p columns; a product is made from the left, one factor after the other
Reference   Cover, "Geometrical and statistical properties of systems of linear inequalities", 1965
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

MOST_FEATURES = 100_000
MOST_DEGREE = 20


class DegreeError(ValueError):
    """A degree that cannot be, or makes too many features."""


class Polynomial:
    """The products as a list of pairs: feature j is feature left[j] times column right[j]; the first p are the columns."""

    def __init__(self, columns: int, degree: int) -> None:
        if not 1 <= degree <= MOST_DEGREE:
            raise DegreeError(f"degree must be between 1 and {MOST_DEGREE}, got {degree}")
        self.columns, self.degree = columns, degree
        self.width = columns if degree == 1 else math.comb(columns + degree, degree) - 1
        if degree > 1 and self.width > MOST_FEATURES:
            raise DegreeError(
                f"degree={degree} makes {self.width:,} features of {columns:,} columns; the limit is {MOST_FEATURES:,}"
            )
        self.stages: list[tuple[Any, Any]] = []  # for each degree from 2: left and right
        starts, last = 0, np.arange(columns if degree > 1 else 0)
        for _ in range(2, degree + 1):
            counts = columns - last
            left = np.repeat(np.arange(starts, starts + len(last)), counts)
            right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(last, counts)
            self.stages.append((left, right))
            starts, last = starts + len(last), right

    def expand(self, X: Any) -> Any:
        """The features of some rows; the caller keeps the number of rows small."""
        if self.degree == 1:
            return X
        out = np.empty((len(X), self.width))
        out[:, : self.columns] = X
        at = self.columns
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for left, right in self.stages:
                np.multiply(out[:, left], X[:, right], out=out[:, at : at + len(left)])
                at += len(left)
        return out

    def factors(self, feature: int) -> list[int]:
        """The columns whose product a feature is, in order."""
        found: list[int] = []
        starts = [self.columns]
        for left, _ in self.stages:
            starts.append(starts[-1] + len(left))
        for (left, right), start, stop in zip(self.stages[::-1], starts[-2::-1], starts[:0:-1], strict=True):
            if start <= feature < stop:
                found.append(int(right[feature - start]))
                feature = int(left[feature - start])
        return [feature, *found[::-1]]

    def name(self, feature: int, names: Any) -> str:
        """Such as "x1^2 x2"."""
        factors = self.factors(feature)
        powers = {column: factors.count(column) for column in factors}
        return " ".join(names[column] + (f"^{power}" if power > 1 else "") for column, power in powers.items())

    def places_in(self, wider: Polynomial) -> Any:
        """Where the features of these columns are among those of more columns."""
        places = [np.arange(self.columns)]
        starts = self.columns, wider.columns
        before = np.arange(self.columns)  # places, in the wider list, of the features of the degree before
        offset = 0
        for (left, right), (wide_left, wide_right) in zip(self.stages, wider.stages, strict=True):
            keys = wide_left * wider.columns + wide_right
            here = np.searchsorted(keys, before[left - offset] * wider.columns + right)
            before = here + starts[1]
            places.append(before)
            offset = starts[0]
            starts = starts[0] + len(left), starts[1] + len(wide_left)
        return np.concatenate(places)
