"""A run as the page plays it: the log with the weights it starts from, curves, readings, and why it stopped."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np

from ..catalog import ALGORITHMS
from ..kernels.linear.schemes import Joint, Rest
from ..online.readings import births, vote_weights
from ..online.update_log import UpdateLog
from ..reporting.story import evenly
from .arrays import Packed, finite, packed
from .code import code_of, in_points
from .curves import (
    Curves,
    Data,
    Pocket,
    averages_along,
    classes_of,
    curves_of_frames,
    curves_of_log,
    goal_of,
    hypotheses_of,
    start_of,
    weights_along,
)
from .fitting import fitted
from .menu import algorithm_of
from .request import Features, RequestError, asked
from .solver_paths import Frames, margin_machine, one_frame, path_of

# Numbers of averages that are sent.
AVERAGES = 1 << 17
TOO_FAR = "numbers on the way are too large for floats: bring the points to about 1, or have them scaled"


def run(request: Any) -> dict[str, Any]:
    """Fit what the page asks for, and tell it what happened; a `RequestError` where that cannot be done."""
    started = time.perf_counter()
    wanted = asked(request)
    found = fitted(wanted)
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            told = record(
                found.model,
                wanted.points,
                wanted.labels,
                features=wanted.features,
                algorithm=wanted.algorithm,
                frames=None if wanted.choice.online else path_of(found, wanted),
                cut=found.cut,
                code=code_of(wanted, found),
            )
    except ArithmeticError as error:
        raise RequestError(f"{wanted.choice.title}: {TOO_FAR}") from error
    return told | {"seconds": time.perf_counter() - started}


def record(
    model: Any,
    points: Any,
    labels: Any,
    *,
    features: Features | None = None,
    algorithm: str | None = None,
    frames: Frames | None = None,
    cut: str | None = None,
    code: str = "",
) -> dict[str, Any]:
    """What a model that is fitted already did, for the page; nothing is fitted again.

    points, labels : the training rows before `features` were made of them, and what the model was told they are.
    features : how rows were made of points; None: they are the points.
    algorithm : its name in the registry; None: found.
    frames : weights on the way to a model that was solved; None: only where it ended.
    """
    started = time.perf_counter()
    features = Features() if features is None else features
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or model.n_features_in_ != features.width:
        raise RequestError(f"the studio shows models of two columns, and this one has {model.n_features_in_}")
    name = algorithm_of(model) if algorithm is None else algorithm
    log = _whole(model, features.rows(points), labels)
    if log is None and "coef_" not in vars(model):
        raise RequestError("a vote is shown with its run, and this one has not kept its log: use fit, with log=True")
    if log is not None and log._problem.n_rows != len(points):
        raise RequestError(f"the model was fitted on {log._problem.n_rows:,} rows, and there are {len(points):,} points")
    k = len(model.classes_)
    scheme = _scheme(model, log, k)
    x0 = _x0(model) if log is None else log._problem.x0
    codes = np.searchsorted(model.classes_, np.asarray(labels)).astype(np.intp)
    data = Data(features.rows(points), codes, k, scheme, x0)
    told = _of_log(model, log, data) if log is not None else _of_frames(model, frames or one_frame(model), data)
    return {
        "algorithm": name,
        "title": ALGORITHMS[name].title,
        "scheme": scheme,
        "classes": _class_codes(model.classes_),
        "features": {
            "exponents": features.exponents, "names": features.names,
            "centre": list(features.centre), "scale": list(features.scale), "x0": x0,
        },
        "pairs": [[a, b] for a in range(k) for b in range(a + 1, k)] if scheme == "pairs" else None,
        "cut": cut,
        "margin_machine": margin_machine(model),
        "stop": {"reason": model.stop_.reason, "sentence": in_points(model.stop_.sentence)},
        "code": code,
        "seconds": time.perf_counter() - started,
    } | told  # fmt: skip


def _whole(model: Any, rows: Any, labels: Any) -> UpdateLog | None:
    """The model's log, of all rows; one that came from a file has kept only those that moved the weights."""
    log: UpdateLog | None = getattr(model, "log_", None)
    if log is None or not log.is_compact:
        return log
    problem = model._problem(rows, np.searchsorted(model.classes_, np.asarray(labels)), model.classes_, None)
    moved = np.unique(log.rows)
    if len(moved) and (moved[-1] >= len(rows) or not np.array_equal(rows[moved], log.compact()._problem.matrix())):
        raise RequestError("these are not the rows that the model was fitted on")
    return log._spread_over(problem)


