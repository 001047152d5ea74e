"""The L1 penalty: seconds until the objective is within a share of the best one, beside LIBLINEAR and saga.

As in `logistic.py`: one function computes all objectives, the best one has a proved gap, and contestants are run in turns with
the effort that they needed. The intercept is penalized, as LIBLINEAR demands; saga gets a constant column. One thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import rosenblatt as rb

from . import workloads
from .logistic import LEVELS, MAX_FIT_S, MAX_QUICK_FIT_S, OURS, PASSES, TOLERANCES, climb, race, with_ones

SmoothLoss: TypeAlias = Literal["logistic", "squared_hinge"]
LOSSES: tuple[SmoothLoss, ...] = ("logistic", "squared_hinge")
PEERS = ("liblinear", "saga")


class Work(NamedTuple):
    """Rows, labels of two classes, and the cost of a loss."""

    name: str
    X: Any
    y: Any
    C: float


def objective(work: Work, loss: SmoothLoss, model: Any) -> float:
    """sum_j |w_j| + |b| + C sum_i loss_i; the weight of a constant column is b."""
    w, b = model.coef_[0], float(model.intercept_[0])
    if len(w) > work.X.shape[1]:
        w, b = w[:-1], float(w[-1])
    margins = np.where(work.y == np.unique(work.y)[1], 1.0, -1.0) * (np.asarray(work.X @ w).ravel() + b)
    losses = np.logaddexp(0.0, -margins) if loss == "logistic" else np.maximum(0.0, 1.0 - margins) ** 2
    return float(abs(w).sum() + abs(b) + work.C * losses.sum())


def is_near(work: Work, loss: SmoothLoss, enough: float, model: Any) -> bool:
    """Whether a fitted model has an objective of at most `enough`."""
    return objective(work, loss, model) <= enough


def contestants(work: Work, loss: SmoothLoss) -> dict[str, tuple[Callable[[float], Any], list[float]]]:
    """Functions that fit with some effort, with their efforts."""
    C = work.C

    def ours(effort: float) -> Any:
        return rb.SoftMargin(penalty="l1", loss=loss, C=C, tol=effort, penalize_intercept=True).fit(work.X, work.y)

    def liblinear(effort: float) -> Any:
        if loss == "squared_hinge":
            return LinearSVC(penalty="l1", dual=False, C=C, tol=effort, max_iter=100_000, random_state=0).fit(work.X, work.y)
        peer = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, tol=effort, max_iter=100_000, random_state=0)
        return peer.fit(work.X, work.y)

    def saga(effort: float) -> Any:
        peer = LogisticRegression(
            l1_ratio=1.0, solver="saga", C=C, tol=1e-14, max_iter=int(effort), random_state=0, fit_intercept=False
        )
        return peer.fit(with_ones(work.X), work.y)

    found: dict[str, tuple[Callable[[float], Any], list[float]]] = {
        OURS: (ours, TOLERANCES),
        "liblinear": (liblinear, TOLERANCES),
    }
    return found if loss == "squared_hinge" else found | {"saga": (saga, [float(each) for each in PASSES])}


def compare(work: Work, loss: SmoothLoss, repeats: int, limit: float) -> Iterator[dict[str, Any]]:
    best = rb.SoftMargin(penalty="l1", loss=loss, C=work.C, tol=1e-9, penalize_intercept=True).fit(work.X, work.y)
    least = float(best.objective_[0] - best.dual_gap_[0])
    every = contestants(work, loss)
    places: dict[str, int | None] = dict.fromkeys(every, 0)
    for level in LEVELS:
        seconds: dict[str, float] = {}
        enough = least * (1.0 + level)
        for name, (fit, efforts) in every.items():
            if (place := places[name]) is not None:
                near = partial(is_near, work, loss, enough)
                places[name], seconds[name] = climb(fit, efforts, place, near, limit if name != OURS else np.inf)
        fits = {
            name: partial(fit, efforts[place]) for name, (fit, efforts) in every.items() if (place := places[name]) is not None
        }
        times = race(fits, seconds, repeats)
        fastest = min((each for each in times if each != OURS), key=times.__getitem__, default="none")
        ratio = times[fastest] / times[OURS] if fastest in times else np.inf
        row: dict[str, Any] = {"table": f"L1 penalty, seconds to {level:g}", "work": f"{work.name}, {loss.replace('_', ' ')}"}
        row["numbers"] = {"seconds": times, "ratio": ratio, "level": level}
        row |= {name: f"{times[name]:.4f}" if name in times else "-" for name in (OURS, *PEERS)}
        yield row | {"used": int(np.count_nonzero(best.coef_)), "fastest / ours": f"{ratio:.1f}x"}


def works(quick: bool) -> Iterator[Work]:
    part = 10 if quick else 1
    X, y = workloads.dense(100_000 // part, 50, noise=0.5)
    yield Work("dense 100k x 50", X, y, 0.1)
    X, y = workloads.dense(300, 20_000 // part, noise=0.5)
    yield Work("wide 300 x 20,000", X, y, 1.0)
    if not workloads.DATA.is_dir():
        return
    for name in ("a9a", "w8a", "ijcnn1.trn.bz2", "reuters.trn.bz2"):
        X, y = workloads.svmlight(name)
        some = np.random.default_rng(0).permutation(len(y))[: len(y) // part]
        yield Work(name.split(".")[0], X[some], y[some], 1.0)


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for work in works(quick):
            for loss in LOSSES:
                rows += compare(work, loss, repeats, MAX_QUICK_FIT_S if quick else MAX_FIT_S)
                yield rows[-2]
                yield rows[-1]
