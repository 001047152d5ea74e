"""State of online learners in a model file, from which `partial_fit` and `warm_start` continue bit for bit.

Perceptrons and their relatives keep a run: weights, update counts, the number of rows seen and the sums of the average.
AROW keeps the mean and the variance of its weights. Logs of updates are not stored, because they contain training rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Array
from .container import Arrays, Meta, all_finite, require

if TYPE_CHECKING:
    from ..estimators.arow import AROW
    from ..online.history import History
    from .model import Model


# --- runs ------------------------------------------------------------------------------------------------------------------


def encode_run(estimator: Any, arrays: Arrays) -> Meta:
    """Encode the run of an `OnlineClassifier`. Weights that equal the model's are not stored twice."""
    run, coef = estimator._run, vars(estimator).get("coef_")
    state, sums = run.state, run.sums
    if estimator.keep == "average" and sums is None and len(run.classes) > 1:
        sums = run._sums()
    same = coef is not None and coef.dtype == state.w.dtype and np.array_equal(coef, run.heads)
    meta = {
        "x0": float(state.x0),
        "dense": bool(run.dense),
        "seen": int(run.seen),
        "logged": bool(run.logged and not run.logs),  # no update so far
        "own_weights": not same,
    }
    parts = {"bias": state.bias, "counts": state.counts, "sqnorms": state.sqnorms, "durations": run.durations}
    if not same:
        parts["w"] = state.w
    if sums is not None:
        parts.update({"sums.w": sums.w, "sums.bias": sums.bias})
    arrays.update({f"run.{name}": array for name, array in parts.items()})
    return {"fixed": bool(estimator._classes_fixed), "run": meta}


def restore_run(estimator: Any, model: Model, meta: Meta, arrays: Arrays) -> None:
    """Set the run of an `OnlineClassifier`, without its log."""
    estimator._run = _run(model, meta["run"], _with_prefix(arrays, "run."))
    estimator._classes_fixed, estimator.log_ = meta["fixed"] is True, None
    if model.votes is not None:
        estimator._votes = [vote.restore() for vote in model.votes]


def _run(model: Model, meta: Meta, parts: Arrays) -> History:
    """Decode a run after checking that its arrays fit the model's classes and features."""
    from ..kernels.linear.schemes import State
    from ..online.history import History

    dense, k, width = meta["dense"] is True, len(model.classes), model.n_features
    w = parts["w"] if meta["own_weights"] else _as_run_weights(model.coef, dense, k)
    heads = 1 if k == 2 else k
    shape = (width,) if k == 2 else (heads, width) if dense else (width, heads)
    require(w.dtype in (np.float64, np.float32) and w.shape == shape, "run: the weights have the wrong type or shape")
    _check_counts(meta, parts, heads)
    finite = [w, parts["bias"], parts["sqnorms"], *(parts[name] for name in ("sums.w", "sums.bias") if name in parts)]
    require(all(map(all_finite, finite)) and np.isfinite(float(meta["x0"])), "run: an array contains NaN or infinity")
    state = State(np.ascontiguousarray(w), parts["bias"], parts["counts"], parts["sqnorms"], np.zeros(heads), float(meta["x0"]))
    sums = None
    if "sums.w" in parts:
        total, total_bias = parts["sums.w"], parts["sums.bias"]
        fits = total.shape == w.shape and total_bias.shape == (heads,)
        require(fits and total.dtype == total_bias.dtype == np.float64, "run: the sums have the wrong type or shape")
        sums = State(np.ascontiguousarray(total), total_bias, *state[2:])
    return History(model.classes, state, dense, meta["seen"], parts["durations"], sums, (), meta["logged"] is True)


def _check_counts(meta: Meta, parts: Arrays, heads: int) -> None:
    bias, counts, durations, sqnorms = (parts[name] for name in ("bias", "counts", "durations", "sqnorms"))
    require(bias.dtype == np.float64 and bias.shape == (heads,), "run: the bias has the wrong type or shape")
    typed = counts.dtype == durations.dtype == np.int64 and sqnorms.dtype == np.float64
    fits = counts.shape == durations.shape == sqnorms.shape and counts.ndim == 1 and len(counts) in (1, heads)
    require(typed and fits and (counts >= 0).all(), "run: the update counts are invalid")
    seen = type(meta["seen"]) is int and meta["seen"] >= 0
    require(seen and (durations >= 0).all(), "run: the number of rows seen is negative")


def _as_run_weights(coef: Array | None, dense: bool, k: int) -> Array:
    """The model's weights in the memory layout of a run."""
    require(coef is not None, "run: the weights are missing")
    assert coef is not None
    return np.array(coef[0] if k == 2 else coef if dense else coef.T, order="C")


# --- AROW ------------------------------------------------------------------------------------------------------------------


def encode_gaussian(estimator: AROW, arrays: Arrays) -> Meta:
    """Encode bias, variances and update counts; the mean of the weights is the model's `coef`."""
    parts = {name: array for name, array in vars(estimator._gaussian).items() if name != "weights"}
    arrays.update({f"gaussian.{name}": array for name, array in parts.items()})
    return {"gaussian": {"fixed": bool(estimator._classes_fixed)}}


def restore_gaussian(estimator: AROW, model: Model, meta: Meta, arrays: Arrays) -> None:
    """Set mean and variance of the weights of an AROW estimator."""
    from ..online.second_order import GaussianWeights

    coef, parts = estimator.coef_, _with_prefix(arrays, "gaussian.")
    bias, variances, bias_variances, counts = (parts[name] for name in ("bias", "variances", "bias_variances", "counts"))
    typed = all(each.dtype == np.float64 for each in (coef, bias, variances, bias_variances))
    require(typed, "AROW: weights and variances must be float64")
    require(variances.shape == coef.shape, "AROW: variances and weights have different shapes")
    require(bias.shape == bias_variances.shape == (len(coef),), "AROW: the bias has the wrong shape")
    require((variances >= 0).all() and (bias_variances >= 0).all(), "AROW: a variance is negative")
    joint = len(coef) > 1 and estimator.multiclass == "joint"
    counted = counts.dtype == np.int64 and counts.shape == (1 if joint else len(coef),)
    require(counted and (counts >= 0).all(), "AROW: the update counts are invalid")
    estimator._gaussian = GaussianWeights(coef.copy(), bias, variances, bias_variances, counts)
    estimator.variances_, estimator._classes_fixed = variances.copy(), meta["gaussian"]["fixed"] is True


def _with_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with a prefix, under the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
