"""The decision plane: rows with two columns as they are, others in a projection in which the plane is a vertical line.

In the projection, x is the signed distance from the plane, and y the direction parallel to the plane with the largest variance
of the drawn rows. With more than two classes it shows the plane between the two classes that are confused most; with two
columns, the regions of all classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...array_types import BoolArray, FloatArray, IntArray, Matrix
from ...parallel import one_blas_thread
from ..charts import Axis, Band, Chart, Mark, Points, Rule, nice_axis
from ..story import Facts, evenly, vector_norm
from ..text import count, cut, plural
from .predictions import confusion_counts

MAX_ROWS = 2000  # rows drawn, at most
MAX_POWER_ITERATIONS = 200
MAX_OPAQUE_POINTS = 600  # if there are more points, they are drawn translucent


def stratified(codes: IntArray, limit: int) -> IntArray:
    """Return the positions of at most `limit` rows, evenly spaced in each class and in proportion to its size."""
    if len(codes) <= limit:
        return np.flatnonzero(codes >= 0)
    known = np.unique(codes[codes >= 0])
    parts = [np.flatnonzero(codes == c) for c in known]
    return np.sort(np.concatenate([part[evenly(len(part), max(1, limit * len(part) // len(codes)))] for part in parts]))


def plane(facts: Facts) -> Chart | None:
    """Draw the decision plane; None without training rows or planes."""
    if facts.planes is None or facts.story.X is None or not facts.has_rows or not facts.planes[0].any():
        return None
    return _two_columns(facts) if facts.story.X.shape[1] == 2 else _projected(facts)


# --- Two columns


def _two_columns(facts: Facts) -> Chart:
    assert facts.planes is not None
    shown = stratified(facts.codes, MAX_ROWS)
    X = _dense(facts.story.X, shown)
    x, y = (_padded(facts.feature(j), X[:, j], all_rows=True) for j in (0, 1))
    marks: list[Mark] = []
    for c, corners in enumerate(regions(*facts.planes, (x.low, x.high, y.low, y.high))):
        if len(corners):
            marks.append(Band(corners[:, 0].tolist(), corners[:, 1].tolist(), f"class{c}", cut(facts.names[c], 18)))
    marks += _clouds(X[:, 0], X[:, 1], facts.codes[shown], facts.predicted[shown], range(facts.k))
    return Chart("plane", "Decision plane", _describe(facts, shown) + ".", tuple(marks), x, y, tall=True)


def regions(weights: FloatArray, bias: FloatArray, box: tuple[float, float, float, float]) -> list[FloatArray]:
    """Return for each class the polygon of the box where it is predicted; empty if it never is."""
    if len(weights) == 1:
        weights, bias = np.concatenate([-weights, weights]) / 2.0, np.concatenate([-bias, bias]) / 2.0
    left, right, low, high = box
    corners = np.array([[left, low], [right, low], [right, high], [left, high]])
    found = []
    for c in range(len(weights)):
        polygon = corners
        for z in range(len(weights)):
            if z != c and len(polygon):
                polygon = _clip(polygon, weights[c] - weights[z], float(bias[c] - bias[z]))
        found.append(polygon)
    return found


def _clip(polygon: FloatArray, normal: FloatArray, shift: float) -> FloatArray:
    """Return the part of a convex polygon where normal.p + shift >= 0 (Sutherland and Hodgman, CACM 17, 1974, one edge)."""
    heights = polygon @ normal + shift
    kept: list[FloatArray] = []
    for n in range(len(polygon)):
        here, before = heights[n], heights[n - 1]
        if (here >= 0.0) != (before >= 0.0):
            kept.append(polygon[n - 1] + (polygon[n] - polygon[n - 1]) * (before / (before - here)))
        if here >= 0.0:
            kept.append(polygon[n])
    return np.array(kept)


# --- More columns


class Projection(NamedTuple):
    """Rows of two classes, projected on the normal of their plane and on a direction parallel to it."""

    distance: FloatArray  # distances of the shown rows from the plane
    across: FloatArray  # positions along `direction`, centered
    shown: IntArray  # positions of the rows
    normal: FloatArray
    direction: FloatArray
    pair: tuple[int, int]  # the two classes


def project(facts: Facts) -> Projection:
    """Project a sample of the rows on the normal and on the first principal direction orthogonal to it."""
    assert facts.planes is not None
    assert facts.story.X is not None
    weights, bias = facts.planes
    a, b = (0, 1) if facts.k == 2 else _most_confused(facts)
    w, shift = (weights[0], bias[0]) if facts.k == 2 else (weights[b] - weights[a], bias[b] - bias[a])
    norm = vector_norm(w) or 1.0
    normal, codes = w / norm, facts.codes
    mine = np.flatnonzero((codes == a) | (codes == b))
    shown = mine[stratified(codes[mine], MAX_ROWS)]
    X = facts.story.X[shown].astype(np.float64)
    with one_blas_thread():
        distance = np.asarray(X @ normal) + shift / norm
        largest = float(abs(X).max())
        direction = principal(X / largest if largest > 0.0 else X, normal)  # so that squares neither overflow nor underflow
        across = np.asarray(X @ direction)
    return Projection(distance, across - across.mean(), shown, normal, direction, (a, b))


def principal(X: Matrix, normal: FloatArray) -> FloatArray:
    """Return the unit direction orthogonal to `normal` with the largest variance, by power iteration."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    mean = mean - normal * (mean @ normal)
    v = _start_direction(X)
    v = v - normal * (v @ normal)
    if not v.any():
        return v
    v /= np.linalg.norm(v)
    for _ in range(MAX_POWER_ITERATIONS):
        heights = np.asarray(X @ v) - mean @ v
        u = np.asarray(X.T @ heights) - mean * heights.sum()
        u -= normal * (u @ normal)
        size = np.linalg.norm(u)
        if size == 0.0:
            return v
        u /= size
        if np.linalg.norm(u - v) < 1e-7:
            break
        v = u
    direction: FloatArray = u if u[abs(u).argmax()] > 0 else -u
    return direction


