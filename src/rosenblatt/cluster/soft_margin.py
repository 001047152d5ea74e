"""`SoftMargin` on blocks: the binary problems of all classes, and the attributes of the fitted estimator."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..array_types import FloatArray
from ..estimators.base import seed_of
from ..estimators.soft_margin import SoftMargin
from ..estimators.svm_base import margin_of
from ..kernels.linear.margin_losses import SQUARED_HINGE, Logistic
from ..progress import current_callback, problem_callback
from ..reporting.text import count
from ..svm.limits import SolverLimits, iteration_limit
from ..svm.problem import MAX_PAIR_WEIGHTS, MAX_SPARSE_PAIR_COLUMNS
from ..svm.solver_choice import MAX_FALLBACK_COLUMNS
from ..svm.truncated_newton import minimize
from .block_set import BlockSet
from .dual_blocks import solve_dual
from .hinge import Answer, fits_one_task, solve_hinge
from .multinomial import fit_multinomial
from .objectives import BlockObjective, Head, gather_support
from .options import RunOptions
from .sample import start_from_sample
from .ties import settle_ties

# Newton's method takes about as many rounds, if its steps need few products.
DUAL_ROUNDS = 100


def fit_soft_margin(estimator: SoftMargin, blocks: BlockSet, options: RunOptions) -> None:
    """Solve all binary problems, one after the other, and set the attributes."""
    scheme = choose_scheme(estimator, blocks)
    _refuse_parameters(estimator, scheme, len(blocks.classes))
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
    if scheme == "multinomial" and k > 2:
        fit_multinomial(estimator, blocks, replace(limits, progress=callback))
        return
    pairs = scheme == "ovo" or k == 2

    def solve(h: int) -> Answer:
        own = replace(limits, progress=problem_callback(callback, h, len(heads)))
        return solve_head(blocks, heads[h], estimator.loss, estimator.solver, own, pairs)

    solved = [solve(h) for h in range(len(heads))]
    if estimator.loss == "hinge" and not pairs:
        settled = settle_ties(blocks, heads, [each.solution for each in solved], limits.tol)
        solved = [each._replace(solution=solution) for each, solution in zip(solved, settled, strict=True)]
    set_attributes(estimator, blocks, scheme, solved)
    estimator._end([(each.solution.gap, each.steps) for each in solved], limits)


def _refuse_parameters(estimator: SoftMargin, scheme: str, k: int) -> None:
    """Raise an error for parameters that need all rows in one memory."""
    if estimator.penalty == "l1":
        raise ValueError("penalty='l1' solves column by column, which blocks of rows do not have: use penalty='l2', or fit")
    if np.isinf(estimator.C):
        raise ValueError("C=inf needs all rows in one memory: use a finite C, or fit")
    if scheme == "crammer_singer" and k > 2:
        raise ValueError("multiclass='crammer_singer' visits the rows one by one: use multiclass='ovr' or 'ovo', or fit")


def solve_head(blocks: BlockSet, head: Head, loss: str, solver: str, limits: SolverLimits, pair: bool) -> Answer:
    """The answer to a binary problem.

    The hinge: the interior point for up to MAX_FALLBACK_COLUMNS columns, and if one task may solve for all rows, else dual
    coordinates. Its square: Newton's method; with more columns than its matrix may have, dual coordinates first, because the
    number of products in a Newton step depends on the data. They end after DUAL_ROUNDS rounds if the gap falls too slowly.

    pair : whether there is no other class, whose planes could tie.
    """
    if loss == "hinge" and solver != "dual-coordinates":
        if blocks.n_features <= MAX_FALLBACK_COLUMNS or fits_one_task(blocks, head):
            return solve_hinge(blocks, head, limits, solver, settle=pair)
        if solver == "interior-point":
            raise ValueError(
                f"solver='interior-point' takes up to {count(MAX_FALLBACK_COLUMNS)} columns of many rows in blocks, got "
                f"{count(blocks.n_features)}: use solver='dual-coordinates'"
            )
    if loss == "hinge" or solver == "dual-coordinates":
        return solve_dual(blocks, head, loss == "squared_hinge", limits)
    objective = BlockObjective(blocks, head, Logistic() if loss == "logistic" else SQUARED_HINGE)
    v: FloatArray = np.zeros(blocks.n_features + 1)
    before = 0
    if loss == "squared_hinge" and solver == "auto" and not objective.has_matrix:
        answer = solve_dual(blocks, head, True, limits, DUAL_ROUNDS)
        if answer.solution.gap <= limits.tol:
            return answer
        near, before = answer.solution, answer.steps
        v = np.append(near.w, near.intercept / head.x0 if head.x0 else 0.0)
    v, precondition = start_from_sample(objective, v, limits)
    found, _, steps, _ = minimize(objective, v, limits, precondition)
    return Answer(found, before + steps, "newton", None if loss == "logistic" else gather_support(objective, blocks))


def choose_scheme(estimator: SoftMargin, blocks: BlockSet) -> str:
    """How several classes are separated."""
    if estimator.multiclass != "auto":
        return estimator.multiclass
    if estimator.loss == "logistic":
        return "multinomial" if len(blocks.classes) > 2 else "ovr"
    k, width = len(blocks.classes), blocks.n_features
    wide = blocks.facts.sparse and width > MAX_SPARSE_PAIR_COLUMNS
    return "ovr" if k == 2 or wide or k * (k - 1) // 2 * width > MAX_PAIR_WEIGHTS else "ovo"


def set_attributes(estimator: SoftMargin, blocks: BlockSet, scheme: str, solved: list[Answer]) -> None:
    """Set the fitted attributes. Those with a number for each row stay unset, except the support vectors."""
    solutions = [each.solution for each in solved]
    support = [each.support for each in solved if each.support is not None]
    fitted: dict[str, Any] = {
        "_scheme": scheme,
        "support_": [rows for rows, _ in support],
        "multipliers_": [multipliers for _, multipliers in support],
        "margin_": np.array([margin_of(solution.w) for solution in solutions]),
        "gap_": np.array([solution.gap for solution in solutions]),
        "dual_gap_": np.array([max(0.0, solution.primal - solution.dual) for solution in solutions]),
        "objective_": np.array([solution.primal for solution in solutions]),
        "n_iter_": max(each.steps for each in solved),
        "solver_": [each.solver for each in solved],
        "coef_": np.array([solution.w for solution in solutions]),
        "intercept_": np.array([solution.intercept for solution in solutions]),
        "_solutions": solutions,
        "_n_rows": blocks.n_rows,
    }
    if not support:
        del fitted["support_"], fitted["multipliers_"]
    estimator.__dict__.update(fitted)
