"""The most important features: weight times standard deviation, which does not depend on the units of a feature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ...array_types import FloatArray, IntArray, Matrix
from ..charts import Chart, HorizontalBars
from ..story import Facts
from ..text import TIMES, count, cut, join_and, short

SHOWN_FEATURES = 15
VALUES_PER_BLOCK = 1 << 20


def spreads(X: Matrix) -> FloatArray:
    """Return the standard deviation of every column, in one pass over blocks of rows."""
    total, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for block_total, block_squares in _sparse_sums(X) if sp.issparse(X) else _dense_sums(X):
        total += block_total
        squares += block_squares
    mean = total / X.shape[0]
    found: FloatArray = np.sqrt(np.maximum(0.0, squares / X.shape[0] - mean * mean))
    return found


def _sparse_sums(X: sp.csr_array) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the sums and the sums of squares of every column, block by block."""
    for first in range(0, X.nnz, 4 * VALUES_PER_BLOCK):
        some = slice(first, first + 4 * VALUES_PER_BLOCK)
        values, columns = X.data[some].astype(np.float64), X.indices[some]
        total: FloatArray = np.bincount(columns, values, X.shape[1])  # type: ignore[assignment]
        squares: FloatArray = np.bincount(columns, values * values, X.shape[1])  # type: ignore[assignment]
        yield total, squares


def _dense_sums(X: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the sums and the sums of squares of every column, shifted by about its mean against cancellation."""
    size = max(1, VALUES_PER_BLOCK // max(1, X.shape[1]))
    shift = X[: min(X.shape[0], size)].astype(np.float64).mean(axis=0)
    for first in range(0, X.shape[0], size):
        rows = X[first : first + size].astype(np.float64) - shift
        yield rows.sum(axis=0), np.einsum("ij,ij->j", rows, rows)


def heaviest(facts: Facts, shown: int = SHOWN_FEATURES) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the most important features, their signed weight times spread, and the class that each of them concerns.

    For two classes the sign is that of the plane, and the class is 1. For more, the weight of a class is taken relative to
    the mean over all classes, and the class is the one with the largest absolute weight.
    """
    assert facts.planes is not None
    weights = facts.planes[0]
    if facts.k > 2:
        weights = weights - weights.mean(axis=0)
    if facts.has_rows and facts.story.X is not None:
        weights = weights * spreads(facts.story.X)
    which = abs(weights).argmax(axis=0)
    values = np.take_along_axis(weights, which[None], axis=0)[0]
    order = np.argsort(-abs(values), kind="stable")[:shown]
    order = order[values[order] != 0.0]
    return order, values[order], which[order] if facts.k > 2 else np.ones(len(order), np.intp)


def features(facts: Facts) -> Chart | None:
    """Draw the most important features as bars; None without planes or with zero weights."""
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
        titles.append(f"{name}: weight {short(float(weight))}, {spread} {short(float(value))}, evidence {side}")
    bars = HorizontalBars([cut(name) for name in names], [float(v) for v in values], tones, sides, titles)
    few = join_and([f"{cut(name)} ({side})" for name, side in zip(names[:3], sides[:3], strict=True)])
    caption = f"Largest {spread}: {few}."
    total = facts.planes[0].shape[1]
    if len(order) < total:
        caption += f" {len(order)} of {count(total)} features are shown."
    if facts.k > 2:
        caption += " Weights are relative to the mean over all classes."
    if facts.votes:
        caption += " A vote has no weights of its own: these belong to the average of the run."
    return Chart("features", "Most important features", caption, (bars,), tall=True)
