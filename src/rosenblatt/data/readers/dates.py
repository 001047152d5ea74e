"""Dates and times in text: how a column writes them, and each cell as a number of days since 1970-01-01.

Dates     2024-12-31, 2024/12/31, 2024.12.31; 31.12.2024, 31/12/2024, 31-12-24; 12/31/2024; 3 Mar 2024, 3-Mar-24, March 3, 2024,
          each with a day of the week before it or not; months also in German, French, Spanish, Italian, Portuguese and Dutch.
Months    2024-12, 12/2024, Dec 2024, Dec-24; quarters 2024-Q4, Q4 2024: the first day.
Times     14:05, 14:05:30.25, 2:05 pm, 2 PM; after a date also T14:05:30, 20241231T140530, and a time zone: Z, UTC, +01:00.
Value     Days since 1970-01-01 with their fraction; of a time alone, the fraction of a day. A time zone converts to UTC; dates
          without one count as they are written.
Order     Of day and month, decided by the column: a number above 12 is a day. If no cell decides, dates with slashes have the
          month first, as most such files do, and all others the day; the note says so.
Years     Of two digits: 69 to 99 are of the 20th century, 00 to 68 of the 21st.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

DateKind = Literal["date", "datetime", "time"]
ORDERS = ("dmy", "mdy")
DESCRIPTIONS = {"dmy": "day before month", "mdy": "month before day"}
EPOCH = date(1970, 1, 1).toordinal()
DAY_S, HOUR_S, MINUTE_S = 86_400, 3_600, 60
PIVOT_YEAR = 69  # the first of the years of two digits that belong to the 20th century
MAX_DATE_CHARS = 60
# The names of months, with what may be left out of them in brackets.
_NAMES = (
    "jan(uary) januar(i) janv(ier) jän(ner) ene(ro) gen(naio) janeiro",
    "feb(ruary) februar(i) fév(rier) févr fevr(ier) febrero febbraio fev(ereiro)",
    "mar(ch) mär(z) märz mrz maerz mars marzo março mrt maart",
    "apr(il) avr(il) abr(il) aprile",
    "may mai mayo mag(gio) maio mei",
    "jun(e) juni juin junio giu(gno) junho",
    "jul(y) juli juil(let) julio lug(lio) julho",
    "aug(ust) août aout ago(sto) augustus",
    "sep(tember) sept(embre) septiembre set(tembre) setembro",
    "oct(ober) okt(ober) octobre octubre ott(obre) out(ubro)",
    "nov(ember) novembre noviembre novembro",
    "dec(ember) dez(ember) déc(embre) decembre dic(iembre) dicembre dez(embro)",
)


def _month_names() -> dict[str, int]:
    """Each name of a month, whole and abbreviated, with the number of the month."""
    found: dict[str, int] = {}
    for number, names in enumerate(_NAMES, 1):
        for name in names.split():
            found |= dict.fromkeys((name.partition("(")[0], name.replace("(", "").replace(")", "")), number)
    return found


MONTHS = _month_names()
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FIRST_LETTERS = sorted({*_DAYS, "q", *(name[:3] for name in MONTHS)})  # of dates that do not begin with a digit
_SPELLINGS = sorted({*MONTHS, *(name.upper() for name in MONTHS if not name.isascii())}, key=len, reverse=True)
_MONTH = rf"(?:{'|'.join(_SPELLINGS)})\.?"
_DATE = rf"""
    (?:(?:{"|".join(_DAYS)})[a-z]{{0,6}}\.?,?\s+)?
    (?: (?P<y1>\d{{4}})(?P<s1>[-/.])(?P<m1>\d\d?)(?P=s1)(?P<d1>\d\d?)
      | (?P<y2>1[6-9]\d\d|2[0-2]\d\d)-(?P<m2>\d\d)
      | (?P<a>\d\d?)(?P<s3>[-/.])(?P<b>\d\d?)(?P=s3)(?P<y3>\d{{4}}|\d\d)
      | (?P<d4>\d\d?)(?:st|nd|rd|th|er)?[\s.-]+(?:de\s+)?(?P<m4>{_MONTH})[\s,.-]+(?:de\s+)?(?P<y4>\d{{4}}|\d\d)
      | (?P<m5>{_MONTH})\s+(?P<d5>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<y5>\d{{4}})
      | (?P<m7>0[1-9]|1[0-2])/(?P<y7>1[6-9]\d\d|2[0-2]\d\d)
      | (?P<m8>{_MONTH})(?:-(?P<s8>\d\d)|[\s-]+(?P<y8>\d{{4}}))
      | (?P<y9>1[6-9]\d\d|2[0-2]\d\d)[\s-]?Q(?P<q9>[1-4]) | Q(?P<q10>[1-4])[\s-](?P<y10>1[6-9]\d\d|2[0-2]\d\d)
      | (?P<y6>\d{{4}})(?P<m6>\d\d)(?P<d6>\d\d)(?=T)
    )"""
_TIME = r"""
    (?: (?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,12}))?)?(?:\s*(?P<half>[ap])\.?m\.?)?
      | (?P<full>\d\d?)\s*(?P<half2>[ap])\.?m\.?
      | (?P<packed>(?<=T)\d{4}(?:\d\d)?)
    )"""
_ZONE = r"\s*(?P<zone>Z|UTC|GMT|(?P<sign>[+-])(?P<zh>\d\d)(?::?(?P<zm>\d\d))?)"
_PATTERN = re.compile(rf"(?:{_DATE}(?:(?:T|,?\s+){_TIME}(?:{_ZONE})?)?)", re.VERBOSE | re.IGNORECASE | re.ASCII)
_TIME_ALONE = re.compile(_TIME, re.VERBOSE | re.IGNORECASE | re.ASCII)
PATTERNS = {"date": _PATTERN.pattern, "time": _TIME_ALONE.pattern}  # verbose, for exports that read dates
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{3}(?:\d{3})?)?)?)?", re.ASCII)
Match = re.Match[str]


@dataclass(frozen=True)
class DateForm:
    """How a column writes dates.

    kind : whether its cells are dates, dates with a time of day, or times of day.
    order : "dmy" or "mdy", if the order of day and month matters in this column; else "".
    assumed : no cell decides the order.

    >>> form, _ = find_dates(["31.12.2024", "1.2.2024"])
    >>> form.kind, form.order, form.value("2.1.1970")
    ('date', 'dmy', 1.0)
    """

    kind: DateKind
    order: str = ""
    assumed: bool = False

    def value(self, cell: str) -> float | None:
        """The cell as a number of days; None if it is no date, or for a column of times, no time."""
        if self.kind == "time":
            found = _TIME_ALONE.fullmatch(cell) if len(cell) <= MAX_DATE_CHARS else None
            seconds = None if found is None else _seconds(found)
            return None if seconds is None else seconds / DAY_S
        return _days(cell, self.order)

    def other_order(self, cell: str) -> str:
        """The order in which a cell is a date, if it is none in that of the column; else ""."""
        other = next((order for order in ORDERS if self.order and order != self.order), "")
        return other if other and self.value(cell) is None and _days(cell, other) is not None else ""

    def describe(self) -> str:
        """What the column holds, in a few words."""
        return f"{self.kind}s" + (f" ({DESCRIPTIONS[self.order]})" if self.order else "")

    def to_json(self) -> dict[str, str]:
        """The form as a model file stores it."""
        return {"kind": self.kind, "order": self.order}


def find_dates(cells: Iterable[str], order: str = "") -> tuple[DateForm | None, int]:
    """The form in which most cells are dates, and their number; None if none is.

    `order`: "dmy" or "mdy", if it is known.

    >>> find_dates(["12/31/2024", "1/2/2024"])
    (DateForm(kind='date', order='mdy', assumed=False), 2)
    >>> find_dates(["14:05", "2:05 pm"])[0].kind, find_dates(["a", "3.5"])
    ('time', (None, 0))
    """
    times = 0
    found: dict[str, list[float]] = {name: [] for name in ORDERS}
    separators: list[str] = []
    for cell in cells:
        if DateForm("time").value(cell) is not None:
            times += 1
            continue
        match = _PATTERN.fullmatch(cell) if len(cell) <= MAX_DATE_CHARS else None
        if match is None:
            continue
        separators += [match["s3"]] if match["s3"] else []
        for name, values in found.items():
            value = _days(cell, name)
            values += [] if value is None else [value]
    dates = max(map(len, found.values()))
    if not times and not dates:
        return None, 0
    if times > dates:
        return DateForm("time"), times
    assumed = not order and len(found["dmy"]) == len(found["mdy"]) and bool(separators)
    if not order:
        usual = "mdy" if separators and separators[0] == "/" else "dmy"
        order = usual if assumed else max(ORDERS, key=lambda name: len(found[name]))
    kind: DateKind = "date" if all(value.is_integer() for value in found[order]) else "datetime"
    return DateForm(kind, order if separators else "", assumed), len(found[order])


def _days(cell: str, order: str) -> float | None:
    """The days since 1970-01-01 that a date stands for; None if it is no date."""
    if _ISO.fullmatch(cell):  # most dates: ten times as fast
        try:
            moment = datetime.fromisoformat(cell)
        except ValueError:
            pass  # such as 24:00, or no date
        else:
            since = moment - datetime(1970, 1, 1)
            return since.days + (since.seconds + since.microseconds / 1e6) / DAY_S
    found = _PATTERN.fullmatch(cell) if len(cell) <= MAX_DATE_CHARS else None
    if found is None:
        return None
    try:
        day = _date(found, order).toordinal() - EPOCH
    except ValueError:
        return None
    if found["hour"] is None and found["full"] is None and found["packed"] is None:
        return float(day)
    seconds = _seconds(found)
    if seconds is None:
        return None
    if found["zh"]:
        minutes = int(found["zh"]) * 60 + int(found["zm"] or 0)
        if minutes >= timedelta(days=1).total_seconds() / MINUTE_S:
            return None
        seconds -= minutes * MINUTE_S * (-1 if found["sign"] == "-" else 1)
    return day + seconds / DAY_S


def _date(found: Match, order: str) -> date:
    """The day of a match; ValueError if there is no such day."""
    for k in ("1", "6"):
        if found[f"y{k}"]:
            return date(int(found[f"y{k}"]), int(found[f"m{k}"]), int(found[f"d{k}"]))
    for k in ("2", "7"):
        if found[f"y{k}"]:
            return date(int(found[f"y{k}"]), int(found[f"m{k}"]), 1)
    for k in ("4", "5"):
        if found[f"y{k}"]:
            return date(_year(found[f"y{k}"]), _month(found[f"m{k}"]), int(found[f"d{k}"]))
    if found["m8"]:
        return date(_year(found["y8"] or found["s8"]), _month(found["m8"]), 1)
    for k in ("9", "10"):
        if found[f"y{k}"]:
            return date(int(found[f"y{k}"]), 3 * int(found[f"q{k}"]) - 2, 1)
    first, second, year = int(found["a"]), int(found["b"]), _year(found["y3"])
    month_first = order == "mdy" or (not order and found["s3"] == "/")
    return date(year, first, second) if month_first else date(year, second, first)


def _month(name: str) -> int:
    return MONTHS[name.lower().rstrip(".")]


def _year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) > 2 else year + (1900 if year >= PIVOT_YEAR else 2000)


def _seconds(found: Match) -> float | None:
    """The seconds since midnight of a match with a time; None if there is no such time."""
    if found["packed"]:
        packed = found["packed"].ljust(6, "0")
        hour, minute, second, half = int(packed[:2]), int(packed[2:4]), int(packed[4:]), None
    elif found["full"]:
        hour, minute, second, half = int(found["full"]), 0, 0, found["half2"]
    else:
        hour, minute, second, half = int(found["hour"]), int(found["minute"]), int(found["second"] or 0), found["half"]
    fraction = float(f"0.{found['fraction'] or 0}")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    total = hour * HOUR_S + minute * MINUTE_S + second + fraction
    if minute > 59 or second > 60 or hour > 24 or (hour == 24 and total > DAY_S):
        return None
    return total
