"""Every algorithm of the menu with all its knobs, two side by side, and curves of every degree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from page_visit import Visit

from rosenblatt.studio.menu import menu

pytestmark = pytest.mark.slow
MENU = menu()


def test_the_menu_has_all_algorithms(tab: Visit) -> None:
    options = tab.page.locator("#algorithm-0 option")
    assert options.evaluate_all("all => all.map(each => each.value)") == sorted_as_shown()
    assert options.evaluate_all("all => all.map(each => each.textContent)") == [
        next(each["title"] for each in MENU if each["name"] == name) for name in sorted_as_shown()
    ]


def sorted_as_shown() -> list[str]:
    groups = list(dict.fromkeys(each["group"] for each in MENU))
    return [each["name"] for group in groups for each in MENU if each["group"] == group]


@pytest.mark.parametrize("preset", [pytest.param("nearly", marks=pytest.mark.thorough), "three"])
def test_every_algorithm_runs(visit: Callable[..., Visit], preset: str) -> None:
    tab = visit({"data": {"preset": preset}})
    for each in MENU:
        tab.choose("#algorithm-0", each["name"])
        assert (each["name"], tab.trouble) == (each["name"], "")
        assert "points on the wrong side" in tab.now
        assert tab.text(".plane figcaption b") == each["title"]
        assert tab.text("#chosen .quiet") == each["summary"]
        assert tab.text("#stop").endswith(".")
        shown = each["keep"] if each["keep"] in ("pocket", "average", "vote") else None
        for reading in ("pocket", "average", "vote"):
            assert tab.page.locator(f"#show-{reading}").is_checked() == (reading == shown)


def other_value(knob: dict[str, Any]) -> str:
    """A value that is not the default."""
    if knob["kind"] == "choice":
        return next(choice["value"] for choice in reversed(knob["choices"]) if choice["value"] != knob["default"])
    if knob["kind"] == "weights":
        return "0.5, -1, 1"
    low, high, default = knob["low"], knob["high"], knob["default"]
    return str(next(value for value in (2, 0.05, low, high) if low <= value <= high and value != default))


def turn(tab: Visit, knob: dict[str, Any], value: str) -> None:
    selector = f"#knob-0-{knob['name']}"
    if knob["kind"] == "flag":
        tab.click(selector)
    elif knob["kind"] == "choice":
        tab.choose(selector, value)
    else:
        tab.fill(selector, value)


@pytest.mark.parametrize("estimator", sorted({each["estimator"] for each in MENU}))
def test_every_knob_can_be_turned(visit: Callable[..., Visit], estimator: str) -> None:
    """Change one knob after another and back; Python gets the value and accepts it."""
    each = next(each for each in MENU if each["estimator"] == estimator)
    tab = visit({"runs": [{"algorithm": each["name"], "knobs": {}}]})
    for knob in each["knobs"]:
        before = len(tab.requests)
        if knob["kind"] == "weights":
            tab.choose("#knob-0-init", "given")
        needs_loss = knob["name"] == "penalty" and estimator == "SoftMargin"  # the hinge has no other penalty
        if needs_loss:
            tab.choose("#knob-0-loss", "squared_hinge")
        value = "" if knob["kind"] == "flag" else other_value(knob)
        turn(tab, knob, value)
        assert (knob["name"], tab.trouble) == (knob["name"], "")
        sent = tab.requests[-1].post_data_json["knobs"][knob["name"]]
        assert len(tab.requests) > before
        assert sent == {"flag": not knob["default"], "weights": [0.5, -1, 1]}.get(knob["kind"], sent)
        assert str(sent) == value or knob["kind"] != "choice"
        assert knob["kind"] != "number" or sent == float(value)
        turn(tab, knob, "" if knob["default"] is None else str(knob["default"]))
        if needs_loss:
            tab.choose("#knob-0-loss", "hinge")
    assert tab.state.get("runs", [{"knobs": {}}])[0]["knobs"].keys() <= {"init", "start"}


def test_a_slider_moves_its_number(tab: Visit) -> None:
    tab.choose("#algorithm-0", "soft-margin")
    slider = tab.page.get_by_role("slider", name="C", exact=True)
    slider.fill("0")
    assert tab.rest().page.locator("#knob-0-C").input_value() == "0.001"
    slider.fill("200")
    assert tab.rest().page.locator("#knob-0-C").input_value() == "1000"
    assert tab.answers()[-1][0]["knobs"]["C"] == 1000
    tab.fill("#knob-0-C", "1e9")  # beyond its end
    assert tab.page.locator("#knob-0-C").input_value() == "1000"
    tab.fill("#knob-0-C", "")  # nothing, where something is needed
    assert (tab.page.locator("#knob-0-C").input_value(), tab.trouble) == ("1000", "")


def test_w_max_ends_the_run(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "nearly"}})
    tab.fill("#knob-0-w_max", "1")
    assert tab.length < 20
    assert "|w| exceeded" in tab.text("#stop")


def test_a_start_that_is_not_as_long_as_the_weights_is_refused_with_a_reason(tab: Visit) -> None:
    tab.choose("#knob-0-init", "given")
    tab.fill("#knob-0-start", "1, 2")
    assert "start" in tab.trouble
    tab.faults.clear()  # the browser reports the 400
    tab.fill("#knob-0-start", "0.5, 1, 2")
    assert tab.trouble == ""
    assert tab.answers()[-1][0]["knobs"]["start"] == [0.5, 1, 2]


def test_two_algorithms_side_by_side(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "nearly"}})
    alone = tab.picture()
    tab.click("#second")
    assert tab.page.locator("#algorithm-1").input_value() == "soft-margin"
    tab.choose("#algorithm-1", "pocket")
    assert tab.page.locator(".plane").count() == 2
    assert tab.page.locator(".plane figcaption b").all_inner_texts() == ["1: Perceptron", "2: Pocket perceptron"]
    boxes = [each.bounding_box() for each in tab.page.locator(".plane").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    # One clock for both, and one set of points.
    tab.press("Home")
    tab.page.mouse.click(*tab.pixel(1.1, 1.1, (-1.25, 1.25, -1.25, 1.25), plane=1))
    tab.rest()
    assert {len(request["points"]) for request, _ in tab.answers()[-2:]} == {81}
    tab.fill("#knob-1-margin", "0.5")
    assert tab.state["runs"] == [
        {"algorithm": "perceptron", "knobs": {}},
        {"algorithm": "pocket", "knobs": {"margin": 0.5}},
    ]
    tab.page.get_by_label("Which algorithm").select_option(index=1)
    assert "updates so far" in tab.rest().text("#updates-bound")
    tab.click("#undo")
    tab.page.get_by_role("button", name="Remove algorithm 2").click()
    tab.press("End")
    assert tab.page.locator(".plane").count() == 1
    tab.page.mouse.move(0, 0)
    assert tab.picture() == alone


def test_a_solved_algorithm_keeps_step_with_one_that_has_a_log(visit: Callable[..., Visit]) -> None:
    """Its few frames are spread over the other's time: both begin at the start and end at the end."""
    runs = [{"algorithm": "perceptron", "knobs": {}}, {"algorithm": "soft-margin", "knobs": {}}]
    tab = visit({"runs": runs, "t": 0})
    tab.page.get_by_label("Which algorithm").select_option(index=1)
    frames = next(run["updates"] for _, run in tab.answers() if run["frames"]) + 1
    assert f"(1 of {frames})" in tab.rest().now
    assert f"({frames} of {frames})" in tab.press("End").now


