"""Time on the page: every way to move it leads to the same moments, and a moment is the same picture however it is reached."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from page_visit import FRAMES_LATER, Visit

pytestmark = pytest.mark.slow
# Updates of the run the page opens with, and where its passes end.
UPDATES = 19


def passes(tab: Visit) -> list[int]:
    """The ends of the passes of a run, from the text of each update."""
    found, before = [], "1"
    tab.press("Home")
    for t in range(1, tab.length + 1):
        tab.page.keyboard.press("ArrowRight")
        tab.soon(lambda t=t: tab.now.startswith(f"Update {t} of"))
        here = tab.now.split("pass ")[1].split(".")[0]
        if here != before:
            found.append(t - 1)
        before = here
    return found


def test_keys_move_time(tab: Visit) -> None:
    assert tab.t == UPDATES
    assert tab.press("Home").t == 0
    assert tab.press("ArrowRight", "ArrowRight", "ArrowRight").t == 3
    assert tab.now.startswith(f"Update 3 of {UPDATES}")
    assert tab.press("ArrowLeft").t == 2
    assert tab.press("End").t == UPDATES
    assert tab.press("ArrowRight").t == UPDATES
    assert tab.press("Home", "ArrowLeft").t == 0


def test_shift_jumps_by_passes_and_back_over_the_same_ones(tab: Visit) -> None:
    ends = passes(tab)
    assert len(ends) >= 2
    tab.press("Home")
    there = [tab.press("Shift+ArrowRight").t for _ in ends]
    assert there == ends
    assert [tab.press("Shift+ArrowLeft").t for _ in ends] == [*reversed(ends[:-1]), 0]


def test_buttons_move_time_as_keys_do(tab: Visit) -> None:
    assert tab.click("#first").t == 0
    assert tab.click("#forth").click("#forth").t == 2
    assert tab.click("#back").t == 1
    jumped = tab.click("#first").click("#pass-forth").t
    assert jumped == tab.press("Home", "Shift+ArrowRight").t > 0
    assert tab.click("#pass-back").t == 0
    assert tab.click("#last").t == UPDATES


def test_stepping_back_gives_the_same_pictures(tab: Visit) -> None:
    """In the plane, in weight space, in the curves and on the line of time."""
    views = (".canvas", "#weights", "#errors", "#timeline")

    def seen() -> list[list[str]]:
        return [tab.picture(view) for view in views]

    tab.press("Home")
    forwards = [seen()]
    for _ in range(6):
        tab.press("ArrowRight")
        forwards.append(seen())
    backwards = [forwards[-1]]
    for _ in range(6):
        tab.press("ArrowLeft")
        backwards.append(seen())
    assert backwards[::-1] == forwards
    assert len({str(planes[0]) for planes in forwards}) == len(forwards)


def test_readings_are_the_same_after_a_step_back(visit: Callable[..., Visit]) -> None:
    show = {"pocket": True, "average": True, "vote": True}
    tab = visit({"data": {"preset": "nearly"}, "t": 20, "show": show, "runs": [{"algorithm": "vote", "knobs": {}}]})
    before, result = tab.picture(), tab.text("#voters")
    assert tab.press("ArrowRight", "Shift+ArrowRight", "End").picture() != before
    tab.page.locator("#scrub").fill("20")
    assert tab.picture() == before
    assert tab.text("#voters") == result


def test_space_plays_and_pauses(visit: Callable[..., Visit]) -> None:
    tab = visit({"t": 0, "speed": 10})
    tab.page.keyboard.press(" ")
    tab.soon(lambda: tab.t > 0)
    assert tab.page.locator("#play").get_attribute("aria-label") == "Pause"
    tab.page.keyboard.press(" ")
    tab.soon(lambda: tab.page.locator("#play").get_attribute("aria-label"), "Play")
    stopped = tab.t
    tab.page.evaluate(FRAMES_LATER)
    assert tab.t == stopped < UPDATES
    tab.page.keyboard.press(" ")
    tab.soon(lambda: tab.t, UPDATES)
    tab.soon(lambda: tab.page.locator("#play").get_attribute("aria-label"), "Play")  # it ends by itself
    tab.page.keyboard.press(" ")
    tab.soon(lambda: 0 < tab.t < UPDATES)  # and starts over


@pytest.mark.thorough
def test_speed_is_updates_a_second(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "xor"}, "t": 0, "speed": 10})
    timed = """async () => {
      const begun = performance.now();
      document.getElementById("play").click();
      await new Promise(done => setTimeout(done, 900));
      document.getElementById("play").click();
      return (performance.now() - begun) / 1000;
    }"""
    seconds = tab.page.evaluate(timed)
    assert tab.rest().t == pytest.approx(10 * seconds, abs=4)
    tab.page.locator("#speed").fill("5")
    assert tab.rest().text("#speed-value") == "100 per second"
    tab.click("#first")
    seconds = tab.page.evaluate(timed)
    assert tab.rest().t == pytest.approx(100 * seconds, abs=30)


def test_the_slider_and_the_curves_scrub(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "nearly"}})
    tab.page.locator("#scrub").fill("17")
    assert tab.rest().now.startswith("Update 17 of")
    tab.click("#errors")  # its middle
    assert tab.length * 0.35 < tab.rest().t < tab.length * 0.65
    tab.page.locator("#scrub").focus()
    there = tab.t
    assert tab.press("ArrowRight").t == there + 1  # one step, although slider and page both handle the key
    assert tab.press("ArrowLeft", "ArrowLeft").t == there - 1


def test_keys_in_a_field_stay_there(tab: Visit) -> None:
    tab.press("Home")
    tab.page.locator("#seed").focus()
    tab.press("ArrowLeft", "ArrowRight", "End")
    assert tab.t == 0
    tab.page.locator("#preset").focus()
    tab.press("End")
    assert tab.t == 0 or tab.text("#about-data") != "60 points. Two classes, and room for a line between them."


def test_the_same_seed_gives_the_same_run(visit: Callable[..., Visit]) -> None:
    runs = [{"algorithm": "perceptron", "knobs": {"order": "permuted"}}, {"algorithm": "mistakes", "knobs": {}}]
    state = {"data": {"preset": "nearly"}, "seed": 7, "runs": runs, "t": 25}
    one, two, other = visit(state), visit(state), visit({**state, "seed": 8})
    assert one.answers()[0] != other.answers()[0]
    first, second = (tab.answers()[0][1] for tab in (one, two))
    assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert one.now == two.now
    assert one.picture() == two.picture() != other.picture()
    other.fill("#seed", "7")
    assert other.picture() == one.picture()


def test_the_strip_over_the_slider_scrubs(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "nearly"}, "t": 0})
    strip = tab.page.locator("#timeline")
    strip.scroll_into_view_if_needed()
    box, mouse = strip.bounding_box(), tab.page.mouse
    mouse.move(box["x"] + box["width"] / 4, box["y"] + 15)
    mouse.down()
    assert tab.rest().t == pytest.approx(tab.length / 4, abs=tab.length / 50)
    mouse.move(box["x"] + box["width"] / 2, box["y"] + 15)
    assert tab.rest().t == pytest.approx(tab.length / 2, abs=tab.length / 50)
    mouse.move(box["x"] + 3 * box["width"], box["y"] - 40)
    mouse.up()
    assert tab.rest().t == tab.length


def test_space_plays_after_a_click_on_a_button(tab: Visit) -> None:
    tab.click("#first")
    tab.page.keyboard.press(" ")
    tab.soon(lambda: tab.page.locator("#play").get_attribute("aria-label"), "Pause")
    tab.page.keyboard.press(" ")
    tab.click("#first")
    tab.page.locator("#forth").focus()  # but with the keyboard, the focused button is pressed
    assert tab.press(" ").t == 1
    assert tab.page.evaluate("document.activeElement.id") == "forth"


def test_two_runs_share_one_time_for_any_focus(visit: Callable[..., Visit]) -> None:
    """What was solved in few steps is spread over the updates of the other: curves and timeline, too."""
    runs = [{"algorithm": "perceptron", "knobs": {"max_updates": 60}}, {"algorithm": "soft-margin", "knobs": {}}]
    tab = visit({"data": {"preset": "nearly"}, "runs": runs, "t": 30, "focus": 1})
    wrong = [re.search(r"(\d+) wrong", text)[1] for text in tab.page.locator(".plane figcaption span").all_inner_texts()]
    result = tab.page.locator("#errors").get_attribute("aria-label")
    assert f"Training errors: {wrong[1]} of 80 at update 30" in result
    assert f"Perceptron: {wrong[0]} of 80" in result
    tab.page.get_by_role("button", name="1: Perceptron").click()
    assert f"Training errors: {wrong[0]} of 80 at update 30" in tab.rest().page.locator("#errors").get_attribute("aria-label")
