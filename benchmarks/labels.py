"""Several labels a row: one-vs-rest on sparse texts, beside scikit-learn's OneVsRestClassifier at the same objective.

Words follow a power law, and each label adds words of its own; labels have 0.5 % to 30 % of the rows. Each peer is run with
smaller tolerances until the sum of its objectives is within a share of the best one, and then in turns with ours. One thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import rosenblatt as rb

from .measure import interleave

ROWS, WORDS, LABELS = 4000, 20_000, 60
EXCESS = 1e-3  # of the sum of the objectives over the best one
TOLERANCES: list[float] = [10.0 ** (-exponent / 2) for exponent in range(15)]


@cache
def texts(n: int = ROWS, d: int = WORDS, k: int = LABELS, seed: int = 0) -> tuple[Any, Any]:
    """Rows of length 1 of about 60 words, and their labels."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, d + 1)
    share /= share.sum()
    own = [rng.integers(50, d, 60) for _ in range(k)]
    Y = rng.random((n, k)) < np.clip(0.01 * rng.pareto(1.5, k), 0.005, 0.3)
    words = [np.concatenate([rng.choice(d, 60, p=share), *(rng.choice(own[j], 6) for j in np.flatnonzero(row))]) for row in Y]
    lengths = [len(each) for each in words]
    places = np.repeat(np.arange(n), lengths), np.concatenate(words)
    X = sp.csr_matrix((np.ones(sum(lengths)), places), shape=(n, d))
    X.data = 1.0 + np.log(X.data)
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    return X, (Y ^ (rng.random(Y.shape) < 0.002)).astype(int)


class Work(NamedTuple):
    """Ours and a peer, as functions of the tolerance, and what both minimize; None: both make the same number of passes."""

    name: str
    ours: Callable[[float], Any]
    peer: Callable[[float], Any]
    loss: Callable[[Any], Any] | None
    least: float  # the ratio that is required
    penalized: bool = False


def works() -> list[Work]:
    def one_vs_rest(model: Any) -> Any:
        return OneVsRestClassifier(model)

    def logistic(tol: float) -> Any:
        return rb.SoftMargin(loss="logistic", tol=tol)

    def squared(tol: float) -> Any:
        return rb.SoftMargin(loss="squared_hinge", penalize_intercept=True, tol=tol, random_state=0)

    return [
        Work(
            "LinearSVC, squared hinge", squared, lambda tol: one_vs_rest(LinearSVC(tol=tol, dual=True, random_state=0)),
            lambda margins: np.maximum(0.0, 1.0 - margins) ** 2, 1.0, True,
        ),
        Work(
            "LogisticRegression (lbfgs)", logistic, lambda tol: one_vs_rest(LogisticRegression(tol=tol, max_iter=1000)),
            lambda margins: np.logaddexp(0.0, -margins), 1.0,
        ),
        Work(
            "SGDClassifier, perceptron, five passes", lambda tol: rb.Perceptron(max_iter=5, random_state=0),
            lambda tol: one_vs_rest(SGDClassifier(loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0,
                                                  max_iter=5, tol=None, random_state=0)), None, 1.5,
        ),
        Work(
            "RidgeClassifier", lambda tol: rb.LinearMSE(alpha=1.0, tol=tol), lambda tol: RidgeClassifier(alpha=1.0, tol=tol),
            lambda margins: 0.5 * (1.0 - margins) ** 2, 1.0,
        ),
    ]  # fmt: skip


def objective(work: Work, model: Any, Y: Any) -> float:
    """The sum over the labels of 1/2 |w|^2 (+ b^2/2) and the loss of all rows, with C = 1."""
    X = texts()[0]
    heads = getattr(model, "estimators_", [model])
    W = model.coef_ if hasattr(model, "coef_") else np.vstack([head.coef_ for head in heads])
    b = model.intercept_ if hasattr(model, "intercept_") else np.array([head.intercept_[0] for head in heads])
    assert work.loss is not None
    penalty = 0.5 * float((W * W).sum()) + (0.5 * float((b * b).sum()) if work.penalized else 0.0)
    loss: float = work.loss((2 * Y - 1) * (X @ W.T + b)).sum()
    return penalty + float(loss)


def effort(work: Work, make: Callable[[float], Any], best: float, Y: Any) -> float:
    """The largest tolerance with which the objective is near enough."""
    X = texts()[0]
    return next(tol for tol in TOLERANCES if objective(work, make(tol).fit(X, Y), Y) <= best * (1.0 + EXCESS))


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    X, Y = texts()
    if quick:
        Y = Y[:, :8]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for work in works():
            tols, agree = (1.0, 1.0), None
            if work.loss is not None:
                best = objective(work, work.ours(1e-7).fit(X, Y), Y)
                tols = effort(work, work.ours, best, Y), effort(work, work.peer, best, Y)
                agree = EXCESS
            peer, ours = work.peer(tols[1]), work.ours(tols[0])
            seconds = interleave(
                {"sklearn": partial(peer.fit, X, Y), "ours": partial(ours.fit, X, Y)}, repeats, time.perf_counter
            )
            yield {
                "work": f"{Y.shape[1]} labels, {work.name}",
                "dtype": "float64",
                "seconds": seconds,
                "ratio": seconds["sklearn"] / seconds["ours"],
                "required": work.least,
                "agree": agree,
            }
