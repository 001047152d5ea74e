"""From a request to the fitted estimator: the knobs as its parameters, and a length that the page can play."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..kernels.linear.schemes import Rest
from ..online.update_log import UpdateLog
from ..reporting.text import plural
from ..svm.not_separable import NotSeparable
from .knobs import MOST_UPDATES, is_batch
from .request import Asked, RequestError

# Entries of a log that are sent to the page: batch steps have one for each row that asked for them.
MOST_ENTRIES = 80_000
# How many times as many a run may make on trial, before it is known how long it can be.
GROWTH = 64
# Multiply-adds of a run, at most: a few seconds.
MOST_WORK = 3e9
# How many times as dear as a pass a look at all rows is that moves the weights once.
DEARER = 3
# Looks at a row that the machine of all classes at once may take, and passes that it always may: a second or two.
MOST_LOOKS, LEAST_PASSES = 1_000_000, 200
# Rows of which a widest margin is still looked for where none separates them: the time goes with the cube of their number.
MOST_CROSSING = 400
# Fitted models that are kept, so that a proof after a run need not fit again.
KEPT = 6

SCHEDULES = {"1/k": "lambda k: {rho!r} / k", "1/sqrt(k)": "lambda k: {rho!r} / k**0.5"}


@dataclass(frozen=True)
class Fit:
    """A fitted estimator, what it was made with, and why the run is shorter than asked for, if it is."""

    model: Any
    parameters: dict[str, Any]  # what differs from the estimator's own defaults, as it was made
    texts: dict[str, str]  # of those that have no repr, as source
    cut: str | None = None


_kept: OrderedDict[tuple[Any, ...], Fit] = OrderedDict()
_underway: dict[tuple[Any, ...], Future[Fit]] = {}
_lock = Lock()  # of these two; nobody computes while he has it


def fitted(request: Asked) -> Fit:
    """The estimator of a request, from the last few or fitted now; who asks for one that is underway waits for it."""
    key = request.key
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
        mine = key not in _underway
        fit = _underway.setdefault(key, Future())
    if mine:
        try:
            fit.set_result(_fit_within(request))
        except BaseException as error:
            fit.set_exception(error)
        with _lock:
            del _underway[key]
            if fit.exception() is None:
                _kept[key] = fit.result()
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
    return fit.result()


class _Quiet:
    """No warnings of what did not converge, while anybody in here fits: they are caught for the whole process, so that the
    first who comes turns them off, and the last who goes turns them on."""

    def __init__(self) -> None:
        self._lock, self._inside, self._off = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._off.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", ConvergenceWarning)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._off.close()


_quiet = _Quiet()


def fit_quietly(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    """Fit; what did not converge says so in `stop_`, and whatever else goes wrong is the request's fault."""
    with _quiet:
        try:
            return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
        except NotSeparable:
            raise
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise RequestError(f"{type(model).__name__}: {error}") from error


def parameters_of(request: Asked) -> tuple[dict[str, Any], dict[str, str]]:
    """What the estimator is made with, and the source of what has no repr."""
    knobs, own, texts = dict(request.knobs), request.choice.options, {}
    step, schedule = knobs.pop("step", None), knobs.pop("schedule", "constant")
    if schedule != "constant":
        if step is None:
            raise RequestError(f"schedule={schedule!r} needs a number as step")
        texts["step"] = SCHEDULES[schedule].format(rho=step)
        knobs["step"] = eval(texts["step"], {})  # a text of ours, and a float
    elif step is not None:
        knobs["step"] = step
    start = knobs.pop("start", None)
    if knobs.get("init") == "given":
        knobs["init"] = _start(request, start)
        texts["init"] = f"np.array({knobs['init'].tolist()!r})"
    if knobs.get("max_iter", 0) is None and own["max_iter"] == "auto" and request.choice.name == "NonlinearMSE":
        # Its runs have no end of their own; a pass that moves nothing ends them, so that updates limit passes.
        knobs["max_iter"] = knobs.get("max_updates", "auto")
    if "random_state" in own:
        knobs["random_state"] = request.seed
    return dict(request.choice.parameters) | knobs, texts


def _start(request: Asked, start: list[float] | None) -> Any:
    """The given weights, of each head its own: the same for all would change nothing where the largest score wins."""
    heads, width = 1 if request.n_classes == 2 else request.n_classes, 1 + request.features.width
    given = np.zeros(heads * width) if start is None else np.array(start)
    if given.size != heads * width:
        each = "" if heads == 1 else f", {width} for each of {heads} classes"
        raise RequestError(f"start must have {heads * width} numbers{each}, weight 0 first, got {given.size}")
    weights = given.reshape(heads, width)
    return np.array(weights if request.knobs["fit_intercept"] else weights[:, 1:])


