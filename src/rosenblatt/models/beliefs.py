"""What AROW believes as arrays, so that `partial_fit` and `warm_start` go on from a file as they would have gone on without it.

The weights are the model's own; beside them are their variances, weight 0 and its variance, and the updates of each run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .container import Parts, require


def to_parts(estimator: Any) -> Parts:
    arrays = {name: array for name, array in vars(estimator._belief).items() if name != "weights"}
    return {"fixed": bool(estimator._classes_fixed)}, {f"belief.{name}": array for name, array in arrays.items()}


def restore(estimator: Any, meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    from ..online.second_order import Belief

    coef, told = estimator.coef_, {name.removeprefix("belief."): array for name, array in arrays.items()}
    floats = [coef, *(told[name] for name in ("bias", "variances", "bias_variances"))]
    require(all(each.dtype == np.float64 for each in floats), "has beliefs that are no float64")
    require(told["variances"].shape == coef.shape, "has variances of another shape than its weights")
    require(told["bias"].shape == told["bias_variances"].shape == (len(coef),), "has beliefs about another bias")
    require((told["variances"] >= 0).all() and (told["bias_variances"] >= 0).all(), "has variances under 0")
    counts, joint = told["counts"], len(coef) > 1 and estimator.multiclass == "argmax"
    require(counts.dtype == np.int64 and counts.shape == (1 if joint else len(coef),), "has other counts of updates")
    require((counts >= 0).all(), "has fewer updates than none")
    estimator._belief = Belief(coef.copy(), told["bias"], told["variances"], told["bias_variances"], counts)
    estimator.variances_, estimator._classes_fixed = told["variances"].copy(), meta["fixed"] is True
