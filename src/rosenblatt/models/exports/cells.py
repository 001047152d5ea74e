"""What the cells of a file are as inputs of an export: words that stand for missing cells, and the units of numbers."""

from __future__ import annotations

from ...data.readers.cells import MISSING
from ..model import Model
from .formula import Category, Formula

MISSING_WORDS = tuple(sorted(cell.decode() for cell in MISSING))
UNITS = {"date": "days since 1970-01-01", "datetime": "days since 1970-01-01, with the fraction of the day",
         "time": "fractions of the day"}  # fmt: skip


def missing_words(category: Category) -> tuple[str, ...]:
    """The words that stand for a missing cell of a column, which are those that are none of its values."""
    values = frozenset(category.values)
    return tuple(word for word in MISSING_WORDS if word not in values)


def units_of(model: Model, formula: Formula) -> dict[str, str]:
    """What the numbers of some columns are, where the training file has other cells, such as percentages or dates."""
    units = {name: UNITS[kind] for name, kind in formula.dates}
    for name, form in model.provenance.get("reading", {}).get("forms", {}).items():
        if form.get("percent"):
            units[name] = "0.45 for 45 %"
        elif form.get("truth"):
            units[name] = "1 for true, 0 for false"
    return {name: units[name] for name in formula.columns if name in units}
