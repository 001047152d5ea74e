"""Numbers as people write them: how a column writes its numbers, and each cell as the number that it stands for.

Decimal     a point, or a comma.
Thousands   groups of three digits between commas, points, blanks or apostrophes, whichever is not the decimal mark; of two and
            three between commas, as in India. The first group does not begin with 0.
Signs       a minus sign, or brackets, as in accounts: (12) is -12.
Percent     45 % is 0.45; all cells of a column must have the sign, or none.
Truth       true is 1 and false is 0 in a column of nothing else but 1 and 0, in letters of any case.
Currency    one symbol or code, before or after the number; cells without it are the same number.
Decision    A column writes its numbers as most of its cells do. Columns such as 1,234 and 5,678 fit a decimal comma and a comma
            between thousands: the options decide, or else the columns that fit only one of them, or else it is a decimal comma
            in files with semicolons between cells, and thousands in all others; then the note says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal as ExactDecimal
from functools import cache
from typing import Literal, NamedTuple

Decimal = Literal[".", ","]
MARKS: tuple[Decimal, Decimal] = (".", ",")
THOUSANDS = (",", ".", " ", "'")
MAX_NUMBER_CHARS = 60
MAX_WRITTEN_ZEROS = 15  # larger and smaller numbers are written with an exponent
TRUTH_VALUES = {"true": "1", "false": "0", "1": "1", "0": "0"}
# Blanks of all widths, the apostrophe of typesetters, and the minus sign.
_USUAL = str.maketrans({"\xa0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
CURRENCY = r"[$€£¥₹₽₩₺₴₪₫]|R\$|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|kr|zł|Kč|Ft"
_CELL = re.compile(
    rf"""(?P<first>{CURRENCY})?\s*(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<before>{CURRENCY})?\s*(?P<second>[+-])?
    (?P<digits>[\d.,][\d.,' ]*(?<!\s)(?:[eE][+-]?\d+)?)
    \s*(?P<inner>%)?\s*(?P<after>{CURRENCY})?\s*(?P<close>\))?\s*(?P<outer>%)?\s*(?P<last>{CURRENCY})?""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class NumberForm:
    """How a column writes its numbers.

    decimal : the decimal mark.
    thousands : the mark between thousands, if it is given; "": any that is not the decimal mark.
    percent : whether the cells are percentages.
    currency : the symbol that cells may have.
    assumed : whether the cells also fit the other decimal mark.
    grouped : whether these cells were read with groups of thousands.
    truth : whether the cells are true and false.
    seen : what the cells of the file have that programs do not write, in words; None if they were not examined.

    >>> NumberForm(",", currency="€").value("-1.200,50 €"), NumberForm(percent=True).value("45%"), NumberForm().value("(12)")
    (-1200.5, 0.45, -12.0)
    """

    decimal: Decimal = "."
    thousands: str = ""
    percent: bool = False
    currency: str = ""
    assumed: bool = False
    truth: bool = False
    kind: Literal["number"] = "number"
    seen: tuple[str, ...] | None = field(default=None, compare=False)
    grouped: bool = field(default=False, compare=False)

    def plain(self, cell: str) -> str | None:
        """The number as programs write it; None if the cell is not a number of this form."""
        if self.truth:
            return TRUTH_VALUES.get(cell.casefold())
        digits = cell.removeprefix("-")
        if not self.percent and _digits(self.decimal, self.thousands).fullmatch(digits):  # most cells: twice as fast
            return self._plain(Parts(digits, "-" if len(digits) < len(cell) else "", False, ""))
        parts = split_number(cell)
        if parts is None or parts.percent != self.percent or parts.currency not in ("", self.currency):
            return None
        return self._plain(parts) if _digits(self.decimal, self.thousands).fullmatch(parts.digits) else None

    def _plain(self, parts: Parts) -> str:
        number = parts.digits
        for mark in THOUSANDS:
            number = number if mark == self.decimal else number.replace(mark, "")
        number = number.replace(self.decimal, ".")
        return parts.sign + (_hundredth(number) if parts.percent else number)

    def value(self, cell: str) -> float | None:
        """The number, possibly infinite; None if the cell is not a number of this form."""
        plain = self.plain(cell)
        return None if plain is None else float(plain)

    def text(self, number: float) -> str:
        """A finite number as a cell in this form, which `value` reads exactly.

        >>> NumberForm(percent=True).text(0.865), NumberForm(",", currency="€").text(-1200.5), NumberForm(truth=True).text(1.0)
        ('86.5%', '-€1.200,5', 'true')
        """
        if self.truth and number in (0.0, 1.0):
            return "true" if number else "false"
        exact = ExactDecimal(repr(float(abs(number)))).scaleb(2 if self.percent else 0)
        mantissa, e, exponent = (
            str(exact).partition("E") if abs(exact.adjusted()) > MAX_WRITTEN_ZEROS else (f"{exact:f}", "", "")
        )
        whole, _, fraction = mantissa.partition(".")
        groups = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)][::-1]
        mark = self.thousands or ("," if self.decimal == "." else ".")
        digits = (
            (whole if e else mark.join(groups)) + (f"{self.decimal}{fraction}" if fraction.strip("0") else "") + e + exponent
        )
        before, after = (self.currency, "") if len(self.currency) == 1 else ("", f" {self.currency}" if self.currency else "")
        return f"{'-' if number < 0 else ''}{before}{digits}{'%' if self.percent else ''}{after}"

    @property
    def is_plain(self) -> bool:
        """Whether numbers as programs write them are read as such in this form."""
        return self.decimal == "." and not self.percent and not self.truth

    def describe(self) -> str:
        """The form in a few words."""
        return ", ".join(self.seen or self._words() or ["groups of thousands"])

    def _words(self, decimal_comma: bool = True) -> list[str]:
        words = ["decimal comma"] if self.decimal == "," and decimal_comma else []
        words += [self.currency] if self.currency else []
        words += ["%, 45 % = 0.45"] if self.percent else []
        return words + (["true = 1, false = 0"] if self.truth else [])

    def examined(self, cells: Iterable[str]) -> NumberForm:
        """The same form, with what these cells show of it.

        >>> NumberForm(",").examined(["47"]).seen, NumberForm().examined(["1,200", "(3)"]).seen
        ((), ('groups of thousands', '(12) = -12'))
        """
        numbers = {cell: found.digits for cell in cells if (found := split_number(cell)) is not None}
        marks = set().union(*numbers.values())
        words = self._words(decimal_comma="," in marks)
        if not words and marks & ({*THOUSANDS} - {self.decimal}):
            words.append("groups of thousands")
        if any("(" in cell for cell in numbers):
            words.append("(12) = -12")
        return replace(self, seen=tuple(words))

    def to_json(self) -> dict[str, str | bool]:
        """The form as a model file stores it."""
        return {
            "kind": self.kind, "decimal": self.decimal, "thousands": self.thousands, "percent": self.percent,
            "currency": self.currency, "truth": self.truth,
        }  # fmt: skip


