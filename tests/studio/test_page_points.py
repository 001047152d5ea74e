"""Points by mouse and keys: added, moved, deleted, painted, cleared, undone; and what is drawn over them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from page_visit import Visit

import rosenblatt as rb
from rosenblatt.studio.presets import PRESETS

pytestmark = pytest.mark.slow
MINUS = "\N{MINUS SIGN}"
BOX = (-1.25, 1.25, -1.25, 1.25)
FOUR = {"points": [[-1, -1], [-0.8, 0.9], [0.9, 0.8], [1, -1]], "labels": [0, 0, 1, 1], "names": ["A", "B"], "box": list(BOX)}


def points_of(tab: Visit) -> tuple[list[list[float]], list[int]]:
    data = tab.state["data"]
    return data["points"], data["labels"]


@pytest.fixture
def four(visit: Callable[..., Visit]) -> Visit:
    return visit({"data": FOUR})


def test_a_click_adds_a_point_of_the_chosen_class(four: Visit) -> None:
    four.page.get_by_label("B", exact=True).check()
    four.page.mouse.click(*four.pixel(0.5, 0.25, BOX))
    four.rest()
    four.page.get_by_label("A", exact=True).check()
    four.page.mouse.click(*four.pixel(-0.5, -0.3, BOX))
    four.rest()
    points, labels = points_of(four)
    assert points[:4] == FOUR["points"]
    assert points[4:] == [pytest.approx([0.5, 0.25], abs=0.01), pytest.approx([-0.5, -0.3], abs=0.01)]
    assert labels == [0, 0, 1, 1, 1, 0]
    assert four.text("#about-data").startswith("6 points.")
    assert [len(request["points"]) for request, _ in four.answers()] == [4, 5, 6]  # Python computed each of them


def test_editing_a_preset_makes_it_ones_own(tab: Visit) -> None:
    tab.page.mouse.click(*tab.pixel(-1.1, 1.1, BOX))
    tab.rest()
    points, _ = points_of(tab)
    assert points[:60] == [list(point) for point in PRESETS["separable"].points]
    assert len(points) == 61
    assert tab.page.locator("#preset").input_value() == ""
    assert tab.click("#undo").page.locator("#preset").input_value() == "separable"


def test_a_drag_moves_a_point_and_is_undone_at_once(four: Visit) -> None:
    before, mouse = four.picture(), four.page.mouse
    mouse.move(*four.pixel(1, -1, BOX))
    mouse.down()
    mouse.move(*four.pixel(0.5, -0.5, BOX), steps=5)
    mouse.up()
    mouse.move(0, 0)
    four.rest()
    points, labels = points_of(four)
    assert points == [*FOUR["points"][:3], pytest.approx([0.5, -0.5], abs=0.01)]
    assert labels == FOUR["labels"]
    assert four.picture() != before
    assert four.click("#undo").picture() == before
    assert four.page.locator("#undo").is_disabled()
    four.click("#redo")
    assert points_of(four)[0] == points


def test_a_right_click_deletes(four: Visit) -> None:
    four.page.mouse.click(*four.pixel(-0.8, 0.9, BOX), button="right")
    four.rest()
    assert points_of(four) == ([FOUR["points"][n] for n in (0, 2, 3)], [0, 1, 1])
    four.page.mouse.click(*four.pixel(0, 0, BOX), button="right")  # where there is none
    assert len(points_of(four.rest())[0]) == 3


def test_the_brush_paints_many_in_one_stroke(four: Visit) -> None:
    four.page.keyboard.press("b")
    assert four.page.locator("#brush").get_attribute("aria-pressed") == "true"
    four.page.keyboard.press("2")
    mouse = four.page.mouse
    mouse.move(*four.pixel(0.2, 0.2, BOX))
    mouse.down()
    mouse.move(*four.pixel(0.9, 0.2, BOX), steps=12)
    mouse.up()
    four.rest()
    points, labels = points_of(four)
    painted = points[4:]
    assert len(painted) >= 15
    assert set(labels[4:]) == {1}
    assert all(0 < x < 1.1 and 0 < y < 0.4 for x, y in painted)
    four.click("#undo")
    assert points_of(four)[0] == FOUR["points"]
    four.click("#brush")
    assert four.page.locator("#brush").get_attribute("aria-pressed") == "false"


def test_clear_undo_and_redo(four: Visit) -> None:
    four.click("#clear")
    assert points_of(four) == ([], [])
    assert "two classes" in four.trouble
    assert four.now == ""
    assert not four.page.locator("#timeline").is_visible()  # nor anything else of the run that was
    four.press("Control+z")
    assert four.trouble == ""
    assert "4 points on the wrong side" in four.now
    four.press("Control+y")
    assert four.text("#about-data").startswith("0 points.")
    assert four.press("Control+z").text("#about-data").startswith("4 points.")
    assert four.press("Control+Shift+z").text("#about-data").startswith("0 points.")


def test_six_classes_have_six_colors_and_six_shapes(four: Visit) -> None:
    four.click("#clear")
    spots = [(-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 0), (1, 1)]
    for n, spot in enumerate(spots):
        four.page.keyboard.press(str(n + 1))
        four.page.mouse.click(*four.pixel(*spot, BOX))
    four.page.mouse.move(0, 0)
    four.rest()
    assert points_of(four)[1] == [0, 1, 2, 3, 4, 5]
    _, run = four.answers()[-1]
    assert (run["classes"], run["heads"]) == ([0, 1, 2, 3, 4, 5], 6)
    assert "of 6 points" in four.now
    shapes = four.page.locator("#classes svg").evaluate_all("all => all.map(each => each.innerHTML)")
    colors = four.page.locator("#classes label").evaluate_all("all => all.map(each => getComputedStyle(each).color)")
    assert len(set(shapes)) == len(set(colors)) == 6


def test_a_class_that_is_left_out_in_the_middle_is_no_trouble(four: Visit) -> None:
    """Classes 0, 1 and 5: positions are not codes."""
    four.page.keyboard.press("6")
    for spot in ((0, 1.1), (0.1, 1.2)):
        four.page.mouse.click(*four.pixel(*spot, BOX))
        four.rest()
    _, run = four.answers()[-1]
    assert run["classes"] == [0, 1, 5]
    assert (four.trouble, "of 6 points" in four.now) == ("", True)


# --- what is drawn over them -------------------------------------------------------------------------------------------------


SHOWN = {"separable": ["widest", "regions"], "nearly": ["normal", "pocket", "average", "vote", "clash"]}


@pytest.mark.parametrize("preset", list(SHOWN))
def test_what_is_drawn_can_be_switched(visit: Callable[..., Visit], preset: str) -> None:
    tab = visit({"data": {"preset": preset}, "t": 12})
    before = tab.picture()
    for name in SHOWN[preset]:
        on = tab.page.locator(f"#show-{name}").is_checked()
        assert tab.click(f"#show-{name}").picture() != before, name
        assert tab.state["show"][name] is not on
        assert tab.click(f"#show-{name}").picture() == before, name


def test_readings_are_drawn_in_their_own_colors(visit: Callable[..., Visit], svg_of: Callable[[Visit], str]) -> None:
    show = {"pocket": True, "average": True, "vote": True}
    tab = visit({"data": {"preset": "nearly"}, "t": 40, "show": show})
    drawn = svg_of(tab)
    for name in ("pocket", "average", "vote"):
        color = tab.page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)", name)
        assert f'stroke="{color.strip()}"' in drawn
    assert "after update" in tab.text("#voters")
    votes = [int(found) for found in re.findall(r"(\d+) votes", tab.text("#voters"))]
    assert votes == sorted(votes, reverse=True)


def rings(drawn: str) -> int:
    """Support vectors in a picture: rings of radius 10."""
    return len(re.findall(r'<path d="M[^"]*?a10 10 0 1 0 20 0[^"]*" fill="none"', drawn))


@pytest.mark.parametrize("algorithm", ["max-margin", "soft-margin"])
def test_support_vectors_and_the_margin_are_drawn(
    visit: Callable[..., Visit], svg_of: Callable[[Visit], str], algorithm: str
) -> None:
    tab = visit({"runs": [{"algorithm": algorithm, "knobs": {}}]})
    _, run = tab.answers()[-1]
    svm: dict[str, Any] = run["svm"]
    drawn = svg_of(tab)
    assert rings(drawn) == len(svm["support"]) >= 2
    assert drawn.count('stroke-dasharray="2 4"') == 2  # the margin's two sides
    tab.page.get_by_role("button", name="Close").click()
    tab.click("#show-band")
    assert rings(svg_of(tab)) == 0


def test_the_point_that_moved_the_plane_is_ringed_and_its_arrow_drawn(
    visit: Callable[..., Visit], svg_of: Callable[[Visit], str]
) -> None:
    tab = visit({"t": 3})
    drawn = svg_of(tab)
    assert ">w</text>" in drawn
    assert drawn.count(">+x</text>") + drawn.count(f">{MINUS}x</text>") == 1
    row = int(re.search(r"Point (\d+)", tab.now)[1]) - 1
    sign = "+x" if PRESETS["separable"].labels[row] == 1 else f"{MINUS}x"
    assert f">{sign}</text>" in drawn


def test_a_point_cannot_be_lost_beyond_the_edge(four: Visit) -> None:
    x, y = points_of(four)[0][0]
    mouse, box = four.page.mouse, four.page.locator(".canvas").bounding_box()
    mouse.move(*four.pixel(x, y, BOX))
    mouse.down()
    mouse.move(box["x"] - 200, box["y"] - 300, steps=4)
    mouse.up()
    moved = points_of(four.rest())[0][0]
    assert moved == pytest.approx([BOX[0], BOX[3]], abs=0.01)


def test_a_full_area_without_room_for_points_is_reported(visit: Callable[..., Visit]) -> None:
    points = [[round(n % 71 / 71, 3), round(n // 71 / 71, 3)] for n in range(5000)]
    data = {"points": points, "labels": [n % 2 for n in range(5000)], "names": ["A", "B"], "box": list(BOX)}
    tab = visit({"data": data, "runs": [{"algorithm": "perceptron", "knobs": {"max_updates": 10}}]})
    tab.page.mouse.click(*tab.pixel(-1, -1, BOX))
    assert "maximum of 5,000 points" in tab.rest().trouble
    assert tab.page.locator("#undo").is_disabled()
    assert tab.click("#first").choose("#degree", "2").trouble == ""


def test_how_wrong_each_reading_is_stands_over_the_plane(visit: Callable[..., Visit]) -> None:
    show = {"pocket": True, "average": True, "vote": True}
    runs = [{"algorithm": "average", "knobs": {"max_updates": 60}}]
    tab = visit({"data": {"preset": "nearly"}, "runs": runs, "show": show})
    _, run = tab.answers()[-1]
    found = run["readings"]
    result = f"average {found['average']} wrong, last line {found['last']}, pocket {found['pocket']}, vote {found['vote']}"
    assert tab.text(".plane figcaption span") == result
    assert "vote" not in tab.press("ArrowLeft").text(".plane figcaption span")


@pytest.mark.parametrize(("algorithm", "words"), [("perceptron", "the nearest point is "), ("soft-margin", "the margin is ")])
def test_the_width_of_the_margin_is_shown(visit: Callable[..., Visit], algorithm: str, words: str) -> None:
    tab = visit({"runs": [{"algorithm": algorithm, "knobs": {}}]})
    X, y = np.array(PRESETS["separable"].points), np.array(PRESETS["separable"].labels)
    made = {"soft-margin": rb.SoftMargin(), "perceptron": rb.Perceptron(order="cyclic", max_iter=None)}
    model = made[algorithm].fit(X, y)
    length = np.linalg.norm(model.coef_)
    expected = 1 / length if algorithm == "soft-margin" else (model.decision_function(X) * (2 * y - 1)).min() / length
    assert float(tab.now.partition(words)[2].split()[0].rstrip(".")) == pytest.approx(expected, rel=6e-3)
