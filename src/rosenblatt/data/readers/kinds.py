"""What the cells of a column are: numbers, dates or text, decided by the first rows.

A column is numeric if at least half of its cells are numbers (`notation.py`), or holds dates if at least half are dates
(`dates.py`); other cells in it are errors. Any other column is text.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple, cast, get_args

from ...reporting.text import comma_list, cut, quoted_list
from ..table import Data
from . import Options
from .cells import MISSING, NON_FINITE, parse_number
from .dates import DESCRIPTIONS, FIRST_LETTERS, ORDERS, DateForm, DateKind, find_dates
from .notation import (
    CURRENCY,
    MARKS,
    THOUSANDS,
    TRUTH_VALUES,
    Decimal,
    NumberCells,
    NumberForm,
    choose_form,
    number_cells,
    split_number,
)

Form = DateForm | NumberForm
# How a number, a date or a truth value may begin. Most cells of text begin otherwise, and are tried with no other pattern.
_STARTS = "|".join(["nan", "inf", "tru", "fal", *FIRST_LETTERS, CURRENCY.partition("|")[2]]).encode()
VALUE_START = re.compile(rb"[^A-Za-z\"#&*/:;<=>@_]|" + re.sub(rb"[\x80-\xff]", rb"[^ -~]", _STARTS), re.IGNORECASE)


class Kind(IntEnum):
    """How the cells of a column are read."""

    NUMBER = 0  # the kernel reads numbers as programs write them
    TEXT = 1
    FREE_TEXT = 2  # text in which no cell counts as missing
    UNUSED = 3
    FORMATTED = 4  # other numbers and dates, which Python reads


class Survey(NamedTuple):
    """What the cells of a column are that are not missing.

    plain : how many are numbers as programs write them, including nan and inf.
    numbers : the numbers as people write them, if not all cells are plain.
    """

    known: int
    plain: int
    numbers: NumberCells | None = None
    dates: DateForm | None = None
    n_dates: int = 0
    truth: bool = False  # all cells are true or false

    @property
    def n_numbers(self) -> int:
        return max(self.plain, 0 if self.numbers is None else self.numbers.count)

    @property
    def all_values(self) -> bool:
        """Whether all cells that are not missing are numbers or dates, and there are any."""
        return 0 < self.known == self.n_values or self.truth

    @property
    def most_values(self) -> bool:
        """Whether all cells but one, or nine of ten, are numbers or dates, and at least two."""
        return self.n_values > 1 and self.known - self.n_values <= max(1, self.known // 10)

    @property
    def n_values(self) -> int:
        return max(self.n_numbers, self.n_dates)


def survey(cells: Iterable[bytes], options: Options) -> Survey:
    """Count the numbers and the dates among some cells."""
    counts = Counter(cell for cell in cells if cell not in MISSING)
    known = counts.total()
    values = {cell: n for cell, n in counts.items() if VALUE_START.match(cell) is not None}
    plain = sum(n for cell, n in values.items() if is_number(cell) or NON_FINITE.fullmatch(cell) is not None)
    if plain == known:
        return Survey(known, plain)
    texts = {cell.decode("utf-8", "replace"): n for cell, n in values.items()}
    may_be_truth = len(values) == len(counts)
    if may_be_truth and any(map(is_truth, texts)) and all(text.casefold() in TRUTH_VALUES for text in texts):
        return Survey(known, plain, truth=True)
    dates, _ = find_dates(texts, options.dates if options.dates in ORDERS else "")
    n_dates = 0 if dates is None else sum(n for text, n in texts.items() if dates.value(text) is not None)
    return Survey(known, plain, number_cells(texts, options.thousands or ""), dates, n_dates)


def choose_forms(
    columns: Mapping[int, Sequence[bytes]], surveys: Mapping[int, Survey], options: Options, semicolons: bool
) -> dict[int, tuple[Kind, Form | None]]:
    """The kind of some columns, and the form of those that are not as programs write numbers; all columns decide together.

    `semicolons`: whether semicolons separate the cells of the file.
    """
    forms: dict[int, tuple[Kind, Form | None]] = {}
    numeric: dict[int, NumberCells | None] = {}
    for c, found in surveys.items():
        if found.truth:
            forms[c] = (Kind.FORMATTED, NumberForm(truth=True))
        elif 2 * found.n_numbers >= found.known and found.n_numbers >= found.n_dates:
            forms[c] = (Kind.NUMBER, None)
            numeric[c] = found.numbers
        else:
            forms[c] = (Kind.FORMATTED, found.dates) if 2 * found.n_dates >= found.known else (Kind.TEXT, None)
    decimal, thousands = decimal_mark(options), options.thousands or ""
    if not any(numeric.values()) and decimal is None and not thousands:
        return forms
    for c, cells in numeric.items():  # numbers as programs write them may also fit the form of other columns
        if cells is None:
            numeric[c] = number_cells(Counter(cell.decode("latin-1") for cell in columns[c] if cell not in MISSING), thousands)
    votes = {cells.vote for cells in numeric.values() if cells is not None and cells.vote is not None}
    default: Decimal = decimal or ("," if votes == {","} else ".")
    for c, cells in numeric.items():
        found = surveys[c]
        if cells is None:
            form = NumberForm(default)
        elif found.plain == found.known and default == ".":
            form = NumberForm(thousands=thousands if thousands != "." else "")
        else:
            form = choose_form(cells, decimal, thousands, votes, semicolons)
        if form != NumberForm() or found.plain < found.n_numbers:
            kind = Kind.NUMBER if form.is_plain and 2 * found.plain >= found.known else Kind.FORMATTED
            forms[c] = (kind, form.examined(cell.decode("utf-8", "replace") for cell in {*columns[c]}))
    return forms


def decimal_mark(options: Options) -> Decimal | None:
    """The decimal mark that the user gave, by itself or by the mark between thousands."""
    if options.decimal is not None:
        return options.decimal
    return {",": ".", ".": ","}.get(options.thousands or "")  # type: ignore[return-value]


def is_number(cell: bytes) -> bool:
    return parse_number(cell) is not None


def is_truth(text: str) -> bool:
    """Whether a cell is true or false, in letters of any case."""
    return text.casefold() in ("true", "false")


def is_value(cell: bytes) -> bool:
    """Whether a cell is a number, a date, true or false."""
    text = cell.decode("utf-8", "replace")
    return is_number(cell) or is_truth(text) or split_number(text) is not None or find_dates([text])[1] > 0


def stored_form(name: str, cells: Sequence[bytes], options: Options) -> Form | None:
    """The form of a column of a model, which the options may override.

    An order of dates that the training file did not need is decided by these cells.
    """
    form = options.forms.get(name)
    if isinstance(form, NumberForm) and form.truth:
        return form
    if form is None or isinstance(form, NumberForm):
        decimal = decimal_mark(options)
        if decimal is None and options.thousands is None:
            return form
        form = form or NumberForm()
        return NumberForm(decimal or form.decimal, options.thousands or "", form.percent, form.currency)
    if form.kind == "time":
        return form
    if options.dates in ORDERS:
        return DateForm(form.kind, options.dates)
    if not form.order:
        found = find_dates(cell.decode("utf-8", "replace") for cell in cells if cell not in MISSING)[0]
        return form if found is None else DateForm(form.kind, found.order)
    return form


def number_option(cell: str, form: Form | None, decimal: Decimal | None = None) -> str | None:
    """The option with which a cell is a number that does not fit the form of its column, or is not as programs write them.

    `decimal`: the mark that the user gave, and that other cells have.
    """
    parts = split_number(cell)
    if parts is None or isinstance(form, DateForm) or (form is not None and form.truth):
        return None
    form = form or NumberForm()
    if parts.percent != form.percent or parts.currency not in ("", form.currency):
        return None
    if form.decimal == "." and replace(form, thousands="").value(cell) is not None:
        used = next((mark for mark in THOUSANDS if mark in parts.digits), ",")
        return f"--thousands {'space' if used == ' ' else shlex.quote(used)}"
    for mark in MARKS if decimal is None else ():
        if NumberForm(mark, "", form.percent, form.currency).value(cell) is not None:
            return f"--decimal {mark}"
    return None


# --- Forms in notes and model files


def describe_forms(forms: Mapping[str, Form]) -> list[str]:
    """Sentences for the user: which columns are formatted numbers or dates."""
    sentences = []
    numbers = {name: form for name, form in forms.items() if isinstance(form, NumberForm)}
    groups: dict[str, list[str]] = {}
    for name, form in numbers.items():
        if form.seen != ():
            groups.setdefault(form.describe(), []).append(name)
    sentences += [f"numbers with {words}: {quoted_list(names)}" for words, names in groups.items()]
    unsure = [(name, form) for name, form in numbers.items() if form.assumed]
    if unsure:
        name, form = unsure[0]
        other = "," if form.decimal == "." else "."
        mark, read = (other, "1234") if form.grouped else (form.decimal, "1.234")
        sentences.append(f"1{mark}234 in {cut(name)!r} was read as {read}; change it with --decimal {other}")
    dates = {name: form for name, form in forms.items() if isinstance(form, DateForm)}
    for what, times in (("dates, read as days since 1970", False), ("times, read as fractions of the day", True)):
        columns = [
            f"{cut(name)!r}" + (f" ({DESCRIPTIONS[form.order]})" if form.order else "")
            for name, form in dates.items()
            if (form.kind == "time") == times
        ]
        sentences += [f"{what}: {comma_list(columns)}"] if columns else []
    assumed = next((form for form in dates.values() if form.assumed), None)
    if assumed is not None:
        opposite = next(order for order in ORDERS if order != assumed.order)
        sentences.append(f"no row shows the order of day and month; change it with --dates {opposite}")
    return sentences


def forms_of(data: Data) -> dict[str, Form]:
    """The forms of the columns of a file, for reading another file in the same way."""
    return {name: DateForm(cast(DateKind, kind)) for name, kind in data.dates.items()} | dict(data.forms)


def form_from_json(stored: object) -> Form:
    """The form that a model file stores; ValueError for anything else."""
    if isinstance(stored, dict) and stored.keys() == {"kind", "order"}:
        kind, order = stored["kind"], stored["order"]
        if kind in get_args(DateKind) and order in ("", *ORDERS):
            return DateForm(kind, order)
    if isinstance(stored, dict) and stored.keys() == NumberForm().to_json().keys():
        decimal, thousands, percent, currency = (stored[name] for name in ("decimal", "thousands", "percent", "currency"))
        truth = stored["truth"]
        valid = decimal in MARKS and thousands in ("", *THOUSANDS) and thousands != decimal and stored["kind"] == "number"
        valid = valid and isinstance(percent, bool) and isinstance(truth, bool)
        if valid and isinstance(currency, str) and len(currency) <= 3:
            return NumberForm(decimal, thousands, percent, currency, truth=truth)
    raise ValueError("the notation of a column is invalid")
