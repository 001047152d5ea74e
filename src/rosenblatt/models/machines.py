"""The solutions of margin machines, from which `SoftMargin(warm_start=True)` goes on: what they cost their rows, beside the
support and the multipliers that every file has."""

from __future__ import annotations

from typing import Any

import numpy as np

from .container import Parts, all_finite, require


def to_parts(estimator: Any) -> Parts:
    """Costs that are the same for all rows are one number."""
    meta, arrays = [], {}
    for h, solution in enumerate(estimator._solutions):
        costs = getattr(solution, "costs", None)
        if costs is not None:
            arrays[f"solutions.{h}"] = costs[:1] if costs.strides == (0,) else costs
        meta.append({"rows": len(solution.multipliers), "primal": float(solution.primal), "dual": float(solution.dual)})
    return {"each": meta}, arrays


def restore(estimator: Any, meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    from ..svm.crammer_singer import CrammerSinger
    from ..svm.problem import Solution

    several = len(meta["each"]) > 1
    solutions: list[Any] = []
    for h, told in enumerate(meta["each"]):
        n, primal, dual = told["rows"], float(told["primal"]), float(told["dual"])
        support = estimator.support_[h] if several else estimator.support_
        found = estimator.multipliers_[h] if several else estimator.multipliers_
        require(type(n) is int and 0 < n < 1 << 31 and len(support) == len(found), "has machines that do not fit together")
        inside = support.dtype.kind == "i" and support.ndim == 1 and (support >= 0).all() and (support < n).all()
        require(inside and found.dtype == np.float64 and all_finite(found), "has machines with rows that are not there")
        multipliers = np.zeros((n, *found.shape[1:]))
        multipliers[support] = found
        nothing = np.zeros(0)
        if multipliers.ndim == 2:
            require(multipliers.shape[1] == len(estimator.classes_), "has machines of other classes")
            parts = (estimator.coef_, estimator.intercept_, multipliers, nothing, primal, dual, 0, False)
            solutions.append(CrammerSinger(*parts))
            continue
        costs = arrays[f"solutions.{h}"]
        require(
            costs.dtype == np.float64 and costs.shape in ((1,), (n,)) and (costs >= 0).all(), "has machines with other costs"
        )
        costs = np.broadcast_to(costs, n)
        solutions.append(
            Solution(estimator.coef_[h], float(estimator.intercept_[h]), multipliers, primal, dual, nothing, costs)
        )
    estimator._solutions = solutions
