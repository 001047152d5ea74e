"""Numbers and names as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence

SHOWN = 28  # letters of a name
TIMES, MINUS = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}"


def count(number: float) -> str:
    """A whole number with its thousands apart.

    >>> count(1234567), count(0.0)
    ('1,234,567', '0')
    """
    return f"{number:,.0f}"


def percent(share: float) -> str:
    """A share with about three digits.

    >>> percent(0.0843), percent(1.0), percent(0.00012), percent(0.9996)
    ('8.4 %', '100 %', '0.012 %', '99.96 %')
    """
    value = 100.0 * share
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    if value > 99.9:
        return f"{value:.2f} %"
    return f"{value:.1f} %" if value >= 0.1 else f"{value:.2g} %"


def short(number: float) -> str:
    """A number with three digits that count.

    >>> short(0.123456), short(12345.6), short(1e9), short(-0.5), short(0.0)
    ('0.123', '12,346', '1e+09', '-0.5', '0')
    """
    if not math.isfinite(number) or number == 0.0:
        return f"{number:g}"
    if 1e3 <= abs(number) < 1e7:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def plural(number: float, one: str, many: str = "") -> str:
    """
    >>> plural(1, "row"), plural(2000, "row"), plural(3, "class", "classes")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def cut(name: object, length: int = SHOWN) -> str:
    """A name that fits: its two ends say more than its beginning, since long names share their beginnings.

    >>> cut("a short one"), cut("worst_concave_points_of_the_cell_nucleus", 20)
    ('a short one', 'worst_conc…l_nucleus')
    """
    text = " ".join(str(name).split())
    if len(text) <= length:
        return text
    head = length // 2
    return f"{text[:head]}…{text[len(text) - (length - head - 1) :]}"


def join_and(names: list[str]) -> str:
    """
    >>> join_and(["a"]), join_and(["a", "b"]), join_and(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- Words of messages.


def quoted_list(names: Sequence[str], most: int = 12) -> str:
    """Some names as words of a sentence.

    >>> quoted_list(["a", "b"]), quoted_list(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    some = ", ".join(repr(name if len(name) <= 60 else name[:57] + "...") for name in names[:most])
    return some if len(names) <= most else f"{some} and {len(names) - most:,} more"


def list_some(values: Sequence[object], most: int = 5) -> str:
    """All values, or the first `most` and the number of the others.

    >>> list_some([1, 2, 3]), list_some([1, 2, 3, 4], most=2)
    ('1, 2 and 3', '1, 2 and 2 more')
    """
    words = [str(value) for value in values[:most]]
    if len(values) > most:
        return f"{', '.join(words)} and {len(values) - most:,} more"
    return join_and(words)
