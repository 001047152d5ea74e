"""The heaviest features: weight times spread, so that features in small units are not held to be important."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..charts import Chart, Scale
from ..story import Facts
from ..text import TIMES, cut, join_and, short

SHOWN = 15
BLOCK = 1 << 20


def spreads(X: Any) -> Any:
    """The standard deviation of every column, in one pass over blocks of rows."""
    n, d = X.shape
    if sp.issparse(X):
        total, squares = np.zeros(d), np.zeros(d)
        for first in range(0, X.nnz, 4 * BLOCK):
            some = slice(first, first + 4 * BLOCK)
            values = X.data[some].astype(np.float64)
            total += np.bincount(X.indices[some], values, d)
            squares += np.bincount(X.indices[some], values * values, d)
        mean = total / n
        return np.sqrt(np.maximum(0.0, squares / n - mean * mean))
    size = max(1, BLOCK // max(1, d))
    shift = X[: min(n, size)].astype(np.float64).mean(axis=0)  # near the mean, so that squares do not swallow the spread
    total, squares = np.zeros(d), np.zeros(d)
    for first in range(0, n, size):
        rows = X[first : first + size].astype(np.float64) - shift
        total += rows.sum(axis=0)
        squares += np.einsum("ij,ij->j", rows, rows)
    mean = total / n
    return np.sqrt(np.maximum(0.0, squares / n - mean * mean))


def heaviest(facts: Facts, shown: int = SHOWN) -> tuple[Any, Any, Any]:
    """(features, their weight times spread with sign, the class each of them speaks of), heaviest first.

    Two classes: the sign is that of the plane, and the class is 1. More: the weight is what a class has over the mean of all
    classes, and the class is the one for or against which the feature speaks loudest.
    """
    assert facts.planes is not None
    weights = facts.planes[0]
    if facts.k > 2:
        weights = weights - weights.mean(axis=0)
    if facts.has_rows:
        weights = weights * spreads(facts.story.X)
    which = abs(weights).argmax(axis=0)
    values = np.take_along_axis(weights, which[None], axis=0)[0]
    order = np.argsort(-abs(values), kind="stable")[:shown]
    order = order[values[order] != 0.0]
    return order, values[order], which[order] if facts.k > 2 else np.ones(len(order), np.intp)


def features(facts: Facts) -> Chart | None:
    if facts.planes is None:
        return None
    order, values, which = heaviest(facts)
    if not len(order):
        return None
    names = [facts.feature(int(j)) for j in order]
    spread = f"weight {TIMES} spread" if facts.has_rows else "weight"
    tones, sides, titles = [], [], []
    for j, value, c, name in zip(order, values, which, names, strict=True):
        if facts.k == 2:
            side = f"for {cut(facts.names[1 if value > 0 else 0], 16)}"
            tone = "class1" if value > 0 else "class0"
        else:
            side = f"{'for' if value > 0 else 'against'} {cut(facts.names[c], 16)}"
            tone = "good" if value > 0 else "bad"
        weight = facts.planes[0][0 if facts.k == 2 else c, j]
        tones.append(tone)
        sides.append(side)
        titles.append(f"{name}: weight {short(float(weight))}, {spread} {short(float(value))}, speaks {side}")
    scale = Scale([cut(name) for name in names], [float(v) for v in values], tones, sides, titles)
    few = join_and([f"{cut(name)} ({side})" for name, side in zip(names[:3], sides[:3], strict=True)])
    caption = f"Heaviest by {spread}: {few}."
    caption += (
        f" {len(order)} of {facts.planes[0].shape[1]:,} features are shown." if len(order) < facts.planes[0].shape[1] else ""
    )
    if facts.k > 2:
        caption += " Weights are what a class has over the mean of all."
    if facts.votes:
        caption += " Votes have no weights of their own: these are of the run's average."
    return Chart("features", "Heaviest features", caption, (scale,), tall=True)
