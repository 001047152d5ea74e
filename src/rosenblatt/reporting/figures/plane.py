"""The decision plane: 2-D rows as they are, others seen from the side, so that the plane is a line.

Seen from the side: x is the signed distance from the plane (the unit normal), y the direction across it in which the drawn rows
spread most. With more than two classes it is the plane between the two that are most confused; with two columns, all regions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...parallel import one_blas_thread
from ..charts import Axis, Band, Chart, Mark, Points, Rule, nice_axis
from ..story import Facts, evenly, length
from ..text import count, cut, plural
from .confusion import confusion_counts

MOST = 2000
TURNS = 200


def stratified(codes: Any, most: int) -> Any:
    """Positions of at most `most` rows, from every class as many as its share, evenly apart."""
    if len(codes) <= most:
        return np.flatnonzero(codes >= 0)
    known = np.unique(codes[codes >= 0])
    parts = [np.flatnonzero(codes == c) for c in known]
    return np.sort(np.concatenate([part[evenly(len(part), max(1, most * len(part) // len(codes)))] for part in parts]))


def plane(facts: Facts) -> Chart | None:
    if facts.planes is None or not facts.has_rows or not facts.planes[0].any():
        return None
    return _flat(facts) if facts.story.X.shape[1] == 2 else _from_the_side(facts)


# --- two columns -----------------------------------------------------------------------------------------------------------


def _flat(facts: Facts) -> Chart:
    assert facts.planes is not None
    shown = stratified(facts.codes, MOST)
    X = facts.story.X[shown]
    X = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    x, y = (_padded(facts.feature(j), X[:, j], all_rows=True) for j in (0, 1))
    marks: list[Mark] = []
    for c, corners in enumerate(regions(*facts.planes, (x.low, x.high, y.low, y.high))):
        if len(corners):
            marks.append(Band(corners[:, 0].tolist(), corners[:, 1].tolist(), f"class{c}", cut(facts.names[c], 18)))
    marks += _clouds(facts, X[:, 0], X[:, 1], facts.codes[shown], facts.predicted[shown], range(facts.k))
    return Chart("plane", "Decision plane", _seen(facts, shown) + ".", tuple(marks), x, y, tall=True)


def regions(weights: Any, bias: Any, box: tuple[float, float, float, float]) -> list[Any]:
    """For every class the polygon of the box where it wins; empty where it never does."""
    if len(weights) == 1:
        weights, bias = np.concatenate([-weights, weights]) / 2.0, np.concatenate([-bias, bias]) / 2.0
    left, right, low, high = box
    corners = np.array([[left, low], [right, low], [right, high], [left, high]])
    found = []
    for c in range(len(weights)):
        polygon = corners
        for z in range(len(weights)):
            if z != c and len(polygon):
                polygon = _clipped(polygon, weights[c] - weights[z], float(bias[c] - bias[z]))
        found.append(polygon)
    return found


def _clipped(polygon: Any, normal: Any, shift: float) -> Any:
    """The part of a convex polygon where normal.p + shift >= 0 (Sutherland and Hodgman, CACM 17, 1974, one edge)."""
    heights = polygon @ normal + shift
    kept: list[Any] = []
    for n in range(len(polygon)):
        here, before = heights[n], heights[n - 1]
        if (here >= 0.0) != (before >= 0.0):
            kept.append(polygon[n - 1] + (polygon[n] - polygon[n - 1]) * (before / (before - here)))
        if here >= 0.0:
            kept.append(polygon[n])
    return np.array(kept)


# --- more columns ----------------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    distance: Any  # of the shown rows from the plane
    across: Any  # along the direction of most spread in the plane
    shown: Any
    normal: Any
    direction: Any
    pair: tuple[int, int]


def from_the_side(facts: Facts) -> Side:
    """Distances and the first principal direction orthogonal to the plane's normal, of a sample of the rows."""
    assert facts.planes is not None
    weights, bias = facts.planes
    a, b = (0, 1) if facts.k == 2 else _confused(facts)
    w, shift = (weights[0], bias[0]) if facts.k == 2 else (weights[b] - weights[a], bias[b] - bias[a])
    norm = length(w) or 1.0
    normal, codes = w / norm, facts.codes
    mine = np.flatnonzero((codes == a) | (codes == b))
    shown = mine[stratified(codes[mine], MOST)]
    X = facts.story.X[shown].astype(np.float64)
    with one_blas_thread():
        distance = np.asarray(X @ normal) + shift / norm
        largest = float(abs(X).max())
        direction = principal(X / largest if largest > 0.0 else X, normal)  # squares neither overflow nor vanish
        across = np.asarray(X @ direction)
    return Side(distance, across - across.mean(), shown, normal, direction, (a, b))


