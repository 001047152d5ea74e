"""Estimators as models and back: what each of them keeps, and what of it a file holds.

A file does not hold what speaks of every training row one by one: the log, `canonical_`, `slack_`, `support_vectors_`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .container import Parts, all_finite, require
from .model import Model, provenance_now, provenance_of_data
from .values import decode, encode
from .votes import ballot_of

if TYPE_CHECKING:
    from ..online.history import History


# --- What AROW believes as arrays, so that `partial_fit` and `warm_start` go on from a file as they would have gone on without
# it.
#
# The weights are the model's own; beside them are their variances, weight 0 and its variance, and the updates of each run.


def belief_to_parts(estimator: Any) -> Parts:
    arrays = {name: array for name, array in vars(estimator._belief).items() if name != "weights"}
    return {"fixed": bool(estimator._classes_fixed)}, {f"belief.{name}": array for name, array in arrays.items()}


def restore_belief(estimator: Any, meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    from ..online.second_order import GaussianWeights

    coef, told = estimator.coef_, {name.removeprefix("belief."): array for name, array in arrays.items()}
    floats = [coef, *(told[name] for name in ("bias", "variances", "bias_variances"))]
    require(all(each.dtype == np.float64 for each in floats), "has beliefs that are no float64")
    require(told["variances"].shape == coef.shape, "has variances of another shape than its weights")
    require(told["bias"].shape == told["bias_variances"].shape == (len(coef),), "has beliefs about another bias")
    require((told["variances"] >= 0).all() and (told["bias_variances"] >= 0).all(), "has variances under 0")
    counts, joint = told["counts"], len(coef) > 1 and estimator.multiclass == "joint"
    require(counts.dtype == np.int64 and counts.shape == (1 if joint else len(coef),), "has other counts of updates")
    require((counts >= 0).all(), "has fewer updates than none")
    estimator._belief = GaussianWeights(coef.copy(), told["bias"], told["variances"], told["bias_variances"], counts)
    estimator.variances_, estimator._classes_fixed = told["variances"].copy(), meta["fixed"] is True


# --- The solutions of margin machines, from which `SoftMargin(warm_start=True)` goes on: what they cost their rows, beside the
# support and the multipliers that every file has.


def solutions_to_parts(estimator: Any) -> Parts:
    """Costs that are the same for all rows are one number."""
    meta, arrays = [], {}
    for h, solution in enumerate(estimator._solutions):
        costs = getattr(solution, "costs", None)
        if costs is not None:
            arrays[f"solutions.{h}"] = costs[:1] if costs.strides == (0,) else costs
        meta.append({"rows": len(solution.multipliers), "primal": float(solution.primal), "dual": float(solution.dual)})
    return {"each": meta}, arrays


def restore_solutions(estimator: Any, meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    from ..svm.crammer_singer import CrammerSinger
    from ..svm.problem import Solution

    solutions: list[Any] = []
    for h, told in enumerate(meta["each"]):
        n, primal, dual = told["rows"], float(told["primal"]), float(told["dual"])
        support, found = estimator.support_[h], estimator.multipliers_[h]
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


# --- A run so far as arrays, so that `partial_fit` and `warm_start` go on from a file as they would have gone on without it.
#
# Kept are the weights, their counts, the clock and the sums of the average; not the log, which would hold training rows.


def run_to_parts(run: History, keep: str, coef: Any | None) -> Parts:
    """Weights that are the model's own, to the bit, are not stored twice."""
    state, sums = run.state, run.sums
    if keep == "average" and sums is None and len(run.classes) > 1:
        sums = run._sums()
    same = coef is not None and coef.dtype == state.w.dtype and np.array_equal(coef, run.heads)
    meta = {
        "x0": float(state.x0),
        "dense": bool(run.dense),
        "seen": int(run.seen),
        "logged": bool(run.logged and not run.logs),  # nothing moved so far
        "own_weights": not same,
    }
    arrays = {"bias": state.bias, "counts": state.counts, "sqnorms": state.sqnorms, "durations": run.durations}
    if not same:
        arrays["w"] = state.w
    if sums is not None:
        arrays.update({"sums.w": sums.w, "sums.bias": sums.bias})
    return meta, {f"run.{name}": array for name, array in arrays.items()}


