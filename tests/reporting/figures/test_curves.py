"""The learning curve of a mail filter."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from rosenblatt.mail.evaluation import Point, curve
from rosenblatt.reporting.charts import Line, spread_apart
from rosenblatt.reporting.figures.curves import LOWEST_PERCENT, mail_curve
from rosenblatt.reporting.page import save_chart


def points() -> list[Point]:
    random = np.random.default_rng(0)
    spam = random.random(800) < 0.3
    return curve(random.normal(np.where(spam, 1.0, -1.0), 0.6), spam)


def test_lines_are_the_figures_and_none_leaves_the_plot() -> None:
    found, given = mail_curve(points()), points()
    lines = {mark.label: mark for mark in found.marks if isinstance(mark, Line)}
    assert set(lines) == {"spam called ham", "ham called spam", "1 − AUC"}  # noqa: RUF001
    assert lines["ham called spam"].y[-1] == pytest.approx(given[-1].hm)
    for line in lines.values():
        assert all(
            0.0 <= found.x.share(x) <= 1.0 + 1e-9 and 0.0 <= found.y.share(y) <= 1.0 + 1e-9
            for x, y in zip(line.x, line.y, strict=True)
        )
    assert "Of 800 mails" in found.caption


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_it_is_written(tmp_path: Path, ending: str) -> None:
    if ending == "png":
        pytest.importorskip("matplotlib")
    path = tmp_path / f"curve.{ending}"
    save_chart(mail_curve(points()), path)
    assert path.stat().st_size > 2000
    if ending == "svg":
        ElementTree.parse(path)


def test_a_filter_without_errors_and_a_box_without_spam() -> None:
    perfect = mail_curve([Point(10, 0.0, 0.0, 0.0), Point(100, 0.0, 0.0, 0.0)])
    assert all(y == LOWEST_PERCENT for mark in perfect.marks if isinstance(mark, Line) for y in mark.y)
    assert perfect.y.ticks[0] == (LOWEST_PERCENT, "0.01 % or less")
    ham = mail_curve([Point(5, 0.0, math.nan, math.nan)])
    assert len(ham.marks) == 1
    assert "nan" not in ham.caption
    with pytest.raises(ValueError, match="needs both ham and spam"):
        mail_curve([Point(5, math.nan, math.nan, math.nan)])


@pytest.mark.parametrize("n", [12, 100, 3250])
def test_names_stay_in_the_picture_and_the_axis_ends_with_the_messages(tmp_path: Path, n: int) -> None:
    random = np.random.default_rng(0)
    spam = np.arange(n) % 3 == 0
    found = mail_curve(curve(random.normal(np.where(spam, 1.0, -1.0), 2.5), spam))
    assert found.x.high == n
    assert found.x.ticks
    save_chart(found, tmp_path / "curve.svg")
    root = ElementTree.parse(tmp_path / "curve.svg").getroot()
    texts = {element.text: element for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert "Learning curve of the filter" in texts
    label = texts["spam called ham"]  # 113 pixels in DejaVu Sans Bold, the widest of the usual fonts
    assert float(label.attrib["x"]) + 113 <= float(root.attrib["width"])


def test_names_of_lines_that_end_high_do_not_rise_into_the_title() -> None:
    assert spread_apart([0.98, 0.99, 1.0], 0.05, 1.0) == pytest.approx([0.9, 0.95, 1.0])
    assert spread_apart([0.0, 0.0, 0.5], 0.05, 1.0) == [0.0, 0.05, 0.5]
    assert spread_apart([], 0.05, 1.0) == []
