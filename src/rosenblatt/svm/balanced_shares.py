"""Probabilities of several classes, moved to sums that are given.

A free intercept requires that the probabilities of each class sum to the total cost of its rows. They move along their
curvatures, a shift of the scores, if that keeps them positive. The rest is made up by mixing in one distribution that has these
sums, after a change that makes up for the sums of the others. Every step needs only sums over the rows, so that these may be in
several places.
"""

from __future__ import annotations

import numpy as np

from ..array_types import FloatArray


def sums_curvature(p: FloatArray, C: FloatArray) -> FloatArray:
    """How the sums of the probabilities change with a shift of all scores."""
    found: FloatArray = np.diag(C @ p) - (p * C[:, None]).T @ p
    return found


def balancing_shift(sums: FloatArray, curvature: FloatArray, totals: FloatArray) -> FloatArray:
    """The shift along which the sums move to the totals of the classes."""
    found: FloatArray = np.linalg.lstsq(curvature, sums - totals, rcond=None)[0]
    return found


def _factors(p: FloatArray, shift: FloatArray) -> FloatArray:
    found: FloatArray = 1.0 - (shift - (p @ shift)[:, None])
    return found


def least_factor(p: FloatArray, shift: FloatArray) -> float:
    """The least factor of a probability in a shift, which must be positive."""
    return float(_factors(p, shift).min(initial=np.inf))


def normalized(p: FloatArray, shift: FloatArray | None) -> FloatArray:
    """A copy of the probabilities, after a shift if it is given, whose rows sum to 1."""
    p = p.copy() if shift is None else p * _factors(p, shift)
    p /= p.sum(axis=1, keepdims=True)
    return p


def balancing_mixture(sums: FloatArray, totals: FloatArray) -> tuple[float, FloatArray]:
    """The share of one distribution of all rows, times that distribution, which moves sums to the totals of the classes."""
    excess = sums - totals
    share = min(1.0, 2.0 * float(np.max(np.maximum(excess, 0.0) / totals)))
    if not share > 0.0:
        return 0.0, np.zeros(len(totals))
    found = np.maximum(totals - excess * (1.0 - share) / share, 0.0)
    return share, share * found / found.sum()


def mixed(p: FloatArray, share: float, added: FloatArray) -> FloatArray:
    """The mixture of the probabilities with `added`, which is a share of all."""
    return (1.0 - share) * p + added if share > 0.0 else p
