"""All products of up to N columns: two columns to degree 2 give x1, x2, x1^2, x1 x2, x2^2.

Problem     Classes that no plane separates in the columns may be separable in their products.
Map         x -> (x_a x_b ... : a <= b <= ..., at most N factors), by degree and then in the order of the columns.
Guarantee   C(p + N, N) - 1 features of p columns. A product is formed from the left, one factor after the other, unless
            `from_right` is set.
Reference   T. M. Cover, Geometrical and statistical properties of systems of linear inequalities, IEEE Transactions on
            Electronic Computers 14 (1965).

Recipes, the studio and the doctor all expand columns with this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..array_types import BoolArray, FloatArray, IntArray
from ..reporting.text import count, plural
from .csr import CSRMatrix, row_pointers, vstack

MAX_FEATURES = 100_000
MAX_DEGREE = 20
# Products of sparse rows computed at a time.
PRODUCTS_PER_BLOCK = 1 << 18

# For each degree from 2 on: new feature j is the product of the j-th feature and the j-th column listed.
Stages = list[tuple[IntArray, IntArray]]


class DegreeError(ValueError):
    """A degree that is out of range or gives too many features."""


def count_monomials(columns: int, degree: int) -> int:
    """The number of products of 1 to `degree` columns."""
    return columns if degree == 1 else math.comb(columns + degree, degree) - 1


class Polynomial:
    """The monomials of degree 1 to `degree` in some columns.

    Feature j is feature left[j] times column right[j]; the first p features are the columns themselves.

    Parameters
    ----------
    columns : int
        The number of columns.
    degree : int
        The largest number of factors.
    max_features : int or None, default=100_000
        The largest number of features allowed if the degree is at least 2.

    Raises
    ------
    DegreeError
        If the degree is not between 1 and 20 or gives more than `max_features` features.

    Examples
    --------
    >>> Polynomial(2, 2).expand(np.array([[2.0, 3.0]])).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0]]
    >>> Polynomial(2, 2).name(3, ["a", "b"]), Polynomial(2, 2).name(4, ["a", "b"])
    ('a b', 'b^2')
    """

    def __init__(self, columns: int, degree: int, max_features: int | None = MAX_FEATURES) -> None:
        if not 1 <= degree <= MAX_DEGREE:
            raise DegreeError(f"degree must be between 1 and {MAX_DEGREE}, got {degree}")
        self.columns, self.degree = columns, degree
        self.width = count_monomials(columns, degree)
        if degree > 1 and max_features is not None and self.width > max_features:
            given = f"{count(self.width)} features of {plural(columns, 'column')}"
            raise DegreeError(f"degree={degree} gives {given}; the limit is {count(max_features)}")
        self.stages: Stages = []
        self._first_product: list[IntArray] = []  # for each degree from 2 on: the start of the products of each left feature
        start, last = 0, np.arange(columns if degree > 1 else 0)
        for _ in range(2, degree + 1):
            counts = columns - last
            before = np.cumsum(counts) - counts
            left = np.repeat(np.arange(start, start + len(last)), counts)
            right = np.arange(len(left)) - np.repeat(before, counts) + np.repeat(last, counts)
            self.stages.append((left, right))
            self._first_product.append(start + len(last) + before - last)
            start, last = start + len(last), right

    def expand(self, X: FloatArray, *, from_right: bool = False) -> FloatArray:
        """The features of dense rows; the caller limits the number of rows.

        from_right : form x_a (x_b x_c) instead of (x_a x_b) x_c, which may differ in the last bit; this is how scikit-learn's
            PolynomialFeatures expands dense rows.
        """
        if self.degree == 1:
            return X
        out = np.empty((len(X), self.width))
        out[:, : self.columns] = X
        at = self.columns
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for feature, column in self._stages_from_right() if from_right else self.stages:
                np.multiply(out[:, feature], X[:, column], out=out[:, at : at + len(feature)])
                at += len(feature)
        return out

    def expand_sparse(self, rows: CSRMatrix) -> CSRMatrix:
        """The features of sparse rows: the products of stored values, zeros included, formed from the left."""
        if self.degree == 1:
            return rows
        products = np.array([count_monomials(n, self.degree) for n in range(int(np.diff(rows.indptr).max(initial=0)) + 1)])
        ends = np.cumsum(products[np.diff(rows.indptr)])
        parts, start = [], 0
        while start < rows.shape[0]:
            limit = (ends[start - 1] if start else 0) + PRODUCTS_PER_BLOCK
            stop = max(start + 1, int(np.searchsorted(ends, limit, side="right")))
            parts.append(self._expand_block(rows.slice(start, stop)))
            start = stop
        return vstack(parts, self.width)

    def _expand_block(self, rows: CSRMatrix) -> CSRMatrix:
        row_of = rows.row_numbers()
        stop_of = rows.indptr[1:][row_of]  # the end of the row of each stored value
        last = np.arange(len(rows.values))  # the stored value that is the last factor of each feature
        values, features = rows.values, rows.indices.astype(np.int64)
        found = [(values, features, row_of)]
        start = 0
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for first_product, (feature_of, _) in zip(self._first_product, self.stages, strict=True):
                counts = stop_of[last] - last
                left = np.repeat(np.arange(len(last)), counts)
                factor = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(last, counts)
                values = values[left] * rows.values[factor]
                features = first_product[features[left] - start] + rows.indices[factor]
                found.append((values, features, row_of[factor]))
                start, last = int(feature_of[-1]) + 1 if len(feature_of) else start, factor
        values, features, row_of = (np.concatenate([part[k] for part in found]) for k in range(3))
        order = np.argsort(row_of * self.width + features, kind="stable")
        indptr = row_pointers(np.bincount(row_of, minlength=rows.shape[0]))
        return CSRMatrix(values[order], features[order].astype(np.int32), indptr, self.width)

    def _stages_from_right(self) -> Stages:
        """The same features as products of their first column and the feature of the other factors."""
        stages: Stages = []
        start, first = 0, np.arange(self.columns)  # the features of the previous degree and the first factor of each
        for _ in range(2, self.degree + 1):
            skipped = np.searchsorted(first, np.arange(self.columns))
            counts = len(first) - skipped
            column = np.repeat(np.arange(self.columns), counts)
            feature = np.arange(len(column)) - np.repeat(np.cumsum(counts) - counts - skipped, counts) + start
            stages.append((feature, column))
            start, first = start + len(first), column
        return stages

    def factors(self, feature: int) -> list[int]:
        """The columns that are multiplied to form a feature, in ascending order."""
        found: list[int] = []
        starts = [self.columns]
        for left, _ in self.stages:
            starts.append(starts[-1] + len(left))
        for (left, right), start, stop in zip(self.stages[::-1], starts[-2::-1], starts[:0:-1], strict=True):
            if start <= feature < stop:
                found.append(int(right[feature - start]))
                feature = int(left[feature - start])
        return [feature, *found[::-1]]

    def name(self, feature: int, names: Sequence[str]) -> str:
        """The name of a feature, such as "x1^2 x2"."""
        factors = self.factors(feature)
        powers = {column: factors.count(column) for column in factors}
        return " ".join(names[column] + (f"^{power}" if power > 1 else "") for column, power in powers.items())

    def features_of(self, kept: BoolArray) -> BoolArray:
        """Which features are products of the chosen columns alone: they are the features of those columns, in their order."""
        found = kept
        for left, right in self.stages:
            found = np.concatenate([found, found[left] & kept[right]])
        return found

    def places_in(self, wider: Polynomial) -> IntArray:
        """The positions of these features among those of a polynomial in more columns."""
        places = [np.arange(self.columns)]
        starts = self.columns, wider.columns
        before = np.arange(self.columns)  # positions, in the wider list, of the features of the previous degree
        offset = 0
        for (left, right), (wide_left, wide_right) in zip(self.stages, wider.stages, strict=True):
            keys = wide_left * wider.columns + wide_right
            here = np.searchsorted(keys, before[left - offset] * wider.columns + right)
            before = here + starts[1]
            places.append(before)
            offset = starts[0]
            starts = starts[0] + len(left), starts[1] + len(wide_left)
        return np.concatenate(places)
