"""State of batch solvers in a model file.

`SoftMargin(warm_start=True)` keeps its solutions: the cost of each row, beside the support and the multipliers that every
file has. `LinearMSE` keeps the moments of its rows, from which `partial_fit` continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Array
from .container import Arrays, Meta, all_finite, require
from .values import decode, encode

if TYPE_CHECKING:
    from ..estimators.linear_mse import LinearMSE
    from ..estimators.soft_margin import SoftMargin
    from .model import Model

# Moments of `LinearMSE.fit` are stored up to this size; those of `partial_fit` always.
MAX_MOMENT_BYTES = 16 << 20


# --- support vector machines -----------------------------------------------------------------------------------------------


def encode_solutions(estimator: Any, arrays: Arrays) -> Meta:
    """Encode SVM solutions, if `warm_start` uses them. Costs that are equal for all rows are stored as one number."""
    if not (estimator.warm_start and "_solutions" in vars(estimator)):
        return {}
    meta = []
    for h, solution in enumerate(estimator._solutions):
        costs = getattr(solution, "costs", None)
        if costs is not None:
            arrays[f"solutions.{h}"] = costs[:1] if costs.strides == (0,) else costs
        meta.append({"rows": len(solution.multipliers), "primal": float(solution.primal), "dual": float(solution.dual)})
    return {"solutions": {"each": meta}}


def restore_solutions(estimator: SoftMargin, model: Model, meta: Meta, arrays: Arrays) -> None:
    """Set the solutions of a `SoftMargin`, one per binary problem, if the file has them."""
    if "solutions" in meta:
        each = enumerate(meta["solutions"]["each"])
        estimator._solutions = [_solution(estimator, h, one, arrays) for h, one in each]


def _solution(estimator: SoftMargin, h: int, meta: Meta, arrays: Arrays) -> Any:
    from ..svm.crammer_singer import CrammerSinger
    from ..svm.problem import Solution

    n, primal, dual = meta["rows"], float(meta["primal"]), float(meta["dual"])
    support, found = estimator.support_[h], estimator.multipliers_[h]
    require(type(n) is int and 0 < n < 1 << 31, "SVM solution: the number of rows is invalid")
    require(len(support) == len(found), "SVM solution: support and multipliers have different lengths")
    inside = support.dtype.kind == "i" and support.ndim == 1 and (support >= 0).all() and (support < n).all()
    require(inside, "SVM solution: a support index is out of range")
    require(found.dtype == np.float64 and all_finite(found), "SVM solution: the multipliers are not finite float64")
    multipliers = np.zeros((n, *found.shape[1:]))
    multipliers[support] = found
    unknown = np.zeros(0)  # slack, which is not stored
    if multipliers.ndim == 2:
        require(multipliers.shape[1] == len(estimator.classes_), "SVM solution: the number of classes is wrong")
        return CrammerSinger(estimator.coef_, estimator.intercept_, multipliers, unknown, primal, dual, 0, False)
    costs = arrays[f"solutions.{h}"]
    fits = costs.dtype == np.float64 and costs.shape in ((1,), (n,)) and (costs >= 0).all()
    require(fits, "SVM solution: the row costs are invalid")
    costs = np.broadcast_to(costs, n)
    return Solution(estimator.coef_[h], float(estimator.intercept_[h]), multipliers, primal, dual, unknown, costs)


# --- least squares ---------------------------------------------------------------------------------------------------------


def encode_moments(estimator: LinearMSE, arrays: Arrays) -> Meta:
    """Encode the state that `LinearMSE.partial_fit` continues from: `stream` after `partial_fit`, `moments` after `fit`."""
    stream = estimator._stream
    if stream is not None:
        return {"stream": encode((stream.R, stream.rows, stream.fixed), "stream", arrays)}
    moments = estimator._moments
    if sum(part.nbytes for part in moments[:3] if part is not None) <= MAX_MOMENT_BYTES:
        return {"moments": encode(moments, "moments", arrays)}
    return {}


def restore_moments(estimator: LinearMSE, model: Model, meta: Meta, arrays: Arrays) -> None:
    """Set the moments of a `LinearMSE`."""
    from ..estimators.linear_mse import _Stream

    d, k = model.n_features, len(model.classes)
    stream, moments = None, (None, None, None, 0)
    if "stream" in meta:
        R, rows, fixed = decode(meta["stream"], arrays)
        _check_moments(R, 1 + d + k, rows)
        stream = _Stream(R, rows, model.classes, fixed is True)
    elif "moments" in meta:
        moments = decode(meta["moments"], arrays)
        total, shift, R, rows = moments
        width = 1 + d + (1 if k == 2 else k)
        for part in (total, R):
            if part is not None:
                _check_moments(part, width, rows)
        require(shift is None or shift.shape == (d,), "moments: the shift has the wrong shape")
        require(type(rows) is int and rows >= 0, "moments: the number of rows is invalid")
    estimator._stream, estimator._moments = stream, moments


def _check_moments(R: Array, width: int, rows: object) -> None:
    fits = R.dtype == np.float64 and R.ndim == 2 and R.shape[1] == width and len(R) <= width
    require(fits, "moments: an array has the wrong type or shape")
    require(np.isfinite(R).all(), "moments: an array contains NaN or infinity")
    require(type(rows) is int and rows >= 0, "moments: the number of rows is invalid")