def run_from_parts(meta: dict[str, Any], arrays: dict[str, Any], classes: Any, coef: Any | None, width: int) -> History:
    from ..kernels.linear.schemes import State
    from ..online.history import History

    told = {name.removeprefix("run."): array for name, array in arrays.items()}
    dense, k = meta["dense"] is True, len(classes)
    w = told["w"] if meta["own_weights"] else _laid_out(coef, dense, k)
    heads = 1 if k == 2 else k
    shape = (width,) if k == 2 else (heads, width) if dense else (width, heads)
    require(w.dtype in (np.float64, np.float32) and w.shape == shape, "has a run with weights of another shape")
    bias, counts, durations = (told[name] for name in ("bias", "counts", "durations"))
    require(bias.dtype == np.float64 and bias.shape == (heads,), "has a run with another bias")
    require(counts.dtype == durations.dtype == np.int64, "has a run with other counts")
    require(counts.shape == durations.shape == told["sqnorms"].shape, "has a run with other counts")
    require(counts.ndim == 1 and len(counts) in (1, heads) and (counts >= 0).all(), "has a run with other counts")
    require(
        (durations >= 0).all() and type(meta["seen"]) is int and meta["seen"] >= 0, "has a run that saw fewer rows than none"
    )
    require(told["sqnorms"].dtype == np.float64, "has a run with other norms")
    finite = [w, bias, told["sqnorms"], *(told[name] for name in ("sums.w", "sums.bias") if name in told)]
    require(all(map(all_finite, finite)) and np.isfinite(float(meta["x0"])), "has a run with weights that are not finite")
    state = State(np.ascontiguousarray(w), bias, counts, told["sqnorms"], np.zeros(heads), float(meta["x0"]))
    sums = None
    if "sums.w" in told:
        require(
            told["sums.w"].shape == w.shape and told["sums.bias"].shape == bias.shape, "has a run with sums of another shape"
        )
        require(told["sums.w"].dtype == told["sums.bias"].dtype == np.float64, "has a run with other sums")
        sums = State(np.ascontiguousarray(told["sums.w"]), told["sums.bias"], *state[2:])
    return History(classes, state, dense, meta["seen"], durations, sums, (), meta["logged"] is True)


def _laid_out(coef: Any, dense: bool, k: int) -> Any:
    require(coef is not None, "has a run without weights")
    return np.array(coef[0] if k == 2 else coef if dense else coef.T, order="C")


# ---

# A fit's moments, from which LinearMSE.partial_fit could go on, are kept up to this size; those of a stream always.
MOMENTS = 16 << 20


@dataclass(frozen=True)
class Kind:
    home: str
    attributes: tuple[str, ...]  # that it has beside those that all models have
    online: bool = False


KINDS = {
    "AROW": Kind("arow", ()),
    "LinearMSE": Kind("linear_mse", ("mse_", "rank_", "solver_")),
    "MaxMargin": Kind("max_margin", ("support_", "multipliers_", "margin_", "gap_", "solver_")),
    "NonlinearMSE": Kind("nonlinear_mse", ("loss_", "gradient_norm_", "saturated_", "_auto", "pocket_errors_"), online=True),
    "PassiveAggressive": Kind("passive_aggressive", ("pocket_errors_",), online=True),
    "Perceptron": Kind("perceptron", ("pocket_errors_", "_margin_used", "certificate_"), online=True),
    "SoftMargin": Kind(
        "soft_margin", ("support_", "multipliers_", "margin_", "gap_", "dual_gap_", "objective_", "solver_", "_scheme")
    ),
}


def class_of(kind: str) -> Any:
    return getattr(importlib.import_module(f"..estimators.{KINDS[kind].home}", __package__), kind)


def is_estimator(thing: Any) -> bool:
    return type(thing).__name__ in KINDS and type(thing).__module__.startswith("rosenblatt.estimators.")


# --- estimator -> model ----------------------------------------------------------------------------------------------------


def model_of(
    estimator: Any,
    *,
    names: Any = None,
    recipe: Any = None,
    data: Any = None,
    provenance: dict[str, Any] | None = None,
    running: bool = True,
) -> Model:
    """A fitted estimator as a `Model`.

    names : of the features; `feature_names_in_` where they are not given.
    recipe : what makes rows of features from what the model will be given.
    data : (X, y) it was trained on, for their digest.
    provenance : more of it: the name of a file, a command.
    running : keep what `partial_fit`, `warm_start` and `Model.estimator` need; False: what prediction needs.
    """
    if not is_estimator(estimator):
        raise TypeError(f"a Rosenblatt estimator or a Model can be saved, got {type(estimator).__name__}")
    kind = type(estimator).__name__
    fitted = vars(estimator)
    if "classes_" not in fitted:
        raise ValueError(f"this {kind} is not fitted yet: call fit before saving it")
    coef, votes = fitted.get("coef_"), None
    if coef is None:
        found = fitted["_votes"] or estimator._run.votes(estimator.multiclass == "ovr", estimator.vote_count)
        votes = tuple(ballot_of(vote) for vote in found)
    named = fitted.get("feature_names_in_")
    names = named if names is None else names
    arrays: dict[str, Any] = {}
    return Model(
        kind=kind,
        parameters=_plain(estimator.get_params(deep=False)),
        classes=estimator.classes_,
        coef=coef,
        intercept=fitted.get("intercept_"),
        pairs=fitted.get("multiclass") == "ovo" and len(estimator.classes_) > 2,
        ballots=votes,
        names=None if names is None else tuple(str(name) for name in names),
        recipe=recipe,
        stop=estimator.stop_,
        n_iter=_plain(fitted.get("n_iter_")),
        n_updates=fitted.get("n_updates_"),
        provenance={**provenance_now(), **(provenance or {}), **({} if data is None else provenance_of_data(*data))},
        more=(_more(estimator, named is not None, arrays), arrays) if running else None,
    )


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's own, so that what is saved is what is loaded."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(_plain(each) for each in value)
    if type(value) is dict:
        return {_plain(key): _plain(each) for key, each in value.items()}
    return value


