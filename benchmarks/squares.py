"""Least squares beside scikit-learn's RidgeClassifier: the same weights, validation and intercept included."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifier
from threadpoolctl import threadpool_limits

import rosenblatt as rb

from . import workloads
from .measure import interleave


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    X64, y = workloads.dense(100_000 // (10 if quick else 1), 100, noise=0.5)
    for threads in (1, None):
        for dtype, least in ((np.float64, 2.5), (np.float32, None)):
            X = X64.astype(dtype)
            theirs, ours = RidgeClassifier(), rb.LinearMSE(alpha=1.0)
            with threadpool_limits(threads):
                seconds = interleave(
                    {"sklearn": partial(theirs.fit, X, y), "ours": partial(ours.fit, X, y)}, repeats, time.perf_counter
                )
            yield {
                "work": f"LinearMSE 100k x 100, {'one thread' if threads else 'all threads'}",
                "dtype": dtype.__name__,
                "seconds": seconds,
                "ratio": seconds["sklearn"] / seconds["ours"],
                "required": least,
                "agree": float(abs(theirs.coef_ - ours.coef_).max() / abs(theirs.coef_).max()),
            }
