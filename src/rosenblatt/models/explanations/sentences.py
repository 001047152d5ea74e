"""An explanation as text: contributions and words as lists, changes as sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...reporting.text import cut, fixed, plural, short

if TYPE_CHECKING:
    from ...data.readers.notation import NumberForm
    from .changes import Change, JointChange
    from .contributions import Contribution
    from .explanation import Explanation

CELL_CHARS = 40  # of a cell that is printed
SIGNIFICANT_DIGITS = 4  # of the largest contribution
LISTED = 10  # columns and changes

Amounts = list[tuple[str, float]]


def describe(explanation: Explanation, n: int = LISTED) -> str:
    """The whole explanation, with the `n` largest contributions and the `n` nearest changes."""
    favored, other = str(explanation.favored), str(explanation.other)
    rows, rest, decimals = contributions(explanation, n)
    words = heaviest_words(explanation, n)
    amounts = [(name, fixed(round(amount, decimals) + 0.0, decimals, signed=True)) for name, amount in (*rows, *rest, *words)]
    title = f"for {favored} (+) or {other} (-)"
    left = max(len(title), *(len(name) for name, _ in amounts))
    width = max(len(amount) for _, amount in amounts)
    lines = [f"{name:<{left}}  {amount:>{width}}" for name, amount in amounts]
    if words:
        lines.insert(len(lines) - len(words), "")
    score = f"{short(explanation.score, 4)} (above 0: {favored}, else {other})"
    heads = [f"prediction  {explanation.label}", f"score       {score}", "", title]
    return "\n".join([*heads, *lines, "", *sentences_of_changes(explanation, n, {})])


def contributions(explanation: Explanation, n: int, single: bool = False) -> tuple[Amounts, Amounts, int]:
    """The `n` largest contributions; the sum of the others, and the intercept; and the number of decimals to print."""
    parts = explanation.features if single else explanation.columns
    listed, others = parts[:n], parts[n:]
    rest = [(plural(len(others), "other"), math.fsum(part.amount for part in others))] if others else []
    rest.append(("intercept", explanation.intercept))
    rows = [(_name(part, single), part.amount) for part in listed]
    largest = max((abs(amount) for _, amount in [*rows, *rest]), default=0.0)
    decimals = min(12, max(0, SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(largest)))) if largest else 4
    return rows, rest, decimals


def _name(part: Contribution, single: bool) -> str:
    return part.name if single else f"{part.name} = {_cell(part.value)}"


def _cell(value: float | str | None) -> str:
    if value is None:
        return "missing"
    return cut(value, CELL_CHARS) if isinstance(value, str) else short(value, 6)


def heaviest_words(explanation: Explanation, n: int) -> Amounts:
    """The heaviest words of the columns of text."""
    prefixes = tuple(f"{name}:" for name in explanation.text)
    return [(part.name, part.amount) for part in explanation.features if prefixes and part.name.startswith(prefixes)][:n]


# --- what would change the prediction


def sentences_of_changes(explanation: Explanation, n: int, forms: Mapping[str, NumberForm], hint: str = "") -> list[str]:
    """What would change the prediction; `forms`: how the file writes its numbers; `hint`: how to see more."""
    changes, together = explanation.changes, _joint(explanation.joint_change, forms)
    if not changes:
        return ["No change of a single column changes the prediction.", *together]
    longest = max(len(change.column) for change in changes[:n])
    lines = ["Each of these changes alone changes the prediction:"]
    lines += [f"  {change.column:<{longest}}  {_change(change)}" for change in changes[:n]]
    if len(changes) > n:
        lines.append(f"  ... and {len(changes) - n} more{hint}")
    return [*lines, *together]


def _change(change: Change) -> str:
    if change.is_text:
        return f"without {change.new!r}: {change.label}"
    text = f"{_cell(change.old)} -> {_number(change.new)}: {change.label}"
    if change.inside is False:
        text += " (outside the range of the training rows)"
    if change.others:
        text += f" (the nearest of {plural(change.others + 1, 'value')} that do)"
    return text


def _number(value: float | str | None) -> str:
    """A number to type: all its digits, so that it changes the prediction."""
    if not isinstance(value, float):
        return _cell(value)
    return f"{value:,.12g}" if abs(value) < 1e12 and float(f"{value:.12g}") == value else repr(value)


def _joint(joint: JointChange | None, forms: Mapping[str, NumberForm]) -> list[str]:
    if joint is None:
        return []

    def cell(name: str, number: float) -> str:
        text = short(number, 6)
        return forms[name].text(float(text.replace(",", ""))) if name in forms and not forms[name].truth else text

    listed = ", ".join(f"{name} {cell(name, old)} -> {cell(name, new)}" for name, old, new in joint.columns[:3])
    more = f" and {joint.n_columns - 3} more" if joint.n_columns > 3 else ""
    step = f"a step of {short(joint.distance)} in the units of the model"
    return [f"All numeric columns together: {listed}{more}: {joint.label} ({step})"]