def _more(estimator: Any, named: bool, arrays: dict[str, Any]) -> dict[str, Any]:
    fitted, kind = vars(estimator), KINDS[type(estimator).__name__]
    there = [name for name in kind.attributes if name in fitted]
    more: dict[str, Any] = {
        "named": named,
        "fitted": {name: encode(fitted[name], f"fitted.{name}", arrays) for name in there},
        "certificate": encode(estimator.stop_.certificate, "", {}),
    }
    if "proof_" in fitted and not any(fitted["proof_"]):
        more["fitted"]["proof_"] = encode(fitted["proof_"], "", {})  # there is none
    if kind.online:
        more["fixed"] = bool(fitted["_classes_fixed"])
        more["run"], kept = run_to_parts(estimator._run, estimator.keep, fitted.get("coef_"))
        arrays.update(kept)
    elif "_belief" in fitted:
        more["belief"], kept = belief_to_parts(estimator)
        arrays.update(kept)
    elif fitted.get("warm_start") and "_solutions" in fitted:
        more["solutions"], kept = solutions_to_parts(estimator)
        arrays.update(kept)
    elif "_stream" in fitted:
        stream, moments = fitted["_stream"], fitted.get("_moments")
        if stream is not None:
            more["stream"] = encode((stream.R, stream.rows, stream.fixed), "stream", arrays)
        elif moments is not None and sum(part.nbytes for part in moments[:3] if part is not None) <= MOMENTS:
            more["moments"] = encode(moments, "moments", arrays)
    return more


# --- model -> estimator ----------------------------------------------------------------------------------------------------


def estimator_of(model: Model) -> Any:
    """The estimator that `model_of` was given, without its log."""
    if model.more is None or "filter" in model.more[0]:
        raise ValueError(f"this model of a {model.kind} was saved for prediction only: there is no estimator to go on with")
    more, arrays = model.more
    estimator = class_of(model.kind)(**model.parameters)
    own = {"classes_": model.classes, "stop_": model.stop, "n_features_in_": model.n_features}
    if model.coef is not None:
        own.update(coef_=model.coef, intercept_=model.intercept)
    if model.n_iter is not None:
        own["n_iter_"] = model.n_iter
    if model.n_updates is not None:
        own["n_updates_"] = model.n_updates
    if more["named"] and model.names is not None:
        own["feature_names_in_"] = np.array(model.names, object)
    vars(estimator).update(own)
    _restore(estimator, model, more, arrays)
    return estimator


def _restore(estimator: Any, model: Model, more: dict[str, Any], arrays: dict[str, Any]) -> None:
    kind, fitted = KINDS[model.kind], vars(estimator)
    for name, told in more["fitted"].items():
        require(name in kind.attributes or name == "proof_", f"has an attribute {name!r:.40} that {model.kind} has not")
        fitted[name] = decode(told, arrays)
    if more["certificate"] is not None and model.stop is not None:
        stop = model.stop
        fitted["stop_"] = type(stop)(stop.reason, stop.sentence, stop.heads, decode(more["certificate"], {}))
    if kind.online:
        kept = {name: array for name, array in arrays.items() if name.startswith("run.")}
        fitted["_run"] = run_from_parts(more["run"], kept, model.classes, model.coef, model.n_features)
        fitted["_classes_fixed"], fitted["log_"] = more["fixed"] is True, None
        if model.ballots is not None:
            fitted["_votes"] = [ballot.vote() for ballot in model.ballots]
    elif model.kind == "AROW":
        kept = {name: array for name, array in arrays.items() if name.startswith("belief.")}
        restore_belief(estimator, more["belief"], kept)
    elif model.kind == "LinearMSE":
        _restore_moments(estimator, model, more, arrays)
    elif model.kind == "SoftMargin" and "solutions" in more:
        restore_solutions(estimator, more["solutions"], arrays)


def _restore_moments(estimator: Any, model: Model, more: dict[str, Any], arrays: dict[str, Any]) -> None:
    from ..estimators.linear_mse import _Stream

    d, k = model.n_features, len(model.classes)
    stream, moments = None, (None, None, None, 0)
    if "stream" in more:
        R, rows, fixed = decode(more["stream"], arrays)
        _check_square(R, 1 + d + k)
        require(type(rows) is int and rows >= 0, "has a stream of fewer rows than none")
        stream = _Stream(R, rows, model.classes, fixed is True)
    elif "moments" in more:
        moments = decode(more["moments"], arrays)
        total, shift, R, rows = moments
        width = 1 + d + (1 if k == 2 else k)
        for part in (total, R):
            if part is not None:
                _check_square(part, width)
        require(shift is None or shift.shape == (d,), "has moments around another place")
        require(type(rows) is int and rows >= 0, "has moments of fewer rows than none")
    estimator._stream, estimator._moments = stream, moments


def _check_square(R: Any, width: int) -> None:
    require(R.dtype == np.float64 and R.ndim == 2 and R.shape[1] == width, "has moments of another shape")
    require(len(R) <= width and np.isfinite(R).all(), "has moments that are not finite, or too many")
