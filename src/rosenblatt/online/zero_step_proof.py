"""Proof that no plane separates the rows, from a batch step of length zero (Gordan's theorem).

If the signed rows that violate the margin sum to exactly zero, their scores sum to zero for every w, so some of them are at
or below zero. For k planes that are compared with each other, a row of class l with rival z counts as +x for l and -x for z
(Kesler's construction), and the sums of all classes must be zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..array_types import Array, IntArray, Matrix
from ..data.problem import Problem
from ..kernels.linear.schemes import Joint, Tape
from ..reporting.text import plural
from .stopping import Stop


def zero_step_stop(problem: Problem, violations: Tape) -> Stop:
    """Why a run ends with a step of length zero although rows violate the margin."""
    rows = plural(len(violations.rows), "row")
    if problem.pages is None and not problem.labels.weights.size and _sum_is_exactly_zero(problem, violations):
        return Stop("impossible", f"no plane separates the rows: the {rows} that violate the margin sum to exactly zero")
    return Stop("tolerance", f"stopped because the step is zero although {rows} violate the margin")


def _sum_is_exactly_zero(problem: Problem, violations: Tape) -> bool:
    values = problem.matrix()[violations.rows]
    return all(_cancels(problem, values, signs) for signs in _signs(problem, violations))


def _signs(problem: Problem, violations: Tape) -> Iterable[IntArray]:
    """For each plane, +1, -1 or 0 for each row that violates the margin."""
    labels = problem.labels
    if not isinstance(labels, Joint):
        return [labels.signs[violations.rows]]
    own, rivals = labels.codes[violations.rows], violations.others
    return ((own == c).astype(np.int8) - (rivals == c).astype(np.int8) for c in np.union1d(own, rivals))


def _cancels(problem: Problem, values: Matrix, signs: IntArray) -> bool:
    """Whether the signed rows sum to zero in every column; `math.fsum` is zero only if the exact sum is."""
    if problem.x0 and int(signs.sum(dtype=np.int64)) != 0:
        return False
    columns: Iterable[Array]
    if isinstance(values, np.ndarray):
        columns = (values * signs[:, None]).T
    else:
        signed = values.multiply(signs[:, None]).tocsc()
        columns = np.split(signed.data, signed.indptr[1:-1])
    try:
        return all(math.fsum(column) == 0.0 for column in columns)
    except OverflowError:
        return False
