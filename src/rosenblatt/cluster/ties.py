"""Rows that tie with the hinge, on blocks: see `svm/ties.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..array_types import FloatArray
from ..kernels.linear.row_blocks import score
from ..svm.problem import Solution
from ..svm.ties import TIE, level_of_zeros, rows_tie
from .block_set import BlockSet
from .blocks import Block
from .objectives import Head, head_rows


def settle_ties(blocks: BlockSet, heads: list[Head], solutions: list[Solution], tol: float) -> list[Solution]:
    """The solutions of all classes, each against the rest, with lowered intercepts if rows tie and the gaps stay small."""
    if heads[0].x0 == 0.0:
        return solutions
    w, intercepts = np.array([each.w for each in solutions]), np.array([each.intercept for each in solutions])
    sums = blocks.sum(tie_sums, tuple(heads), w, intercepts, level_of_zeros(solutions))
    if not sums[0]:
        return solutions
    below = []
    for head, found, by, loss in zip(heads, solutions, TIE * np.arange(len(heads)), sums[1:], strict=True):
        intercept = float(found.intercept - by)
        norm = float(found.w @ found.w) + (0.0 if head.free else (intercept / head.x0) ** 2)
        below.append(replace(found, intercept=intercept, primal=norm / 2.0 + float(loss)))
    within = all(new.gap <= max(tol, old.gap) for new, old in zip(below, solutions, strict=True))
    return below if within else solutions


def tie_sums(block: Block, heads: tuple[Head, ...], w: FloatArray, intercepts: FloatArray, level: float) -> FloatArray:
    """Whether rows tie, and the loss of each class if its intercept is lowered by TIE times its position."""
    found = np.zeros(1 + len(heads))
    wanted = head_rows(block, heads[0]).wanted  # with all others, every class has the same rows
    scores = np.empty((len(heads), len(wanted)))
    for h, head in enumerate(heads):
        _, signs, costs = head_rows(block, head)
        score(block.rows, wanted, w[h], float(intercepts[h]), scores[h])
        found[1 + h] = costs @ np.maximum(0.0, 1.0 - signs * (scores[h] - h * TIE))
    found[0] = rows_tie((scores[h] for h in range(len(heads)) if w[h].any()), level, len(wanted))
    return found
