"""Weight space: linked to the plane both ways, cut where one likes, and a place to start from."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from page_visit import Visit

from rosenblatt.studio.presets import PRESETS

pytestmark = pytest.mark.slow
CAPTION = ".plane figcaption span"


def test_pointing_at_a_point_lights_its_half_plane(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "lecture"}})
    before, plane = tab.picture("#weights"), tab.picture()
    tab.page.mouse.move(*tab.pixel(3, 0, PRESETS["lecture"].box))
    lit = tab.rest().picture("#weights")
    assert lit != before
    assert tab.text(CAPTION).startswith("point 2 (B): 3, 0, score ")
    tab.page.mouse.move(*tab.pixel(2, 2, PRESETS["lecture"].box))
    assert tab.rest().picture("#weights") not in (before, lit)
    tab.page.mouse.move(0, 0)
    assert tab.rest().picture("#weights") == before
    assert tab.picture() == plane


def test_pointing_at_a_line_in_weight_space_lights_its_point(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "lecture"}})
    before, found = tab.picture(), {}
    tab.page.locator("#weights").scroll_into_view_if_needed()
    box = tab.page.locator("#weights").bounding_box()
    for n in range(4, 100):
        tab.page.mouse.move(box["x"] + box["width"] * n / 100, box["y"] + box["height"] * 0.35)
        result = tab.page.locator(CAPTION).inner_text()
        if result.startswith("point "):
            found.setdefault(result.split()[1], tab.picture())
    assert len(found) >= 2
    assert before not in found.values()
    assert len({str(picture) for picture in found.values()}) == len(found)
    tab.page.mouse.move(0, 0)
    assert tab.rest().picture() == before


def test_slices_go_through_any_two_weights(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "xor"}, "degree": 2})
    across, up = (tab.page.get_by_label(label) for label in ("Horizontal weight", "Vertical weight"))
    assert across.locator("option").count() == 6  # the bias and five features
    seen = {str(tab.picture("#weights"))}
    for x, y in (("0", "2"), ("3", "5"), ("4", "1")):
        across.select_option(x)
        up.select_option(y)
        seen.add(str(tab.rest().picture("#weights")))
        assert tab.state["slice"] == {"x": int(x), "y": int(y), "head": 0}
    assert len(seen) == 4
    across.select_option("1")  # the same as upwards: they change places
    assert (across.input_value(), up.input_value()) == ("1", "4")


def test_each_class_has_weights_of_its_own(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "three"}})
    whose = tab.page.get_by_label("Class of the weights")
    seen = set()
    for head in ("0", "1", "2"):
        whose.select_option(head)
        seen.add(str(tab.rest().picture("#weights")))
    assert len(seen) == 3
    assert tab.state["slice"]["head"] == 2


def test_a_double_click_starts_the_run_there(tab: Visit) -> None:
    tab.page.locator("#weights").dblclick(position={"x": 60, "y": 50})
    tab.rest()
    request, run = tab.answers()[-1]
    assert request["knobs"]["init"] == "given"
    assert len(request["knobs"]["start"]) == 3
    assert tab.t == 0
    assert tab.now.startswith("Before the first of") or run["updates"] == 0
    field = tab.page.get_by_label("w₀, w₁, …")
    assert [float(each) for each in field.input_value().split(",")] == request["knobs"]["start"]
    tab.choose("#knob-0-init", "zeros")
    assert "Update 19 of 19" in tab.press("End").now


def test_the_solution_cone_is_where_the_path_ends(visit: Callable[..., Visit]) -> None:
    """After the last update of a run that separates, w lies in all half-planes, and the description agrees."""
    tab = visit({"data": {"preset": "separable"}})
    end = tab.picture("#weights")
    assert tab.press("Home").picture("#weights") != end
    assert "half-plane" in tab.text("#about-weights")
