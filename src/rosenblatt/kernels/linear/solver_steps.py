"""Steps of `svm/interior_point.py`, `svm/newton.py` and `svm/truncated_newton.py`, each in one pass over the rows or weights.

A point of the interior point method has five numbers for every row: the margin A v, and a, e = C - a, s and the slack xi, which
are positive. A direction has their changes. Each is one array of 5 x n, because tuples of arrays take long to pass.
"""

from __future__ import annotations

import numpy as np

from ...array_types import FloatArray
from ..compile import kernel, sum_kernel

AV, A, E, S, SLACK = range(5)


@kernel
def weigh_rows(at: FloatArray, D: FloatArray, r_primal: FloatArray) -> tuple[float, float]:
    """Set D = 1/(xi/e + s/a) and r_primal = A v + xi - s - 1; return a s + e xi and a |r_primal|, summed."""
    complementarity = infeasibility = 0.0
    for i in range(D.shape[0]):
        a, e, s, slack = at[A, i], at[E, i], at[S, i], at[SLACK, i]
        D[i] = 1.0 / (slack / e + s / a)
        r_primal[i] = at[AV, i] + slack - s - 1.0
        complementarity += a * s + e * slack
        infeasibility += a * abs(r_primal[i])
    return complementarity, infeasibility


@kernel
def right_sides(
    at: FloatArray,
    way: FloatArray,
    center: float,
    second: float,
    D: FloatArray,
    r_primal: FloatArray,
    t: FloatArray,
    Dt: FloatArray,
) -> None:
    """Write the right sides center - a s - second da ds and center - e xi - second de dxi over ds and dxi, and set
    t = r_primal + (right side of xi)/e - (right side of s)/a, and D t."""
    for i in range(t.shape[0]):
        a, e = at[A, i], at[E, i]
        r_s, r_slack = center - a * at[S, i], center - e * at[SLACK, i]
        if second != 0.0:
            r_s -= second * way[A, i] * way[S, i]
            r_slack -= second * way[E, i] * way[SLACK, i]
        way[S, i], way[SLACK, i] = r_s, r_slack
        t[i] = r_primal[i] + r_slack / e - r_s / a
        Dt[i] = D[i] * t[i]


@kernel
def finish_direction(at: FloatArray, way: FloatArray, Adv: FloatArray, da: FloatArray) -> float:
    """Complete a direction that has its right sides; return the longest step that keeps all numbers positive."""
    steepest = 0.0
    for i in range(da.shape[0]):
        a, e, s, slack, step = at[A, i], at[E, i], at[S, i], at[SLACK, i], da[i]
        ds, dslack = (way[S, i] - s * step) / a, (way[SLACK, i] + slack * step) / e
        way[AV, i], way[A, i], way[E, i], way[S, i], way[SLACK, i] = Adv[i], step, -step, ds, dslack
        steepest = min(steepest, step / a, -step / e, ds / s, dslack / slack)
    return -1.0 / steepest if steepest < 0.0 else np.inf


@kernel
def complementarity_after(at: FloatArray, way: FloatArray, length: float) -> float:
    """a s + e xi, summed, after a step."""
    total = 0.0
    for i in range(at.shape[1]):
        total += (at[A, i] + length * way[A, i]) * (at[S, i] + length * way[S, i])
        total += (at[E, i] + length * way[E, i]) * (at[SLACK, i] + length * way[SLACK, i])
    return total


@kernel
def move(at: FloatArray, way: FloatArray, length: float) -> None:
    """Make a step."""
    for j in range(at.shape[0]):
        for i in range(at.shape[1]):
            at[j, i] += length * way[j, i]


@kernel
def slope_along(margins: FloatArray, along: FloatArray, costs: FloatArray, t: float) -> tuple[float, float]:
    """sum of c_i m_i' (1 - m_i) and of c_i m_i'^2 over the rows inside the margin, m = margins + t along, m' = along."""
    slope = curvature = 0.0
    for i in range(margins.shape[0]):
        left = 1.0 - margins[i] - t * along[i]
        if left > 0.0:
            pull = costs[i] * along[i]
            slope += pull * left
            curvature += pull * along[i]
    return slope, curvature


@sum_kernel
def advance(step: float, p: FloatArray, product: FloatArray, d: FloatArray, r: FloatArray) -> float:
    """A step of conjugate gradients: d += step p, r -= step H p; return |r|^2."""
    total = 0.0
    for j in range(d.shape[0]):
        d[j] += step * p[j]
        r[j] -= step * product[j]
        total += r[j] * r[j]
    return total


@kernel
def redirect(factor: float, z: FloatArray, p: FloatArray) -> None:
    """p = z + factor p"""
    for j in range(p.shape[0]):
        p[j] = z[j] + factor * p[j]