def test_curves_of_every_degree_are_drawn(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "moons"}, "runs": [{"algorithm": "pocket", "knobs": {"max_updates": 400}}]})
    seen = {str(tab.picture())}
    for degree, width in (("2", 5), ("3", 9), ("4", 14), ("5", 20)):
        tab.choose("#degree", degree)
        assert tab.trouble == ""
        assert len(tab.answers()[-1][1]["features"]["exponents"]) == width
        seen.add(str(tab.picture()))
    assert len(seen) == 5


@pytest.mark.parametrize(("preset", "degree"), [("xor", 2), ("rings", 2), ("moons", 3)])
def test_polynomials_separate_what_lines_cannot(visit: Callable[..., Visit], preset: str, degree: int) -> None:
    tab = visit(
        {"data": {"preset": preset}, "degree": degree, "runs": [{"algorithm": "perceptron", "knobs": {"max_updates": 10_000}}]}
    )
    assert " 0 of " in tab.now
    assert tab.text("#verdict").startswith("Separable: the widest margin")


def test_standardised_columns_are_drawn_where_they_are(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "lecture"}, "runs": [{"algorithm": "max-margin", "knobs": {}}]})
    tab.page.locator("#scaled").check()
    request, run = tab.rest().answers()[-1]
    assert request["scaled"]
    assert run["features"]["scale"] != [1, 1]
    assert tab.trouble == ""


def test_a_given_start_is_left_where_there_are_other_weights(visit: Callable[..., Visit]) -> None:
    runs = [{"algorithm": "perceptron", "knobs": {"init": "given", "start": [5, -3, 2]}}]
    tab = visit({"runs": runs})
    assert tab.page.locator("#knob-0-init").input_value() == "given"
    for selector, value in (("#degree", "2"), ("#preset", "three")):
        tab.open({"runs": runs})
        tab.choose(selector, value)
        assert (tab.trouble, tab.page.locator("#knob-0-init").input_value()) == ("", "zeros")


def test_from_what_cannot_run_there_is_a_way_back(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "three"}, "t": 3})
    before = tab.now
    tab.choose("#knob-0-init", "given")
    tab.fill("#knob-0-start", "5, -3, 2")
    assert "start must have 9 numbers, 3 for each of 3 classes" in tab.trouble
    tab.page.get_by_role("button", name="Back to the last run").click()
    assert (tab.rest().trouble, tab.now) == ("", before)
    tab.faults.clear()  # the browser reports a 400


def test_the_selected_run_of_two_is_shown_and_can_be_changed(visit: Callable[..., Visit]) -> None:
    runs = [{"algorithm": "perceptron", "knobs": {}}, {"algorithm": "pocket", "knobs": {}}]
    tab = visit({"data": {"preset": "three"}, "runs": runs})
    picks = tab.page.locator(".pick")
    assert [pick.get_attribute("aria-pressed") for pick in picks.all()] == ["true", "false"]
    picks.nth(1).click()
    assert [pick.get_attribute("aria-pressed") for pick in picks.all()] == ["false", "true"]
    assert tab.state["focus"] == 1
    assert len(tab.state.get("data", {}).get("points", [])) == 0  # no point was placed for that
