"""The confusion matrix: what rows are, and what the model takes them for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..charts import Chart, Grid
from ..story import Facts
from ..text import count, cut, percent, plural

MOST = 30  # classes that a picture has room for


def confusion_counts(facts: Facts) -> Any | None:
    """Rows are true classes, columns predicted ones; labels that the model does not know are left out."""
    if facts.judged is None:
        return None
    _, codes, predicted, _ = facts.judged
    known, k = codes >= 0, facts.k
    return np.bincount(codes[known] * k + predicted[known], minlength=k * k).reshape(k, k)


def confusion(facts: Facts) -> Chart | None:
    counts = confusion_counts(facts)
    if counts is None or not counts.sum():
        return None
    assert facts.judged is not None
    where, codes, _, total = facts.judged
    shown = hardest(counts)
    names = [facts.names[c] for c in shown]
    grid = Grid(names, counts[np.ix_(shown, shown)].tolist(), "is", "taken for")
    return Chart("confusion", f"Confusion, {where} rows", _caption(facts, counts, where, codes, total), (grid,), tall=True)


def hardest(counts: Any) -> Any:
    """The classes that are shown: all, or those that take part in the most mistakes, in their order."""
    if len(counts) <= MOST:
        return np.arange(len(counts))
    mistakes = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    return np.sort(np.argsort(-mistakes, kind="stable")[:MOST])


def _caption(facts: Facts, counts: Any, where: str, codes: Any, total: int) -> str:
    rows, right = int(counts.sum()), int(np.trace(counts))
    text = f"{count(right)} of {count(rows)} {where} rows are right ({percent(right / rows)})."
    wrong = counts - np.diag(np.diag(counts))
    if wrong.any():
        a, b = np.unravel_index(wrong.argmax(), wrong.shape)
        most = f"{cut(facts.names[a])} is taken for {cut(facts.names[b])}, {plural(wrong[a, b], 'time')}"
        text += f" The commonest mistake: {most}."
    unknown = int((codes < 0).sum())
    if unknown:
        text += f" {plural(unknown, 'row')} with a label the model has never seen are left out."
    if len(counts) > MOST:
        text += f" Of {len(counts)} classes, the {MOST} with the most mistakes are shown."
    if len(codes) < total:
        text += f" Votes take time: counted on an even sample of {count(len(codes))} of {count(total)} rows."
    return text


def per_class(counts: Any) -> list[tuple[int, int, int, float, float, int | None]]:
    """For every class: itself, its rows, how many are right, recall, precision, and what it is most often mistaken for."""
    rows = []
    for c in range(len(counts)):
        total, said, right = int(counts[c].sum()), int(counts[:, c].sum()), int(counts[c, c])
        others = counts[c].copy()
        others[c] = 0
        rival = int(others.argmax()) if others.any() else None
        rows.append((c, total, right, right / total if total else float("nan"), right / said if said else float("nan"), rival))
    return rows
