"""Sums over the rows of a binary SVM, as functions of its intercept b."""

from __future__ import annotations

from ...array_types import Array, FloatArray
from ..compile import sum_kernel


@sum_kernel
def squared_hinge_pull(
    places: FloatArray, positive: Array, costs: FloatArray, b: float, before: float
) -> tuple[float, float, int]:
    """sum_i 2 C_i and sum_i 2 C_i t_i over the rows that have a loss at b, and how many of all rows have one at only one of b
    and `before`. A positive row has a loss left of its place t_i, a negative one right of it."""
    weight, moment, changed = 0.0, 0.0, 0
    for r in range(places.shape[0]):
        right = places[r] > b
        pull = 2.0 * costs[r] if right == positive[r] else 0.0
        weight += pull
        moment += pull * places[r]
        changed += 1 if right != (places[r] > before) else 0
    return weight, moment, changed


@sum_kernel
def hinge_loss(scores: FloatArray, signs: Array, costs: FloatArray, b: float, squared: bool) -> float:
    """sum_i C_i max(0, 1 - y_i (score_i + b)), or of its square."""
    total = 0.0
    for r in range(scores.shape[0]):
        slack = max(0.0, 1.0 - signs[r] * (scores[r] + b))
        total += costs[r] * (slack * slack if squared else slack)
    return total
