"""The pocket against NumPy counting all errors after every update; votes against one product with all stored vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import rosenblatt as rb

from . import workloads
from .measure import interleave


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    part = 10 if quick else 1
    with threadpool_limits(1):
        for share, noise in (("15 %", 0.5), ("25 %", 1.0)):
            yield _pocket(20_000 // part, 54, 2_000 // part, share, noise, repeats)
        for n, d in ((20_000, 54), (4_000, 784)):
            for passes in (1, 10):
                yield _vote(n // part, d, passes, repeats)


def _pocket(n: int, d: int, updates: int, share: str, noise: float, repeats: int) -> dict[str, Any]:
    X, y = workloads.dense(n, d, noise=noise)
    signs = np.where(y == 1, 1.0, -1.0)

    def with_numpy() -> tuple[int, Any]:
        """Textbook pocket: after every update, count the errors of all rows."""
        w, best, kept, made = np.zeros(d + 1), n, np.zeros(d + 1), 0
        while True:
            for i in range(n):
                if signs[i] * (w[0] + X[i] @ w[1:]) <= 0:
                    w[0] += signs[i]
                    w[1:] += signs[i] * X[i]
                    made += 1
                    errors = int(np.count_nonzero(signs * (X @ w[1:] + w[0]) <= 0))
                    if errors < best:
                        best, kept = errors, w.copy()
                    if made == updates:
                        return best, kept

    ours = rb.Perceptron(keep="pocket", order="cyclic", max_updates=updates, max_iter=1000)
    seconds = interleave({"numpy": with_numpy, "ours": lambda: ours.fit(X, y)}, repeats)
    best, kept = with_numpy()
    same = best == ours.pocket_errors_ and np.allclose(kept[1:], ours.coef_[0], rtol=1e-9)
    return {
        "work": f"pocket, {n} x {d} rows, {share} of labels turned, {updates} updates",
        "dtype": "float64",
        "seconds": seconds,
        "ratio": seconds["numpy"] / seconds["ours"],
        "required": 3.0,
        "agree": 0.0 if same else 1.0,
    }


def _vote(n: int, d: int, passes: int, repeats: int) -> dict[str, Any]:
    X, y = workloads.dense(n, d, noise=0.5)
    train, test = slice(0, n // 2), slice(n // 2, n)
    model = rb.Perceptron(keep="vote", order="cyclic", max_iter=passes).fit(X[train], y[train])
    log = model.log_
    assert log is not None
    vectors = np.array([np.append(intercept, coef[0]) for coef, intercept in map(log.weights_at, _sample(log.n_updates))])
    stored: Any = np.resize(vectors, (log.n_updates + 1, d + 1))
    rows = np.hstack([np.ones((n - n // 2, 1)), X[test]])
    seconds = interleave({"product": lambda: rows @ stored.T, "ours": lambda: model.decision_function(X[test])}, repeats)
    few = slice(n // 2, n // 2 + 200)
    hypotheses = np.array([np.append(intercept, coef[0]) for coef, intercept in map(log.weights_at, range(log.n_updates + 1))])
    born = np.concatenate([[0], log.times, log.durations])
    scores = np.hstack([np.ones((200, 1)), X[few]]) @ hypotheses.T
    naive = np.where(scores > 0, 1.0, -1.0) @ np.diff(born) / born[-1]
    return {
        "work": f"voted prediction, {log.n_updates} hypotheses ({passes} passes), {n - n // 2} x {d} rows",
        "dtype": "float64",
        "seconds": seconds,
        "ratio": seconds["product"] / seconds["ours"],
        "required": 1.0,
        "agree": float(np.abs(naive - model.decision_function(X[few])).max()),
    }


def _sample(updates: int) -> range:
    return range(0, updates, max(1, updates // 64))
