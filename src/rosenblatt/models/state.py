"""Estimators as models and back, with the state from which `partial_fit` and `warm_start` continue bit for bit.

Perceptrons and their relatives keep a run: weights, update counts, the number of rows seen and the sums of the average.
AROW keeps the mean and the variance of its weights. `SoftMargin(warm_start=True)` keeps its solutions: the cost of each row,
beside the support and the multipliers that every file has. `LinearMSE` keeps the moments of its rows. A file holds none of the
attributes that describe every training row: the log, `canonical_`, `slack_`, `support_vectors_`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..array_types import Array, MatrixLike
from ..catalog import ESTIMATORS, is_estimator
from .container import Arrays, Meta, all_finite, require
from .model import Model, RecipeLike, provenance_now, provenance_of_data
from .values import decode, encode
from .votes import store_vote

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..estimators.arow import AROW
    from ..estimators.base import LinearClassifier
    from ..estimators.linear_mse import LinearMSE
    from ..estimators.soft_margin import SoftMargin
    from ..online.history import History
    from .model import Model

# Moments of `LinearMSE.fit` are stored up to this size; those of `partial_fit` always.
MAX_MOMENT_BYTES = 16 << 20


# --- estimator -> model ----------------------------------------------------------------------------------------------------


def model_of(
    estimator: LinearClassifier,
    *,
    names: Sequence[str] | Array | None = None,
    recipe: RecipeLike | None = None,
    data: tuple[MatrixLike, npt.ArrayLike] | None = None,
    provenance: dict[str, Any] | None = None,
    running: bool = True,
) -> Model:
    """Convert a fitted estimator to a `Model`.

    Parameters
    ----------
    estimator : LinearClassifier
        A fitted Rosenblatt estimator.
    names : sequence of str, optional
        Names of the features. Default: the estimator's `feature_names_in_`.
    recipe : Recipe, optional
        Turns the model's input, such as the columns of a file, into features.
    data : tuple (X, y), optional
        The training data; their size and digest are added to the provenance.
    provenance : dict, optional
        Further entries of the provenance, such as a file name or a command.
    running : bool, default=True
        Keep the state that `partial_fit`, `warm_start` and `Model.estimator` need. False keeps what prediction needs.

    Returns
    -------
    Model
        The model. It shares its arrays with the estimator.

    Raises
    ------
    TypeError
        If `estimator` is not a Rosenblatt estimator.
    ValueError
        If it is not fitted.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.models.state import model_of
    >>> model_of(rb.Perceptron().fit([[-1.0], [1.0]], ["no", "yes"]))
    <Model: Perceptron, 1 feature, classes no, yes>
    """
    if not is_estimator(estimator):
        raise TypeError(f"model_of expects a Rosenblatt estimator, got {type(estimator).__name__}")
    kind, fitted = type(estimator).__name__, vars(estimator)
    if "classes_" not in fitted:
        raise ValueError(f"this {kind} is not fitted yet: call fit before saving it")
    own_names = fitted.get("feature_names_in_")
    names = own_names if names is None else names
    arrays: Arrays = {}
    return Model(
        kind=kind,
        parameters=_as_python(estimator.get_params(deep=False)),
        classes=estimator.classes_,
        coef=fitted.get("coef_"),
        intercept=fitted.get("intercept_"),
        pairs=estimator._multiclass == "ovo" and len(estimator.classes_) > 2,
        votes=None if fitted.get("coef_") is not None else tuple(store_vote(vote) for vote in _votes(estimator)),
        names=None if names is None else tuple(str(name) for name in names),
        recipe=recipe,
        stop=estimator.stop_,
        n_iter=_as_python(fitted.get("n_iter_")),
        n_updates=fitted.get("n_updates_"),
        provenance={**provenance_now(), **(provenance or {}), **({} if data is None else provenance_of_data(*data))},
        more=(_encode_state(estimator, own_names is not None, arrays), arrays) if running else None,
    )


def _votes(estimator: Any) -> Any:
    return estimator._votes or estimator._run.votes(estimator._multiclass == "ovr", estimator.vote_count)


def _as_python(value: Any) -> Any:
    """Convert NumPy scalars to Python's, so that a loaded parameter equals the saved one."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(_as_python(each) for each in value)
    if type(value) is dict:
        return {_as_python(key): _as_python(each) for key, each in value.items()}
    return value


