"""The HTML report: well-formed, safe against markup in names, and self-contained."""

from __future__ import annotations

import dataclasses
import errno
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from small_stories import rows, story

import rosenblatt as rb
from rosenblatt.reporting.charts import CLASSES, DARK, LIGHT
from rosenblatt.reporting.page import FIGURES, bound_sentence, draw, save_chart, standalone, write_report
from rosenblatt.reporting.story import Story
from rosenblatt.reporting.svg import MAX_CELL_OPACITY, NARROW_PX, WIDE_PX, svg

EVIL = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "a & b < c", "null\x00byte\x1b[31m", "$x^2$ \ud800", "'"]
EVIL[3:3] = ["\u202ereversed\u2066", "\x9b8m\x85\u200f\u2028", "\ufffe\uffff"]


class Reader(HTMLParser):
    """Tags in balance, and what was seen on the way."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text, self.ids = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


def certified():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = [0, 0, 0, 1]
    model = rb.Perceptron(max_iter=None, random_state=0).fit(X, y)
    return Story("and", model, X=X, y=y, certificate=rb.certify(X, y), bound=51.0)


STORIES = {
    "two": lambda: story(),
    "three": lambda: story(k=3),
    "flat": lambda: story(d=2, k=3),
    "average": lambda: story(rb.Perceptron(keep="average", random_state=0, max_iter=5)),
    "vote": lambda: story(rb.Perceptron(keep="vote", random_state=0, max_iter=5)),
    "pocket": lambda: story(rb.Perceptron(keep="pocket", random_state=0, max_iter=5)),
    "batch": lambda: story(rb.Perceptron(update="batch", max_iter=5)),
    "no log": lambda: story(rb.Perceptron(log=False, random_state=0, max_iter=5)),
    "direct": lambda: story(rb.LinearMSE()),
    "pairs": lambda: story(rb.SoftMargin(multiclass="ovo"), k=3),
    "many": lambda: story(rb.Perceptron(random_state=0, max_iter=1), k=15, n=60),
    "no rows": lambda: story(X=None, y=None),
    "nothing but weights": lambda: story(X=None, y=None, X_test=None, y_test=None),
    "certified": certified,
}


@pytest.mark.parametrize("name", STORIES)
def test_a_page_is_well_formed_and_loads_nothing(name):
    page = write_report(STORIES[name]())
    found = read(page)
    assert len(found.ids) == len(set(found.ids))
    assert not {"img", "iframe", "object", "embed", "audio", "video"} & set(found.tags)
    assert found.tags.count("script") == 1
    for attribute, value in found.attributes:
        assert attribute not in ("src", "srcset", "action")
        assert not attribute.startswith("on")
        if attribute == "href":
            assert value == "data:,"
    outside = page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]|url\(|@import", outside)
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        root = ElementTree.fromstring(picture)
        assert root.get("aria-label")
        assert not re.search(r'(?: [xy]|width|height|d|points)="[^"]*nan', picture)
    assert len(page) < 600_000


def test_warnings_stand_under_the_headline_and_their_markup_is_text():
    page = write_report(story(warnings=["The model never predicts '<b>yes</b>'.", "It is no better than a guess."]))
    warnings = page[page.index('class="headline"') : page.index("</header>")]
    assert "The model never predicts '&lt;b&gt;yes&lt;/b&gt;'." in warnings.replace("&#39;", "'").replace("&#x27;", "'")
    assert "It is no better than a guess." in warnings
    assert 'class="warnings"' not in write_report(story())


def test_figures_without_data_leave_no_gap():
    assert read(write_report(STORIES["direct"]())).tags.count("figure") == 4
    assert read(write_report(STORIES["two"]())).tags.count("figure") == 6
    assert read(write_report(STORIES["nothing but weights"]())).tags.count("figure") == 1


def test_names_from_files_stay_text():
    k = len(EVIL)
    report = story(
        rb.Perceptron(calibrate="sigmoid", random_state=0, max_iter=6), k=k, d=k, n=120, title=EVIL[0],
        feature_names=EVIL, class_names=EVIL, summary=[(EVIL[0], EVIL[1])], notes=EVIL,
        command=EVIL[1], version=EVIL[0],
    )  # fmt: skip
    page = write_report(report)
    found = read(page)
    assert "<script>alert" not in page
    assert found.tags.count("script") == 1
    assert "img" not in found.tags
    assert not any(name.startswith("on") for name, _ in found.attributes)
    assert EVIL[0] in "".join(found.text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200f\u2028-\u202e\u2066-\u2069\ud800\ufffe\uffff]", page)
    assert "\\u202ereversed" in "".join(found.text)
    page.encode("utf-8")
    for which in FIGURES:
        ElementTree.fromstring(standalone(draw(report, which)).encode("utf-8"))


def test_the_same_story_gives_the_same_page():
    assert write_report(STORIES["average"]()) == write_report(STORIES["average"]())


def test_the_certificate_is_shown_with_the_bound_of_the_run():
    report = certified()
    page = write_report(report)
    assert "Proved: separable" in page
    assert "<p>Separable: a plane separates all 4 rows (checked row by row).</p>" in page
    tested = write_report(dataclasses.replace(report, X_test=report.X, y_test=report.y))
    assert "<p>Separable: a plane separates all 4 training rows (checked row by row).</p>" in tested
    assert "makes at most R²/γ² = 51 updates</p>" in page
    assert bound_sentence(report.estimator.n_updates_, 51.0) in page
    X, y = rows(40)
    clash = Story("clash", rb.Perceptron().fit(X, y), X=X, y=y, certificate=rb.certify(X, y))
    page = write_report(clash)
    assert "Proved: not separable" in page
    assert "updates are possible" not in page


def test_the_update_margin_of_the_run_is_named_with_its_bound():
    report = certified()
    model = rb.Perceptron(max_iter=None, random_state=0, margin=1.0).fit(report.X, report.y)
    page = write_report(dataclasses.replace(report, estimator=model, bound=85.0))
    assert f"At most 85 updates are possible with the update margin 1; this run made {model.n_updates_} (" in page


def test_numbers_name_the_rows_before_or_after_scaling():
    page = write_report(dataclasses.replace(certified(), scaled=True))
    assert "<p>These numbers are about the rows before scaling</p>" in page
    assert "At most 51 updates are possible on the scaled rows; this run made" in page


@pytest.mark.parametrize("width", [NARROW_PX, WIDE_PX])
@pytest.mark.parametrize("which", FIGURES)
def test_text_stays_inside_its_picture(which, width):
    model = rb.Perceptron(keep="average", calibrate="isotonic", random_state=0, max_iter=3)
    chart = draw(story(model, d=20, k=3, feature_names=["a long name " * 5] * 20), which)
    for text in ElementTree.fromstring(svg(chart, width)).iter("{http://www.w3.org/2000/svg}text"):
        if text.get("transform"):
            continue
        x, size = float(text.get("x")), len(text.text) * 6.3 * (0.85 if "small" in text.get("class") else 1.0)
        left = {"end": x - size, "middle": x - size / 2}.get(text.get("text-anchor"), x)
        assert left >= -8, text.text
        assert left + size <= width + 8, text.text


@pytest.mark.parametrize("which", FIGURES)
def test_every_plot_can_be_a_picture(which, tmp_path):
    pytest.importorskip("matplotlib")
    names = ["$a$ b", "c_{", "x", "y"]  # which matplotlib would read as formulas
    model = rb.Perceptron(keep="pocket", calibrate="sigmoid", random_state=0, max_iter=5)
    report = story(model, k=3, feature_names=names, class_names=names[:3])
    save_chart(draw(report, which), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_plots_are_files_by_their_ending(tmp_path):
    pytest.importorskip("matplotlib")
    chart = draw(story(), "margins")
    save_chart(chart, tmp_path / "m.pdf")
    assert (tmp_path / "m.pdf").read_bytes().startswith(b"%PDF")
    save_chart(chart, tmp_path / "m.SVG")
    ElementTree.parse(tmp_path / "m.SVG")
    with pytest.raises(ValueError, match=r"must end in \.png, \.svg, \.pdf, got \'m.jpeg\'"):
        save_chart(chart, tmp_path / "m.jpeg")


@pytest.mark.parametrize("extension", ["svg", "png", "pdf"])
def test_a_plot_is_written_whole_or_not_at_all(tmp_path, monkeypatch, extension):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / f"m.{extension}"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="the disk is full; the existing file is unchanged"):
        save_chart(draw(story(), "margins"), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_without_matplotlib_there_are_still_pages_and_svgs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    report = story()
    assert write_report(report)
    save_chart(draw(report, "margins"), tmp_path / "m.svg")
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'rosenblatt\[plot\]'"):
        save_chart(draw(report, "margins"), tmp_path / "m.png")


@pytest.mark.slow
def test_drawing_loads_no_matplotlib():
    modules = "rosenblatt.reporting.page, rosenblatt.reporting.page"
    code = f"import sys, {modules}; sys.exit(bool({{'matplotlib', 'rich'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def luminance(color):
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_is_readable_in_both_themes(theme):
    """WCAG 2.2, contrast of 4.5 at least, on the page, on cards, and in the strongest cell of a confusion matrix."""
    for name in ("ink", "quiet", *(f"t{n}" for n in range(CLASSES))):
        for ground in ("page", "card"):
            low, high = sorted(luminance(theme[side]) for side in (name, ground))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground)
    for tone in ("t5", "t6"):
        pairs = [(int(theme[tone][n : n + 2], 16), int(theme["card"][n : n + 2], 16)) for n in (1, 3, 5)]
        mixed = "".join(f"{round(MAX_CELL_OPACITY * cell + (1 - MAX_CELL_OPACITY) * card):02x}" for cell, card in pairs)
        low, high = sorted((luminance(theme["ink"]), luminance(f"#{mixed}")))
        assert (high + 0.05) / (low + 0.05) >= 4.5, tone
