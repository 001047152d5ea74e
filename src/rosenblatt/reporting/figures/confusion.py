"""The confusion matrix: rows by true class and predicted class."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...array_types import IntArray
from ..charts import Chart, Grid
from ..story import Evaluation, Facts
from ..text import count, cut, percent, plural

MAX_CLASSES = 30  # classes in the chart, at most


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
    return Chart("confusion", title, _caption(facts, counts, facts.evaluation), (grid,), tall=True)


def most_mistaken(counts: IntArray) -> IntArray:
    """Return the classes that are shown: all, or those involved in the most mistakes, in their order."""
    if len(counts) <= MAX_CLASSES:
        return np.arange(len(counts))
    mistakes = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    return np.sort(np.argsort(-mistakes, kind="stable")[:MAX_CLASSES])


def _caption(facts: Facts, counts: IntArray, evaluation: Evaluation) -> str:
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
