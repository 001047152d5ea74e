"""Calibrated probabilities on real tables: Brier score and log loss of held-out rows, beside `CalibratedClassifierCV`.

All contestants calibrate the same estimator by the same number of folds. `ensemble=False` fits it on all rows, as ours does;
`ensemble=True` keeps the five models of the folds and averages their probabilities. Numeric columns are divided by their
largest values.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import MaxAbsScaler

import rosenblatt as rb
from rosenblatt.probabilities.maps import CALIBRATIONS
from rosenblatt.probabilities.measures import ProbabilityTest

from . import workloads

SPLITS = 3  # into halves
MAX_ROWS = 5000
SEVERAL_CLASSES = ("dna.scale", "letter.scale")
ESTIMATORS: dict[str, Callable[..., Any]] = {
    'Perceptron(keep="average")': lambda **given: rb.Perceptron(keep="average", random_state=0, **given),
    "SoftMargin()": lambda **given: rb.SoftMargin(random_state=0, **given),
    "LinearMSE()": lambda **given: rb.LinearMSE(**given),
    "NonlinearMSE()": lambda **given: rb.NonlinearMSE(**given),
}
DETAILED = "SoftMargin()"  # whose tables are listed one by one


def contestants(make: Callable[..., Any], kind: str) -> dict[str, Any]:
    return {
        "ours": make(calibrate=kind),
        "ensemble=False": CalibratedClassifierCV(make(), method=kind, cv=5, ensemble=False),
        "ensemble=True": CalibratedClassifierCV(make(), method=kind, cv=5, ensemble=True),
    }


def tables(quick: bool) -> Iterator[tuple[str, Any, Any]]:
    """Sets of two classes and of several: (name, X, class codes)."""
    names = () if quick or not workloads.DATA.is_dir() else SEVERAL_CLASSES
    sets = list(workloads.two_classes(True)) + [(name, *workloads.svmlight(name)) for name in names]
    for name, X, y in sets[:2] if quick else sets:
        codes = np.unique(y, return_inverse=True)[1]
        some = np.random.default_rng(0).permutation(len(codes))[:MAX_ROWS]
        yield name, X[some], codes[some]


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    sets = list(tables(quick))
    if not sets:
        yield {"table": "calibration", "skipped": workloads.missing("uci/ and libsvm/")}
        return
    for title, make in ESTIMATORS.items():
        make().fit(sets[0][1], sets[0][2])  # compiles
        for kind in CALIBRATIONS[:1] if quick else CALIBRATIONS:
            found = {name: _tested(name, X, codes, make, kind) for name, X, codes in sets}
            if title == DETAILED:
                yield from (_row(f"{title}, {kind}", "set", name, results) for name, results in found.items())
            every = {each: np.mean([results[each] for results in found.values()], axis=0) for each in contestants(make, kind)}
            yield _row("mean of all tables", "calibrated", f"{title}, {kind}", every)


def _tested(name: str, X: Any, codes: Any, make: Callable[..., Any], kind: str) -> dict[str, Any]:
    """Mean Brier score, log loss and seconds of each contestant over the splits."""
    found: dict[str, list[tuple[float, float, float]]] = {each: [] for each in contestants(make, kind)}
    splits = StratifiedShuffleSplit(SPLITS, test_size=0.5, random_state=0)
    for train, test in splits.split(np.zeros(len(codes)), codes):
        scaler = MaxAbsScaler().fit(X[train])
        rows, fresh = scaler.transform(X[train]), scaler.transform(X[test])
        for each, model in contestants(make, kind).items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(rows, codes[train])
            seconds = time.process_time() - start
            quality = ProbabilityTest.of(model.predict_proba(fresh), codes[test])
            found[each].append((quality.brier, quality.log_loss, seconds))
    return {each: np.mean(results, axis=0) for each, results in found.items()}


def _row(table: str, heading: str, name: str, results: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"table": table, heading: name, "numbers": {each: list(map(float, r)) for each, r in results.items()}}
    for place, (measure_, digits) in enumerate((("Brier", 4), ("log loss", 4), ("s", 2))):
        for each, numbers in results.items():
            row[f"{measure_}, {each}"] = f"{numbers[place]:.{digits}f}"
    return row