class Parts(NamedTuple):
    """A cell without its signs: the digits with their marks."""

    digits: str
    sign: str  # "-" or ""
    percent: bool
    currency: str


def split_number(cell: str) -> Parts | None:
    """The parts of a cell; None if it does not look like a number."""
    if len(cell) > MAX_NUMBER_CHARS:
        return None
    found = _CELL.fullmatch(cell.translate(_USUAL).strip())
    if found is None:
        return None
    signs, brackets = [found[name] for name in ("sign", "second") if found[name]], found["open"] is not None
    symbols = [found[name] for name in ("first", "before", "after", "last") if found[name]]
    if brackets != (found["close"] is not None) or len(signs) + brackets > 1 or len(symbols) > 1:
        return None
    if found["inner"] and found["outer"]:
        return None
    negative = brackets or signs == ["-"]
    return Parts(found["digits"], "-" if negative else "", bool(found["inner"] or found["outer"]), "".join(symbols))


@cache
def _digits(decimal: Decimal, thousands: str) -> re.Pattern[str]:
    return re.compile(digits_pattern(decimal, thousands), re.ASCII)


def digits_pattern(decimal: Decimal, thousands: str) -> str:
    """The pattern of the digits of a number with a decimal mark and a mark between thousands; "": any other mark."""
    marks = [mark for mark in THOUSANDS if mark != decimal and (not thousands or mark == thousands)]
    groups = [rf"[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+" for mark in marks]
    if decimal == "." and thousands in ("", ","):
        groups.append(r"[1-9]\d?(?:,\d\d)+,\d{3}")
    mark = re.escape(decimal)
    return rf"(?:(?:{'|'.join([*groups, r'[0-9]+'])})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"


