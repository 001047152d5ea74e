"""The largest circulation inside a flow between classes.

Problem    max sum g_lm  s.t.  0 <= g <= f,  sum_m g_cm = sum_l g_lc for every class c.
Use        f_lm is what rows of class l give to rival m. Scaled by g/f, they give every class as much as they take from it,
           which a free bias asks of a feasible point of the dual.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

ROUNDS = 4  # a linear program leaves about 1e-7 of what it has to balance; each round balances what the last one left


def circulation_scale(flow: Any) -> Any:
    """g/f, k x k, entries in [0, 1] (0 where nothing flows); all 0 where the linear program finds no answer."""
    scale = np.zeros_like(flow)
    if len(flow) == 2:
        return np.divide(min(flow[0, 1], flow[1, 0]), flow, out=scale, where=flow > 0.0)
    giver, taker = np.nonzero(flow)
    left, arcs = flow[giver, taker], np.arange(len(giver))
    ends = (np.repeat([1.0, -1.0], len(arcs)), (np.concatenate([giver, taker]), np.tile(arcs, 2)))
    balance = sp.csr_array(ends, shape=(len(flow), len(arcs)))
    for _ in range(ROUNDS):
        excess = balance @ left
        most = float(np.abs(excess).max(initial=0.0))
        if most <= 1e-16 * left.sum():
            break
        bounds = np.column_stack([np.zeros(len(arcs)), left / most])
        removed = linprog(np.ones(len(arcs)), A_eq=balance, b_eq=excess / most, bounds=bounds, method="highs-ds").x
        if removed is None:
            return scale
        left = np.maximum(left - most * removed, 0.0)
    scale[giver, taker] = left / flow[giver, taker]
    return scale
