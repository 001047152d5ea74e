"""The multinomial logistic loss, its gradient and products with its Hessian, of sparse rows each in one pass over the rows.

Loss       C_i (log sum_m exp(s_im) - s_il) for the class l of row i, s_im = <w_m, x_i> + b_m. Weights are features x classes.
"""

from __future__ import annotations

import math

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel
from .exponentials import exp_minus
from .rows import CSR, dots, span


@kernel
def add_outer(rows: CSR, i: int, moves: FloatArray, W: FloatArray) -> None:
    """w_m += moves[m] x_i for every class m."""
    start, stop = span(rows, i)
    for j in range(start, stop):
        x, column = float(rows.values[j]), W[int(rows.indices[j])]
        for m in range(moves.shape[0]):
            column[m] += x * moves[m]


@inlined
def softmax(p: FloatArray, code: int) -> float:
    """Replace scores by probabilities; return the loss of a row of this class.

    The largest score is left out of the sum of the others: a small loss has all its digits.
    """
    best = 0
    for m in range(p.shape[0]):
        if p[m] > p[best]:
            best = m
    largest = p[best]
    lead = largest - p[code]
    for m in range(p.shape[0]):
        p[m] = exp_minus(largest - p[m])
    p[best] = 0.0
    others = 0.0
    for m in range(p.shape[0]):
        others += p[m]
    p[best] = 1.0
    share = 1.0 / (1.0 + others)
    for m in range(p.shape[0]):
        p[m] *= share
    return float(math.log1p(others) + lead)


@inlined
def bend(p: FloatArray, C: float, b: FloatArray, moves: FloatArray, out_b: FloatArray) -> None:
    """Replace changes of the scores, but for those of the intercepts b, by changes of the gradient; add these to `out_b`."""
    mean = 0.0
    for m in range(b.shape[0]):
        moves[m] += b[m]
        mean += p[m] * moves[m]
    for m in range(b.shape[0]):
        moves[m] = C * p[m] * (moves[m] - mean)
        out_b[m] += moves[m]


@kernel
def softmax_rows(moves: FloatArray, b: FloatArray, codes: IntArray, costs: FloatArray, shares: FloatArray) -> float:
    """Return the loss of dense rows, whose scores without intercept are `moves`; set their probabilities `shares`, and replace
    the scores by the gradient in them."""
    total = 0.0
    for r in range(moves.shape[0]):
        p, C = shares[r], costs[r]
        for m in range(b.shape[0]):
            p[m] = moves[r, m] + b[m]
        total += C * softmax(p, codes[r])
        for m in range(b.shape[0]):
            moves[r, m] = C * p[m]
        moves[r, codes[r]] -= C
    return total


@kernel
def bend_rows(moves: FloatArray, b: FloatArray, costs: FloatArray, shares: FloatArray, out_b: FloatArray) -> None:
    """The Hessian of the loss in the scores of dense rows, times their changes `moves`, which it replaces."""
    for r in range(moves.shape[0]):
        bend(shares[r], costs[r], b, moves[r], out_b)


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
        for m in range(k):
            p[m] += b[m]
        total += C * softmax(p, codes[r])
        for m in range(k):
            moves[m] = C * p[m]
        moves[codes[r]] -= C
        add_outer(rows, i, moves, gradient)
    return total


@kernel
def multinomial_product(
    rows: CSR, wanted: IntArray, costs: FloatArray, shares: FloatArray, W: FloatArray, b: FloatArray,
    moves: FloatArray, out: FloatArray, out_b: FloatArray,
) -> None:  # fmt: skip
    """Add the Hessian of the loss times (W, b) to `out` and `out_b`."""
    for r in range(wanted.shape[0]):
        dots(rows, wanted[r], W, moves)
        bend(shares[r], costs[r], b, moves, out_b)
        add_outer(rows, wanted[r], moves, out)
