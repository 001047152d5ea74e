"""Estimators as models and back, with the state from which `partial_fit` and `warm_start` continue bit for bit.

Perceptrons and their relatives keep a run: weights, update counts, the number of rows seen and the sums of the average.
AROW keeps the mean and the variance of its weights. `SoftMargin(warm_start=True)` keeps its solutions. `LinearMSE` keeps the
moments of its rows. A file holds none of the attributes that describe every training row: the log, `canonical_`, `slack_`,
`support_vectors_`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..array_types import Array, MatrixLike
from ..catalog import ESTIMATORS, is_estimator
from .attributes import check_attributes, check_estimator_parameters, check_init_shape, is_certificate
from .container import Arrays, Meta, all_finite
from .model import Model, RecipeLike
from .provenance import provenance_now, provenance_of_data
from .solutions import encode_solutions, restore_solutions
from .strict_json import require
from .values import decode, encode
from .votes import store_vote

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..estimators.arow import AROW
    from ..estimators.base import LinearClassifier
    from ..estimators.linear_mse import LinearMSE
    from ..online.history import History
    from ..probabilities.maps import ProbabilityMap
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
    estimator._refuse_labels("this", "estimators_[j]")
    check_estimator_parameters(estimator)  # `set_params` may have changed them since the fit
    check_init_shape(estimator, len(estimator.classes_), estimator.n_features_in_)
    own_names = fitted.get("feature_names_in_")
    names = own_names if names is None else names
    arrays: Arrays = {}
    return Model(
        kind=kind,
        parameters=as_python(estimator.get_params(deep=False)),
        classes=estimator.classes_,
        coef=fitted.get("coef_"),
        intercept=fitted.get("intercept_"),
        pairs=estimator._multiclass == "ovo" and len(estimator.classes_) > 2,
        votes=None if fitted.get("coef_") is not None else tuple(store_vote(vote) for vote in _votes(estimator)),
        probability_map=estimator._probability_map,
        names=None if names is None else tuple(str(name) for name in names),
        recipe=recipe,
        stop=estimator.stop_,
        n_iter=as_python(fitted.get("n_iter_")),
        n_updates=fitted.get("n_updates_"),
        provenance={**provenance_now(), **(provenance or {}), **({} if data is None else provenance_of_data(*data))},
        more=(_encode_state(estimator, own_names is not None, arrays), arrays) if running else None,
    )


def _votes(estimator: Any) -> Any:
    return estimator._votes or estimator._run.votes(estimator._multiclass == "ovr", estimator.vote_count)


def as_python(value: Any) -> Any:
    """Convert NumPy scalars to Python's, so that a loaded parameter equals the saved one."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(as_python(each) for each in value)
    if type(value) is dict:
        return {as_python(key): as_python(each) for key, each in value.items()}
    return value


def _encode_state(estimator: Any, named: bool, arrays: Arrays) -> Meta:
    """Encode the fitted attributes and the running state; arrays are added to `arrays`."""
    fitted, kind = vars(estimator), ESTIMATORS[type(estimator).__name__]
    present = [name for name in kind.attributes if name in fitted and name not in estimator._left_out_of_files]
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
    meta, arrays = model.more[0], dict(model.more[1])
    kind = ESTIMATORS[model.kind].load(model.kind)
    unknown = sorted(set(model.parameters) - set(kind._get_param_names()))
    require(not unknown, f"unknown parameter {''.join(unknown[:1])!r:.40}")
    estimator: LinearClassifier = kind(**model.parameters)
    check_estimator_parameters(estimator)
    check_init_shape(estimator, len(model.classes), model.n_features)
    require(model.stop is not None, "the reason why the run ended is missing")
    require(model.n_iter is not None, "the number of iterations is missing")
    counts_updates = ESTIMATORS[model.kind].state in ("run", "gaussian")
    require((model.n_updates is not None) == counts_updates, f"the number of updates is not that of a {model.kind}")
    require(model.votes is None or ESTIMATORS[model.kind].state == "run", f"{model.kind} does not vote")
    attributes: dict[str, Any] = {"classes_": model.classes, "stop_": model.stop, "n_features_in_": model.n_features}
    attributes["n_iter_"] = model.n_iter
    if model.coef is not None:
        attributes.update(coef_=model.coef, intercept_=model.intercept)
    if model.n_updates is not None:
        attributes["n_updates_"] = model.n_updates
    if meta["named"] and model.names is not None:
        attributes["feature_names_in_"] = np.array(model.names, object)
    estimator.__dict__.update(attributes)
    _restore_state(estimator, model, meta, arrays)
    _restore_probabilities(estimator, model.probability_map)
    return estimator


def _restore_probabilities(estimator: LinearClassifier, found: ProbabilityMap | None) -> None:
    """Set the map of a calibrated estimator; any other has the map of its class, or none."""
    if found is None:
        return
    if estimator.calibrate is not None:
        estimator.calibration_ = found
        own: ProbabilityMap | None = estimator._probability_map
    else:
        own = estimator._native_map
    require(own is not None and found.equals(own), "the map from scores to probabilities is not that of the estimator")