def _fit_within(request: Asked) -> Fit:
    """Fit what is asked for, or as much of it as can be played."""
    parameters, texts = parameters_of(request)
    looks = max(1, int(MOST_WORK / (request.rows.shape[0] * (1 + request.rows.shape[1]) * request.n_classes)))
    limits: dict[str, Any] = {}
    if isinstance(wanted := parameters.get("max_iter", 0), int | None) and (wanted is None or wanted > looks):
        limits["max_iter"] = looks
    if parameters.get("multiclass") == "crammer_singer" and request.n_classes > 2:
        limits["max_iter"] = max(LEAST_PASSES, MOST_LOOKS // len(request.labels))
    if request.choice.online:
        limits["max_updates"] = _first_limit(request, parameters, looks)
    model = _fit_or_cross(request, parameters | limits)
    while request.choice.online and (limit := _next_limit(model, limits["max_updates"], parameters, looks)):
        shorter, limits["max_updates"] = limit < limits["max_updates"], limit
        model = _fit_or_cross(request, parameters | limits)
        if shorter:
            break
    if "inseparable" in request.choice.options:
        parameters["inseparable"] = model.inseparable
    # What did not end the run is as it was asked for.
    held = {name: value for name, value in limits.items() if value != parameters.get(name) and _ended_by(model, name)}
    return Fit(model, parameters | held, texts, _why_cut(held, request.choice.online))


def _fit_or_cross(request: Asked, parameters: dict[str, Any]) -> Any:
    """The estimator, fitted; where it asks for separable rows and they are not, one that lets rows cross the plane."""
    make = request.choice.estimator
    try:
        return fit_quietly(make(**parameters), request.rows, request.labels)
    except NotSeparable as proof:
        if len(request.labels) > MOST_CROSSING:
            raise RequestError(f"{proof}; with more than {MOST_CROSSING} points, take the soft margin instead") from proof
        return fit_quietly(make(**parameters | {"inseparable": "soft"}), request.rows, request.labels)


def _first_limit(request: Asked, parameters: dict[str, Any], looks: int) -> int:
    """Updates to begin with: each look of a batch run has an entry for each row, or fewer."""
    wanted = int(parameters["max_updates"])
    if is_batch(parameters):
        heads = 1 if request.n_classes == 2 else request.n_classes
        return min(wanted, looks, max(1, MOST_ENTRIES // (len(request.labels) * heads)))
    return min(wanted, max(1, looks // DEARER)) if parameters.get("order") == "mistakes" else wanted


def _next_limit(model: Any, limit: int, parameters: dict[str, Any], looks: int) -> int | None:
    """Another number of updates to try: fewer where the log is too long, more where it is too short; None: it is right."""
    most = _affordable(model.log_, limit)
    if most < limit:
        return most
    if not is_batch(parameters) or not _ended_by(model, "max_updates"):
        return None
    problem = model.log_._problem
    at_once = GROWTH * MOST_ENTRIES // (problem.n_rows * len(model.log_._start.bias))  # if all rows ask for every step
    expected = limit * MOST_ENTRIES // max(1, len(model.log_))  # if rows go on asking as they did
    more = min(int(parameters["max_updates"]), looks, max(2 * limit, expected), limit + max(1, at_once))
    return more if more > limit and len(model.log_) < MOST_ENTRIES else None


def _affordable(log: UpdateLog, limit: int) -> int:
    """Updates (of each one-vs-rest run) that leave no more of a log than can be sent."""
    if isinstance(log._problem.labels, Rest) and not log._grouped:
        counts, each = np.bincount(log._others, minlength=len(log._start.bias)), np.arange(1, limit + 1)
        return int(np.searchsorted(np.minimum(counts[:, None], each).sum(axis=0), MOST_UPDATES, side="right")) or 1
    return limit if len(log) <= MOST_ENTRIES else max(1, int(np.searchsorted(log._edges, MOST_ENTRIES, side="right")) - 1)


def _ended_by(model: Any, name: str) -> bool:
    reasons = {"passes", "steps"} if name == "max_iter" else {name.removeprefix("max_")}
    return not reasons.isdisjoint({model.stop_.reason, *model.stop_.heads})


def _why_cut(held: dict[str, int], online: bool) -> str | None:
    if not held:
        return None
    name, most = next(iter(held.items()))
    if name == "max_iter" and not online:
        return f"The solver was cut after {most:,} passes, before it had reached its tolerance."
    what = plural(most, "update") if name == "max_updates" else f"{most:,} passes"
    return f"The run was cut after {what}: more would be too long to play on so many points."
