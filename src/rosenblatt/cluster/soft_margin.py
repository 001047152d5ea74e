"""`SoftMargin` on blocks: the binary problems of all classes, and the attributes of the fitted estimator."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray
from ..estimators.base import seed_of
from ..estimators.soft_margin import SoftMargin
from ..estimators.svm_base import margin_of
from ..kernels.linear.margin_losses import SQUARED_HINGE, Logistic
from ..progress import current_callback, problem_callback
from ..svm.limits import SolverLimits, iteration_limit
from ..svm.problem import Solution
from ..svm.truncated_newton import minimize
from .block_set import BlockSet
from .hinge import solve_hinge
from .objectives import BlockObjective, Head, gather_support
from .options import RunOptions
from .sample import start_from_sample


def fit_soft_margin(estimator: SoftMargin, blocks: BlockSet, options: RunOptions) -> None:
    """Solve all binary problems, one after the other, and set the attributes."""
    scheme = choose_scheme(estimator, blocks)
    k, share = len(blocks.classes), 2.0 if scheme in ("multinomial", "crammer_singer") else 1.0
    head = Head(1, 0, share * float(estimator.C), estimator._x0, estimator._free)
    heads = [head._replace(negative=None)]
    if k > 2:
        heads = [head._replace(positive=h, negative=None) for h in range(k)]
        if scheme == "ovo":
            heads = [head._replace(positive=j, negative=i) for i, j in combinations(range(k), 2)]
    most = iteration_limit(estimator.max_iter, blocks.n_rows, False)
    limits = SolverLimits(float(estimator.tol), most, seed_of(estimator.random_state))
    callback = current_callback(bool(estimator.verbose))
    solved = [
        solve_head(blocks, each, estimator.loss, replace(limits, progress=problem_callback(callback, h, len(heads))))
        for h, each in enumerate(heads)
    ]
    set_attributes(estimator, blocks, scheme, solved)
    estimator._end([(solution.gap, steps) for solution, steps, _ in solved], limits)


def solve_head(blocks: BlockSet, head: Head, loss: str, limits: SolverLimits) -> tuple[Solution, int, BlockObjective]:
    """The solution of a binary problem, the number of steps, and the objective at its point."""
    v: FloatArray = np.zeros(blocks.n_features + 1)
    if loss == "hinge":
        return solve_hinge(blocks, head, v, limits)
    objective = BlockObjective(blocks, head, Logistic() if loss == "logistic" else SQUARED_HINGE)
    v, precondition = start_from_sample(objective, v, limits)
    found, _, steps, _ = minimize(objective, v, limits, precondition)
    return found, steps, objective


def choose_scheme(estimator: SoftMargin, blocks: BlockSet) -> str:
    """How several classes are separated."""
    if estimator.multiclass != "auto":
        return estimator.multiclass
    if estimator.loss == "logistic":
        return "multinomial" if len(blocks.classes) > 2 else "ovr"
    from ..svm.problem import MAX_PAIR_WEIGHTS, MAX_SPARSE_PAIR_COLUMNS

    k, width = len(blocks.classes), blocks.n_features
    wide = blocks.facts.sparse and width > MAX_SPARSE_PAIR_COLUMNS
    return "ovr" if k == 2 or wide or k * (k - 1) // 2 * width > MAX_PAIR_WEIGHTS else "ovo"


def set_attributes(
    estimator: SoftMargin, blocks: BlockSet, scheme: str, solved: list[tuple[Solution, int, BlockObjective]]
) -> None:
    """Set the fitted attributes. Those with a number for each row stay unset, except the support vectors."""
    solutions = [solution for solution, _, _ in solved]
    support: list[tuple[IntArray, FloatArray]] = []
    if estimator.loss != "logistic":
        support = [gather_support(objective, blocks) for _, _, objective in solved]
    fitted: dict[str, Any] = {
        "_scheme": scheme,
        "support_": [rows for rows, _ in support],
        "multipliers_": [multipliers for _, multipliers in support],
        "margin_": np.array([margin_of(solution.w) for solution in solutions]),
        "gap_": np.array([solution.gap for solution in solutions]),
        "dual_gap_": np.array([max(0.0, solution.primal - solution.dual) for solution in solutions]),
        "objective_": np.array([solution.primal for solution in solutions]),
        "n_iter_": max(steps for _, steps, _ in solved),
        "solver_": ["newton"] * len(solved),
        "coef_": np.array([solution.w for solution in solutions]),
        "intercept_": np.array([solution.intercept for solution in solutions]),
        "_solutions": solutions,
        "_n_rows": blocks.n_rows,
    }
    if not support:
        del fitted["support_"], fitted["multipliers_"]
    estimator.__dict__.update(fitted)
