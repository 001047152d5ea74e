"""Predictions of a model: the confusion matrix and the histogram of margins.

The margin of a training row is its signed distance from the plane, negative on the wrong side:

Two classes   y (w.x + b)/|w|, the distance from the plane.
More          own score minus that of the best rival, divided by sqrt(2) times the norm of all weights, as in `rb.margin`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..charts import Bars, Chart, Grid, Mark, Rule, nice_axis
from ..story import Evaluation, Facts, vector_norm
from ..text import count, cut, percent, plural, short

# --- confusion matrix ------------------------------------------------------------------------------------------------------


MAX_CLASSES = 30  # classes in the chart, at most
N_BINS = 44


def confusion_counts(facts: Facts) -> IntArray | None:
    """Count rows by true class (down) and predicted class (across); labels unknown to the model are left out."""
    if facts.evaluation is None:
        return None
    _, codes, predicted, _ = facts.evaluation
    known, k = codes >= 0, facts.k
    return np.bincount(codes[known] * k + predicted[known], minlength=k * k).reshape(k, k)


def confusion(facts: Facts) -> Chart | None:
    """Draw the confusion matrix of the test rows, or of the training rows if there are no test rows."""
    counts = confusion_counts(facts)
    if counts is None or not counts.sum():
        return None
    assert facts.evaluation is not None
    shown = most_mistaken(counts)
    names = [facts.names[c] for c in shown]
    grid = Grid(names, counts[np.ix_(shown, shown)].tolist(), "true class", "predicted class")
    title = f"Confusion matrix, {facts.evaluation.kind} rows"
    return Chart("confusion", title, _confusion_caption(facts, counts, facts.evaluation), (grid,), tall=True)


def most_mistaken(counts: IntArray) -> IntArray:
    """Return the classes that are shown: all, or those involved in the most mistakes, in their order."""
    if len(counts) <= MAX_CLASSES:
        return np.arange(len(counts))
    mistakes = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    return np.sort(np.argsort(-mistakes, kind="stable")[:MAX_CLASSES])


def _confusion_caption(facts: Facts, counts: IntArray, evaluation: Evaluation) -> str:
    kind, codes, _, total = evaluation
    rows, right = int(counts.sum()), int(np.trace(counts))
    text = f"{count(right)} of {count(rows)} {kind} rows are classified correctly ({percent(right / rows)})."
    wrong = counts - np.diag(np.diag(counts))
    if wrong.any():
        a, b = np.unravel_index(wrong.argmax(), wrong.shape)
        commonest = f"{cut(facts.names[a])} predicted as {cut(facts.names[b])}, {plural(wrong[a, b], 'time')}"
        text += f" The most frequent error: {commonest}."
    unknown = int((codes < 0).sum())
    if unknown:
        text += f" Left out: {plural(unknown, 'row')} with a label unknown to the model."
    if len(counts) > MAX_CLASSES:
        text += f" The {MAX_CLASSES} of {len(counts)} classes with the most errors are shown."
    if len(codes) < total:
        text += f" Counted on an even sample of {count(len(codes))} of {count(total)} rows, since votes are slow."
    return text


class ClassResult(NamedTuple):
    """The results of one class; recall and precision are NaN if they are undefined."""

    code: int
    rows: int
    recall: float
    precision: float
    rival: int | None  # the class it is most often mistaken for


def per_class(counts: IntArray) -> list[ClassResult]:
    """Return the results of each class."""
    results = []
    for c in range(len(counts)):
        total, predicted, right = int(counts[c].sum()), int(counts[:, c].sum()), int(counts[c, c])
        others = counts[c].copy()
        others[c] = 0
        rival = int(others.argmax()) if others.any() else None
        recall = right / total if total else math.nan
        precision = right / predicted if predicted else math.nan
        results.append(ClassResult(c, total, recall, precision, rival))
    return results


# --- margins ---------------------------------------------------------------------------------------------------------------


def margins_of(facts: Facts) -> FloatArray:
    """Return the margin of each training row; for pairs of classes, by how many votes its class leads."""
    scores, codes = facts.scores, facts.codes
    here = np.flatnonzero(codes >= 0)
    codes = codes[here]
    norm = 1.0 if facts.planes is None else vector_norm(facts.planes[0])
    if scores.ndim == 1:
        return scores[here] * (2.0 * codes - 1.0) / (norm or 1.0)
    scores, at = scores[here], np.arange(len(here))
    own = scores[at, codes]
    scores[at, codes] = -np.inf
    unit = 1.0 if facts.planes is None else (norm or 1.0) * math.sqrt(2.0)  # votes of pairs have no length
    found: FloatArray = (own - scores.max(axis=1)) / unit
    return found


def margins(facts: Facts) -> Chart | None:
    """Draw the histogram; None without training rows."""
    if not facts.has_rows or facts.model is None:
        return None
    found = margins_of(facts)
    edges, heights = _histogram(found)
    marks: list[Mark] = [*_bars(edges, heights), Rule(x=0.0, text="", dashed=False, tone="ink")]
    smallest = float(found.min())
    if smallest > 0.0:
        marks.append(Rule(x=smallest, text=f"smallest {short(smallest)}", tone="ink"))
    label = "distance from the plane" if facts.k == 2 else "margin over the best rival"
    if facts.planes is None:
        label = "votes over the best rival"
    x, y = nice_axis(label, float(edges[0]), float(edges[-1])), nice_axis("rows", 0.0, 1.06 * float(heights.max()), whole=True)
    caption = _margins_caption(facts, found, int((found <= 0.0).sum()), smallest)
    return Chart("margins", "Margins", caption, tuple(marks), x, y)


def _histogram(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the edges and counts of bins; zero is an edge, and rows far out are counted in the outermost bins."""
    low, high = (float(edge) for edge in np.quantile(values, [0.002, 0.998]))
    low, high = min(low, 0.0), max(high, 0.0)
    low, high = (
        (float(values.min()) if values.min() > 1.5 * low else low),
        (float(values.max()) if values.max() < 1.5 * high else high),
    )
    low, high = min(low, 0.0), max(high, 0.0)
    if not high > low:
        low, high = -1.0, 1.0
    width = (high - low) / N_BINS
    first, last = math.floor(low / width - 1e-9), math.ceil(high / width + 1e-9)
    edges = np.arange(first, last + 1) * width
    heights = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    on_plane = int((values == 0.0).sum())
    if first < 0 and on_plane:  # a row on the plane counts as wrong
        heights[-first] -= on_plane
        heights[-first - 1] += on_plane
    return edges, heights


