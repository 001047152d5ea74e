"""The same epochs and the same updates as scikit-learn's learners: weights compared, time per fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

import rosenblatt as rb

from . import peers, workloads
from .measure import BLOCK, Contestant, interleave, reading

EPOCHS = 10
# scikit-learn takes seconds where the weights are more than this many, so that they are measured less often.
LONG_WEIGHTS = 5_000_000
LONG_REPEATS = 3
# scikit-learn scales the bias step by 0.01 on sparse rows; a constant of 0.1 before every row does the same.
SPARSE_BIAS = 0.1


def _sklearn(kind: str, shuffle: bool) -> Any:
    options: dict[str, Any] = {"max_iter": EPOCHS, "tol": None, "shuffle": shuffle, "random_state": 0}
    if kind in ("averaged", "joint averaged"):
        return SGDClassifier(loss="perceptron", learning_rate="constant", eta0=1.0, penalty=None, average=True, **options)
    if kind == "passive-aggressive":
        return SGDClassifier(loss="hinge", learning_rate="pa1", eta0=1.0, penalty=None, fit_intercept=False, **options)
    return SklearnPerceptron(**options)


def _ours(kind: str, shuffle: bool, sparse: bool) -> Any:
    options: dict[str, Any] = {"max_iter": EPOCHS, "order": "permuted" if shuffle else "cyclic", "multiclass": "ovr"}
    options |= {"random_state": 0, "intercept_scaling": SPARSE_BIAS if sparse else 1.0}
    if kind == "passive-aggressive":
        return rb.PassiveAggressive(keep="last", fit_intercept=False, **options)
    if kind == "joint averaged":
        options |= {"multiclass": "joint"}
    return rb.Perceptron(keep="last" if kind == "online" else "average", **options)


# (work, learner, shuffled, data, required in float64, required in float32)
def _works(quick: bool) -> Iterator[tuple[str, str, bool, Any, float | None, float | None]]:
    tenth = 10 if quick else 1
    dense, wide = (100_000 // tenth, 100), (60_000 // tenth, 784, 10)
    for share, noise in (("3 %", 0.1), ("15 %", 0.5)):
        name, rows = f"dense 100k x 100, {share} of labels turned", workloads.dense(*dense, noise=noise)
        yield f"{name}, cyclic", "online", False, rows, 2.7, 4.5
        yield f"{name}, permuted", "online", True, rows, 3.5, 6.0
        yield f"{name}, averaged", "averaged", False, rows, 4.5, 9.0
        yield f"{name}, passive-aggressive", "passive-aggressive", False, rows, None, None
    yield "dense 60k x 784, 10 classes, one-vs-rest", "online", False, workloads.dense(*wide), 6.0, 11.0
    for d, plain, averaged in ((50_000, 1.2, 1.8), (1_000_000, 1.4, 2.5)):
        name, data = f"CSR 200k x {d // 1000}k", workloads.sparse(200_000 // tenth, d // tenth)
        yield f"{name}, cyclic", "online", False, data, plain, plain
        yield f"{name}, permuted", "online", True, data, None, None
        yield f"{name}, averaged", "averaged", False, data, averaged, averaged
        yield f"{name}, passive-aggressive", "passive-aggressive", False, data, None, None
    many = workloads.sparse(100_000 // tenth, 50_000 // tenth, 75, 20)
    yield "CSR 100k x 50k, 20 classes, one-vs-rest", "online", False, many, 2.0, 3.0
    more = workloads.sparse(50_000 // tenth, 200_000 // tenth, 75, 50)
    yield "CSR 50k x 200k, 50 classes, one-vs-rest", "online", False, more, 1.0, 1.0
    texts = workloads.sparse(6_500 // tenth, (1 << 20) // tenth, 100, 52)
    yield "CSR 6,500 x 2^20, 52 classes, one-vs-rest", "online", False, texts, 1.0, 1.0
    yield "CSR 6,500 x 2^20, 52 classes, joint, averaged", "joint averaged", True, texts, 1.0, 1.0


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    with threadpool_limits(1):
        yield from _measure(repeats, quick)


def _measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    warnings.simplefilter("ignore", FutureWarning)  # scikit-learn's farewell to its passive-aggressive classes
    read = reading()
    for work, kind, shuffle, (X64, y), *required in _works(quick):
        for dtype, least in zip((np.float64, np.float32), required, strict=True):
            X = X64.astype(dtype)
            sparse = hasattr(X, "indptr")
            theirs, ours = _sklearn(kind, shuffle), _ours(kind, shuffle, sparse)
            fits: dict[str, Contestant] = {"sklearn": partial(theirs.fit, X, y), "ours": partial(ours.fit, X, y)}
            weights = X.shape[1] * int(y.max() + 1)
            few = min(repeats, LONG_REPEATS) if weights > LONG_WEIGHTS else repeats
            seconds = interleave(fits | {"reading": read}, few, memory=4 * weights * X.dtype.itemsize)
            bandwidth = BLOCK / seconds["reading"]
            touched = X.data.nbytes + X.indices.nbytes if sparse else X.nbytes
            yield {
                "work": work,
                "dtype": dtype.__name__,
                "seconds": seconds,
                "ratio": seconds["sklearn"] / seconds["ours"],
                "required": least,
                "gigabytes": bandwidth / 1e9,
                "bandwidth": touched * EPOCHS / seconds["ours"] / bandwidth,
                "agree": None if shuffle else _difference(theirs, ours),
            }
            if dtype is np.float32 and work in BESIDE:
                yield from _others(work, X, y, seconds["ours"])


# The peers that do other work: one run each beside ours, on float32 rows. Their weights are not compared.
BESIDE = (
    "dense 100k x 100, 3 % of labels turned, cyclic",
    "CSR 200k x 50k, cyclic",
    "CSR 100k x 50k, 20 classes, one-vs-rest",
)


def _others(work: str, X: Any, y: Any, ours: float) -> Iterator[dict[str, Any]]:
    for peer, learn in peers.installed(EPOCHS, max_iter=EPOCHS).items():
        seconds, predict = learn(X, y, 0)
        few = slice(0, 2000)
        yield {
            "work": f"  {peer}",
            "beside": work,
            "dtype": "float32",
            "seconds": {"peer": seconds, "ours": ours},
            "ratio": seconds / ours,
            "required": None,
            "agree": None,
            "training accuracy": float((predict(X[few]) == y[few]).mean()),
        }


def _difference(theirs: Any, ours: Any) -> float:
    """The largest difference of the weights, relative to the largest weight."""
    return float(np.abs(theirs.coef_ - ours.coef_).max() / np.abs(theirs.coef_).max())
