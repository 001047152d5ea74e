"""From a request to a fitted estimator, and to Python code that repeats its run.

Knobs become parameters, and the run is limited to what the page can play.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from ..array_types import FloatArray, MatrixLike
from ..estimators.base import LinearClassifier
from ..estimators.svm_base import ZeroPlaneWarning
from ..kernels.linear.schemes import Rest
from ..online.update_log import UpdateLog
from ..reporting.text import plural
from ..svm.not_separable import NotSeparable
from .menu import MAX_UPDATES, accepts_none
from .run_request import Features, RequestError, RunRequest

# Entries of a log that are sent to the page: a batch step has one for each row that triggers it.
MAX_LOG_ENTRIES = 80_000
# Longest trial of a batch run whose final length is not known yet, as a multiple of the entries sent.
TRIAL_GROWTH = 64
# Multiply-adds of a run: a few seconds.
MAX_MULTIPLY_ADDS = 3e9
# Cost of a full scan that makes one update, relative to a pass.
SCAN_COST_IN_PASSES = 3
# Limits of the Crammer-Singer solver, about a second or two; the minimum of passes applies to any number of rows. With few rows
# a pass takes as long as this many visits.
CRAMMER_SINGER_MAX_ROW_VISITS, CRAMMER_SINGER_MIN_PASSES, CRAMMER_SINGER_PASS_COST = 1_000_000, 200, 20
# Up to this many rows MaxMargin falls back to a soft margin on inseparable points; its time grows with the cube of the rows.
SOFT_FALLBACK_MAX_ROWS = 400
# Fitted models kept in memory, so that a proof after a run does not fit again.
CACHED_FITS = 6

RANDOM_ORDER_COMMENT = "# random_state is None: every run visits the rows in another order; set a number to repeat one"
SCHEDULES = {"1/k": "lambda k: {rho!r} / k", "1/sqrt(k)": "lambda k: {rho!r} / k**0.5"}


@dataclass(frozen=True)
class Fit:
    """A fitted estimator with its parameters.

    Attributes
    ----------
    model : LinearClassifier
        The fitted estimator.
    parameters : dict
        The parameters that were passed to it.
    sources : dict
        Source code of the parameters that have no useful repr.
    cut : str or None
        Why the run is shorter than requested, if it is.
    """

    model: Any
    parameters: dict[str, Any]
    sources: dict[str, str]
    cut: str | None = None


# --- Fitting once per request

_cache: OrderedDict[tuple[Any, ...], Fit] = OrderedDict()


def fit_request(request: RunRequest) -> Fit:
    """Return the fit of a request, from the cache if it is there."""
    key = request.key
    if key not in _cache:
        _cache[key] = _fit_within_limits(request)
    _cache.move_to_end(key)
    while len(_cache) > CACHED_FITS:
        _cache.popitem(last=False)
    return _cache[key]


def fit_quietly(model: LinearClassifier, X: MatrixLike, y: npt.ArrayLike, weights: FloatArray | None = None) -> Any:
    """Fit without convergence warnings, since `stop_` reports them; raise other errors as `RequestError`."""
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, ZeroPlaneWarning):
            warnings.simplefilter("ignore", category)
        try:
            return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
        except NotSeparable:
            raise
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise RequestError(f"{type(model).__name__}: {error}") from error


# --- Parameters from knobs


def parameters_of(request: RunRequest) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the estimator's parameters, and source code for those without a useful repr."""
    knobs, options = dict(request.knobs), request.choice.options
    sources: dict[str, str] = {}
    step, schedule = knobs.pop("step", None), knobs.pop("schedule", "constant")
    if schedule != "constant":
        if step is None:
            raise RequestError(f"schedule={schedule!r} needs a step; set one")
        sources["step"] = SCHEDULES[schedule].format(rho=step)
        knobs["step"] = eval(sources["step"], {})  # made from SCHEDULES and a float
    elif step is not None:
        knobs["step"] = step
    start = knobs.pop("start", None)
    if knobs.get("init") == "given":
        knobs["init"] = _first_weights(request, start)
        sources["init"] = f"np.array({knobs['init'].tolist()!r})"
    for name in [name for name, value in knobs.items() if value is None]:
        if not accepts_none(request.choice.estimator, name):
            del knobs[name]  # the estimator's default
            if name == "max_iter" and "max_updates" in knobs:
                # A pass without an update ends the run, so the limit of updates is also a limit of passes.
                knobs["max_iter"] = knobs["max_updates"]
    if "random_state" in options:
        knobs["random_state"] = request.seed
    return dict(request.choice.parameters) | knobs, sources


