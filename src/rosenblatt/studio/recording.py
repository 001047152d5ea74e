"""A run as JSON for the page: the first weights and the log, or frames; curves, readings, and why it stopped."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..array_types import Array, FloatArray
from ..catalog import ALGORITHMS
from ..estimators.base import LinearClassifier
from ..estimators.online_parameters import check_vote_count
from ..estimators.run_readings import with_rows, without_names
from ..kernels.linear.schemes import Joint, Rest
from ..online.readings import births, vote_weights
from ..online.update_log import UpdateLog
from ..reporting.story import evenly
from ..reporting.text import plural
from .arrays import Packed, finite, pack
from .curves import (
    Curves,
    Data,
    Pocket,
    averages_per_update,
    classes_of,
    curves_of_frames,
    curves_of_log,
    hypotheses_of,
    objective_of,
    start_of,
    weights_per_update,
)
from .fitting import code_of, fit_request
from .menu import algorithm_of
from .run_request import Features, RequestError, parse_request
from .solver_paths import Frames, describe_margin, one_frame, path_of
from .texts import stop_sentence

MAX_AVERAGE_VALUES = 1 << 17  # values of averaged weights that are sent
OVERFLOW_MESSAGE = "numbers became too large for floating point; standardize the columns or scale the points to about 1"


def run(request: object) -> dict[str, Any]:
    """Answer a request of the page for a run; raise `RequestError` if it is not valid or cannot be carried out."""
    started = time.perf_counter()
    parsed = parse_request(request)
    fit = fit_request(parsed)
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            recording = record(
                fit.model,
                parsed.points,
                parsed.labels,
                features=parsed.features,
                algorithm=parsed.algorithm,
                frames=None if parsed.choice.logged else path_of(fit, parsed),
                cut=fit.cut,
                code=code_of(parsed, fit),
            )
    except ArithmeticError as error:
        raise RequestError(f"{parsed.choice.title}: {OVERFLOW_MESSAGE}") from error
    return recording | {"seconds": time.perf_counter() - started}


def record(
    model: LinearClassifier,
    points: ArrayLike,
    labels: ArrayLike,
    *,
    features: Features | None = None,
    algorithm: str | None = None,
    frames: Frames | None = None,
    cut: str | None = None,
    code: str = "",
) -> dict[str, Any]:
    """Return the run of a fitted model as JSON for the page, without fitting again.

    Parameters
    ----------
    model : LinearClassifier
        The fitted model.
    points, labels : array-like
        The training points, before features are computed, and their labels.
    features : Features, default=None
        The features of the points; by default the points themselves.
    algorithm : str, default=None
        Name in the catalog; by default found from the model.
    frames : Frames, default=None
        The path of a batch solver; by default its solution only.
    cut : str, default=None
        Why the run is shorter than requested.
    code : str, default=""
        Python code that repeats the run.
    """
    started = time.perf_counter()
    features = Features() if features is None else features
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or model.n_features_in_ != features.width:
        raise RequestError(f"the studio shows models with two columns; this one has {model.n_features_in_}")
    name = algorithm_of(model) if algorithm is None else algorithm
    rows = features.rows(points)
    try:
        model = with_rows(model, rows, labels)
    except ValueError as error:
        raise RequestError(f"X is not what the model was fitted on: {error}") from error
    log = model._update_log
    if log is None and "coef_" not in vars(model):
        remedy = "fit it with log=True, and show it before it is saved: model files do not hold logs"
        raise RequestError(f"a voted perceptron is shown with its log, and this model has none; {remedy}")
    log = None if log is None else log._whole()
    if log is not None and log._record.problem.n_rows != len(points):
        fitted = plural(log._record.problem.n_rows, "row")
        raise RequestError(f"the model was fitted on {fitted}, but there are {plural(len(points), 'point')}")
    k = len(model.classes_)
    scheme = _scheme(model, log, k)
    x0 = float(model.fit_intercept) if log is None else log._record.problem.x0  # a solver adds the intercept with x_0 = 1
    codes = np.searchsorted(model.classes_, np.asarray(labels)).astype(np.intp)
    data = Data(rows, codes, k, scheme, x0)
    model = model if log is None else _with_votes(model, log)
    run = _log_json(model, log, data) if log is not None else _frames_json(model, frames or one_frame(model), data)
    stop = model.stop_
    return {
        "algorithm": name,
        "title": ALGORITHMS[name].title,
        "scheme": scheme,
        "classes": _class_codes(model.classes_),
        "features": {
            "exponents": features.exponents, "names": features.names,
            "center": list(features.center), "scale": list(features.scale), "x0": x0,
        },
        "pairs": [[a, b] for a in range(k) for b in range(a + 1, k)] if scheme == "pairs" else None,
        "cut": cut,
        "svm": describe_margin(model),
        "stop": {"reason": stop.reason, "sentence": stop_sentence(model, features.degree), "details": stop.sentence},
        "code": code,
        "seconds": time.perf_counter() - started,
    } | run  # fmt: skip


def _with_votes(model: LinearClassifier, log: UpdateLog) -> Any:
    """Return the model, or a copy whose votes count lifetimes if there would be no votes otherwise."""
    counted: Any = model
    try:
        check_vote_count(counted, "vote")
        _votes(counted, log, log.n_updates)
    except ValueError:
        counted = without_names(model)
        counted.vote_count = "lifetime"
    return counted


def _log_json(model: LinearClassifier, log: UpdateLog, data: Data) -> dict[str, Any]:
    record = log._record
    weights = weights_per_update(log)
    updates, heads, width = len(weights) - 1, weights.shape[1], weights.shape[2]
    objective = objective_of(model)
    some = evenly(updates + 1, max(2, MAX_AVERAGE_VALUES // (heads * width)))
    curves = curves_of_log(log, weights, data, objective)
    return {
        "heads": heads,
        "start": pack(start_of(log), "f64"),
        "log": {
            "rows": pack(log.rows, "i32"),
            "steps": pack(log.steps, "f64"),
            "times": pack(log.times - record.visited_before, "i32"),
            "others": pack(record.others, "i32"),
            "edges": pack(record.edges, "i32"),
            "passes": np.searchsorted(record.edges, log.passes).tolist(),
        },
        "frames": None,
        "updates": updates,
        "curves": _curves_json(curves, objective.title),
        "average": {"at": pack(some, "i32"), "weights": _pack_small(averages_per_update(log, weights, some))},
        "vote_counts": pack(_votes(model, log, updates), "f64"),
        "keep": model._keep,
        "readings": _readings(model, curves, data),
    }


def _frames_json(model: LinearClassifier, frames: Frames, data: Data) -> dict[str, Any]:
    weights = frames.weights
    objective = objective_of(model)
    return {
        "heads": weights.shape[1],
        "start": pack(weights[0], "f64"),
        "log": None,
        "frames": {
            "weights": pack(weights, "f64"), "titles": frames.titles,
            "support": frames.support, "margin": frames.margin and [finite(each) for each in frames.margin],
        },
        "updates": len(weights) - 1,
        "curves": _curves_json(curves_of_frames(weights, data, objective), objective.title),
        "average": None,
        "vote_counts": None,
        "keep": "last",
        "readings": {"last": _errors(model, data)},
    }  # fmt: skip


def _curves_json(curves: Curves, title: str | None) -> dict[str, Any]:
    pocket = None if curves.pocket is None else _pocket_json(curves.pocket)
    if pocket is not None and curves.pockets is not None:
        pocket["heads"] = [_pocket_json(each) for each in curves.pockets]
    return {
        "at": pack(curves.at, "i32"),
        "errors": pack(curves.errors, "i32"),
        "loss": pack(curves.loss, "f64"),
        "loss_title": title,
        "pocket": pocket,
    }


def _pack_small(numbers: Array) -> Packed:
    """Pack as float32 if its range holds all values, else as float64."""
    sizes, range_ = abs(numbers), np.finfo(np.float32)
    return pack(numbers, "f32" if ((sizes == 0.0) | ((sizes > range_.tiny) & (sizes < range_.max))).all() else "f64")


def _pocket_json(pocket: Pocket) -> dict[str, Any]:
    return {"t": pocket.updates.tolist(), "errors": pocket.errors.astype(int).tolist()}


def _readings(model: LinearClassifier, curves: Curves, data: Data) -> dict[str, int]:
    """Return the training errors of the predictions of each reading; the pocket's are known from the curves."""
    found = {keep: _errors(model.reading(keep), data) for keep in ("last", "average", "vote")}
    if model._keep == "pocket":
        return found | {"pocket": _errors(model, data)}
    assert curves.pocket_weights is not None  # the curves are those of a log
    return found | {"pocket": int((classes_of(curves.pocket_weights, data) != data.codes).sum())}


