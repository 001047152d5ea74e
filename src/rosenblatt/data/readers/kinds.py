"""What the cells of a column are: numbers, dates or text, decided by the first rows.

A column is numeric if at least half of its cells are numbers, or a column of dates if at least half are dates (see `dates.py`);
other cells in it are errors. Any other column is text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, cast, get_args

from ...reporting.text import comma_list, cut
from ..table import Data
from . import Options
from .cells import MISSING, NON_FINITE, parse_number
from .dates import DESCRIPTIONS, ORDERS, DateForm, DateKind, find_dates

Form = DateForm


class Kind(IntEnum):
    """How the cells of a column are read."""

    NUMBER = 0
    TEXT = 1
    FREE_TEXT = 2  # text in which no cell counts as missing
    UNUSED = 3
    FORMATTED = 4  # dates, which are read as numbers


def form_from_json(stored: object) -> Form:
    """The form that a model file stores; ValueError for anything else."""
    if isinstance(stored, dict) and stored.keys() == {"kind", "order"}:
        kind, order = stored["kind"], stored["order"]
        if kind in get_args(DateKind) and order in ("", *ORDERS):
            return DateForm(kind, order)
    raise ValueError("a column of dates has an unknown form")


def describe_forms(forms: Mapping[str, Form]) -> list[str]:
    """Sentences for the user: which columns are dates."""
    if not forms:
        return []
    columns = [f"{cut(name)!r}" + (f" ({DESCRIPTIONS[form.order]})" if form.order else "") for name, form in forms.items()]
    sentences = [f"dates, read as days since 1970: {comma_list(columns)}"]
    assumed = next((form for form in forms.values() if form.assumed), None)
    if assumed is not None:
        other = next(order for order in ORDERS if order != assumed.order)
        sentences.append(f"no row shows the order of day and month; change it with --dates {other}")
    return sentences


def forms_of(data: Data) -> dict[str, Form]:
    """The forms of the columns of a file, for reading another file in the same way."""
    return {name: DateForm(cast(DateKind, kind)) for name, kind in data.dates.items()} | dict(data.forms)


class Survey(NamedTuple):
    """How many of some cells are not missing, how many of those are numbers as programs write them, or fit a form."""

    known: int
    numbers: int
    form: Form | None
    fits: int

    @property
    def all_values(self) -> bool:
        """Whether all cells that are not missing are numbers or dates, and there are any."""
        return 0 < self.known == max(self.numbers, self.fits)

    @property
    def kind(self) -> Kind:
        if 2 * self.numbers >= self.known and self.numbers >= self.fits:
            return Kind.NUMBER
        return Kind.FORMATTED if 2 * self.fits >= self.known else Kind.TEXT


def survey(cells: Iterable[bytes], options: Options) -> Survey:
    """Count the numbers among some cells, including nan and inf; if not all are, also find the form that most cells have."""
    counts = Counter(cell for cell in cells if cell not in MISSING)
    known = counts.total()
    numbers = sum(n for cell, n in counts.items() if is_number(cell) or NON_FINITE.fullmatch(cell) is not None)
    if numbers == known:
        return Survey(known, numbers, None, 0)
    texts = [cell.decode("latin-1") for cell in counts]
    form, _ = find_dates(texts, options.dates if options.dates in ORDERS else "")
    fits = 0 if form is None else sum(n for text, n in zip(texts, counts.values(), strict=True) if form.value(text) is not None)
    return Survey(known, numbers, form if fits else None, fits)


def is_number(cell: bytes) -> bool:
    return parse_number(cell) is not None


def is_value(cell: bytes) -> bool:
    """Whether a cell is a number or a date."""
    return is_number(cell) or find_dates([cell.decode("latin-1")])[1] > 0


def stored_form(name: str, cells: Sequence[bytes], options: Options) -> Form | None:
    """The form of a column in the training file; an order of dates that it did not need is decided by these cells."""
    form = options.forms.get(name)
    if form is None or form.kind == "time":
        return form
    if options.dates in ORDERS:
        return DateForm(form.kind, options.dates)
    if not form.order:
        found = find_dates(cell.decode("latin-1") for cell in cells if cell not in MISSING)[0]
        return form if found is None else DateForm(form.kind, found.order)
    return form
