"""A model as one ES module without dependencies, for Node and browsers.

    import { columns, labels, predict, scores, probabilities } from "./model.mjs";
    predict({ size: 3, color: "red" })           the label of a row: an object with the names of columns, or an array of cells
    scores(row), probabilities(row)              arrays; of the probabilities, in the order of `labels`

Cells are numbers, text as in a file, Dates, or missing: null, NaN, "", "NA", ..., or no property of that name. Names, labels,
categories and words are data: no object has them as keys, and they are escaped so that the module may stand inside a script
element.

`scorer.js` beside this module has the functions, in sections; a module has the sections that its model needs.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from ...array_types import FloatArray
from ...data.readers.cells import MISSING
from ...data.readers.dates import MONTHS, PATTERNS
from ...data.readers.notation import CURRENCY, NumberForm, digits_pattern
from ...preprocessing.date_parts import PARTS, cycle_of
from ..model import Model
from .formula import Category, ExportError, Formula, Label, Text, formula_of
from .probabilities import as_json
from .reduction import Reduction

MAX_SAFE_INTEGER = (1 << 53) - 1

_HEAD = """\
// A linear model, written by Rosenblatt: an ES module without dependencies, for Node and browsers.
// A row is an object with the names in `columns` as properties, or an array of cells in their order.
// Numbers and dates may be text, as in the training file; dates also Dates, or days since 1970-01-01.
// null, undefined, NaN, "", "NA" and the like are missing cells.
"""


# The places of the values of categorical columns, and of the grams of texts.
_PLACES = """\
for (const block of BLOCKS) {
  for (const each of block.parts || [block]) each.places = new Map(each.values.map((value, k) => [value, k]));
}"""


def to_javascript(model: Model, reduction: Reduction | None = None) -> str:
    """Return the text of the module, which is ASCII."""
    formula = formula_of(model, "JavaScript", reduction)
    for label in formula.classes:
        if type(label) is int and abs(label) > MAX_SAFE_INTEGER:
            raise ExportError(f"JavaScript export does not support the label {label}: its numbers have 53 bits")
    columns = _column_order(formula)
    place = {name: at for at, name in enumerate(columns)}
    forms = _forms(model, formula)
    probabilities = as_json(model.probability_map, len(formula.classes), formula.pairs)
    content = {
        "numbers": [place[name] for name in formula.columns],
        "dates": {place[name]: {"kind": kind, "order": _order(model, name)} for name, kind in formula.dates},
        "forms": {place[name]: form for name, form in forms.items()},
        "fill": _listed(formula.fill),
        "inputs": formula.inputs,
        "factors": formula.factors,
        "shift": _listed(formula.shift),
        "divide": _listed(formula.divide),
        "indicators": formula.indicators,
        "missing": _weights(formula, formula.indicator_weights),
        "weights": _weights(formula, formula.weights),
        "intercept": formula.intercept.tolist(),
        "refuse": formula.refuses,
        "zeros": formula.absent_is_zero,
        "probabilities": None if probabilities is None else {k: v for k, v in probabilities.items() if k != "how"},
    }
    lines = [_HEAD, f"export const columns = {_data(columns)};", f"export const labels = {_data(formula.classes)};", ""]
    if formula.exponent is not None:
        lines.append(f"const EXPONENT = {formula.exponent};")
    lines += ["const MODEL = {", *(f"  {name}: {_data(value)}," for name, value in content.items()), "};"]
    lines += ["const BLOCKS = [", *(_block(formula, block, place[block.column]) for block in formula.blocks), "];"]
    texts = len(formula.categories) < len(formula.blocks)
    if formula.blocks:
        lines.append(_PLACES)
    lines.append(f"const MISSING = new Set({_data(sorted(cell.decode() for cell in MISSING))});")
    if formula.dates:
        lines.append(f"const CYCLES = {_data(_cycles())};")
    lines += reading_data(dates=bool(formula.dates), forms=bool(forms))
    sections = ["rows", "dates" if formula.dates else "no dates", *(["formats"] if forms else [])]
    sections += ["categories"] if formula.categories else []
    sections += ["cells"] if formula.blocks else []
    sections += ["texts"] if texts else []
    sections += ["halves"] if formula.exponent is not None else []
    sections += ["scores", "pairs" if formula.pairs else "planes", "labels"]
    sections.append("no probabilities" if probabilities is None else "probabilities")
    runtime = _sections()
    return "\n".join([*lines, "", *(runtime[name] for name in sections)])


def _column_order(formula: Formula) -> list[str]:
    """The columns in the order of the file; without one, the numeric columns."""
    names = [*formula.columns, *(block.column for block in formula.blocks)]
    return list(formula.order) if sorted(formula.order) == sorted(names) else names


def _block(formula: Formula, block: Category | Text, column: int) -> str:
    if isinstance(block, Category):
        name, weights = "categoryOf", block.features()
        content: dict[str, Any] = {"column": column, "missing": block.missing is not None, "values": block.values}
    else:
        name, weights = "gramsOf", block.weights
        content = {"column": column, "parts": _parts(block)}
    content["weights"] = _weights(formula, weights)
    fields = ", ".join(f"{name}: {_data(value)}" for name, value in content.items())
    return f"  {{ features: {name}, {fields} }},"


def _parts(block: Text) -> list[dict[str, Any]]:
    """The parts of a text; `first` is the place of the first gram of each among the features of the column."""
    found: list[dict[str, Any]] = []
    first = 0
    for part in block.parts:
        kind = {name: getattr(part.kind, name) for name in ("unit", "low", "high", "weight")}
        found.append({**kind, "first": first, "values": part.grams, "idf": _listed(part.idf)})
        first += len(part.grams)
    return found


def _forms(model: Model, formula: Formula) -> dict[str, dict[str, Any]]:
    """The notation of the numeric columns whose cells are not written as programs write numbers."""
    found = {}
    for name, stored in model.provenance.get("reading", {}).get("forms", {}).items():
        if name in formula.columns and stored.get("kind") == NumberForm().kind:
            digits = digits_pattern(stored["decimal"], stored["thousands"])
            found[name] = {name: stored[name] for name in ("decimal", "percent", "currency", "truth")} | {"digits": digits}
    return found


def reading_data(*, dates: bool = True, forms: bool = True) -> list[str]:
    """The patterns of the readers, by which a module reads dates and formatted numbers."""
    shapes = {kind: _shape(pattern) for kind, pattern in PATTERNS.items()}
    of_dates = [f"const DATES = {_data(shapes)};", f"const MONTHS = new Map({_data(list(MONTHS.items()))});"]
    return [*(of_dates if dates else []), *([f"const CURRENCY = {_data(CURRENCY)};"] if forms else [])]


def _order(model: Model, name: str) -> str:
    """The order of day and month in a column of dates of the training file."""
    order: str = model.provenance.get("reading", {}).get("forms", {}).get(name, {}).get("order", "")
    return order


def _shape(pattern: str) -> str:
    """A verbose pattern of Python in the syntax of JavaScript, without its blanks."""
    found = re.sub(r"\(\?P=(\w+)\)", r"\\k<\1>", re.sub(r"\s+", "", pattern))
    return found.replace("(?P<", "(?<")


def _cycles() -> list[tuple[float, float, bool] | None]:
    found: list[tuple[float, float, bool] | None] = [None]
    for part in range(1, len(PARTS)):
        cycle, _ = cycle_of(part)
        found.append((cycle.period, cycle.offset, cycle.whole))
    return found


def _weights(formula: Formula, weights: FloatArray | None) -> Any:
    """Weights as lists of numbers, or as `Halves`, one for each head."""
    if weights is None or formula.exponent is None:
        return _listed(weights)
    return Halves(tuple(row.astype(">f2").tobytes().hex() for row in formula.halves(weights)))


class Halves(NamedTuple):
    """Rows of numbers of 16 bits in hexadecimal digits, which the module reads when it is loaded."""

    rows: tuple[str, ...]


def _listed(array: Any) -> Any:
    return None if array is None else np.asarray(array).tolist()


def _data(value: list[Label] | object) -> str:
    """A value as JSON in ASCII that neither ends a script element nor begins a comment of HTML."""
    if isinstance(value, Halves):
        return f"[{', '.join(f'halves({_data(row)})' for row in value.rows)}]"
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def _sections() -> dict[str, str]:
    """The sections of `scorer.js` by their names."""
    source = files(__package__).joinpath("scorer.js").read_text(encoding="ascii")
    _, *parts = re.split(r"^// --- (.+)\n\n", source, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))
