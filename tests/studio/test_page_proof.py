"""The proof, live: verdicts with their reason, mistakes against their bound, and the curves of the run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from visiting import Visit

import rosenblatt as rb
from rosenblatt.studio.presets import PRESETS

pytestmark = pytest.mark.slow
SEPARABLE = ["separable", "outlier", "three", "six"]
INSEPARABLE = ["nearly", "xor", "rings", "moons"]


def certificate(preset: str):
    return rb.certify(np.array(PRESETS[preset].points, float), np.array(PRESETS[preset].labels))


def test_the_verdict_of_every_preset_is_that_of_certify(tab: Visit) -> None:
    for name in PRESETS:
        tab.choose("#preset", name)
        tab.page.locator("#verdict", has_not_text="Being proved").wait_for()
        told, found = tab.text("#verdict"), certificate(name)
        if isinstance(found, rb.Separable):
            assert name in (*SEPARABLE, "lecture")
            assert f"margin {found.geometric.lower:.3g}" in told
            assert tab.page.locator("#verdict.yes").count() == 1
        else:
            assert name in (*INSEPARABLE, "lecture")
            assert told.lower().startswith("not separable: ")
            assert tab.page.locator("#verdict.no").count() == 1


def test_mistakes_stay_under_the_bound(tab: Visit) -> None:
    bound = certificate("separable").mistake_bound.upper
    for key, mistakes in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("End", 19)):
        told = tab.press(key).text("#mistakes")
        assert told.startswith(f"{mistakes} mistake{'s' * (mistakes != 1)} so far; the proof allows ")
        assert float(re.search(r"allows ([\d.,e]+)", told)[1].replace(",", "")) == pytest.approx(bound, rel=0.01)
        assert "R²/γ²" in told
    part = tab.page.locator("#meter i").evaluate("bar => bar.getBoundingClientRect().width / bar.parentElement.clientWidth")
    assert part == pytest.approx(19 / bound, abs=0.02)


def test_without_a_plane_nothing_is_bounded_and_the_clash_is_drawn(
    visit: Callable[..., Visit], svg_of: Callable[[Visit], str]
) -> None:
    tab = visit({"data": {"preset": "nearly"}})
    assert "nothing bounds them" in tab.text("#mistakes")
    assert not tab.page.locator("#meter").is_visible()
    _, proof = tab.answers("/api/proof")[-1]
    rows = proof["clash"]["rows"]
    assert 3 <= len(rows) <= 4  # as many as a clash in the plane needs
    colour = tab.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--alarm').trim()")
    rings = re.findall(rf'<path d="M[^"]*a11 11 0 1 0[^"]*" fill="none" stroke="{colour}"', svg_of(tab))
    assert len(rings) == len(rows)


def test_a_curve_of_higher_degree_separates(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "rings"}})
    assert tab.text("#verdict").lower().startswith("not separable")
    tab.choose("#degree", "2")
    tab.page.locator("#verdict", has_text="separable, margin").wait_for()
    assert not tab.text("#verdict").lower().startswith("not")


def test_the_inequalities_are_drawn_and_described(tab: Visit) -> None:
    def described(chart: str) -> str:
        return str(tab.page.locator(f"#{chart}[role=img]").get_attribute("aria-label"))

    charts = ("norms", "alignments", "errors", "loss")
    before = {chart: (described(chart), tab.picture(f"#{chart}")) for chart in charts}
    assert all(tab.page.locator(f"#{chart}").is_visible() for chart in charts)
    assert all(len(words) > 20 for words, _ in before.values()), before
    tab.press("Home", "ArrowRight")
    for chart, (words, picture) in before.items():
        assert tab.picture(f"#{chart}") != picture
        assert described(chart) != words


def test_the_proof_holds_along_the_run(visit: Callable[..., Visit]) -> None:
    """As the numbers behind the curves say."""
    tab = visit({"data": {"preset": "separable"}, "seed": 1})
    _, proof = tab.answers("/api/proof")[-1]
    assert proof["convergence"]["holds"]
    assert proof["convergence"]["mistakes"] == tab.length


def test_curves_need_a_run_and_say_why_it_ended(tab: Visit) -> None:
    assert tab.text("#stop").startswith("Why it ended: ")
    tab.choose("#preset", "nearly")
    assert "1,000" in tab.text("#stop") or "1000" in tab.text("#stop")
    tab.click("#clear")
    assert not tab.page.locator("#errors").is_visible()


def test_the_pockets_best_is_marked(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "nearly"}, "runs": [{"algorithm": "pocket", "knobs": {}}], "show": {"pocket": True}})
    _, run = tab.answers()[-1]
    assert f"pocket {run['readings']['pocket']}" in tab.text(".plane figcaption span")
    with_it = tab.picture("#errors")
    tab.click("#show-pocket")
    assert tab.picture("#errors") != with_it


@pytest.mark.parametrize("preset", ["separable", "three", "six"])
def test_the_norm_is_under_its_bound_in_the_chart_too(visit: Callable[..., Visit], preset: str) -> None:
    """With several classes both are halved."""
    tab = visit({"data": {"preset": preset}, "t": 0})
    for _ in range(4):
        told = tab.press("ArrowRight").page.locator("#norms").get_attribute("aria-label")
        norm, bound = re.search(r": ([\d.]+) at update \d+; t R² allows at most ([\d.]+)", told).groups()
        assert float(norm) <= float(bound)


def test_steps_of_a_gradient_are_no_mistakes(visit: Callable[..., Visit]) -> None:
    runs = [{"algorithm": "nonlinear-mse-online", "knobs": {"max_updates": 100}}]
    tab = visit({"data": {"preset": "nearly"}, "runs": runs})
    assert tab.text("#mistakes") == "100 steps so far."
    tab = visit({"data": {"preset": "nearly"}, "t": 1})
    assert tab.text("#mistakes").startswith("1 mistake so far. No plane separates")


def test_all_classes_together_and_each_against_the_rest_are_told_apart(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "six"}, "runs": [{"algorithm": "max-margin", "knobs": {}}]})
    assert tab.text("#verdict") == "Separable, margin 0.0382, of all classes together"
    assert "not separable one by one" in tab.now


def test_the_card_keeps_its_place_while_something_is_proved(tab: Visit) -> None:
    card = tab.page.locator("#verdict").locator("..")
    tall = card.bounding_box()["height"]
    held: list[Any] = []
    tab.page.route("**/api/proof", lambda route: held.append(route))
    tab.page.mouse.click(*tab.pixel(-1, -1, (-1.25, 1.25, -1.25, 1.25)))
    tab.soon(lambda: len(held), 1)
    assert tab.text("#verdict").startswith("Being proved")
    assert card.bounding_box()["height"] == pytest.approx(tall, abs=0.1)
    held[0].continue_()
    assert tab.rest().text("#verdict").startswith("Separable")


def test_a_verdict_does_not_stand_for_another_intercept(visit: Callable[..., Visit]) -> None:
    data = {"points": [[1, 1], [2, 2]], "labels": [0, 1], "names": ["A", "B"], "box": [-3, 3, -3, 3]}
    tab = visit({"data": data, "runs": [{"algorithm": "soft-margin", "knobs": {}}]})
    assert tab.text("#verdict") == "Separable, margin 0.707"
    held: list[Any] = []
    tab.page.route("**/api/proof", lambda route: held.append(route))
    tab.page.locator("#knob-0-intercept").select_option("none")
    tab.soon(lambda: len(held), 1)
    assert tab.text("#verdict").startswith("Being proved")
    held[0].continue_()
    assert tab.rest().text("#verdict").startswith("Not separable")
