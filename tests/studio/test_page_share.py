"""A link restores what was seen, to the pixel; files hold what is shown, and the code makes the same run."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from page_visit import Visit, state_in

from rosenblatt.studio.presets import PRESETS

pytestmark = pytest.mark.slow
SVG = "{http://www.w3.org/2000/svg}"


def test_a_link_restores_the_same_state(visit: Callable[..., Visit]) -> None:
    """Points, algorithms, knobs, degree, seed, what is drawn, the slice, the speed and the moment."""
    tab = visit({"data": {"preset": "nearly"}})
    tab.page.keyboard.press("2")
    tab.page.mouse.click(*tab.pixel(-1, 1, PRESETS["nearly"].box))
    tab.rest().click("#second")
    tab.choose("#algorithm-1", "pa-1")
    tab.fill("#knob-1-C", "0.3")
    tab.choose("#knob-0-order", "permuted")
    tab.fill("#seed", "5")
    tab.choose("#degree", "2")
    tab.click("#show-pocket")
    tab.click("#show-regions")
    tab.page.get_by_label("Horizontal weight").select_option("3")
    tab.page.locator("#speed").fill("5")
    tab.page.locator("#scrub").fill("33")
    tab.page.mouse.move(0, 0)
    tab.rest()
    assert set(tab.state) == {"data", "degree", "seed", "runs", "t", "speed", "show", "slice"}
    again = visit().follow(tab.link)
    for view in (".canvas", ".plane:last-child .canvas", "#weights", "#errors", "#timeline"):
        assert again.picture(view) == tab.picture(view), view
    for shown in ("#now", "#verdict", "#stop", "#chosen", "#speed-value"):
        assert again.text(shown) == tab.text(shown)
    assert again.state == tab.state


def test_the_link_in_the_dialog_is_that_of_the_moment(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "xor"}})
    tab.press("Home", "ArrowRight", "ArrowRight")
    tab.page.locator("#open-share").click()
    field = tab.page.get_by_label("Link to this page")
    tab.soon(lambda: state_in(field.input_value()).get("t"), 2)
    assert field.input_value().startswith(tab.address)
    assert visit().follow(field.input_value()).now == tab.now


def test_a_link_opened_in_the_page_itself_is_followed(tab: Visit, visit: Callable[..., Visit]) -> None:
    other = visit({"data": {"preset": "six"}, "t": 5})
    tab.page.evaluate("hash => { location.hash = hash }", other.link.split("#")[1])
    tab.soon(lambda: tab.rest().now, other.now)
    assert tab.picture() == other.picture()


def test_a_damaged_link_is_no_link(tab: Visit) -> None:
    for wrong in ("#s=AAAA", "#s=%%%", "#s=" + "A" * 500_000):
        assert "Update 19 of 19" in tab.follow(tab.address + wrong).now


def test_a_link_with_wrong_values_opens_with_what_is_right(visit: Callable[..., Visit]) -> None:
    runs = [{"algorithm": "no-such", "knobs": {"margin": "much"}}]
    tab = visit({"data": {"preset": "nowhere"}, "degree": 99, "seed": -1, "t": "never", "runs": runs, "show": 7, "slice": []})
    assert tab.text("#about-data").startswith("60 points.")
    assert tab.trouble == ""
    assert "Update 19 of 19" in tab.now


# --- files -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def two(visit: Callable[..., Visit]) -> Visit:
    runs = [{"algorithm": "pocket", "knobs": {}}, {"algorithm": "soft-margin", "knobs": {}}]
    return visit({"data": {"preset": "nearly"}, "runs": runs, "t": 30, "show": {"pocket": True}})


def test_pictures_are_of_both_planes(two: Visit, saved: Callable[[Visit, str], Path]) -> None:
    image = pytest.importorskip("PIL.Image")
    with image.open(saved(two, "PNG")) as png:
        assert (png.format, png.size) == ("PNG", (1600, 800))
        colors = [len(png.convert("RGB").crop(box).getcolors(10**6)) for box in ((0, 0, 800, 800), (800, 0, 1600, 800))]
    assert min(colors) > 20  # both are drawn
    root = ElementTree.parse(saved(two, "SVG")).getroot()
    assert (root.tag, root.get("viewBox")) == (f"{SVG}svg", "0 0 1600 800")
    assert len(root.findall(f".//{SVG}path")) > 20
    texts = [node.text for node in root.iter(f"{SVG}text")]
    assert "Pocket perceptron" in texts
    assert "Soft margin" in texts
    assert "30 of 1000" in texts


def test_the_animation_moves(visit: Callable[..., Visit], saved: Callable[[Visit, str], Path]) -> None:
    image = pytest.importorskip("PIL.Image")
    tab = visit({"t": 7})
    before = tab.picture()
    frames = []
    with image.open(saved(tab, "GIF")) as gif:
        assert gif.format == "GIF"
        assert gif.n_frames == 20  # 19 updates and the start
        for n in range(gif.n_frames):
            gif.seek(n)
            frames.append(gif.convert("RGB").tobytes())
            assert gif.size == (420, 420)
            assert gif.info["duration"] >= 50
    assert len(set(frames)) >= 15
    assert tab.t == 7  # time is where it was
    assert tab.picture() == before


def test_the_json_holds_the_run(two: Visit, saved: Callable[[Visit, str], Path]) -> None:
    result = json.loads(saved(two, "JSON of the run").read_text())
    assert result["made_by"].startswith("Rosenblatt ")
    pocket, soft = result["runs"]
    assert (pocket["request"]["algorithm"], soft["request"]["algorithm"]) == ("pocket", "soft-margin")
    log = pocket["run"]["log"]
    assert len(log["rows"]) == len(log["steps"]) == log["edges"][-1] == 1000
    assert pocket["proof"]["verdict"] == "inseparable"
    assert soft["run"]["log"] is None
    assert len(soft["run"]["frames"]["weights"]) == (soft["run"]["updates"] + 1) * 3
    assert not {"f64", "f32", "i32"} & set(_keys(result))


def _keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_keys, value[:3]))
    return set(value).union(*map(_keys, value.values())) if isinstance(value, dict) else set()


def test_the_code_makes_the_same_run(visit: Callable[..., Visit], tmp_path: Path) -> None:
    knobs = {"order": "permuted", "max_updates": 77}
    tab = visit(
        {"data": {"preset": "moons"}, "seed": 3, "degree": 2, "scaled": True, "runs": [{"algorithm": "pocket", "knobs": knobs}]}
    )
    _, run = tab.answers()[-1]
    tab.page.locator("#open-share").click()
    code = tab.page.locator("#code").text_content()
    (tmp_path / "same.py").write_text(code + "print(model.n_updates_, model.log_.rows.tolist())\n", encoding="utf-8")
    done = subprocess.run([sys.executable, tmp_path / "same.py"], capture_output=True, text=True, timeout=60, check=True)
    assert f"training errors: {run['readings']['pocket']}" in done.stdout
    updates, rows = done.stdout.splitlines()[-1].split(" ", 1)
    assert int(updates) == run["updates"] == 77
    assert json.loads(rows) == np.frombuffer(base64.b64decode(run["log"]["rows"]["i32"]), "<i4").tolist()


def test_the_clipboard_gets_link_and_code(visit: Callable[..., Visit]) -> None:
    tab = visit(permissions=["clipboard-read", "clipboard-write"])
    tab.page.locator("#open-share").click()
    for button, start in (("Copy link", "http://127.0.0.1"), ("Copy code", "import numpy")):
        tab.page.get_by_role("button", name=button).click()
        tab.page.locator("#share", has_text="copied to the clipboard").wait_for()
        tab.soon(lambda start=start: tab.page.evaluate("navigator.clipboard.readText()").startswith(start))


def test_without_a_run_there_are_no_files(tab: Visit) -> None:
    tab.click("#clear")
    tab.page.locator("#open-share").click()
    for name in ("PNG", "SVG", "GIF, animated", "JSON of the run"):
        assert tab.page.get_by_role("button", name=name).is_disabled()


def test_large_weights_survive_the_way_through_json(visit: Callable[..., Visit], saved: Callable[[Visit, str], Path]) -> None:
    points = [[1e6, 2e6], [-3e6, 1e6], [2e6, -1e6], [-1e6, -4e6]]
    data = {"points": points, "labels": [1, 0, 1, 0], "names": ["A", "B"], "box": [-5e6, 5e6, -5e6, 5e6]}
    tab = visit({"data": data})
    result = json.loads(saved(tab, "JSON of the run").read_text())["runs"][0]
    assert result["request"]["points"] == points
    assert np.isfinite(result["run"]["curves"]["loss"]).all()


@pytest.mark.parametrize("end", ["#s=garbage", "#s=", "#s=AAAA____"])
def test_a_link_that_cannot_be_read_is_reported(tab: Visit, end: str) -> None:
    tab.follow(tab.address + end)
    assert "cannot be read" in tab.trouble
    assert "Update 19 of 19" in tab.now
    assert tab.choose("#preset", "xor").trouble == ""


def test_the_address_follows_the_state_automatically(tab: Visit) -> None:
    tab.choose("#preset", "xor")
    tab.soon(lambda: state_in(tab.page.url).get("data"), {"preset": "xor"})