def _first_weights(request: RunRequest, start: list[float] | None) -> FloatArray:
    """Return the given first weights, one row per head."""
    heads, width = 1 if request.n_classes == 2 else request.n_classes, 1 + request.features.width
    given = np.zeros(heads * width) if start is None else np.array(start)
    if given.size != heads * width:
        per_class = "" if heads == 1 else f", {width} for each of {heads} classes"
        raise RequestError(f"start must have {heads * width} numbers{per_class}, w0 first, got {given.size}")
    weights = given.reshape(heads, width)
    return np.array(weights if request.knobs["fit_intercept"] else weights[:, 1:])


# --- Limits


def _fit_within_limits(request: RunRequest) -> Fit:
    """Fit the whole run, or as much of it as the page can play."""
    parameters, sources = parameters_of(request)
    max_passes = max(1, int(MAX_MULTIPLY_ADDS / (request.rows.shape[0] * (1 + request.rows.shape[1]) * request.n_classes)))
    limits: dict[str, Any] = {}
    if isinstance(passes := parameters.get("max_iter", 0), int | None) and (passes is None or passes > max_passes):
        limits["max_iter"] = max_passes
    if parameters.get("multiclass") == "crammer_singer" and request.n_classes > 2:
        visits_per_pass = len(request.labels) + CRAMMER_SINGER_PASS_COST
        limits["max_iter"] = max(CRAMMER_SINGER_MIN_PASSES, CRAMMER_SINGER_MAX_ROW_VISITS // visits_per_pass)
    if request.choice.logged:
        limits["max_updates"] = _first_limit(request, parameters, max_passes)
    model = _fit_or_soften(request, parameters | limits)
    while request.choice.logged and (limit := _next_limit(model, limits["max_updates"], parameters, max_passes)):
        shorter, limits["max_updates"] = limit < limits["max_updates"], limit
        model = _fit_or_soften(request, parameters | limits)
        if shorter:
            break
    if "inseparable" in request.choice.options:
        parameters["inseparable"] = model.inseparable
    # Limits that did not end the run are reported as requested.
    reached = {name: value for name, value in limits.items() if value != parameters.get(name) and _ended_by(model, name)}
    return Fit(model, parameters | reached, sources, _why_cut(reached, request.choice.logged))


def _fit_or_soften(request: RunRequest, parameters: dict[str, Any]) -> Any:
    """Fit; if the estimator needs separable points and they are not, fit with `inseparable="soft"`."""
    make = request.choice.estimator
    if request.choice.logged:
        parameters = parameters | {"log": "rows"}  # the answer replays the log
    try:
        return fit_quietly(make(**parameters), request.rows, request.labels)
    except NotSeparable as proof:
        if len(request.labels) > SOFT_FALLBACK_MAX_ROWS:
            raise RequestError(f"{proof}; use the soft margin for more than {SOFT_FALLBACK_MAX_ROWS} points") from proof
        return fit_quietly(make(**parameters | {"inseparable": "soft"}), request.rows, request.labels)


def _first_limit(request: RunRequest, parameters: dict[str, Any], max_passes: int) -> int:
    """Return the limit of updates for the first trial; a batch step may log an entry for every row."""
    requested = int(parameters["max_updates"])
    estimator = request.choice.estimator(**parameters)
    if estimator._way == "batch":
        heads = 1 if request.n_classes == 2 else request.n_classes
        return min(requested, max_passes, max(1, MAX_LOG_ENTRIES // (len(request.labels) * heads)))
    return min(requested, max(1, max_passes // SCAN_COST_IN_PASSES)) if estimator._order == "mistakes" else requested


def _next_limit(model: LinearClassifier, limit: int, parameters: dict[str, Any], max_passes: int) -> int | None:
    """Return the next limit of updates to try: lower if the log is too long, higher if too short, None if it fits."""
    most = _affordable(model.log_, limit)
    if most < limit:
        return most
    if model._way != "batch" or not _ended_by(model, "max_updates"):
        return None
    rows = model.log_._record.n_training_rows
    safe = TRIAL_GROWTH * MAX_LOG_ENTRIES // (rows * model.log_._record.n_heads)  # if every row triggers every step
    expected = limit * MAX_LOG_ENTRIES // max(1, len(model.log_))  # if rows trigger steps as often as so far
    more = min(int(parameters["max_updates"]), max_passes, max(2 * limit, expected), limit + max(1, safe))
    return more if more > limit and len(model.log_) < MAX_LOG_ENTRIES else None


def _affordable(log: UpdateLog, limit: int) -> int:
    """Return how many updates (of each one-vs-rest run) fit into the log that is sent."""
    record = log._record
    if isinstance(record.labels, Rest) and not record.grouped:
        counts, limits = np.bincount(record.others, minlength=record.n_heads), np.arange(1, limit + 1)
        return int(np.searchsorted(np.minimum(counts[:, None], limits).sum(axis=0), MAX_UPDATES, side="right")) or 1
    return (
        limit if len(log) <= MAX_LOG_ENTRIES else max(1, int(np.searchsorted(record.edges, MAX_LOG_ENTRIES, side="right")) - 1)
    )


def _ended_by(model: LinearClassifier, name: str) -> bool:
    """Return whether a limit, `max_iter` or `max_updates`, ended the run of any head."""
    reasons = {"passes", "steps"} if name == "max_iter" else {name.removeprefix("max_")}
    return not reasons.isdisjoint({model.stop_.reason, *model.stop_.heads})


def _why_cut(reached: dict[str, int], online: bool) -> str | None:
    if not reached:
        return None
    name, limit = next(iter(reached.items()))
    if name == "max_iter" and not online:
        return f"The solver was stopped after {plural(limit, 'iteration')}, before it reached its tolerance."
    length = plural(limit, "update") if name == "max_updates" else plural(limit, "pass", "passes")
    return f"The page plays only the first {length}: with this many points, more would take too long."


# --- Python code that repeats a run


def code_of(request: RunRequest, fit: Fit, weights: FloatArray | None = None, unseeded: bool = False) -> str:
    """Return a script with the points, their features and the fit.

    Parameters
    ----------
    request : RunRequest
        Points, features and algorithm.
    fit : Fit
        The estimator's parameters.
    weights : ndarray, default=None
        Sample weights.
    unseeded : bool, default=False
        Whether the rows are visited in a random order without a seed; the script then has a comment about it.
    """
    lines = ["import numpy as np", "import rosenblatt as rb", "", *_point_lines(request), *_feature_lines(request.features)]
    arguments = ", ".join(f"{name}={text}" for name, text in _arguments(request, fit))
    lines += [RANDOM_ORDER_COMMENT] if unseeded else []
    weighted = "" if weights is None else f", sample_weight={weights.tolist()!r}"
    lines.append(f"model = rb.{request.choice.name}({arguments}).fit(X, y{weighted})")
    lines += ["print(model.stop_)", 'print("training errors:", int((model.predict(X) != y).sum()))']
    return "\n".join(lines) + "\n"


def _point_lines(request: RunRequest) -> list[str]:
    points = ", ".join(f"[{x!r}, {y!r}]" for x, y in request.points.tolist())
    labels = ", ".join(map(str, request.labels.tolist()))
    return [f"X = np.array([{points}])", f"y = np.array([{labels}])"]


def _feature_lines(features: Features) -> list[str]:
    lines = []
    if features.scaled:
        lines.append(f"X = (X - {features.center!r}) / {features.scale!r}")
    if features.degree > 1:
        names = [" * ".join(f"x{column + 1}" for column in features.polynomial.factors(j)) for j in range(features.width)]
        lines += ["x1, x2 = X.T", f"X = np.column_stack([{', '.join(names)}])"]
    return lines


def _arguments(request: RunRequest, fit: Fit) -> list[tuple[str, str]]:
    """Return the parameters that differ from the estimator's defaults, in its order."""
    defaults = replace(request.choice, parameters={}).options
    given = {name: fit.parameters[name] for name in defaults if name in fit.parameters}
    return [
        (name, fit.sources.get(name) or _literal(value))
        for name, value in given.items()
        if name in fit.sources or value != defaults[name] or type(value) is not type(defaults[name])
    ]


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