def principal(X: Any, normal: Any) -> Any:
    """The unit direction orthogonal to `normal` in which the rows spread most, by power iteration."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    mean = mean - normal * (mean @ normal)
    v = _spread(X)
    v = v - normal * (v @ normal)
    if not v.any():
        return v
    v /= np.linalg.norm(v)
    for _ in range(TURNS):
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
    return u if u[abs(u).argmax()] > 0 else -u


def _spread(X: Any) -> Any:
    """Where the iteration starts: the row that is farthest from the mean."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    row = X[[int((squares - 2.0 * np.asarray(X @ mean)).argmax())]]
    return np.asarray(row.toarray() if sp.issparse(row) else row).ravel() - mean


def _confused(facts: Facts) -> tuple[int, int]:
    """The two classes most often taken for one another; where none are, those of the narrowest margin."""
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
    a, b = sorted((int(codes[hardest]), int(scores[hardest].argmax())))
    return a, b


def _from_the_side(facts: Facts) -> Chart:
    side = from_the_side(facts)
    a, b = side.pair
    x, y = _padded("distance from the plane", np.append(side.distance, 0.0)), _padded("most spread across it", side.across)
    marks: list[Mark] = [
        Band([x.low, 0.0, 0.0, x.low], [y.low, y.low, y.high, y.high], f"class{a}", cut(facts.names[a], 18)),
        Band([0.0, x.high, x.high, 0.0], [y.low, y.low, y.high, y.high], f"class{b}", cut(facts.names[b], 18)),
        Rule(x=0.0, dashed=False, tone="ink"),
    ]
    predicted = np.where(side.distance > 0.0, b, a)
    framed = _inside(x, side.distance) & _inside(y, side.across)
    marks += _clouds(
        facts, side.distance[framed], side.across[framed], facts.codes[side.shown][framed], predicted[framed], (a, b)
    )  # fmt: skip
    text = _seen(facts, side.shown, (a, b), predicted) + ", seen from the side: the plane is the upright line."
    if not framed.all():
        text += f" {plural((~framed).sum(), 'row')} far out, beyond the frame."
    if facts.k > 2:
        text += f" Of {facts.k} classes it is the plane between the two most easily confused."
    return Chart("plane", "Decision plane", text, tuple(marks), x, Axis(y.label, y.low, y.high), tall=True)


def _seen(facts: Facts, shown: Any, pair: tuple[int, int] | None = None, predicted: Any = None) -> str:
    codes = facts.codes[shown]
    wrong = int((codes != (facts.predicted[shown] if predicted is None else predicted)).sum())
    total = int((facts.codes >= 0).sum() if pair is None else np.isin(facts.codes, pair).sum())
    rows = plural(total, "training row")
    if len(shown) < total:
        rows = f"{count(len(shown))} of {rows}, taken evenly from each class"
    of = "" if pair is None or facts.k == 2 else f" of {cut(facts.names[pair[0]])} and {cut(facts.names[pair[1]])}"
    average = " of the run's average, since votes have no one plane" if facts.votes else ""
    crosses = f", {count(wrong)} on the wrong side{average} (crosses)" if wrong else f", all on their side{average}"
    return f"{rows}{of}{crosses}"


def _clouds(facts: Facts, x: Any, y: Any, codes: Any, predicted: Any, classes: Any) -> list[Mark]:
    clouds: list[Mark] = []
    for cross in (False, True):
        for c in classes:
            some = np.flatnonzero((codes == c) & ((predicted != c) == cross))
            if len(some):
                clouds.append(Points(x[some].tolist(), y[some].tolist(), f"class{c}", cross=cross, faint=len(codes) > 600))
    return clouds


def _padded(label: str, values: Any, all_rows: bool = False) -> Axis:
    """Around the values; where a few of them lie so far out that the rest would be a blot, around the rest."""
    low, high = float(values.min()), float(values.max())
    inner = [float(edge) for edge in np.quantile(values, [0.005, 0.995])]
    if not all_rows and high - low > 2.0 * (inner[1] - inner[0]) > 0.0:
        low, high = inner
    room = 0.06 * (high - low) or 1.0
    return nice_axis(cut(label), low - room, high + room)


def _inside(axis: Axis, values: Any) -> Any:
    return (values >= axis.low) & (values <= axis.high)
