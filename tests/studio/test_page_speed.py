"""The page keeps up: the first picture, a long run on many points, and sixty frames a second. The limits here are for any
machine, a busy one too; what was measured is a property of the test, and benchmarks measure on a quiet one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from page_visit import Visit

pytestmark = [pytest.mark.slow, pytest.mark.thorough]  # seconds and frames depend on what else runs
Record = Callable[[str, object], None]
# From the change of a knob until what it leads to is drawn.
SHOWN = """wanted => new Promise(done => {
  const begun = performance.now();
  const look = () => document.getElementById("now").textContent.includes(wanted)
    ? requestAnimationFrame(() => done(performance.now() - begun)) : requestAnimationFrame(look);
  const field = document.getElementById("knob-0-max_updates");
  field.value = "10000";
  field.dispatchEvent(new Event("change"));
  look();
})"""
FRAMES = """seconds => new Promise(done => {
  document.getElementById("play").click();
  const times = [];
  const begun = performance.now();
  const next = now => {
    times.push(now);
    if (performance.now() - begun < 1000 * seconds) requestAnimationFrame(next);
    else {
      document.getElementById("play").click();
      done(times);
    }
  };
  requestAnimationFrame(next);
})"""


@pytest.fixture(scope="module")
def many() -> dict[str, Any]:
    """2,000 points that no line separates."""
    rng = np.random.default_rng(1)
    labels = np.arange(2000) % 2
    points = np.round(rng.normal(0, 0.3, (2000, 2)) + np.where(labels, 0.33, -0.33)[:, None], 3)
    return {"points": points.tolist(), "labels": labels.tolist(), "names": ["A", "B"], "box": [-1.6, 1.6, -1.6, 1.6]}


def test_the_first_picture_is_soon_there(visit: Callable[..., Visit], record_property: Record) -> None:
    tab, seconds = visit(), []
    for _ in range(3):
        tab.page.goto("about:blank")
        begun = time.perf_counter()
        tab.page.goto(tab.address, wait_until="commit")
        tab.page.locator("#now", has_text="Update 19 of 19").wait_for()
        seconds.append(time.perf_counter() - begun)
        assert any(len(layer) > 2000 for layer in tab.picture())
    record_property("first picture, seconds", float(statistics.median(seconds)))
    assert min(seconds) < 2


def test_ten_thousand_updates_on_two_thousand_points_are_soon_shown(
    visit: Callable[..., Visit], many: dict[str, Any], record_property: Record
) -> None:
    tab, seconds = visit({"data": many}), []
    for seed in ("1", "2", "3"):  # another run each time, which nothing has computed yet
        tab.fill("#seed", seed)
        seconds.append(tab.page.evaluate(SHOWN, "of 10,000") / 1000)
        tab.rest().fill("#knob-0-max_updates", "1000")
    record_property("10,000 updates on 2,000 points, seconds", float(statistics.median(seconds)))
    assert min(seconds) < 2


def test_it_plays_smoothly(visit: Callable[..., Visit], many: dict[str, Any], record_property: Record) -> None:
    runs = [{"algorithm": "perceptron", "knobs": {"max_updates": 10_000}}]
    tab = visit({"data": many, "runs": runs, "speed": 1000, "t": 0})
    rates = []
    for _ in range(3):
        times = np.diff(tab.page.evaluate(FRAMES, 1.2))
        rates.append(1000 / np.median(times))
    record_property("frames a second", float(statistics.median(rates)))
    assert max(rates) >= 30
    assert tab.rest().t > 500
