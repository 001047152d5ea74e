"""Terminal graphics."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.reporting.terminal import LEVELS, bar, confusion_lines, sparkline, thin


@given(st.lists(st.floats(-1e300, 1e300), max_size=200), st.integers(1, 60))
def test_a_sparkline_keeps_the_order_of_its_values(values, width):
    line = sparkline(values, width)
    shown = thin(values, width)
    assert len(line) == len(shown) == min(len(values), width)
    for a, b, x, y in zip(line, line[1:], shown, shown[1:], strict=False):
        assert x > y or LEVELS.index(a) <= LEVELS.index(b)


@given(st.floats(-1.0, 2.0), st.integers(1, 40))
def test_a_bar_has_the_given_width(share, width):
    assert len(bar(share, width)) == width


def test_confusion_lines_list_the_three_most_frequent_mistakes():
    lines = confusion_lines(["a", "b", "c", "d", "e"], [[5, 1, 2, 3, 4], *[[0, 1, 0, 0, 0]] * 4])
    assert lines[0].endswith("4 as e, 3 as d, 2 as c")
