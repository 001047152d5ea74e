"""The limits of a model: what it was not tested on, and which values of its columns it knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...data.readers.notation import NumberForm
from ...preprocessing.categorical import Categories
from ...preprocessing.date_parts import date_text
from ...preprocessing.recipe import Recipe
from ...reporting.text import count, plural, short
from ..explanations.row import number_forms
from .markdown import code, escape, table
from .record import FILE, Record

if TYPE_CHECKING:
    from ..model import Model

LISTED_COLUMNS, LISTED_VALUES, LISTED_CLASSES = 40, 12, 12


def limits(model: Model, record: Record | None) -> Iterator[str]:
    """What the model was not tested on, and the values of the training rows."""
    yield f"- {_untested_rows(record)}"
    missing = _untested_classes(model, record)
    if missing:
        yield f"- No row was tested of {missing}."
    if model.probability_map is None:
        yield "- Its scores are not probabilities: a larger score is more certain, on no particular scale."
    yield "- Weights show what goes together in the training rows, not what causes the label."
    if isinstance(model.recipe, Recipe):
        yield from _numbers(model.recipe, number_forms(model))
        yield from _strings(model.recipe)


def _untested_rows(record: Record | None) -> str:
    if record is None:
        return "It is unknown whether the model was tested."
    if record.test is None or record.test.is_training_file:
        return "The model was not tested on rows that it was not trained on."
    if record.test.by == FILE:
        return "The model was tested on one file; rows of another source, place or time may be unlike it."
    return "The test rows come from the training file; rows of another source, place or time were not tested."


def _untested_classes(model: Model, record: Record | None) -> str:
    counts = None if record is None or record.test is None else record.test.counts.classes
    if counts is None or len(counts) != len(model.classes):
        return ""
    names = [code(label) for label, each in zip(model.classes.tolist(), counts, strict=True) if not each[0]]
    return _listed(names, LISTED_CLASSES)


def _numbers(recipe: Recipe, forms: Mapping[str, NumberForm]) -> Iterator[str]:
    """The ranges of the numeric columns, as the training file writes them."""
    facts = recipe.facts
    names: Any = recipe.number_names if recipe.kind == "table" else recipe.feature_names
    n = recipe.numbers.columns
    if not n:
        return
    if facts is None:
        yield "- The ranges of the numeric columns are unknown: the file does not store them."
        return
    yield "- Numbers outside the ranges of the training rows are extrapolated; `predict` reports them:\n"
    dates = dict(recipe.dates)
    rows = []
    for place in range(min(n, LISTED_COLUMNS)):
        name, ends = names[place], (float(facts.minimum[place]), float(facts.maximum[place]))
        shown = [
            date_text(end, dates[name]) if name in dates else escape(forms[name].text(end)) if name in forms else short(end, 6)
            for end in ends
        ]
        rows.append((code(name), *shown, count(int(facts.missing[place]))))
    yield from table(["column", "from", "to", "missing cells"], rows, right=[1, 2, 3])
    if n > LISTED_COLUMNS:
        yield f"\nand {plural(n - LISTED_COLUMNS, 'more column')}."
    if recipe.strings:
        yield ""


def _strings(recipe: Recipe) -> Iterator[str]:
    """The values that categorical columns had, and the words of text."""
    facts = recipe.facts
    for place, block in enumerate(recipe.strings[:LISTED_COLUMNS]):
        name = code(block.name)
        if not isinstance(block, Categories):
            yield f"- Text {name}: only {plural(block.width, 'word')} of the training rows count; others are ignored."
            continue
        counts = None if facts is None else facts.counts[place]
        values = sorted(range(len(block.values)), key=lambda k: 0 if counts is None else -int(counts[k]))
        listed = [code(block.values[k]) + ("" if counts is None else f" ({count(int(counts[k]))})") for k in values]
        yield f"- Category {name}: {_listed(listed, LISTED_VALUES)}; any other value counts as none of them."
    if len(recipe.strings) > LISTED_COLUMNS:
        yield f"- and {plural(len(recipe.strings) - LISTED_COLUMNS, 'more column')} of strings."


def _listed(items: list[str], limit: int) -> str:
    """Items that are Markdown; those beyond the limit are counted."""
    rest = f" and {count(len(items) - limit)} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + rest
