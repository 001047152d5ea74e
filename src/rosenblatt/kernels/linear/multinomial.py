"""The multinomial logistic loss of sparse rows, its gradient and products with its Hessian, each in one pass over the rows.

Loss       C_i (log sum_m exp(s_im) - s_il) for the class l of row i, s_im = <w_m, x_i> + b_m. Weights are features x classes.
"""

from __future__ import annotations

import math

from ...array_types import FloatArray, IntArray
from ..compile import kernel
from .rows import CSR, dots, span


@kernel
def add_outer(rows: CSR, i: int, moves: FloatArray, W: FloatArray) -> None:
    """w_m += moves[m] x_i for every class m."""
    start, stop = span(rows, i)
    for j in range(start, stop):
        x, column = float(rows.values[j]), W[int(rows.indices[j])]
        for m in range(moves.shape[0]):
            column[m] += x * moves[m]


@kernel
def multinomial_gradient(
    rows: CSR, wanted: IntArray, codes: IntArray, costs: FloatArray, W: FloatArray, b: FloatArray,
    shares: FloatArray, moves: FloatArray, gradient: FloatArray,
) -> float:  # fmt: skip
    """Return the loss of the wanted rows; set their probabilities `shares`, and add the gradient in W to `gradient`."""
    total, k = 0.0, b.shape[0]
    for r in range(wanted.shape[0]):
        i, p, C = wanted[r], shares[r], costs[r]
        dots(rows, i, W, p)
        largest = -math.inf
        for m in range(k):
            p[m] += b[m]
            largest = max(largest, p[m])
        own, mass = p[codes[r]], 0.0
        for m in range(k):
            p[m] = math.exp(p[m] - largest)
            mass += p[m]
        for m in range(k):
            p[m] /= mass
            moves[m] = C * p[m]
        moves[codes[r]] -= C
        total += C * (math.log(mass) + largest - own)
        add_outer(rows, i, moves, gradient)
    return total


@kernel
def multinomial_product(
    rows: CSR, wanted: IntArray, costs: FloatArray, shares: FloatArray, W: FloatArray, b: FloatArray,
    moves: FloatArray, out: FloatArray, out_b: FloatArray,
) -> None:  # fmt: skip
    """Add the Hessian of the loss times (W, b) to `out` and `out_b`."""
    k = b.shape[0]
    for r in range(wanted.shape[0]):
        i, p = wanted[r], shares[r]
        dots(rows, i, W, moves)
        mean = 0.0
        for m in range(k):
            moves[m] += b[m]
            mean += p[m] * moves[m]
        for m in range(k):
            moves[m] = costs[r] * p[m] * (moves[m] - mean)
            out_b[m] += moves[m]
        add_outer(rows, i, moves, out)
