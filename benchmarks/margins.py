"""Support vectors: seconds until a plane is within a share of the best objective, beside LIBLINEAR, libsvm and snapml.

One function computes the objective of all solutions. The best objective is bounded by solutions with a proven gap, a thousandth
of the required one. Each solver is run with increasing effort (iterations or tolerances) until its objective is near enough;
the last run is timed, for each seed, which changes the data and their order. Wall time: some solvers use several threads.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import rosenblatt as rb
from rosenblatt.estimators.soft_margin_parameters import MarginLoss as Loss

from . import workloads

Fit = Callable[[Any, Any, float, int], Any]  # X, y, effort, seed -> fitted
MAX_FIT_S = 30.0  # a solver whose fit takes longer is not run with more effort
ITERATIONS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1000]  # 1000 is LinearSVC's default
MORE_ITERATIONS = [*ITERATIONS, 1500, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 32_000]
TOLERANCES = [10.0 ** (-exponent / 2) for exponent in range(19)]


def ours(loss: Loss, penalize_intercept: bool) -> Fit:
    return lambda X, y, effort, seed: rb.SoftMargin(
        loss=loss, penalize_intercept=penalize_intercept, tol=effort, random_state=seed
    ).fit(X, y)


def linear_svc(loss: str, dual: bool) -> Fit:
    def fit(X: Any, y: Any, effort: float, seed: int) -> Any:
        given = {"max_iter": int(effort), "tol": 1e-12} if dual else {"tol": effort}
        return LinearSVC(loss=loss, dual=dual, random_state=seed, **given).fit(X, y)

    return fit


def snapml(X: Any, y: Any, effort: float, seed: int) -> Any:
    import snapml as peer

    machine = peer.SupportVectorMachine(fit_intercept=True, max_iter=int(effort), tol=1e-12, random_state=seed)
    return machine.fit(X, np.where(y == y.max(), 1.0, -1.0))


def svc(X: Any, y: Any, effort: float, seed: int) -> Any:
    return SVC(kernel="linear", tol=effort, cache_size=1000).fit(X, y)


def objective(model: Any, X: Any, y: Any, squared: bool, penalize_intercept: bool) -> float:
    """1/2 |w|^2 (+ b^2/2) + sum of the hinge, or of its square, with C = 1."""
    coef = model.coef_
    w = np.asarray(coef.todense() if hasattr(coef, "todense") else coef, float).ravel()
    b = float(np.ravel(model.intercept_)[0])
    slack = np.maximum(0.0, 1.0 - np.where(y == y.max(), 1, -1) * (np.asarray(X @ w).ravel() + b))
    return float(w @ w / 2 + (b * b / 2 if penalize_intercept else 0.0) + (slack @ slack if squared else slack.sum()))


def climb(
    fit: Fit, efforts: list[float], data: list[tuple[Any, Any]], best: list[float], level: float, place: int = 0, **kind: bool
) -> Any:
    """Median seconds, worst suboptimality and last effort over the seeds, starting with efforts[place]."""
    seconds, reached = [], []
    fit(data[0][0][:1000], data[0][1][:1000], efforts[0], 0)
    for seed, ((X, y), least) in enumerate(zip(data, best, strict=True)):
        while True:
            start = time.perf_counter()
            model = fit(X, y, efforts[place], seed)
            took = time.perf_counter() - start
            above = objective(model, X, y, **kind) / least - 1.0
            if above <= level:
                break
            place += 1
            if place == len(efforts) or took > MAX_FIT_S:
                return {"seconds": took, "above": above, "place": place - 1, "arrived": False}
        seconds.append(took)
        reached.append(above)
    return {"seconds": statistics.median(seconds), "above": max(reached), "place": place, "arrived": True}


def compare(
    work: str,
    data: list[tuple[Any, Any]],
    loss: Loss,
    penalize_intercept: bool,
    levels: dict[float, float | None],
    peers: dict[str, Any],
) -> Iterator[dict[str, Any]]:
    kind = {"squared": loss == "squared_hinge", "penalize_intercept": penalize_intercept}
    best = [_best(X, y, loss, penalize_intercept, 1e-3 * min(levels)) for X, y in data]
    places = dict.fromkeys(peers, 0)
    for level, required in levels.items():  # from rough to fine: a peer continues with its last effort
        own = climb(
            ours(loss, penalize_intercept), [level * 100, level * 30, level * 10, level * 3, level], data, best, level, **kind
        )
        for peer, (fit, efforts) in peers.items():
            other = climb(fit, efforts, data, best, level, places[peer], **kind)
            places[peer] = other["place"]
            yield {
                "work": f"{work}, {loss}, to {level:g}",
                "peer": peer,
                "ours": own,
                "theirs": other,
                "ratio": other["seconds"] / own["seconds"],
                "required": required if peer.startswith(("LinearSVC", "SVC")) else None,
            }


def _best(X: Any, y: Any, loss: Loss, penalize_intercept: bool, tol: float) -> float:
    """A lower bound of the objective: the dual objective of a solution with a relative gap of `tol`."""
    model = rb.SoftMargin(loss=loss, penalize_intercept=penalize_intercept, tol=tol, max_iter=20_000, random_state=0).fit(X, y)
    return float(model.objective_[0] - model.dual_gap_[0])


def measure(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    warnings.simplefilter("ignore")
    part = 10 if quick else 1
    dual = {"LinearSVC(dual=True)": (linear_svc("hinge", True), ITERATIONS)}
    if importlib.util.find_spec("snapml"):
        dual["snapml"] = (snapml, ITERATIONS)
    longer = {peer: (fit, MORE_ITERATIONS) for peer, (fit, _) in dual.items()}
    squared = {
        "LinearSVC(dual=True)": (linear_svc("squared_hinge", True), ITERATIONS),
        "LinearSVC(dual=False)": (linear_svc("squared_hinge", False), TOLERANCES),
    }
    with threadpool_limits(1):
        separable = [workloads.dense(100_000 // part, 100, noise=0.0, seed=seed) for seed in range(seeds)]
        levels: dict[float, float | None] = {1e-3: 6.0, 1e-4: None, 1e-6: 4.0}
        yield from compare("separable dense 100k x 100", separable, "hinge", True, levels, longer)
        noisy = [workloads.dense(100_000 // part, 54, noise=0.5, seed=seed) for seed in range(seeds)]
        yield from compare("noisy dense 100k x 54", noisy, "hinge", True, {1e-4: None, 1e-6: None}, dual)
        yield from compare("noisy dense 100k x 54", noisy, "squared_hinge", True, {1e-6: 1.8}, squared)
        del separable, noisy
        for dtype, least in ((np.float64, 1.3), (np.float32, 1.6)):
            sparse = [workloads.sparse(200_000 // part, 50_000 // part, seed=seed) for seed in range(seeds)]
            data = [(X.astype(dtype), y) for X, y in sparse]
            yield from compare(f"sparse 200k x 50k {dtype.__name__}", data, "hinge", True, {1e-3: least}, dual)
        yield from _beside_svc(seeds, quick)


def _beside_svc(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    """SVC at its own default; we go as far as it went."""
    for name in ("a9a", "w8a", "ijcnn1"):
        real = workloads.real(name)
        for n in (5_000,) if quick or real is None else (5_000, 20_000):
            if real is None:
                yield {"work": name, "skipped": f"no data in {workloads.DATA.name}/"}
                continue
            data = [workloads.draw(real[0], real[2], n, seed) for seed in range(seeds)]
            best = [_best(X, y, "hinge", False, 1e-10) for X, y in data]
            for tol in (1e-3, 1e-6):
                kind = {"squared": False, "penalize_intercept": False}
                theirs = climb(svc, [tol], data, best, np.inf, **kind)
                level = max(theirs["above"], 1e-9)
                own = climb(ours("hinge", False), [level * 10, level * 3, level, level / 10], data, best, level, **kind)
                yield {
                    "work": f"{name}, {n} rows, free intercept, to {level:.1g}",
                    "peer": f"SVC(tol={tol:g})",
                    "ours": own,
                    "theirs": theirs,
                    "ratio": theirs["seconds"] / own["seconds"],
                    "required": 10.0,
                }
