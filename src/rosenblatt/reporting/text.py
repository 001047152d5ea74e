"""Numbers, lists and names as text: the one place where they are formatted for people.

Every layer may import this module; it imports the standard library and `safe_text` alone.

    count         1,234,567
    percent       8.4 %, 99.96 %; 76.30 % with ``decimals=2``
    percent_range 6.15 to 79.23 %
    short         0.123, 12,346, 1e9
    fixed         0.1234, 12.0; +0.123 with ``signed=True``
    plural        1 row, 2,000 rows
    count_bound   1,024, about 2.5e12
    duration      12 ms, 3.4 s, 2.5 min, 3.0 h
    byte_size     512 bytes, 1.5 MB, 64 MiB
    join_and      a, b and c
    comma_list    a, b and 7 more
    quoted_list   'a', 'b' and 7 more
    cut           worst_conc…l_nucleus
    wrap          lines of limited length
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

from ..safe_text import printable

TIMES, MINUS = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}"
NAME_CHARS = 28  # length to which `cut` shortens a name
QUOTED_CHARS = 60  # length to which `quoted_list` shortens a name
MAX_EXACT_BOUND = 1e9  # up to which `count_bound` writes all digits
MAX_BINARY_UNITS = 10_000  # of a size that `byte_size` writes exactly: 2,265,625 KiB is a round number of bytes
LISTED_ITEMS = 12  # items of a list that are named; the others are counted


def count(number: float) -> str:
    """Write a whole number with thousands separators.

    >>> count(1234567), count(0.0), count(2**64 + 1)
    ('1,234,567', '0', '18,446,744,073,709,551,617')
    """
    return f"{number:,}" if isinstance(number, int) else f"{number:,.0f}"


def percent(share: float, decimals: int | None = None) -> str:
    """Write a share as a percentage, with about three digits or a fixed number of decimals.

    >>> percent(0.0843), percent(1.0), percent(0.00012), percent(0.9996)
    ('8.4 %', '100 %', '0.012 %', '99.96 %')
    >>> percent(0.763, decimals=2), percent(1.0, decimals=2)
    ('76.30 %', '100.00 %')
    """
    value = 100.0 * share
    if decimals is not None:
        return f"{value:.{decimals}f} %"
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    if value > 99.9:
        return f"{value:.2f} %"
    return f"{value:.1f} %" if value >= 0.1 else f"{value:.2g} %"


def percent_range(low: float, high: float) -> str:
    """Write a range of shares as percentages with two decimals.

    >>> percent_range(0.0615, 0.7923)
    '6.15 to 79.23 %'
    """
    return f"{100.0 * low:.2f} to {percent(high, 2)}"


def short(number: float, digits: int = 3) -> str:
    """Write a number with three significant digits, or with all digits before the decimal point.

    >>> short(0.123456), short(12345.6), short(1e9), short(-0.5), short(0.0)
    ('0.123', '12,346', '1e9', '-0.5', '0')
    >>> short(1.25e-7), short(3.14159, digits=5), short(1234.5, digits=6)
    ('1.25e-7', '3.1416', '1,234.5')
    """
    if not math.isfinite(number) or number == 0.0:
        return f"{number:g}"
    if 1e3 <= abs(number) < 1e7:
        decimals = max(0, digits - 1 - int(math.log10(abs(number))))
        text = f"{number:,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if decimals else text
    mantissa, e, exponent = f"{number:.{digits}g}".partition("e")
    return f"{mantissa}{e}{int(exponent)}" if e else mantissa


def fixed(number: float, decimals: int = 4, signed: bool = False) -> str:
    """Write a number with a fixed number of decimals, for columns of a table.

    >>> fixed(0.12345), fixed(12.0, 1), fixed(0.5, 3, signed=True), fixed(-0.5, 3, signed=True)
    ('0.1235', '12.0', '+0.500', '-0.500')
    """
    return f"{number:{'+' if signed else ''},.{decimals}f}"


def plural(number: float, one: str, many: str = "") -> str:
    """Write a number and its noun, in the plural unless the number is 1.

    >>> plural(1, "row"), plural(2000, "row"), plural(3, "class", "classes")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def count_bound(bound: float) -> str:
    """Write an upper bound on a whole number: all digits below 1e9, three beyond.

    >>> count_bound(1024.7), count_bound(2.5e12)
    ('1,024', 'about 2.5e12')
    """
    return count(math.floor(bound)) if bound < MAX_EXACT_BOUND else f"about {short(bound)}"


