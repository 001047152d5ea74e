"""Defaults against defaults on real data: test accuracy and time, as somebody gets them who sets nothing."""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import PassiveAggressiveClassifier, SGDClassifier
from sklearn.linear_model import Perceptron as SklearnPerceptron

import rosenblatt as rb

from . import workloads

SETS = ("a9a", "w8a", "ijcnn1", "news20", "mnist")
Learner = Callable[[Any, Any, Any, int], tuple[float, Any]]


def _estimator(make: Callable[[int], Any]) -> Learner:
    def learn(X: Any, y: Any, X_test: Any, seed: int) -> tuple[float, Any]:
        model = make(seed)
        start = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - start, model.predict(X_test)

    return learn


def _snapml() -> Learner:
    import snapml

    return _estimator(lambda seed: snapml.SupportVectorMachine(random_state=seed))


def _vowpal_wabbit(X: Any, y: Any, X_test: Any, seed: int) -> tuple[float, Any]:
    """Hinge loss, one pass over a file it can read; writing that file is not counted, reading it is: it has no other input."""
    from vowpalwabbit import pyvw

    classes, codes = np.unique(y, return_inverse=True)
    task = "--loss_function hinge" if len(classes) == 2 else f"--oaa {len(classes)} --loss_function hinge"
    labels = 2 * codes - 1 if len(classes) == 2 else codes + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.vw"
        path.write_text("".join(f"{label} |{_features(X, i)}\n" for i, label in enumerate(labels)))
        start = time.perf_counter()
        learner = pyvw.Workspace(f"-d {path} --quiet -b 20 --random_seed {seed} {task}")
        seconds = time.perf_counter() - start
    found = [learner.predict(f"|{_features(X_test, i)}") for i in range(X_test.shape[0])]
    learner.finish()
    codes = (np.array(found) > 0).astype(int) if len(classes) == 2 else np.array(found, int) - 1
    return seconds, classes[codes]


def _features(X: Any, i: int) -> str:
    if hasattr(X, "indptr"):
        span = slice(X.indptr[i], X.indptr[i + 1])
        return "".join(f" {j}:{x:.6g}" for j, x in zip(X.indices[span], X.data[span], strict=True))
    return "".join(f" {j}:{X[i, j]:.6g}" for j in np.flatnonzero(X[i]))


def _river(X: Any, y: Any, X_test: Any, seed: int) -> tuple[float, Any]:
    """One pass, row by row, over the first 5,000 rows; the time is what all rows would take."""
    from river import linear_model, multiclass

    base = linear_model.Perceptron()
    model = base if len(np.unique(y)) == 2 else multiclass.OneVsRestClassifier(base)
    rows, some = [_as_dict(X, i) for i in range(min(5000, X.shape[0]))], y.tolist()
    positive = max(some)
    truth = [label == positive for label in some] if model is base else some
    start = time.perf_counter()
    for row, label in zip(rows, truth, strict=False):
        model.learn_one(row, label)
    seconds = (time.perf_counter() - start) * X.shape[0] / len(rows)
    found = [model.predict_one(_as_dict(X_test, i)) for i in range(X_test.shape[0])]
    return seconds, np.where(found, positive, min(some)) if model is base else np.array(found)


def _as_dict(X: Any, i: int) -> dict[int, float]:
    if hasattr(X, "indptr"):
        span = slice(X.indptr[i], X.indptr[i + 1])
        return dict(zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True))
    return dict(enumerate(X[i].tolist()))


def learners() -> dict[str, Learner]:
    found = {
        'rb.Perceptron("average")': _estimator(lambda seed: rb.Perceptron("average", random_state=seed)),
        'rb.Perceptron("average", margin="auto")': _estimator(
            lambda seed: rb.Perceptron("average", margin="auto", random_state=seed)
        ),
        "sklearn Perceptron()": _estimator(lambda seed: SklearnPerceptron(random_state=seed)),
        "sklearn SGDClassifier()": _estimator(lambda seed: SGDClassifier(random_state=seed)),
        "sklearn PassiveAggressiveClassifier()": _estimator(lambda seed: PassiveAggressiveClassifier(random_state=seed)),
    }
    if importlib.util.find_spec("snapml"):
        found["snapml SupportVectorMachine()"] = _snapml()
    if importlib.util.find_spec("vowpalwabbit"):
        found["Vowpal Wabbit, one pass"] = _vowpal_wabbit
    if importlib.util.find_spec("river"):
        found["river Perceptron, one pass"] = _river
    return found


def measure(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    for name in SETS[:1] if quick else SETS:
        data = workloads.real(name)
        if data is None:
            yield {"set": name, "skipped": f"no data in {workloads.DATA.name}/"}
            continue
        X, X_test, y, y_test = data
        all_learners = learners()
        all_learners['rb.Perceptron("average")'](X, y, X_test, 0)  # compiles
        results: dict[str, list[tuple[float, float]]] = {learner: [] for learner in all_learners}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(seeds):
                for learner, learn in all_learners.items():
                    if seed and learner.startswith(("Vowpal", "river")):
                        continue
                    seconds, predicted = learn(X, y, X_test, seed)
                    results[learner].append((seconds, float((predicted == y_test).mean())))
        for learner, each in results.items():
            times, accuracies = zip(*each, strict=True)
            yield {
                "set": name,
                "learner": learner,
                "accuracy": statistics.mean(accuracies),
                "spread": statistics.pstdev(accuracies),
                "seconds": statistics.median(times),
            }
