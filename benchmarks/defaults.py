"""Defaults against defaults on real data: test accuracy and time without any parameter set."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier

import rosenblatt as rb

from . import peers, workloads

SETS = ("a9a", "w8a", "ijcnn1", "news20", "mnist")
OURS = 'rb.Perceptron(keep="average")'


def learners() -> dict[str, peers.Learner]:
    return {
        OURS: peers.estimator(lambda seed: rb.Perceptron(keep="average", random_state=seed)),
        'rb.Perceptron(keep="average", margin="auto")': peers.estimator(
            lambda seed: rb.Perceptron(keep="average", margin="auto", random_state=seed)
        ),
        "sklearn Perceptron()": peers.estimator(lambda seed: SklearnPerceptron(random_state=seed)),
        "sklearn SGDClassifier()": peers.estimator(lambda seed: SGDClassifier(random_state=seed)),
        'sklearn SGDClassifier("pa1")': peers.estimator(
            lambda seed: SGDClassifier(loss="hinge", learning_rate="pa1", eta0=1.0, penalty=None, random_state=seed)
        ),
    } | peers.installed(passes=1)


def measure(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    for name in SETS[:1] if quick else SETS:
        data = workloads.real(name)
        if data is None:
            yield {"set": name, "skipped": f"no data in {workloads.DATA.name}/"}
            continue
        X, X_test, y, y_test = data
        contestants = learners()
        contestants[OURS](X, y, 0)  # compiles
        results: dict[str, list[tuple[float, float]]] = {learner: [] for learner in contestants}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(seeds):
                for learner, learn in contestants.items():
                    if seed and learner.startswith(("Vowpal", "river")):
                        continue
                    seconds, predict = learn(X, y, seed)
                    results[learner].append((seconds, float((predict(X_test) == y_test).mean())))
        for learner, each in results.items():
            times, accuracies = zip(*each, strict=True)
            yield {
                "set": name,
                "learner": learner,
                "accuracy": statistics.mean(accuracies),
                "spread": statistics.pstdev(accuracies),
                "seconds": statistics.median(times),
            }
