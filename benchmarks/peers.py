"""Other libraries, called in their usual way: each is fitted on (X, y) and returns the seconds and a predict function."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Predict = Callable[[Any], Any]
Learner = Callable[[Any, Any, int], tuple[float, Predict]]

# river learns row by row from dicts; the time for all rows is estimated from this many.
RIVER_ROWS = 2_000


def estimator(make: Callable[[int], Any]) -> Learner:
    """Anything with fit and predict; `make` takes a seed."""

    def learn(X: Any, y: Any, seed: int) -> tuple[float, Predict]:
        model = make(seed)
        start = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - start, model.predict

    return learn


def vowpal_wabbit(passes: int) -> Learner:
    """Hinge loss from a file of its own format; writing that file is not counted, reading it is: it has no other input."""

    def learn(X: Any, y: Any, seed: int) -> tuple[float, Predict]:
        from vowpalwabbit import pyvw

        classes, codes = np.unique(y, return_inverse=True)
        task = "--loss_function hinge" if len(classes) == 2 else f"--oaa {len(classes)} --loss_function hinge"
        labels = 2 * codes - 1 if len(classes) == 2 else codes + 1
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.vw"
            with path.open("w") as file:
                file.writelines(f"{label} |{_features(X, i)}\n" for i, label in enumerate(labels))
            again = f"--passes {passes} --holdout_off --cache_file {folder}/cache" if passes > 1 else ""
            start = time.perf_counter()
            learner = pyvw.Workspace(f"-d {path} --quiet -b 20 --random_seed {seed} {task} {again}")
            seconds = time.perf_counter() - start

        def predict(rows: Any) -> Any:
            found = [learner.predict(f"|{_features(rows, i)}") for i in range(rows.shape[0])]
            return classes[(np.array(found) > 0).astype(int) if len(classes) == 2 else np.array(found, int) - 1]

        return seconds, predict

    return learn


def river(passes: int) -> Learner:
    """Row by row over the first rows; the time is extrapolated to all rows."""

    def learn(X: Any, y: Any, seed: int) -> tuple[float, Predict]:
        from river import linear_model, multiclass

        two, positive = len(np.unique(y)) == 2, max(y.tolist())
        model: Any = linear_model.Perceptron() if two else multiclass.OneVsRestClassifier(linear_model.Perceptron())
        rows = [_as_dict(X, i) for i in range(min(RIVER_ROWS, X.shape[0]))]
        truth = [label == positive if two else label for label in y[: len(rows)].tolist()]
        start = time.perf_counter()
        for row, label in zip(rows, truth, strict=True):
            model.learn_one(row, label)
        seconds = (time.perf_counter() - start) * passes * X.shape[0] / len(rows)

        def predict(rows: Any) -> Any:
            found = [model.predict_one(_as_dict(rows, i)) for i in range(rows.shape[0])]
            return np.where(found, positive, min(y.tolist())) if two else np.array(found)

        return seconds, predict

    return learn


def snapml(**parameters: Any) -> Learner:
    import snapml

    return estimator(lambda seed: snapml.SupportVectorMachine(random_state=seed, **parameters))


def installed(passes: int, **of_snapml: Any) -> dict[str, Learner]:
    """Return the installed libraries of the extra [bench]."""
    count = "one pass" if passes == 1 else f"{passes} passes"
    found: dict[str, Learner] = {}
    if importlib.util.find_spec("snapml"):
        given = ", ".join(f"{name}={value}" for name, value in of_snapml.items())
        found[f"snapml SupportVectorMachine({given})"] = snapml(**of_snapml)
    if importlib.util.find_spec("vowpalwabbit"):
        found[f"Vowpal Wabbit, hinge, {count}"] = vowpal_wabbit(passes)
    if importlib.util.find_spec("river"):
        found[f"river Perceptron, {count}, estimated from {RIVER_ROWS} rows"] = river(passes)
    return found


def _features(X: Any, i: int) -> str:
    if hasattr(X, "indptr"):
        span = slice(X.indptr[i], X.indptr[i + 1])
        return "".join(f" {j}:{x:.6g}" for j, x in zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True))
    return "".join(f" {j}:{x:.6g}" for j, x in enumerate(X[i].tolist()) if x)


def _as_dict(X: Any, i: int) -> dict[int, float]:
    if hasattr(X, "indptr"):
        span = slice(X.indptr[i], X.indptr[i + 1])
        return dict(zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True))
    return dict(enumerate(X[i].tolist()))
