"""Logistic regression: seconds until the objective is within a share of the best one, beside the solvers of LogisticRegression.

One function computes the objective of all solutions; the best one is bounded from below by a solution with a proven gap. Each
contestant is run with increasing effort (tolerance, or passes of "sag" and "saga") until it is near enough. Then all of them
are run in turns with the effort that they needed, and the median time of each counts. All use one thread.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import rosenblatt as rb
from rosenblatt.kernels.linear.rows import EPS

from . import workloads

OURS = "ours"
LEVELS = (1e-3, 1e-6)
MAX_FIT_S, MAX_QUICK_FIT_S = 30.0, 3.0  # a solver whose fit takes longer is not run with more effort, nor again
MIN_TURN_S = 0.02  # short fits are repeated until a turn takes this long
TOLERANCES = [10.0 ** (-exponent / 2) for exponent in range(22)]
PASSES = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]
SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "liblinear", "sag", "saga")
MAX_CHOLESKY_WEIGHTS = 1000  # "newton-cholesky" makes a matrix of this width, squared


class Work(NamedTuple):
    """A problem with C = 1: rows, labels, and whether the intercept counts in |w|."""

    name: str
    X: Any
    y: Any
    penalized: bool = False

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y))


def objective(work: Work, W: Any, b: Any) -> float:
    """1/2 |W|^2 (+ |b|^2/2) + the loss of all rows."""
    W, b = np.asarray(W, float), np.asarray(b, float)
    scores = np.asarray(work.X @ W.T) + b
    codes = np.unique(work.y, return_inverse=True)[1]
    penalty = 0.5 * float((W * W).sum()) + (0.5 * float((b * b).sum()) if work.penalized else 0.0)
    if len(W) == 1:
        return penalty + float(np.logaddexp(0.0, -np.where(codes, 1, -1) * scores[:, 0]).sum())
    return penalty + float((logsumexp(scores, axis=1) - scores[np.arange(len(codes)), codes]).sum())


def contestants(work: Work) -> dict[str, tuple[Callable[[float], Any], list[float]]]:
    """Functions that fit with some effort and return the fitted model, with their efforts."""

    def ours(effort: float) -> Any:
        return rb.SoftMargin(loss="logistic", penalize_intercept=work.penalized, tol=effort, random_state=0).fit(work.X, work.y)

    found: dict[str, tuple[Callable[[float], Any], list[float]]] = {OURS: (ours, [10.0, *TOLERANCES])}
    for solver in SOLVERS:
        # A penalized intercept is a constant column; "liblinear" adds it itself, and has no other intercept.
        if solver == "liblinear" and not (work.penalized and work.n_classes == 2):
            continue
        if solver == "newton-cholesky" and work.X.shape[1] * work.n_classes > MAX_CHOLESKY_WEIGHTS:
            continue
        passes = solver in ("sag", "saga")

        def fit(effort: float, solver: str = solver, passes: bool = passes) -> Any:
            model = LogisticRegression(
                solver=solver, max_iter=int(effort) if passes else 100_000, tol=1e-14 if passes else effort, random_state=0,
                fit_intercept=solver == "liblinear" or not work.penalized,
            )  # fmt: skip
            return model.fit(work.X if model.fit_intercept else with_ones(work.X), work.y)

        found[solver] = (fit, [float(each) for each in PASSES] if passes else TOLERANCES)
    return found


def with_ones(X: Any) -> Any:
    """The rows with a constant column, made before the fit is timed."""
    key = id(X)
    if key not in _with_ones:
        ones = np.ones((X.shape[0], 1), X.dtype)
        _with_ones.clear()
        _with_ones[key] = sp.csr_matrix(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
    return _with_ones[key]


_with_ones: dict[int, Any] = {}


def reached(work: Work, model: Any) -> float:
    """The objective of a fitted model."""
    W, b = model.coef_, model.intercept_
    if W.shape[1] > work.X.shape[1]:
        W, b = W[:, :-1], W[:, -1]
    return objective(work, W, b)


def is_near(work: Work, enough: float, model: Any) -> bool:
    """Whether a fitted model has an objective of at most `enough`."""
    return reached(work, model) <= enough


def climb(fit: Callable[[float], Any], efforts: list[float], place: int, near: Callable[[Any], bool], limit: float) -> Any:
    """The place of the first effort, from `place` on, whose model is near the optimum; None if it takes too long."""
    while place < len(efforts):
        started = time.perf_counter()
        model = fit(efforts[place])
        seconds = time.perf_counter() - started
        if near(model):
            return place, seconds
        if seconds > limit:
            break
        place += 1
    return None, seconds


def race(fits: Mapping[str, Callable[[], Any]], seconds: dict[str, float], repeats: int) -> dict[str, float]:
    """The median seconds of each fit, in turns."""
    times: dict[str, list[float]] = {name: [] for name in fits}
    for turn in range(repeats):
        for name, fit in fits.items():
            if turn and seconds[name] > MAX_QUICK_FIT_S:
                continue
            count = max(1, int(MIN_TURN_S / max(seconds[name], 1e-6)))
            started = time.perf_counter()
            for _ in range(count):
                fit()
            times[name].append((time.perf_counter() - started) / count)
    return {name: statistics.median(each) for name, each in times.items()}


def compare(work: Work, repeats: int, limit: float) -> Iterator[dict[str, Any]]:
    best = rb.SoftMargin(loss="logistic", penalize_intercept=work.penalized, tol=1e-10, random_state=0).fit(work.X, work.y)
    least = float(best.objective_[0] - best.dual_gap_[0])
    every = contestants(work)
    places: dict[str, int | None] = dict.fromkeys(every, 0)
    for level in LEVELS:
        seconds: dict[str, float] = {}
        enough = least * (1.0 + level) + 4.0 * EPS * objective(work, best.coef_, best.intercept_)
        for name, (fit, efforts) in every.items():
            place = places[name]
            if place is not None:
                near = partial(is_near, work, enough)
                places[name], seconds[name] = climb(fit, efforts, place, near, limit if name != OURS else np.inf)
        fits = {
            name: partial(fit, efforts[place]) for name, (fit, efforts) in every.items() if (place := places[name]) is not None
        }
        times = race(fits, seconds, repeats)
        fastest = min((each for each in times if each != OURS), key=times.__getitem__, default="none")
        ratio = times[fastest] / times[OURS] if fastest in times else np.inf
        row: dict[str, Any] = {"table": f"logistic regression, seconds to {level:g}", "work": work.name}
        row["numbers"] = {"seconds": times, "ratio": ratio, "level": level}
        row |= {name: f"{times[name]:.4f}" if name in times else "-" for name in (OURS, *SOLVERS)}
        yield row | {"fastest": fastest, "fastest / ours": f"{ratio:.1f}x"}


def works(quick: bool) -> Iterator[Work]:
    part = 10 if quick else 1
    X, y = workloads.dense(100, 5)
    yield Work("tiny 100 x 5", X, y)
    X, y = workloads.dense(100_000 // part, 50, noise=0.5)
    yield Work("dense 100k x 50", X, y)
    yield Work("dense 100k x 50, penalized intercept", X, y, True)
    yield Work("dense 100k x 50 float32", X.astype(np.float32), y)
    X, y = workloads.dense(20_000 // part, 50, 10)
    yield Work("dense 20k x 50, 10 classes", X, y)
    X, y = workloads.dense(300, 20_000 // part, noise=0.5)
    yield Work("wide 300 x 20,000", X, y)
    if not workloads.DATA.is_dir():
        return
    for name in ("heart_scale", "breast-cancer_scale", "german.numer", "dna.scale"):
        X, y = workloads.svmlight(name)
        yield Work(f"{name}, dense", X.toarray(), y)
    for name in ("a9a", "w8a", "ijcnn1.trn.bz2", "reuters.trn.bz2"):
        X, y = workloads.svmlight(name)
        some = np.random.default_rng(0).permutation(len(y))[: len(y) // part]
        for penalized in (False, True):
            title = name.split(".")[0] + (", penalized intercept" if penalized else "")
            yield Work(title, X[some], y[some], penalized)
    X, y = workloads.svmlight("letter.scale")
    yield Work("letter, 26 classes, dense", X.toarray()[: len(y) // part], y[: len(y) // part])
    X, y = workloads.mnist("train")
    yield Work("mnist, 10,000 rows", X[: 10_000 // part], y[: 10_000 // part])
    X, y = workloads.svmlight("news20.bz2")
    X.data = np.log1p(X.data)
    X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr))
    yield Work("news20, 20 classes", X[: len(y) // part], y[: len(y) // part])


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for work in works(quick):
            rows += compare(work, repeats, MAX_QUICK_FIT_S if quick else MAX_FIT_S)
            yield rows[-2]
            yield rows[-1]
