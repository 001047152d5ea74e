"""The kinds of columns: cells that the quick pattern leaves out are neither numbers, dates nor truth values."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from rosenblatt.data.readers import Options, kinds, notation
from rosenblatt.data.readers.dates import MONTHS, PATTERNS
from rosenblatt.data.readers.kinds import VALUE_START, is_value, survey

FLAGS = re.VERBOSE | re.IGNORECASE | re.ASCII
PATTERN_OF_EACH = {
    "date": re.compile(PATTERNS["date"], FLAGS),
    "time": re.compile(PATTERNS["time"].replace("(?<=T)", ""), FLAGS),
    "number": notation._CELL,
    "currency": re.compile(notation.CURRENCY),
    "not finite": re.compile(kinds.NON_FINITE.pattern.decode(), re.IGNORECASE),
}


@pytest.mark.parametrize("name", PATTERN_OF_EACH)
def test_all_that_the_patterns_accept_may_be_a_value(name: str) -> None:
    @settings(max_examples=examples(300), deadline=None)
    @given(st.from_regex(PATTERN_OF_EACH[name], fullmatch=True))
    def check(cell: str) -> None:
        assert VALUE_START.match(cell.encode("utf-8", "replace"))

    check()


def test_every_month_currency_and_truth_value_may_begin_a_value() -> None:
    codes = notation.CURRENCY.partition("]|")[2].replace("\\", "").split("|") + list("$€£¥₹₽₩₺₴₪₫")
    starts = [*MONTHS, *(name.upper() for name in MONTHS), *(name.capitalize() for name in MONTHS), *codes]
    starts += ["true", "FALSE", "fal\u017fe", "Wed", "q1", "-3", "(12)", ".5", "\u22125", "\xa07"]
    assert [start for start in starts if not VALUE_START.match(start.encode())] == []


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(
        st.one_of(st.text(max_size=8), st.sampled_from(["12", "3,5", "Mar 2024", "true", "1e5", "R$ 5", "nan"])), max_size=9
    )
)
def test_a_survey_counts_as_without_the_quick_pattern(texts: list[str]) -> None:
    cells = [text.encode("utf-8", "replace").strip() for text in texts]
    found = survey(cells, Options())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinds, "VALUE_START", re.compile(b""))
        assert found == survey(cells, Options())


def test_words_are_left_out_early() -> None:
    words = [b"hello", b"go until jurong point", b"_", b"@me", b"=1+1"]
    assert not any(VALUE_START.match(word) or is_value(word) for word in words)
