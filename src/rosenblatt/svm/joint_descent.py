"""Multipliers of many classes against the rest on sparse rows, eight classes at a time, to start from.

Problem    that of `dual_coordinates.py` for each class: squared hinge, penalized intercept or none.
Update     passes over all rows by `kernels/linear/joint_coordinates.py`, until the gaps of eight classes are at most `tol`.
Guarantee  no step decreases a dual. The multipliers are no solutions: the caller computes their gaps, and continues with those
           whose gap is too large.
"""

from __future__ import annotations

import numpy as np

from ..array_types import FloatArray, IntArray
from ..kernels.linear.joint_coordinates import HEADS, LOSS, PULL, SQUARES, STIFFNESS, TOTAL, JointDual, joint_pass, joint_sums
from ..kernels.linear.rows import CSR
from .dual_coordinates import FIRST_PASSES, passes_to_make

MIN_HEADS = 3  # two classes alone take less time one by one
MAX_PASSES = 12  # then single classes, which skip rows, take less time
MAX_JOINT_BYTES = 1 << 28  # of the weights and multipliers of eight classes


def joint_blocks(n_classes: int) -> list[range]:
    """The classes that are solved together; few last ones are in no block."""
    blocks = [range(first, min(first + HEADS, n_classes)) for first in range(0, n_classes, HEADS)]
    return [block for block in blocks if len(block) >= MIN_HEADS]


def fits_into_memory(rows: CSR) -> bool:
    """Whether eight classes of these rows take little memory."""
    return (rows.width + len(rows.indptr)) * HEADS * 8 <= MAX_JOINT_BYTES


def joint_multipliers(
    rows: CSR, codes: IntArray, block: range, costs: FloatArray, squares: FloatArray, x0: float, tol: float, seed: int
) -> tuple[FloatArray, int]:
    """The multipliers of a block of classes, classes x rows, and the number of passes.

    costs : C_i > 0 of each row.
    squares : |x_i|^2.
    """
    n = len(codes)
    softness = 0.5 / costs
    dual = JointDual(
        np.ascontiguousarray(codes, np.int64), block.start, softness, 1.0 / (squares + x0 * x0 + softness),
        np.zeros((n, HEADS)), np.zeros((rows.width, HEADS)), np.zeros(HEADS), float(x0),
        np.zeros((1, HEADS)), np.zeros((1, HEADS)),
    )  # fmt: skip
    state = np.random.default_rng(seed).integers(1, 2**64, 1, np.uint64)
    order, passes, gap, more = np.arange(n), 0, 1.0, FIRST_PASSES
    while True:
        for _ in range(more):  # a call for each pass, so that Ctrl-C is handled promptly
            joint_pass(rows, dual, order, state)
        passes, before, gap = passes + more, gap, float(_gaps(rows, dual)[: len(block)].max())
        if gap <= tol or passes >= MAX_PASSES:
            return np.ascontiguousarray(dual.multipliers.T)[: len(block)], passes
        more = min(passes_to_make(passes, more, before, gap, tol), MAX_PASSES - passes)


def _gaps(rows: CSR, dual: JointDual) -> FloatArray:
    """Estimates of the relative gaps of all problems, with the intercepts after one step of Newton's method."""
    sums = np.zeros((5, HEADS))
    joint_sums(rows, dual, sums)
    half = (np.einsum("jh,jh->h", dual.W, dual.W) + dual.v**2) / 2.0
    primal = half + sums[LOSS] / 2.0
    # The slope and the curvature of the primal objective in v, of which the intercept is x_0 v.
    slope, curvature = dual.v - dual.x0 * sums[PULL], 1.0 + dual.x0**2 * sums[STIFFNESS]
    primal -= slope * slope / (2.0 * curvature) if dual.x0 else 0.0
    gaps: FloatArray = (primal - (sums[TOTAL] - half - sums[SQUARES] / 2.0)) / primal
    return gaps