def _errors(model: LinearClassifier, data: Data) -> int:
    return int((np.searchsorted(model.classes_, without_names(model).predict(data.X)) != data.codes).sum())


def _votes(model: LinearClassifier, log: UpdateLog, updates: int) -> FloatArray:
    """Return the votes of each hypothesis; for one-vs-rest (updates + 1) x heads, nonzero where a head changed."""
    record = log._record
    if not isinstance(record.labels, Rest):
        votes: FloatArray = vote_weights(
            births(log) - record.visited_before, int(log.durations.max()) - record.visited_before, model.vote_count
        )
        return votes
    found = np.zeros((updates + 1, record.n_heads))
    for h, run in enumerate(log.runs()):
        lives = vote_weights(
            births(run) - record.visited_before, int(run.durations[0]) - record.visited_before, model.vote_count
        )
        found[hypotheses_of(log, h), h] = lives
    return found


def _scheme(model: LinearClassifier, log: UpdateLog | None, k: int) -> str:
    """Return how the heads of a model choose among k classes: binary, joint, rest or pairs."""
    if k == 2:
        return "binary"
    if log is not None:
        return "joint" if isinstance(log._record.labels, Joint) else "rest"
    return {"joint": "joint", "crammer_singer": "joint", "multinomial": "joint", "ovo": "pairs"}.get(model._multiclass, "rest")


def _class_codes(classes: Array) -> list[int]:
    """Return the class codes of the page: small integer labels as they are, others by position."""
    small = classes.dtype.kind in "iu" and classes.min() >= 0 and classes.max() < 6
    return classes.tolist() if small else list(range(len(classes)))
