"""How features are scaled: the choice of `scale="auto"`, and the shift and divisor of each feature.

Features are brought to mean 0 and standard deviation 1. A column of salaries then weighs no more than a one-hot column or the
intercept, and a column of times, which vary little around a large mean, is not the same number in every row. Columns with few
nonzero cells are not shifted, so that zeros stay zeros. docs/defaults.md has the measurements.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np

from ..array_types import BoolArray, FloatArray

Scale = Literal["auto", "none", "max", "standard"]
SCALES: tuple[Scale, ...] = ("auto", "none", "max", "standard")
Kind = Literal["none", "max", "standard", "deviation"]
KINDS: tuple[Kind, ...] = ("none", "max", "standard", "deviation")
DESCRIPTIONS = {
    "max": "by their largest absolute values",
    "standard": "to mean 0 and standard deviation 1",
    "deviation": "to standard deviation 1 (zeros stay zeros)",
}
# Sparse rows of which at least this share of the cells is stored are shifted, too, and become dense.
DENSE_DENSITY = 0.5
# A feature of which less than this share of the cells is not zero is divided, but not shifted.
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
    """Mean 0 and deviation 1; features with few nonzero cells, or all if `shifts` is false, are only divided.

    Squares of deviations below 1e-154 or above 1e154 are no floats. Such a feature is brought to [-1, 1].
    """
    minimum, maximum, deviations = statistics.minimum, statistics.maximum, statistics.deviations
    varies = minimum < maximum
    regular = np.isfinite(deviations) & (deviations > 0)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(varies, maximum / 2 + minimum / 2, minimum)
        half = np.where(varies, maximum / 2 - minimum / 2, 1.0)
    shift = np.where(regular, statistics.means, np.where(np.isfinite(middle), middle, 0.0))
    divide = np.where(regular, deviations, np.where(half > 0, half, 1.0))
    if not shifts:
        return Scaling("deviation", None, np.where(regular, divide, largest_divisors(statistics.largest)))
    sparse: BoolArray = statistics.nonzero_share < SHIFT_DENSITY
    divide = np.where(sparse & ~regular, largest_divisors(statistics.largest), divide)
    return Scaling("standard", np.where(sparse, 0.0, shift), divide)
