"""A model as one SELECT of standard SQL, for SQLite, PostgreSQL, DuckDB and similar databases.

The query returns every row of a table with its scores and its label: `rosenblatt_score` for two classes,
`rosenblatt_score_0`, ... for more, and `rosenblatt_label`. NULL is a missing cell, and so are words such as 'NA' in categorical
columns; numeric columns must hold numbers. A row with a missing cell that the model refuses has NULL as its scores and label.
Sums are written in groups, because SQLite limits the depth of an expression to 1000.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...reporting.text import count
from ..model import Model
from .cells import missing_words, units_of
from .formula import ExportError, Formula, Label, formula_of
from .reduction import Reduction

MAX_COLUMNS = 1600  # limit of PostgreSQL; SQLite allows 2000
MAX_WEIGHTS = 20_000
MAX_CLASSES = 100
TERMS_PER_GROUP = 50


class Step(NamedTuple):
    """One common table expression of the query."""

    name: str
    kept: str  # columns passed on
    added: list[tuple[str, str]]  # new columns with their expressions
    source: str


def to_sql(
    model: Model, reduction: Reduction | None = None, *, table: str = "rows", columns: Sequence[str] | None = None
) -> str:
    """Return the text of the query.

    Parameters
    ----------
    model : Model
        The model.
    reduction : Reduction, default=None
        The weights of a smaller export.
    table : str, default="rows"
        Name of the table, or schema and name with a dot between them.
    columns : sequence of str, default=None
        The table's names of the columns that the model reads, in the model's order: numeric columns, then categorical ones.

    Returns
    -------
    str
        The query.
    """
    formula = formula_of(model, "SQL", reduction).without_text("SQL", "export to JSON").folded()
    if formula.exponent is not None:
        raise ExportError("SQL export does not support float16 weights; export to ONNX, C, JavaScript or JSON")
    if formula.has_dates:
        problem = "SQL export does not support columns of dates, which databases store in many ways"
        raise ExportError(f"{problem}; export to C, JavaScript, ONNX or JSON", "train with dates='ignore'", "--dates ignore")
    _check_size(formula)
    numbers, names = _columns(formula, columns)
    sums = [_sum(formula, h, numbers, names) for h in range(formula.heads)]
    k = len(formula.classes)
    source = ".".join(identifier(part) for part in table.split(".")) + " AS t"
    if k == 2:
        steps = [Step("rosenblatt_scored", "t.*", [("rosenblatt_score", sums[0])], source)]
        best = [("rosenblatt_score > 0", formula.classes[1]), ("rosenblatt_score <= 0", formula.classes[0])]
    else:
        scores = [f"rosenblatt_score_{c}" for c in range(k)]
        if formula.pairs:
            steps = _count_votes(formula, sums, source)
        else:
            steps = [Step("rosenblatt_scored", "t.*", list(zip(scores, sums, strict=True)), source)]
        best = [(_leads(score, scores), label) for score, label in zip(scores, formula.classes, strict=True)]
    comment = _comment(units_of(model, formula))
    return f"{comment}{_with(steps)}\nSELECT rosenblatt_scored.*, {_case(best)} AS rosenblatt_label\nFROM rosenblatt_scored\n"


def _comment(units: Mapping[str, str]) -> str:
    """Lines that say what the numbers of some columns must be."""
    return "".join(f"-- The column {ascii(name)[:100]} has numbers: {unit}.\n" for name, unit in units.items())


def _leads(score: str, scores: list[str]) -> str:
    return " AND ".join(f"{score} >= {other}" for other in scores if other != score)


def _check_size(formula: Formula) -> None:
    for size, most, what in (
        (len(formula.columns) + len(formula.categories), MAX_COLUMNS, "columns"),
        (formula.n_weights, MAX_WEIGHTS, "weights"),
        (len(formula.classes), MAX_CLASSES, "classes"),
    ):
        if size > most:
            raise ExportError(f"SQL export supports up to {count(most)} {what}, the model has {count(size)}")


def _columns(formula: Formula, columns: Sequence[str] | None) -> tuple[list[str], list[str]]:
    own = [*formula.columns, *(category.column for category in formula.categories)]
    found = own if columns is None else list(columns)
    if len(found) != len(own):
        raise ExportError(f"columns must name the {len(own)} columns that the model reads, got {len(found)} names")
    n = len(formula.columns)
    return [identifier(name) for name in found[:n]], [identifier(name) for name in found[n:]]


def _cell(formula: Formula, j: int, name: str) -> str:
    cell = f"CAST(t.{name} AS DOUBLE PRECISION)"
    return cell if formula.fill is None else f"COALESCE({cell}, {number(formula.fill[j])})"


def _sum(formula: Formula, h: int, numbers: list[str], names: list[str]) -> str:
    cells = [_cell(formula, j, name) for j, name in enumerate(numbers)]
    columns = range(len(cells)) if formula.inputs is None else [column for column, _ in formula.inputs]
    products = [" * ".join(cells[columns[j]] for j in term) for term in formula.terms]
    if formula.shift is not None:
        products = [f"({product} - {number(shift)})" for product, shift in zip(products, formula.shift, strict=True)]
    weighted = zip(formula.weights[h], products, strict=True)
    # Without a fill, a missing number of any column makes the score NULL.
    terms = [f"{number(w)} * {product}" for w, product in weighted if w != 0.0 or formula.fill is None]
    if formula.indicator_weights is not None:
        for column, weight in zip(formula.indicators, formula.indicator_weights[h], strict=True):
            terms.append(f"CASE WHEN t.{numbers[column]} IS NULL THEN {number(weight)} ELSE 0e0 END")
    for category, name in zip(formula.categories, names, strict=True):
        cases = [
            f"WHEN t.{name} = {literal(value)} THEN {number(weight)}"
            for value, weight in zip(category.values, category.weights[h], strict=True)
            if weight != 0.0
        ]
        lost = f"t.{name} IS NULL OR CAST(t.{name} AS VARCHAR) IN ({', '.join(map(literal, missing_words(category)))})"
        if formula.refuses:
            cases.insert(0, f"WHEN {lost} THEN NULL")
        elif category.missing is not None:
            cases.insert(0, f"WHEN {lost} THEN {number(category.missing[h])}")
        if cases:
            terms.append(f"CASE {' '.join(cases)} ELSE 0e0 END")
    return _grouped([*terms, number(formula.intercept[h])])


def _grouped(terms: list[str]) -> str:
    while len(terms) > TERMS_PER_GROUP:
        starts = range(0, len(terms), TERMS_PER_GROUP)
        terms = [f"({_joined(terms[start : start + TERMS_PER_GROUP])})" for start in starts]
    return _joined(terms)


def _joined(terms: list[str]) -> str:
    return "\n    + ".join(terms)


def _count_votes(formula: Formula, sums: list[str], source: str) -> list[Step]:
    """The votes of pairs, with a fraction that decides between equal votes, as in `scores.votes_of_pairs`."""
    pairs = [f"rosenblatt_pair_{h}" for h in range(formula.heads)]
    votes: list[list[str]] = [[] for _ in formula.classes]
    duels: list[list[str]] = [[] for _ in formula.classes]
    lost: list[list[str]] = [[] for _ in formula.classes]
    for pair, (a, b) in zip(pairs, formula.class_pairs(), strict=True):
        equal = f"rosenblatt_votes_{a} = rosenblatt_votes_{b}"
        for winner, loser, won, sign in ((a, b, f"{pair} <= 0", "-"), (b, a, f"{pair} > 0", "+")):
            votes[winner].append(f"CASE WHEN {won} THEN 1 ELSE 0 END")
            duels[winner].append(f"CASE WHEN {won} AND {equal} THEN 1 ELSE 0 END")
            lost[loser].append(f"0.5e0 * (ABS({pair}) {sign} {pair})")  # NULL for a missing number
    counts = [(f"rosenblatt_votes_{c}", _grouped(each)) for c, each in enumerate(votes)]
    losses = [(f"rosenblatt_lost_{c}", _grouped(each)) for c, each in enumerate(lost)]
    wins = [(f"rosenblatt_duels_{c}", _grouped(each)) for c, each in enumerate(duels)]
    k = len(formula.classes)
    scores = [
        (f"rosenblatt_score_{c}", f"rosenblatt_votes_{c} + (rosenblatt_duels_{c} + 0.5e0 / (rosenblatt_lost_{c} + 1)) / {k}")
        for c in range(k)
    ]
    return [
        Step("rosenblatt_paired", "t.*", list(zip(pairs, sums, strict=True)), source),
        Step("rosenblatt_counted", "rosenblatt_paired.*", [*counts, *losses], "rosenblatt_paired"),
        Step("rosenblatt_compared", "rosenblatt_counted.*", wins, "rosenblatt_counted"),
        Step("rosenblatt_scored", "rosenblatt_compared.*", scores, "rosenblatt_compared"),
    ]


def _with(steps: list[Step]) -> str:
    parts = []
    for name, kept, added, source in steps:
        lines = ",\n".join(f"    {expression} AS {column}" for column, expression in added)
        parts.append(f"{name} AS (\n  SELECT {kept},\n{lines}\n  FROM {source}\n)")
    return "WITH " + ",\n".join(parts)


def _case(cases: list[tuple[str, Label]]) -> str:
    return "CASE " + " ".join(f"WHEN {condition} THEN {literal(value)}" for condition, value in cases) + " END"


def number(value: float) -> str:
    """A literal that reads back as the same float; standard SQL takes a number without exponent as an exact decimal."""
    text = repr(float(value))
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?", text):
        raise ExportError(f"SQL has no literal for the number {text}")
    return text if "e" in text else f"{text}e0"


def literal(value: Label) -> str:
    """A label or a category as a literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    return "'" + _checked(str(value)).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A quoted name; every character is part of the name."""
    if not name:
        raise ExportError("the name of a table or column is empty")
    return '"' + _checked(name).replace('"', '""') + '"'


def _checked(text: str) -> str:
    if "\0" in text or any(0xD800 <= ord(letter) < 0xE000 for letter in text):
        raise ExportError(f"{text!r:.60} contains a character that SQL text cannot hold")
    return text
