"""Fits of about a hundred rows with default parameters: most of their time is Python's, not that of the passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier

import rosenblatt as rb

from .measure import Contestant, interleave

# A fit may take 1.5 times as long as scikit-learn's.
LEAST_RATIO = 1 / 1.5


def _sgd(**options: Any) -> Any:
    return SGDClassifier(penalty=None, random_state=0, **options)


# (learner, ours, scikit-learn's)
PAIRS: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
    ("perceptron", lambda: rb.Perceptron(random_state=0), lambda: SklearnPerceptron(random_state=0)),
    ("one-vs-rest", lambda: rb.Perceptron(multiclass="ovr", random_state=0), lambda: SklearnPerceptron(random_state=0)),
    (
        "averaged",
        lambda: rb.Perceptron(keep="average", random_state=0),
        lambda: _sgd(loss="perceptron", learning_rate="constant", eta0=1.0, average=True),
    ),
    (
        "passive-aggressive",
        lambda: rb.PassiveAggressive(random_state=0),
        lambda: _sgd(loss="hinge", learning_rate="pa1", eta0=1.0),
    ),
    ("AROW", lambda: rb.AROW(random_state=0), lambda: _sgd(loss="squared_hinge")),
    (
        "logistic",
        lambda: rb.NonlinearMSE(solver="online", activation="logistic", random_state=0),
        lambda: _sgd(loss="log_loss"),
    ),
    ("batch", lambda: rb.Perceptron(update="batch"), lambda: SklearnPerceptron(random_state=0)),
]


def _rows(n: int, d: int, k: int, distance: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), np.arange(n) % k
    X[np.arange(n), y] += distance
    return X, y


def _fit(make: Callable[[], Any], X: Any, y: Any) -> None:
    make().fit(X, y)


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    warnings.simplefilter("ignore")
    for (n, d, k), (kind, distance) in [
        (shape, kind) for shape in ((100, 5, 2), (150, 4, 3)) for kind in (("separable", 8.0), ("overlapping", 0.7))
    ]:
        X, y = _rows(n, d, k, distance)
        for learner, ours, theirs in PAIRS:
            fits: dict[str, Contestant] = {"sklearn": partial(_fit, theirs, X, y), "ours": partial(_fit, ours, X, y)}
            seconds = interleave(fits, 5 if quick else 20 * repeats)
            yield {
                "work": f"{n} x {d}, {k} classes, {kind}: {learner}",
                "dtype": "float64",
                "seconds": seconds,
                "ratio": seconds["sklearn"] / seconds["ours"],
                "required": None if learner == "batch" else LEAST_RATIO,
                "agree": None,
            }
