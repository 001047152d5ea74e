"""The solutions from which `SoftMargin(warm_start=True)` continues, in a model file.

A file has the cost of each row, beside the support and the multipliers that every file of a support vector machine has. The
multipliers of the other rows are zero, and are made when a fit needs them: a file of a few support vectors then takes little
memory, whatever number of rows it states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .container import Arrays, Meta, all_finite
from .model import Model
from .strict_json import require

if TYPE_CHECKING:
    from ..estimators.soft_margin import SoftMargin
    from ..svm.crammer_singer import CrammerSinger
    from ..svm.problem import Solution
    from ..svm.stored_solution import StoredSolution


def encode_solutions(estimator: Any, arrays: Arrays) -> Meta:
    """Encode SVM solutions, if `warm_start` uses them. Costs that are equal for all rows are stored as one number."""
    if not (estimator.warm_start and "_solutions" in vars(estimator)):
        return {}
    meta = []
    from_weights = starts_from_weights(estimator)
    pair_rows = vars(estimator).get("_margin_rows")
    for h, solution in enumerate(estimator._solutions):
        if pair_rows and not from_weights:
            solution = solution.among(pair_rows[h], estimator._n_rows)
        costs = None if from_weights else getattr(solution, "costs", None)
        if costs is not None:
            arrays[f"solutions.{h}"] = costs[:1] if costs.strides == (0,) else costs
        meta.append({"rows": solution.n_rows, "primal": float(solution.primal), "dual": float(solution.dual)})
    return {"solutions": {"each": meta}}


def restore_solutions(estimator: SoftMargin, model: Model, meta: Meta, arrays: Arrays) -> None:
    """Set the solutions of a `SoftMargin`, one per binary problem, if the file has them."""
    if "solutions" in meta:
        each = meta["solutions"]["each"]
        fits = isinstance(each, list) and len(each) == len(estimator.gap_)
        require(fits and set(meta["solutions"]) == {"each"}, "SVM solutions: there is not one for each binary problem")
        estimator._solutions = [_solution(estimator, h, one, arrays) for h, one in enumerate(each)]


def _solution(estimator: SoftMargin, h: int, meta: Meta, arrays: Arrays) -> StoredSolution:
    from ..svm.crammer_singer import CrammerSinger
    from ..svm.problem import Solution
    from ..svm.stored_solution import StoredSolution

    require(isinstance(meta, dict) and set(meta) == {"rows", "primal", "dual"}, "SVM solution: a number is missing")
    n, primal, dual = meta["rows"], meta["primal"], meta["dual"]
    require(type(n) is int and 0 < n < 1 << 31, "SVM solution: the number of rows is invalid")
    require(type(primal) is type(dual) is float, "SVM solution: the objective is not a number")
    if starts_from_weights(estimator):
        return _solution_of_weights(estimator, h, n, primal, dual)
    support, found = estimator.support_[h], estimator.multipliers_[h]
    distinct = len(support) < 2 or bool((np.diff(support) > 0).all())
    require(distinct and (support < n).all(), "SVM solution: a support index is out of range")
    require(all_finite(found), "SVM solution: the multipliers are not finite")
    none = np.zeros(0)  # slack, which is not stored, and multipliers
    rest: Solution | CrammerSinger
    if found.ndim == 2:
        rest = CrammerSinger(estimator.coef_, estimator.intercept_, none, none, primal, dual, 0, False)
    else:
        costs = arrays.pop(f"solutions.{h}")
        fits = costs.dtype == np.float64 and costs.shape in ((1,), (n,)) and (costs >= 0).all()
        require(fits, "SVM solution: the row costs are invalid")
        w, costs = estimator.coef_[h], np.broadcast_to(costs, n)
        rest = Solution(w, float(estimator.intercept_[h]), none, primal, dual, none, costs)
    return StoredSolution(n, support, found, rest)


def starts_from_weights(estimator: SoftMargin) -> bool:
    """Whether a fit continues from the weights alone: with the logistic loss or the L1 penalty."""
    return estimator.loss == "logistic" or estimator.penalty == "l1"


def _solution_of_weights(estimator: SoftMargin, h: int, n: int, primal: float, dual: float) -> StoredSolution:
    from ..svm.multinomial import Multinomial
    from ..svm.problem import Solution
    from ..svm.stored_solution import StoredSolution

    none = np.zeros(0)
    rest: Solution | Multinomial
    if estimator.multiclass_ == "multinomial" and len(estimator.classes_) > 2:
        rest = Multinomial(estimator.coef_, estimator.intercept_, none, primal, dual, 0)
    else:
        rest = Solution(estimator.coef_[h], float(estimator.intercept_[h]), none, primal, dual, none, none)
    return StoredSolution(n, np.zeros(0, np.int64), none, rest)
