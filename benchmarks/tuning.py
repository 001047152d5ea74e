"""Tuning beside scikit-learn's `GridSearchCV`: the same grid on the same folds, seconds and test error."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, train_test_split

import rosenblatt as rb
from rosenblatt.estimators.search import stratified_folds
from rosenblatt.parallel import one_blas_thread

from . import workloads

COSTS = np.geomspace(1e-4, 1e4, 10).tolist()
OURS = "rb.tune"


def contestants(folds: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """Searches for the C of a logistic regression with free intercept, on the same folds, in one thread."""
    grid = {"C": COSTS}
    return {
        OURS: lambda X, y: rb.tune(rb.SoftMargin(loss="logistic"), X, y, grid=grid, outer=0, n_jobs=1).estimator,
        "rb.SoftMarginCV": lambda X, y: rb.SoftMarginCV(Cs=COSTS, loss="logistic").fit(X, y),
        "GridSearchCV(SoftMargin)": lambda X, y: GridSearchCV(rb.SoftMargin(loss="logistic"), grid, cv=folds).fit(X, y),
        "GridSearchCV(LogisticRegression)": lambda X, y: GridSearchCV(LogisticRegression(max_iter=1000), grid, cv=folds).fit(
            X, y
        ),
        "LogisticRegressionCV": lambda X, y: LogisticRegressionCV(
            Cs=COSTS, cv=folds, max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False
        ).fit(X, y),
    }


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    for name in ("a9a", "w8a") if not quick else ("a9a",):
        data = workloads.real(name)
        if data is None:
            yield {"set": name, "skipped": f"no data in {workloads.DATA.name}/"}
            continue
        X, X_test, y, y_test = data
        if quick:
            X, _, y, _ = train_test_split(X, y, train_size=0.1, random_state=0, stratify=y)
        searches = contestants(stratified_folds(y, 5, 0))
        times: dict[str, list[float]] = {each: [] for each in searches}
        errors: dict[str, float] = {}
        searches[OURS](X[:500], y[:500])  # compiles
        with warnings.catch_warnings(), one_blas_thread():
            warnings.simplefilter("ignore")
            for _ in range(repeats):
                for each, search in searches.items():
                    started = time.perf_counter()
                    model = search(X, y)
                    times[each].append(time.perf_counter() - started)
                    errors[each] = float(np.mean(model.predict(X_test) != y_test))
        for each in searches:
            yield {"set": name, "learner": each, "error": errors[each], "seconds": statistics.median(times[each])}
