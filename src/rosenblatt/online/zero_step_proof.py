"""Batch steps of length zero: where the mistakes' exact sum is zero, no plane separates them (Gordan's theorem).

Give every row that asks for a step the weight 1: if their signed rows sum to zero, every w has some of them at or under zero,
because their scores sum to zero too. For k planes against each other, a row of class l with rival z counts as +x for l and -x
for z (Kesler's construction), and the sums of all classes must be zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..data.problem import Problem
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Joint, Tape


def why_stuck(problem: Problem, asked: Tape) -> tuple[str, str]:
    """(reason, sentence) for a step of length zero while rows still ask for one."""
    rows = len(asked.rows)
    if problem.pages is None and not problem.labels.weights.size and _sum_is_exactly_zero(problem, asked):
        return "impossible", f"the {rows} signed rows at or under the margin sum to exactly zero, so no plane separates them."
    return "tolerance", f"the step was zero while {rows} rows still asked for one; it will not change."


def _sum_is_exactly_zero(problem: Problem, asked: Tape) -> bool:
    values = problem.matrix()[asked.rows]
    return all(_cancels(problem, values, signs) for signs in _signs(problem, asked))


def _signs(problem: Problem, asked: Tape) -> Any:
    """For each plane, +1, -1 or 0 for each row that asks."""
    labels = problem.labels
    if not isinstance(labels, Joint):
        return [labels.signs[asked.rows]]
    own = labels.codes[asked.rows]
    return ((own == c).astype(np.int8) - (asked.others == c).astype(np.int8) for c in np.union1d(own, asked.others))


def _cancels(problem: Problem, values: Any, signs: Any) -> bool:
    """math.fsum rounds the exact sum once, so it is zero only where the sum is."""
    if problem.x0 and int(signs.sum(dtype=np.int64)) != 0:
        return False
    signed = values * signs[:, None] if isinstance(problem.rows, Dense) else values.multiply(signs[:, None]).tocsc()
    columns = signed.T if isinstance(problem.rows, Dense) else np.split(signed.data, signed.indptr[1:-1])
    try:
        return all(math.fsum(column) == 0.0 for column in columns)
    except OverflowError:
        return False