def _bars(edges: FloatArray, heights: IntArray) -> Iterator[Mark]:
    """Yield the bars on the wrong side and those on the right side."""
    width = float(edges[1] - edges[0])
    sides = (
        ("bad", "wrong side", edges[1:] <= 1e-12 * width),
        ("good", "right side", edges[:-1] >= -1e-12 * width),
    )
    for tone, label, on_side in sides:
        some = np.flatnonzero(on_side & (heights > 0))
        if not len(some):
            continue
        titles = [f"{plural(heights[i], 'row')} from {short(edges[i])} to {short(edges[i + 1])}" for i in some]
        low, high = edges[some].tolist(), edges[some + 1].tolist()
        yield Bars(low, high, [0.0] * len(some), heights[some].tolist(), tone, label, titles)


def _margins_caption(facts: Facts, values: FloatArray, n_wrong: int, smallest: float) -> str:
    median, rows = short(float(np.median(values))), count(len(values))
    margin = "margin" if facts.planes is not None else "lead in votes of the pairs of classes"
    if smallest > 0.0:
        return (
            f"All {rows} training rows are on the right side. The smallest {margin} is {short(smallest)}, the median {median}."
        )
    vote = " of the average, since a vote has no single plane" if facts.votes else ""
    wrong = f"{count(n_wrong)} of {rows} training rows ({percent(n_wrong / len(values))})"
    return f"{wrong} are on the wrong side{vote}. The median {margin} is {median}."
