"""A quadratic function plus an L1 penalty, by coordinate descent and steps to the minimum for the signs it has found.

Problem    min over d:  <g, d> + 1/2 <d, H d> + sum_j p_j |w_j + d_j|
Update     passes of coordinate descent (`kernels/linear/l1_descent.py`). If they take long, the weights other than zero move
           to the minimum for their signs, by a linear system, or as far as the first that becomes zero; then passes follow.
Reference  H. Lee, A. Battle, R. Raina and A. Ng, Efficient sparse coding algorithms, NIPS 2006.
"""

from __future__ import annotations

import numpy as np

from ..array_types import FloatArray
from ..kernels.linear.l1_descent import descend_matrix
from .row_blocks import cholesky_factor, solve_factored

PASSES, TURNS = 50, 50
CROSSINGS = 5  # weights that become zero in one step to the minimum for the signs


def minimize_quadratic(H: FloatArray, g: FloatArray, w: FloatArray, penalties: FloatArray, enough: float) -> FloatArray:
    """The change d of w; the optimality conditions hold up to `enough`, relative to the penalties."""
    d, q = np.zeros_like(w), g.copy()
    for _ in range(TURNS):
        if descend_matrix(H, q, w, d, penalties, PASSES, enough):
            break
        try:
            _solve_signed(H, g, w, d, penalties)
        except ValueError:  # a matrix that is singular up to rounding errors
            return d
        q = g + H @ d
    return d


def _solve_signed(H: FloatArray, g: FloatArray, w: FloatArray, d: FloatArray, penalties: FloatArray) -> None:
    """Move the weights w + d other than zero to the minimum for their signs, or until some are zero."""
    for _ in range(CROSSINGS):
        z = w + d
        chosen = np.flatnonzero(z)
        if not len(chosen):
            return
        z = z[chosen]
        slopes = (g + H @ d)[chosen] + penalties[chosen] * np.sign(z)
        change = -solve_factored(cholesky_factor(np.asfortranarray(H[np.ix_(chosen, chosen)])), slopes)
        crossing = np.flatnonzero(np.sign(z + change) != np.sign(z))
        if not len(crossing):
            d[chosen] += change
            return
        shares = -z[crossing] / change[crossing]
        first = int(np.argmin(shares))
        d[chosen] += shares[first] * change
        d[chosen[crossing[first]]] = -w[chosen[crossing[first]]]