def _hundredth(number: str) -> str:
    """A hundredth of a number without a sign, digit by digit."""
    digits, _, exponent = number.replace("E", "e").partition("e")
    whole, _, fraction = digits.partition(".")
    whole = whole.rjust(3, "0")
    shifted = f"{whole[:-2].lstrip('0') or '0'}.{whole[-2:]}{fraction}"
    return f"{shifted}e{exponent}" if exponent else shifted


# --- Columns


@dataclass(frozen=True)
class NumberCells:
    """The numbers among the cells of a column.

    percent, currency : those of most cells.
    fits : how many cells fit each decimal mark.
    differ : whether a cell that fits both is not the same number.
    grouped : the decimal mark with which these cells have thousands, if it is the same for all of them.
    """

    percent: bool
    currency: str
    fits: Mapping[Decimal, int]
    differ: bool
    grouped: Decimal | None = None

    @property
    def count(self) -> int:
        return max(self.fits.values())

    @property
    def vote(self) -> Decimal | None:
        """The decimal mark that the cells show; None if they fit both."""
        point, comma = (self.fits[mark] for mark in MARKS)
        return None if point == comma else "." if point > comma else ","


def number_cells(cells: Mapping[str, int], thousands: str = "") -> NumberCells | None:
    """The numbers among some cells, given with the times that they occur; None if there is none."""
    parts = {cell: found for cell in cells if (found := split_number(cell)) is not None}
    if not parts:
        return None
    signs: Counter[bool] = Counter()
    currencies: Counter[str] = Counter()
    for cell, found in parts.items():
        signs[found.percent] += cells[cell]
        currencies[found.currency] += cells[cell] if found.currency else 0
    percent = signs[True] > signs[False]
    currency = max(currencies, key=lambda symbol: currencies[symbol])
    fits: dict[Decimal, int] = dict.fromkeys(MARKS, 0)
    grouped: set[Decimal] = set()
    for cell in parts:
        values = {
            mark: NumberForm(mark, thousands if thousands != mark else "", percent, currency).plain(cell) for mark in MARKS
        }
        for mark, value in values.items():
            fits[mark] += cells[cell] if value is not None else 0
        point, comma = values.values()
        if point is not None and comma is not None and float(point) != float(comma):
            grouped.add("." if abs(float(point)) > abs(float(comma)) else ",")
    usual = next(iter(grouped)) if len(grouped) == 1 else None
    return NumberCells(percent, currency, fits, bool(grouped), usual) if max(fits.values()) else None


def choose_form(
    cells: NumberCells, decimal: Decimal | None, thousands: str, votes: set[Decimal], semicolons: bool
) -> NumberForm:
    """The form of a column.

    decimal : the mark that the user gave.
    votes : the marks that the columns of the file show.
    semicolons : whether semicolons separate the cells.
    """
    mark, assumed = cells.vote, False
    if mark is None:
        mark = decimal or (next(iter(votes)) if len(votes) == 1 else None)
        assumed = mark is None and cells.differ
        if mark is None and cells.currency:  # amounts rarely have three decimals
            mark = cells.grouped
        mark = mark or ("," if semicolons and cells.differ else ".")
    return NumberForm(
        mark, thousands if thousands != mark else "", cells.percent, cells.currency, assumed, grouped=cells.grouped == mark
    )
