"""The tour's form: its states can be shown, and its texts are short and of few tags."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rosenblatt.studio import tour
from rosenblatt.studio.page_data import page_data, requests_of
from rosenblatt.studio.recording import run

pytestmark = pytest.mark.once

STEPS = {step["title"]: step for step in tour.TOUR}
FIELDS = {"data", "degree", "scaled", "seed", "runs", "t", "speed", "show", "slice"}
SHOWN = {"regions", "normal", "band", "pocket", "average", "vote", "clash", "widest"}


@pytest.mark.parametrize("title", STEPS)
def test_states_can_be_shown(title):
    state = STEPS[title]["state"]
    assert set(state) <= FIELDS
    assert set(state.get("show", {})) <= SHOWN
    runs = [run(request) for request in requests_of(page_data("server"), state)]
    assert len(runs) <= 2
    assert state["t"] == "end" or 0 < state["t"] < max(each["updates"] for each in runs)
    if points := state["data"].get("points"):
        x0, x1, y0, y1 = state["data"]["box"]
        assert all(x0 < x < x1 and y0 < y < y1 for x, y in points)
    assert f'id="{STEPS[title]["look"]}"' in (Path(tour.__file__).parent / "page" / "index.html").read_text()


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.begun = [], []

    def handle_starttag(self, tag, attributes):
        assert tag in ("p", "b", "i", "sub", "sup")
        assert attributes in ([], [("class", "formula")])
        assert (tag == "p") == (not self.open)
        self.open.append(tag)
        self.begun.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        assert self.open
        assert not set(data) & set("!`_^{}")


@pytest.mark.parametrize("title", STEPS)
def test_texts_are_short_and_of_few_well_formed_tags(title):
    html = STEPS[title]["html"]
    tags = _Tags()
    tags.feed(html)
    tags.close()
    assert not tags.open
    assert html.count('class="formula"') <= 2
    assert html.rpartition("<p>")[2].startswith("<b>Try it.</b> ")
    words = re.sub("<[^>]*>", "", re.sub('<p class="formula">.*?</p>|</p>', " ", html)).replace(tour.NO_BREAK_SPACE, "")
    assert 40 <= len(words.split()) <= 90  # a formula in a line is one word


def test_what_looks_like_a_tag_is_text():
    assert tour._marked("a < b, *so* `x_1 < y^2`") == (
        "a &lt; b, <b>so</b> <i>x</i><sub>1</sub>\u00a0&lt;\u00a0<i>y</i><sup>2</sup>"
    )