def _of_log(model: Any, log: UpdateLog, data: Data) -> dict[str, Any]:
    weights = weights_along(log)
    updates, heads, width = len(weights) - 1, weights.shape[1], weights.shape[2]
    goal = goal_of(model)
    some = evenly(updates + 1, max(2, AVERAGES // (heads * width)))
    curves = curves_of_log(log, weights, data, goal)
    return {
        "heads": heads,
        "start": packed(start_of(log), "f64"),
        "log": {
            "rows": packed(log.rows, "i32"),
            "steps": packed(log.steps, "f64"),
            "times": packed(log.times - log._visited_before, "i32"),
            "others": packed(log._others, "i32"),
            "edges": packed(log._edges, "i32"),
            "passes": np.searchsorted(log._edges, log.passes).tolist(),
        },
        "frames": None,
        "updates": updates,
        "curves": _told(curves, goal.title),
        "average": {"at": packed(some, "i32"), "weights": _as_short(averages_along(log, weights, some))},
        "ballots": packed(_ballots(model, log, updates), "f64"),
        "readings": _readings(model, curves, data),
    }


def _of_frames(model: Any, frames: Frames, data: Data) -> dict[str, Any]:
    weights = frames.weights
    goal = goal_of(model)
    return {
        "heads": weights.shape[1],
        "start": packed(weights[0], "f64"),
        "log": None,
        "frames": {
            "weights": packed(weights, "f64"), "titles": frames.titles,
            "support": frames.support, "margin": frames.margin and [finite(each) for each in frames.margin],
        },
        "updates": len(weights) - 1,
        "curves": _told(curves_of_frames(weights, data, goal), goal.title),
        "average": None,
        "ballots": None,
        "readings": {"last": int((classes_of(weights[-1], data) != data.codes).sum())},
    }  # fmt: skip


def _told(curves: Curves, title: str) -> dict[str, Any]:
    pocket = None if curves.pocket is None else _improved(curves.pocket)
    if pocket is not None and curves.pockets is not None:
        pocket["heads"] = [_improved(each) for each in curves.pockets]
    return {
        "at": packed(curves.at, "i32"),
        "errors": packed(curves.errors, "i32"),
        "loss": packed(curves.loss, "f64"),
        "loss_title": title,
        "pocket": pocket,
    }


def _as_short(numbers: Any) -> Packed:
    """In half the bytes, where these can hold them: the largest, and the smallest that is not 0."""
    sizes, range_ = abs(numbers), np.finfo(np.float32)
    return packed(numbers, "f32" if ((sizes == 0.0) | ((sizes > range_.tiny) & (sizes < range_.max))).all() else "f64")


def _improved(pocket: Pocket) -> dict[str, Any]:
    return {"t": pocket.updates.tolist(), "errors": pocket.errors.astype(int).tolist()}


def _readings(model: Any, curves: Curves, data: Data) -> dict[str, int]:
    """Training errors of each reading, as it predicts; the pocket is at hand, and need not be looked for again."""
    found = {keep: _errors(model.reading(keep), data) for keep in ("last", "average", "vote")}
    pocket = _errors(model, data) if model.keep == "pocket" else int((classes_of(curves.pocketed, data) != data.codes).sum())
    return found | {"pocket": pocket}


def _errors(model: Any, data: Data) -> int:
    nameless = copy.copy(model)  # one that was fitted on a frame would warn that these rows have no names
    vars(nameless).pop("feature_names_in_", None)
    return int((np.searchsorted(model.classes_, nameless.predict(data.X)) != data.codes).sum())


def _ballots(model: Any, log: UpdateLog, updates: int) -> Any:
    """The votes of each hypothesis; of one-vs-rest runs (updates + 1) x heads, a head's where it was another than before."""
    if not isinstance(log._problem.labels, Rest):
        return vote_weights(births(log) - log._visited_before, int(log.durations.max()) - log._visited_before, model.vote_count)
    found = np.zeros((updates + 1, len(log._start.bias)))
    for h, run in enumerate(log.runs()):
        lives = vote_weights(births(run) - log._visited_before, int(run.durations[0]) - log._visited_before, model.vote_count)
        found[hypotheses_of(log, h), h] = lives
    return found


def _scheme(model: Any, log: UpdateLog | None, k: int) -> str:
    if k == 2:
        return "binary"
    if log is not None:
        return "joint" if isinstance(log._problem.labels, Joint) else "rest"
    return {"joint": "joint", "crammer_singer": "joint", "ovo": "pairs"}.get(getattr(model, "multiclass", "ovr"), "rest")


def _x0(model: Any) -> float:
    """Of a model that was solved: `intercept_` is weight 0, and the constant before it 1."""
    return float(getattr(model, "fit_intercept", False))


def _class_codes(classes: Any) -> list[int]:
    """As the page numbers classes: codes are themselves, other labels go by their position."""
    small = classes.dtype.kind in "iu" and classes.min() >= 0 and classes.max() < 6
    return classes.tolist() if small else list(range(len(classes)))