def _start_direction(X: Matrix) -> FloatArray:
    """Return the row that is farthest from the mean, relative to the mean: the start of the iteration."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    rows: Any = X
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", rows, rows)
    farthest = int((squares - 2.0 * np.asarray(X @ mean)).argmax())
    start: FloatArray = _dense(X, [farthest]).ravel() - mean
    return start


def _dense(X: Matrix, shown: IntArray | list[int]) -> FloatArray:
    rows = X[shown]
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)


def _most_confused(facts: Facts) -> tuple[int, int]:
    """Return the two classes most often mistaken for each other; without mistakes, those with the smallest margin."""
    counts = confusion_counts(facts)
    assert counts is not None
    both = np.triu(counts + counts.T, 1)
    if both.any():
        a, b = np.unravel_index(both.argmax(), both.shape)
        return int(a), int(b)
    known = np.flatnonzero(facts.codes >= 0)
    scores, codes = facts.scores[known].copy(), facts.codes[known]
    here = np.arange(len(known))
    own = scores[here, codes].copy()
    scores[here, codes] = -np.inf
    hardest = int((own - scores.max(axis=1)).argmin())
    own_class, rival = int(codes[hardest]), int(scores[hardest].argmax())
    return min(own_class, rival), max(own_class, rival)


def _projected(facts: Facts) -> Chart:
    view = project(facts)
    a, b = view.pair
    x, y = _padded("distance from the plane", np.append(view.distance, 0.0)), _padded("most spread across it", view.across)
    marks: list[Mark] = [
        Band([x.low, 0.0, 0.0, x.low], [y.low, y.low, y.high, y.high], f"class{a}", cut(facts.names[a], 18)),
        Band([0.0, x.high, x.high, 0.0], [y.low, y.low, y.high, y.high], f"class{b}", cut(facts.names[b], 18)),
        Rule(x=0.0, dashed=False, tone="ink"),
    ]
    predicted = np.where(view.distance > 0.0, b, a)
    framed = _inside(x, view.distance) & _inside(y, view.across)
    marks += _clouds(
        view.distance[framed], view.across[framed], facts.codes[view.shown][framed], predicted[framed], (a, b)
    )  # fmt: skip
    text = _describe(facts, view.shown, (a, b), predicted) + ". The vertical line is the plane."
    if not framed.all():
        text += f" {plural((~framed).sum(), 'row')} far out not drawn."
    if facts.k > 2:
        text += f" Of {facts.k} classes, the two that are confused most are shown."
    return Chart("plane", "Decision plane", text, tuple(marks), x, Axis(y.label, y.low, y.high), tall=True)


def _describe(facts: Facts, shown: IntArray, pair: tuple[int, int] | None = None, predicted: IntArray | None = None) -> str:
    codes = facts.codes[shown]
    wrong = int((codes != (facts.predicted[shown] if predicted is None else predicted)).sum())
    total = int((facts.codes >= 0).sum() if pair is None else np.isin(facts.codes, pair).sum())
    rows = plural(total, "training row")
    if len(shown) < total:
        rows = f"{count(len(shown))} of {rows}, taken evenly from each class"
    of_pair = "" if pair is None or facts.k == 2 else f" of {cut(facts.names[pair[0]])} and {cut(facts.names[pair[1]])}"
    average = " of the average, since a vote has no single plane" if facts.votes else ""
    crosses = f", {count(wrong)} on the wrong side{average} (crosses)" if wrong else f", all on the right side{average}"
    return f"{rows}{of_pair}{crosses}"


def _clouds(x: FloatArray, y: FloatArray, codes: IntArray, predicted: IntArray, classes: Iterable[int]) -> list[Mark]:
    """Draw the rows of each class: dots for correct predictions, crosses for wrong ones."""
    clouds: list[Mark] = []
    faint = len(codes) > MAX_OPAQUE_POINTS
    for cross in (False, True):
        for c in classes:
            some = np.flatnonzero((codes == c) & ((predicted != c) == cross))
            if len(some):
                clouds.append(Points(x[some].tolist(), y[some].tolist(), f"class{c}", cross=cross, faint=faint))
    return clouds


def _padded(label: str, values: FloatArray, all_rows: bool = False) -> Axis:
    """Make an axis around the values, or around 99 % of them if the others lie far out."""
    low, high = float(values.min()), float(values.max())
    inner = [float(edge) for edge in np.quantile(values, [0.005, 0.995])]
    if not all_rows and high - low > 2.0 * (inner[1] - inner[0]) > 0.0:
        low, high = inner
    padding = 0.06 * (high - low) or 1.0
    return nice_axis(cut(label), low - padding, high + padding)


def _inside(axis: Axis, values: FloatArray) -> BoolArray:
    return (values >= axis.low) & (values <= axis.high)