def _restore_state(estimator: Any, model: Model, meta: Meta, arrays: Arrays) -> None:
    """Set the fitted attributes and the running state; every array is used once."""
    kind = ESTIMATORS[model.kind]
    require(isinstance(meta["fitted"], dict) and type(meta["named"]) is bool, "the state of the estimator is invalid")
    for name in meta["fitted"]:
        known = name in kind.attributes or (name == "proof_" and model.kind == "MaxMargin")
        require(known, f"{model.kind} has no attribute {name!r:.40}")
    fitted = {name: decode(encoded, arrays) for name, encoded in meta["fitted"].items()}
    check_attributes(model, fitted)
    estimator.__dict__.update(fitted)
    pairs = estimator._multiclass == "ovo" and len(model.classes) > 2
    require(model.pairs == pairs, "the planes are those of another multiclass scheme")
    certificate = decode(meta["certificate"], {})
    require(certificate is None or is_certificate(certificate), "the certificate of the run is invalid")
    if certificate is not None and model.stop is not None:
        estimator.stop_ = replace(model.stop, certificate=certificate)
    used = {"named", "fitted", "certificate"}
    if kind.state is not None:
        used |= _STATES[kind.state].keys
        _STATES[kind.state].restore(estimator, model, meta, arrays)
    require(set(meta) <= used and not arrays, "the state of the estimator has unknown parts")


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
    averaged = estimator._keep == "average" and len(model.classes) > 1
    require(not averaged or "run.sums.w" in arrays, "run: the sums of the average are missing")
    estimator._run = _run(model, meta["run"], _pop_prefix(arrays, "run."))
    estimator._classes_fixed, estimator.log_ = _flag(meta["fixed"]), None
    if model.votes is not None:
        estimator._votes = [vote.restore() for vote in model.votes]


def _run(model: Model, meta: Meta, parts: Arrays) -> History:
    """Decode a run after checking that its arrays fit the model's classes and features."""
    from ..kernels.linear.schemes import State
    from ..online.history import History

    require(set(meta) == {"x0", "dense", "seen", "logged", "own_weights"}, "run: a part is missing or unknown")
    dense, k, width = _flag(meta["dense"]), len(model.classes), model.n_features
    wanted = {"bias", "counts", "sqnorms", "durations", *(("w",) if _flag(meta["own_weights"]) else ())}
    require(set(parts) in (wanted, wanted | {"sums.w", "sums.bias"}), "run: an array is missing or unknown")
    w = parts["w"] if meta["own_weights"] else _as_run_weights(model.coef, dense, k)
    heads = 1 if k == 2 else k
    shape = (width,) if k == 2 else (heads, width) if dense else (width, heads)
    require(w.dtype in (np.float64, np.float32) and w.shape == shape, "run: the weights have the wrong type or shape")
    _check_counts(meta, parts, heads)
    finite = [w, parts["bias"], parts["sqnorms"], *(parts[name] for name in ("sums.w", "sums.bias") if name in parts)]
    require(all(map(all_finite, finite)), "run: an array contains NaN or infinity")
    require(type(meta["x0"]) is float and meta["x0"] >= 0.0, "run: x_0 is not a number of at least 0")
    state = State(np.ascontiguousarray(w), parts["bias"], parts["counts"], parts["sqnorms"], np.zeros(heads), meta["x0"])
    sums = None
    if "sums.w" in parts:
        total, total_bias = parts["sums.w"], parts["sums.bias"]
        fits = total.shape == w.shape and total_bias.shape == (heads,)
        require(fits and total.dtype == total_bias.dtype == np.float64, "run: the sums have the wrong type or shape")
        sums = State(np.ascontiguousarray(total), total_bias, *state[2:])
    return History(model.classes, state, dense, meta["seen"], parts["durations"], sums, (), _flag(meta["logged"]))


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

    coef, parts = estimator.coef_, _pop_prefix(arrays, "gaussian.")
    require(set(parts) == {"bias", "variances", "bias_variances", "counts"}, "AROW: an array is missing or unknown")
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
    estimator.variances_, estimator._classes_fixed = variances.copy(), _flag(meta["gaussian"]["fixed"])


def _pop_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """Remove the arrays whose names begin with a prefix, and return them under the rest of their names."""
    return {name.removeprefix(prefix): arrays.pop(name) for name in list(arrays) if name.startswith(prefix)}


def _flag(value: Any) -> bool:
    require(type(value) is bool, "the state of the estimator has a flag that is neither true nor false")
    return bool(value)


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
    require(not ("stream" in meta and "moments" in meta), "the file has moments of a fit and of a stream")
    if "stream" in meta:
        R, rows, fixed = decode(meta["stream"], arrays)
        _check_moments(R, 1 + d + k, rows)
        stream = _Stream(R, rows, model.classes, _flag(fixed))
    elif "moments" in meta:
        moments = decode(meta["moments"], arrays)
        total, shift, R, rows = moments
        width = 1 + d + (1 if k == 2 else k)
        for part in (total, R):
            if part is not None:
                _check_moments(part, width, rows)
        shifted = shift is None or (isinstance(shift, np.ndarray) and shift.dtype == np.float64 and shift.shape == (d,))
        require(type(moments) is tuple and shifted, "moments: the shift has the wrong type or shape")
        require(type(rows) is int and rows >= 0, "moments: the number of rows is invalid")
    estimator._stream, estimator._moments = stream, moments


def _check_moments(R: Array, width: int, rows: object) -> None:
    fits = isinstance(R, np.ndarray) and R.dtype == np.float64 and R.ndim == 2 and R.shape[1] == width and len(R) <= width
    require(fits, "moments: an array has the wrong type or shape")
    require(np.isfinite(R).all(), "moments: an array contains NaN or infinity")
    require(type(rows) is int and rows >= 0, "moments: the number of rows is invalid")


# --- the kinds of state ----------------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """How a kind of state, `EstimatorEntry.state`, is encoded and restored."""

    keys: set[str]  # of the metadata
    encode: Callable[[Any, Arrays], Meta]
    restore: Callable[[Any, Model, Meta, Arrays], None]


_STATES = {
    "run": _State({"fixed", "run"}, encode_run, restore_run),
    "gaussian": _State({"gaussian"}, encode_gaussian, restore_gaussian),
    "moments": _State({"stream", "moments"}, encode_moments, restore_moments),
    "solutions": _State({"solutions"}, encode_solutions, restore_solutions),
}
