"""How features are scaled: the choice of `scale="auto"`, and the shift and divisor of each feature.

Features are brought to mean 0 and standard deviation 1. A column of salaries then weighs no more than a one-hot column or the
intercept, and a column of times, which vary little around a large mean, is not the same number in every row. Sparse features
keep their zeros, and their other cells get the root mean square 1: indicators stay what they are. docs/defaults.md has the
measurements.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np

from ..array_types import BoolArray, FloatArray

Scale = Literal["auto", "none", "max", "standard"]
SCALES: tuple[Scale, ...] = ("auto", "none", "max", "standard")
Kind = Literal["none", "max", "standard", "rms"]
KINDS: tuple[Kind, ...] = ("none", "max", "standard", "rms")
DESCRIPTIONS = {
    "max": "by their largest absolute values",
    "standard": "to mean 0 and standard deviation 1",
    "rms": "to root mean square 1 of the nonzero cells",
}
# Sparse rows of which at least this share of the cells is stored are shifted, too, and become dense.
DENSE_DENSITY = 0.5
# A feature of which a smaller share of the cells is not zero is sparse.
SHIFT_DENSITY = 0.1


class Statistics(Protocol):
    """What the training rows have in each feature."""

    @property
    def minimum(self) -> FloatArray: ...
    @property
    def maximum(self) -> FloatArray: ...
    @property
    def largest(self) -> FloatArray: ...
    @property
    def means(self) -> FloatArray: ...
    @property
    def deviations(self) -> FloatArray: ...
    @property
    def nonzero_share(self) -> FloatArray: ...


class Scaling(NamedTuple):
    """The kind of scaling, and the shift and the divisor of each feature, if any."""

    kind: Kind = "none"
    shift: FloatArray | None = None
    divide: FloatArray | None = None

    def take(self, features: BoolArray) -> Scaling:
        """The scaling of some of the features."""
        shift, divide = (None if array is None else array[features] for array in (self.shift, self.divide))
        return Scaling(self.kind, shift, divide)

    def note(self, scale: Scale) -> tuple[str, ...]:
        """What was done, in a sentence, if anything."""
        if self.kind == "none" or self.divide is None or not len(self.divide):
            return ()
        requested = "" if scale == "auto" else ", as requested"
        return (f"Numeric columns were scaled {DESCRIPTIONS[self.kind]}{requested}.",)


def choose_scaling(statistics: Statistics, scale: Scale, density: float | None = None) -> Scaling:
    """The scaling of features; `density` is given for sparse rows: the share of cells that are not zero."""
    if scale == "none":
        return Scaling()
    if scale == "max":
        return Scaling("max", None, largest_divisors(statistics.largest))
    if density is None or density >= DENSE_DENSITY:
        return standard_scaling(statistics)
    return standard_scaling(statistics, shifts=False)


def largest_divisors(largest: FloatArray) -> FloatArray:
    """The divisors that bring features to [-1, 1]; 1 for a feature that is always zero."""
    return np.where(largest > 0, largest, 1.0)


def standard_scaling(statistics: Statistics, *, shifts: bool = True) -> Scaling:
    """Mean 0 and deviation 1; features with few nonzero cells, or all if `shifts` is false, keep their zeros.

    Squares below 1e-308 or above 1e308 are no floats. A feature that has them is brought to [-1, 1].
    """
    minimum, maximum, deviations, share = (
        statistics.minimum, statistics.maximum, statistics.deviations, statistics.nonzero_share,
    )  # fmt: skip
    sparse: BoolArray = share < SHIFT_DENSITY if shifts else np.ones(len(share), bool)
    with np.errstate(all="ignore"):
        sizes = np.sqrt((np.square(deviations) + np.square(statistics.means)) / share)
        kept = np.where(np.isfinite(sizes) & (sizes > 0), sizes, largest_divisors(statistics.largest))
        if not shifts:
            return Scaling("rms", None, kept)
        regular = np.isfinite(deviations) & (deviations > 0)
        middle, half = (np.where(np.isfinite(minimum), maximum / 2 + sign * (minimum / 2), 0.0) for sign in (1, -1))
    shift = np.where(regular, statistics.means, middle)
    divide = np.where(regular, deviations, np.where(half > 0, half, 1.0))
    return Scaling("standard", np.where(sparse, 0.0, shift), np.where(sparse, kept, divide))
