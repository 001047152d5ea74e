"""The largest circulation inside a flow between classes.

Problem    max sum g_lm  s.t.  0 <= g <= f,  sum_m g_cm = sum_l g_lc for every class c.
Use        f_lm is what rows of class l give to rival m. Scaled by g/f, they give every class as much as they take
           from it, which a free bias asks of a feasible point of the dual.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog


def circulation_scale(flow: Any) -> Any:
    """g/f, k x k, entries in [0, 1] (0 where nothing flows); all 0 where the linear program finds no answer."""
    scale = np.zeros_like(flow)
    giver, taker = np.nonzero(flow)
    if not len(giver):
        return scale
    if len(flow) == 2:  # both directions carry what the smaller one does
        np.divide(flow.min() if len(giver) == 2 else 0.0, flow, out=scale, where=flow > 0.0)
        scale[flow == np.where(flow > 0.0, flow, np.inf).min()] = float(len(giver) == 2)
        scale[np.diag_indices(2)] = 0.0
        return scale
    caps = flow[giver, taker] / flow.max()
    arcs = np.arange(len(giver))
    ends = (np.concatenate([np.ones(len(arcs)), -np.ones(len(arcs))]), (np.concatenate([giver, taker]), np.tile(arcs, 2)))
    conserved = sp.csr_array(ends, shape=(len(flow), len(arcs)))
    answer = linprog(
        -np.ones(len(arcs)), A_eq=conserved, b_eq=np.zeros(len(flow)), bounds=np.column_stack([np.zeros(len(arcs)), caps])
    )
    if answer.x is not None:
        scale[giver, taker] = np.clip(answer.x / caps, 0.0, 1.0)
    return scale
