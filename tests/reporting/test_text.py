"""Numbers, lists and names as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.reporting.text import byte_size, comma_list, count, cut, duration, join_and, percent, plural, quoted_list, short

WORDS = st.text("abcdefghij", min_size=1, max_size=5)


@given(st.integers(-(10**15), 10**15))
def test_counts_can_be_read_back(number: int) -> None:
    assert int(count(number).replace(",", "")) == number


@given(st.floats(-1e307, 1e307))
def test_short_numbers_are_close_and_short(number: float) -> None:
    text = short(number)
    assert float(text.replace(",", "")) == pytest.approx(number, rel=5.1e-3)
    assert len(text) <= 10
    assert "e+" not in text


@pytest.mark.parametrize(("number", "text"), [(math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"), (-0.0, "-0")])
def test_short_numbers_that_are_not_finite_or_zero(number: float, text: str) -> None:
    assert short(number) == text


@given(st.floats(0.0, 1.0))
def test_percentages_never_round_to_all_or_nothing(share: float) -> None:
    text = percent(share)
    assert text.endswith(" %")
    if 0.0 < share < 0.9999:
        assert text not in ("0 %", "100 %")


def test_percentages_with_fixed_decimals() -> None:
    assert [percent(share, 2) for share in (0.0, 0.14754, 0.9)] == ["0.00 %", "14.75 %", "90.00 %"]


DURATIONS = {0.0: "0 ms", 0.9994: "999 ms", 1.0: "1.0 s", 119.0: "119.0 s", 120.0: "2.0 min", 7200.0: "2.0 h", 1e7: "2,777.8 h"}
SIZES = {0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 1024: "1 KiB", 1536: "1.5 kB", 2 << 30: "2 GiB"}


@pytest.mark.parametrize("seconds", DURATIONS)
def test_durations(seconds: float) -> None:
    assert duration(seconds) == DURATIONS[seconds]


@pytest.mark.parametrize("number", SIZES)
def test_sizes(number: int) -> None:
    assert byte_size(number) == SIZES[number]
    assert byte_size(3 * 10**9) == "3.0 GB"


@given(st.lists(WORDS, min_size=1, max_size=20), st.integers(1, 20))
def test_lists_name_the_first_items_and_count_the_rest(items: list[str], limit: int) -> None:
    for text in (comma_list(items, limit), quoted_list(items, limit).replace("'", ""), join_and(items, limit)):
        head, _, rest = text.partition(" and ")
        named = head.split(", ")
        assert named == items[: len(named)]
        if len(items) > limit:
            assert (len(named), rest) == (limit, f"{len(items) - limit} more")
    assert join_and(items).replace(" and ", ", ").split(", ") == items


def test_long_names_are_shortened() -> None:
    assert quoted_list(["x" * 100]) == repr("x" * 57 + "...")
    assert len(cut("y" * 100)) == 28
    assert cut("two\nlines  and\tblanks") == "two lines and blanks"


def test_plurals() -> None:
    assert [plural(n, "pass", "passes") for n in (0, 1, 2)] == ["0 passes", "1 pass", "2 passes"]
    assert plural(1.0, "row") == "1 row"
