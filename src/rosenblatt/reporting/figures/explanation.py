"""The explanation of one prediction: the contributions of its columns as bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..charts import Chart, HorizontalBars
from ..text import cut, plural, short

if TYPE_CHECKING:
    from ...models.explanations.explanation import Explanation

SHOWN_COLUMNS = 15


def explanation_chart(explanation: Explanation, row: str) -> Chart:
    """Draw the contributions of the columns and the intercept, and the score, which is their sum.

    row : what the row is called, such as "row 17"
    """
    columns = explanation.columns[:SHOWN_COLUMNS]
    bars = [(f"{part.name} = {_cell(part.value)}", part.amount) for part in columns]
    others = explanation.columns[SHOWN_COLUMNS:]
    if others:
        bars.append((plural(len(others), "other column"), math.fsum(part.amount for part in others)))
    bars += [("intercept", explanation.intercept), ("score, the sum", explanation.score)]
    favored, other = cut(explanation.favored, 16), cut(explanation.other, 16)
    sides = [f"{'+' if amount > 0 else ''}{short(amount)} for {favored if amount > 0 else other}" for _, amount in bars]
    marks = HorizontalBars(
        [cut(name) for name, _ in bars],
        [amount for _, amount in bars],
        ["class1" if amount > 0 else "class0" for _, amount in bars],
        sides,
        [f"{name}: {side}" for (name, _), side in zip(bars, sides, strict=True)],
        signed=True,
    )
    title = f"Why {cut(row)} is predicted as {cut(explanation.label, 20)}"
    caption = f"The other bars sum to the score, {short(explanation.score, 4)}: above 0 is {cut(explanation.favored)}"
    return Chart("explanation", title, f"{caption}, else {cut(explanation.other)}.{_nearest(explanation)}", (marks,), tall=True)


def _nearest(explanation: Explanation) -> str:
    """A sentence about the nearest change of a numeric column."""
    for change in explanation.changes:
        if isinstance(change.new, float) or change.inside is not None:  # a number or a date
            return f" Nearest change: {cut(change.column)} {_cell(change.old)} to {_cell(change.new)}: {cut(change.label)}."
    return ""


def _cell(value: float | str | None) -> str:
    if value is None:
        return "missing"
    return cut(value) if isinstance(value, str) else short(value, 6)