def duration(seconds: float) -> str:
    """Write a duration in the unit that suits it.

    >>> duration(0.0123), duration(0.9999), duration(3.44), duration(150.0), duration(10800.0)
    ('12 ms', '1.0 s', '3.4 s', '2.5 min', '3.0 h')
    """
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 120.0:
        return f"{seconds:.1f} s"
    return f"{seconds / 60.0:.1f} min" if seconds < 7200.0 else f"{seconds / 3600.0:,.1f} h"


def byte_size(number: int) -> str:
    """Write a size in bytes; limits that are powers of two keep their exact value.

    >>> byte_size(1), byte_size(512), byte_size(1_480_000), byte_size(64 << 20), byte_size(2_320_000_000)
    ('1 byte', '512 bytes', '1.5 MB', '64 MiB', '2.3 GB')
    """
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number % size == 0 and 0 < number // size < MAX_BINARY_UNITS:
            return f"{count(number // size)} {unit}"
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:,.1f} {unit}"
    return plural(number, "byte")


def join_and(items: Sequence[object], limit: int | None = None) -> str:
    """Join items as in a sentence; items beyond ``limit`` are counted.

    >>> join_and(["a"]), join_and(["a", "b"]), join_and([1, 2, 3])
    ('a', 'a and b', '1, 2 and 3')
    >>> join_and(["a", "b", "c", "d"], limit=2)
    'a, b and 2 more'
    """
    if limit is not None and len(items) > limit:
        return comma_list(items, limit)
    *first, last = map(printable, items)
    return f"{', '.join(first)} and {last}" if first else last


def comma_list(items: Sequence[object], limit: int = LISTED_ITEMS) -> str:
    """Join items with commas; items beyond ``limit`` are counted.

    >>> comma_list(["a", "b"]), comma_list([1, 2, 3, 4], limit=2)
    ('a, b', '1, 2 and 2 more')
    """
    return _with_rest(map(printable, items[:limit]), len(items) - limit)


def quoted_list(names: Sequence[str], limit: int = LISTED_ITEMS) -> str:
    """Quote names and join them with commas; names beyond ``limit`` are counted.

    >>> quoted_list(["a", "b"]), quoted_list(["a", "b", "c"], limit=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    short_names = (name if len(name) <= QUOTED_CHARS else name[: QUOTED_CHARS - 3] + "..." for name in names[:limit])
    return _with_rest(map(repr, short_names), len(names) - limit)


def _with_rest(listed: Iterable[str], rest: int) -> str:
    text = ", ".join(listed)
    return f"{text} and {count(rest)} more" if rest > 0 else text


def cut(name: object, length: int = NAME_CHARS) -> str:
    """Shorten a name in the middle: long names often differ at their ends only.

    >>> cut("a short one"), cut("worst_concave_points_of_the_cell_nucleus", 20)
    ('a short one', 'worst_conc…l_nucleus')
    """
    text = printable(" ".join(str(name).split()))
    if len(text) <= length:
        return text
    head = length // 2
    return f"{text[:head]}…{text[len(text) - (length - head - 1) :]}"


def wrap(text: str, columns: int) -> list[str]:
    """Break a text into lines; a percent sign stays beside its number.

    >>> wrap("an error of 12.50 % is small", 18)
    ['an error of', '12.50 % is small']
    """
    lines = textwrap.wrap(text.replace(" %", "\N{NO-BREAK SPACE}%"), columns, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}%", " %") for line in lines] or [""]
