"""Which features are scaled, and how: so that no column drowns the others."""

from __future__ import annotations

from typing import Any

import numpy as np

SCALES = ("auto", "none", "max", "standard")
# Between the largest and the smallest of the features' largest absolute values; beyond it their ranges differ wildly.
WILD = 100.0


def check_scale(scale: str) -> None:
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")


def spread(largest: Any) -> float:
    """How many times the widest feature is as wide as the narrowest."""
    some = largest[largest > 0]
    with np.errstate(over="ignore"):
        return float(some.max() / some.min()) if len(some) else 1.0


def by_largest(largest: Any) -> Any:
    """What to divide by for features between -1 and 1; 1 for a feature that is always zero."""
    return np.where(largest > 0, largest, 1.0)


def by_deviation(means: Any, deviations: Any, largest: Any) -> tuple[Any, Any]:
    """What to subtract and divide by for mean 0 and deviation 1; where squares overflow, by the largest value."""
    fine = np.isfinite(deviations)
    divide = np.where(fine, np.where(deviations > 0, deviations, 1.0), by_largest(largest))
    return np.where(fine, means, 0.0), divide
