"""Access: by keyboard alone, by touch, on phones and wide screens, in light and dark, and without motion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_visit import FRAMES_LATER, Visit

from chromium_browser import CONTRASTS
from rosenblatt.studio.presets import PRESETS

pytestmark = pytest.mark.slow
AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
BOX = PRESETS["separable"].box
SIX = {"data": {"preset": "six"}, "runs": [{"algorithm": "perceptron", "knobs": {}}, {"algorithm": "vote", "knobs": {}}],
       "show": {"vote": True, "pocket": True}, "degree": 2}  # fmt: skip
# Marks what has the focus, and gives how it is to be seen: the width of its outline, or of its label's.
FOCUSED = """() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  node.dataset.reached = "";
  const seen = node.type === "radio" ? node.closest("label") : node;
  const style = getComputedStyle(seen);
  return style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
}"""
UNREACHED = """() => Array.from(document.querySelectorAll("button, select, input, a[href], [tabindex]"))
  .filter(node => node.tabIndex >= 0 && !node.disabled && node.getClientRects().length && !("reached" in node.dataset))
  .filter(node => node.type !== "radio" || node.checked)
  .map(node => node.id || node.getAttribute("aria-label") || node.outerHTML)"""


# --- axe-core ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def checked() -> Callable[[Visit], None]:
    """axe-core finds nothing in what is seen now."""
    if not AXE.exists():
        pytest.skip("no axe-core here: scripts/test installs it where there is npm")
    code = AXE.read_text(encoding="utf-8")

    def check(tab: Visit) -> None:
        if not tab.page.evaluate("() => 'axe' in window"):
            tab.page.evaluate(f"() => {{ {code} }}")
        found = tab.page.evaluate("() => axe.run({ resultTypes: ['violations'] })")
        result = [f"{each['id']}: {node['html'][:120]}" for each in found["violations"] for node in each["nodes"]]
        assert result == []

    return check


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_axe_finds_nothing(visit: Callable[..., Visit], checked: Callable[[Visit], None], theme: str) -> None:
    tab = visit(color_scheme=theme)
    checked(tab)
    for opener, closer in (("#open-share", "#share"), ("#open-help", "#help")):
        tab.page.locator(opener).click()
        checked(tab)
        tab.page.locator(closer).get_by_role("button", name="Close").click()
    tab.click("#open-tour")
    checked(tab)
    tab.page.get_by_role("button", name="Close the tour").click()
    tab.click("#clear")  # with a banner
    checked(tab)


@pytest.mark.parametrize("width", [360, pytest.param(1280, marks=pytest.mark.thorough)])
def test_axe_finds_nothing_in_two_algorithms_on_six_classes(
    visit: Callable[..., Visit], checked: Callable[[Visit], None], width: int
) -> None:
    tab = visit(SIX, viewport={"width": width, "height": 900})
    checked(tab)
    rows = b"a,b,c,kind\n1,2,3,yes\n2,1,1,no\n3,3,2,yes\n4,1,5,no\n"
    tab.page.locator("#file").set_input_files({"name": "rows.csv", "mimeType": "text/csv", "buffer": rows})
    tab.page.locator("#columns", has_text="rows.csv").wait_for()
    checked(tab.rest())


# --- sizes and colors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [320, *(pytest.param(width, marks=pytest.mark.thorough) for width in (360, 768)), 1600])
def test_the_page_fits_and_can_be_read(visit: Callable[..., Visit], width: int) -> None:
    names = [f"a class with a very long name, number {n}" for n in range(6)]
    data = {"points": [[n % 3 - 1, n // 3 - 0.5] for n in range(6)], "labels": list(range(6)), "names": names, "box": list(BOX)}
    tab = visit(viewport={"width": width, "height": 900})
    for state in (None, {**SIX, "data": data}):
        if state is not None:
            tab.open(state)
        for theme in ("dark", "light"):
            tab.page.emulate_media(color_scheme=theme)
            worst = tab.rest().page.evaluate(CONTRASTS)
            assert worst[0][0] >= 4.5, worst
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        plane = tab.page.locator(".canvas").first.bounding_box()
        assert min(plane["width"], plane["height"]) >= 230
    for dialog in ("share", "help"):
        tab.page.locator(f"#open-{dialog}").click()
        box = tab.page.locator(f"#{dialog}").bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= width
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        tab.page.keyboard.press("Escape")


def test_a_person_may_prefer_the_other_theme(visit: Callable[..., Visit]) -> None:
    tab = visit(color_scheme="light")
    light = tab.picture()
    tab.click("#theme")
    assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
    tab.page.mouse.move(0, 0)
    assert tab.picture() != light
    assert tab.click("#theme").picture() == light
    tab.page.emulate_media(color_scheme="dark")
    assert tab.rest().picture() == light  # what was chosen, stays
    assert tab.follow(tab.address).picture() == light  # the next time, too


def test_the_keys_can_be_read_on_a_phone(phone: Visit) -> None:
    phone.click("#open-help")
    widths = phone.page.locator("#help td").evaluate_all("all => all.map(each => each.getBoundingClientRect().width)")
    assert min(widths) > 200


def test_the_plane_is_as_sharp_as_the_screen(visit: Callable[..., Visit]) -> None:
    tab = visit(device_scale_factor=2)
    shown = tab.page.locator(".canvas").bounding_box()
    drawn = tab.page.locator(".canvas canvas").first.evaluate("canvas => [canvas.width, canvas.height]")
    assert drawn == pytest.approx([2 * shown["width"], 2 * shown["height"]], abs=2)
    tab.page.set_viewport_size({"width": 700, "height": 900})
    tab.rest()
    shown = tab.page.locator(".canvas").bounding_box()
    drawn = tab.page.locator(".canvas canvas").first.evaluate("canvas => [canvas.width, canvas.height]")
    assert drawn == pytest.approx([2 * shown["width"], 2 * shown["height"]], abs=2)


def test_with_reduced_motion_nothing_is_animated(visit: Callable[..., Visit]) -> None:
    tab = visit({"t": 3}, reduced_motion="reduce")
    moving = "() => document.getAnimations().length"
    tab.click("#open-help")
    assert tab.page.evaluate(moving) == 0
    tab.page.keyboard.press("Escape")
    tab.click("#open-tour")
    assert tab.page.evaluate(moving) == 0
    before = tab.picture()
    tab.page.evaluate(FRAMES_LATER)
    assert tab.picture() == before
    tab.press("Home")  # but explicit actions work
    assert tab.picture() != before


# --- keys --------------------------------------------------------------------------------------------------------------------


def reach_all(tab: Visit) -> None:
    """Tab leads to everything that can be used, and shows where it is."""
    hidden = 0
    for _ in range(150):
        tab.page.keyboard.press("Tab")
        width = tab.page.evaluate(FOCUSED)
        if width is None:
            break
        hidden += width < 2
    assert tab.page.evaluate(UNREACHED) == []
    assert hidden == 0


def test_tab_leads_everywhere(visit: Callable[..., Visit]) -> None:
    reach_all(visit(SIX))


def test_tab_leads_everywhere_in_dialogs_and_the_tour(tab: Visit) -> None:
    for dialog in ("share", "help"):
        tab.page.locator(f"#open-{dialog}").focus()
        tab.page.keyboard.press("Enter")
        assert tab.page.locator(f"#{dialog}").is_visible()
        inside = f"() => document.getElementById('{dialog}').contains(document.activeElement)"
        assert tab.page.evaluate(inside)
        tab.page.keyboard.press("Escape")
        assert not tab.page.locator(f"#{dialog}").is_visible()
        assert tab.page.evaluate("document.activeElement.id") == f"open-{dialog}"
    tab.page.locator("#open-tour").focus()
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate("document.activeElement.id") == "tour-step"


def test_points_are_placed_and_deleted_by_keys(tab: Visit) -> None:
    plane = tab.page.locator(".canvas")
    plane.focus()
    tab.press("2", *["ArrowRight"] * 3, *["ArrowUp"] * 2)
    before = tab.picture()
    tab.press("Enter")
    data = tab.state["data"]
    assert data["points"][-1] == pytest.approx([0.15, 0.1], abs=1e-3)
    assert data["labels"][-1] == 1
    assert tab.picture() != before
    tab.press("Shift+ArrowRight")
    tab.press("Enter")
    assert tab.state["data"]["points"][-1] == pytest.approx([0.4, 0.1], abs=1e-3)
    tab.press("Delete")
    assert len(tab.state["data"]["points"]) == 61
    assert tab.t == tab.length  # arrows moved the cross, not the time
    tab.press("Escape", "Tab")
    assert tab.page.evaluate("document.activeElement.name") == "class"
    tab.press("ArrowRight")  # a class, not a moment
    assert tab.page.get_by_label("C", exact=True).is_checked()
    assert tab.t == tab.length


def test_the_whole_page_by_keys_alone(tab: Visit) -> None:
    """Another algorithm, a knob, a seed, the end: no mouse."""
    tab.page.locator("#algorithm-0").focus()
    tab.press("ArrowDown")
    assert tab.text(".plane figcaption b") == "Pocket perceptron"
    assert tab.page.evaluate("document.activeElement.id") == "algorithm-0"  # where it was, although all was drawn again
    tab.page.locator("#knob-0-max_updates").focus()
    tab.press("Control+a", "5", "Enter")
    assert tab.length == 5
    assert tab.page.evaluate("document.activeElement.id") == "knob-0-max_updates"
    tab.page.locator("#degree").focus()
    tab.press("ArrowDown")
    assert tab.state["degree"] == 2
    assert tab.state["runs"] == [{"algorithm": "pocket", "knobs": {"max_updates": 5}}]


# --- fingers -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def phone(visit: Callable[..., Visit]) -> Visit:
    return visit(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, device_scale_factor=2)


def touch(tab: Visit, kind: str, *spots: tuple[float, float]) -> None:
    if not hasattr(tab, "fingers"):
        tab.fingers: Any = tab.context.new_cdp_session(tab.page)
    points = [{"x": x, "y": y} for x, y in spots]
    tab.fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_tap_adds(phone: Visit) -> None:
    phone.page.touchscreen.tap(*phone.pixel(-1, 1, BOX))
    phone.rest()
    data = phone.state["data"]
    assert len(data["points"]) == 61
    assert data["points"][-1] == pytest.approx([-1, 1], abs=0.02)


def test_a_long_press_deletes(phone: Visit) -> None:
    point = PRESETS["separable"].points[0]
    touch(phone, "touchStart", phone.pixel(*point, BOX))
    phone.soon(lambda: phone.text("#about-data").startswith("59 points"))
    touch(phone, "touchEnd")
    phone.rest()
    left = phone.state["data"]["points"]
    assert len(left) == 59
    assert list(point) not in left


def test_a_finger_drags(phone: Visit) -> None:
    point = PRESETS["separable"].points[0]
    touch(phone, "touchStart", phone.pixel(*point, BOX))
    for n in range(1, 6):
        touch(phone, "touchMove", phone.pixel(point[0] + (-1 - point[0]) * n / 5, point[1] + (1 - point[1]) * n / 5, BOX))
    touch(phone, "touchEnd")
    phone.rest()
    moved = phone.state["data"]["points"]
    assert len(moved) == 60
    assert moved[0] == pytest.approx([-1, 1], abs=0.02)


def test_what_fingers_press_is_large_enough(phone: Visit) -> None:
    """WCAG 2.2 requires 24 pixels."""
    small = phone.page.evaluate(
        """() => Array.from(document.querySelectorAll("button, select, input:not([type=radio]):not([type=checkbox])"))
          .map(node => [node.id || node.ariaLabel, node.getBoundingClientRect()])
          .filter(([, box]) => box.width && (box.width < 24 || box.height < 24)).map(([name]) => name)"""
    )
    assert small == []