def _encode_state(estimator: Any, named: bool, arrays: Arrays) -> Meta:
    """Encode the fitted attributes and the running state; arrays are added to `arrays`."""
    fitted, kind = vars(estimator), ESTIMATORS[type(estimator).__name__]
    present = [name for name in kind.attributes if name in fitted]
    meta: Meta = {
        "named": named,
        "fitted": {name: encode(fitted[name], f"fitted.{name}", arrays) for name in present},
        "certificate": encode(estimator.stop_.certificate, "", {}),
    }
    if "proof_" in fitted and not any(fitted["proof_"]):
        meta["fitted"]["proof_"] = encode(fitted["proof_"], "", {})  # proofs themselves are not stored
    return meta if kind.state is None else meta | _STATES[kind.state].encode(estimator, arrays)


# --- model -> estimator ----------------------------------------------------------------------------------------------------


def estimator_of(model: Model) -> LinearClassifier:
    """Return the estimator that `model_of` converted, without its log."""
    if model.more is None or "filter" in model.more[0]:
        raise ValueError(f"this {model.kind} model was saved for prediction only and cannot become an estimator")
    meta, arrays = model.more
    estimator: LinearClassifier = ESTIMATORS[model.kind].load(model.kind)(**model.parameters)
    attributes: dict[str, Any] = {"classes_": model.classes, "stop_": model.stop, "n_features_in_": model.n_features}
    if model.coef is not None:
        attributes.update(coef_=model.coef, intercept_=model.intercept)
    if model.n_iter is not None:
        attributes["n_iter_"] = model.n_iter
    if model.n_updates is not None:
        attributes["n_updates_"] = model.n_updates
    if meta["named"] and model.names is not None:
        attributes["feature_names_in_"] = np.array(model.names, object)
    estimator.__dict__.update(attributes)
    _restore_state(estimator, model, meta, arrays)
    return estimator


def _restore_state(estimator: Any, model: Model, meta: Meta, arrays: Arrays) -> None:
    kind, fitted = ESTIMATORS[model.kind], vars(estimator)
    for name, encoded in meta["fitted"].items():
        require(name in kind.attributes or name == "proof_", f"{model.kind} has no attribute {name!r:.40}")
        fitted[name] = decode(encoded, arrays)
    if meta["certificate"] is not None and model.stop is not None:
        fitted["stop_"] = replace(model.stop, certificate=decode(meta["certificate"], {}))
    if kind.state is not None:
        _STATES[kind.state].restore(estimator, model, meta, arrays)


# --- runs ------------------------------------------------------------------------------------------------------------------


def encode_run(estimator: Any, arrays: Arrays) -> Meta:
    """Encode the run of an `OnlineClassifier`. Weights that equal the model's are not stored twice."""
    run, coef = estimator._run, vars(estimator).get("coef_")
    state, sums = run.state, run.sums
    if estimator._keep == "average" and sums is None and len(run.classes) > 1:
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
    joint = len(coef) > 1 and estimator._multiclass == "joint"
    counted = counts.dtype == np.int64 and counts.shape == (1 if joint else len(coef),)
    require(counted and (counts >= 0).all(), "AROW: the update counts are invalid")
    estimator._gaussian = GaussianWeights(coef.copy(), bias, variances, bias_variances, counts)
    estimator.variances_, estimator._classes_fixed = variances.copy(), meta["gaussian"]["fixed"] is True


def _with_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with a prefix, under the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


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


# --- the kinds of state ----------------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """How a kind of state, `EstimatorEntry.state`, is encoded and restored."""

    encode: Callable[[Any, Arrays], Meta]
    restore: Callable[[Any, Model, Meta, Arrays], None]


_STATES = {
    "run": _State(encode_run, restore_run),
    "gaussian": _State(encode_gaussian, restore_gaussian),
    "moments": _State(encode_moments, restore_moments),
    "solutions": _State(encode_solutions, restore_solutions),
}
