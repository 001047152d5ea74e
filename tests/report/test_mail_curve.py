"""The picture of how a mail filter learnt."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from rosenblatt.mail.trec import Point, curve
from rosenblatt.report.charts import Line
from rosenblatt.report.figures.mail_curve import LOWEST, mail_curve
from rosenblatt.report.save import save_chart


def points() -> list[Point]:
    random = np.random.default_rng(0)
    spam = random.random(800) < 0.3
    return curve(random.normal(np.where(spam, 1.0, -1.0), 0.6), spam)


def test_lines_are_the_figures_and_none_leaves_the_plot() -> None:
    found, told = mail_curve(points()), points()
    lines = {mark.label: mark for mark in found.marks if isinstance(mark, Line)}
    assert set(lines) == {"spam called ham", "ham called spam", "1 − AUC"}  # noqa: RUF001
    assert lines["ham called spam"].y[-1] == pytest.approx(told[-1].hm)
    for line in lines.values():
        assert all(
            0.0 <= found.x.share(x) <= 1.0 + 1e-9 and 0.0 <= found.y.share(y) <= 1.0 + 1e-9
            for x, y in zip(line.x, line.y, strict=True)
        )
    assert "Of 800 messages" in found.caption


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
    assert all(y == LOWEST for mark in perfect.marks if isinstance(mark, Line) for y in mark.y)
    assert perfect.y.ticks[0] == (LOWEST, "0.01 % or less")
    ham = mail_curve([Point(5, 0.0, math.nan, math.nan)])
    assert len(ham.marks) == 1
    assert "nan" not in ham.caption
    with pytest.raises(ValueError, match="needs ham and spam"):
        mail_curve([Point(5, math.nan, math.nan, math.nan)])
