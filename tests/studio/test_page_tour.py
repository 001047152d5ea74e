"""The tour end to end: every step sets the page to a state that runs without trouble, and explains it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from page_visit import Visit
from studio_serving import Studio

pytestmark = pytest.mark.slow


@pytest.fixture
def steps(page_server: Studio) -> list[dict[str, Any]]:
    return list(page_server.call("GET", "/api/page").body["tour"])


def test_the_tour_end_to_end(tab: Visit, steps: list[dict[str, Any]]) -> None:
    assert len(steps) >= 12
    tab.click("#open-tour")
    tour, seen = tab.page.locator("#tour"), set()
    for n, step in enumerate(steps, 1):
        assert tour.locator("h2").inner_text() == f"{n}. {step['title']}"
        assert f"{n} of {len(steps)}" in tour.inner_text()
        words = re.sub(r"<[^>]+>", "", step["html"]).split()
        assert len(words) >= 25  # explained, not named
        assert tab.trouble == ""
        assert "points on the wrong side" in tab.now
        titles = [tab.page.locator(f"#algorithm-{at}").input_value() for at in range(len(step["state"].get("runs", [1])))]
        assert titles == [run["algorithm"] for run in step["state"].get("runs", [{"algorithm": "perceptron"}])]
        assert (
            tab.page.locator("#tour").get_by_role("button", name="Next" if n < len(steps) else "Done", exact=True).is_enabled()
        )
        seen.add((tab.now, str(tab.picture())))
        tab.page.locator("#tour .primary").click()
        tab.rest()
    assert not tour.is_visible()
    assert len(seen) == len(steps)
    assert tab.page.evaluate("document.activeElement.id") == "open-tour"


def test_the_tour_covers_its_topics(steps: list[dict[str, Any]]) -> None:
    text = " ".join(step["title"] + " " + step["html"] for step in steps).lower()
    for idea in ("update", "wrong", "bound", "separable", "pocket", "vot", "margin", "class", "loss"):
        assert idea in text


def test_a_step_can_be_gone_back_and_played_with(tab: Visit, steps: list[dict[str, Any]]) -> None:
    tab.click("#open-tour")
    first = (tab.now, tab.picture())
    tour = tab.page.locator("#tour")
    assert tour.get_by_role("button", name="Back", exact=True).is_disabled()
    for name in ("Next", "Next", "Back", "Back"):
        tour.get_by_role("button", name=name, exact=True).click()
        tab.rest()
    assert (tab.now, tab.picture()) == first
    tab.click("#last")
    assert tour.is_visible()  # it stays while one plays
    tour.get_by_role("button", name="Close the tour").click()
    assert not tour.is_visible()
    tab.click("#open-tour")
    assert tour.locator("h2").inner_text().startswith("1. ")
    tab.press("Escape")
    assert not tour.is_visible()


@pytest.mark.parametrize("width", [360, pytest.param(1280, marks=pytest.mark.thorough)])
def test_the_tour_fits_and_leaves_the_page_usable(visit: Callable[..., Visit], width: int) -> None:
    tab = visit(viewport={"width": width, "height": 800})
    tab.click("#open-tour")
    for _ in range(3):
        tab.page.locator("#tour .primary").click()
        tab.rest()
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        box = tab.page.locator("#tour").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] <= 800 * 0.75
        assert tab.page.locator("#tour .primary").is_visible()
    tab.click("#first")  # what the tour describes can be reached
    assert tab.t == 0
