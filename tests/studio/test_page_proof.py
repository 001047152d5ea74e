"""The proof on the page: verdicts with their reason, updates against their bound, and the curves of the run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from page_visit import Visit

import rosenblatt as rb
from rosenblatt.studio.presets import PRESETS
from rosenblatt.studio.texts import boundary_name

pytestmark = pytest.mark.slow
SEPARABLE = ["separable", "outlier", "three", "six"]
INSEPARABLE = ["nearly", "xor", "rings", "moons"]


def certificate(preset: str):
    return rb.certify(np.array(PRESETS[preset].points, float), np.array(PRESETS[preset].labels))


def test_the_verdict_of_every_preset_is_that_of_certify(tab: Visit) -> None:
    for name in PRESETS:
        tab.choose("#preset", name)
        tab.page.locator("#verdict", has_not_text="Proving").wait_for()
        result, found = tab.text("#verdict"), certificate(name)
        if isinstance(found, rb.Separable):
            assert name in (*SEPARABLE, "lecture")
            assert f"Separable: the widest margin is {found.geometric.lower:.3g}." in result
            assert tab.page.locator("#verdict.yes").count() == 1
        else:
            assert name in (*INSEPARABLE, "lecture")
            assert result.startswith("No line can separate these")
            assert tab.page.locator("#verdict.no").count() == 1


def test_updates_stay_under_the_bound(tab: Visit) -> None:
    bound = certificate("separable").mistake_bound.upper
    for key, updates in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("End", 19)):
        expected = f"{updates} update{'s' * (updates != 1)} so far; at most {int(bound)} are possible."
        if key == "End":
            expected = f"At most {int(bound)} updates are possible; {updates} were needed."
        assert tab.press(key).text("#updates-bound") == expected
        assert "R²/γ² = " in str(tab.page.locator("#formula p").text_content())
    part = tab.page.locator("#meter i").evaluate("bar => bar.getBoundingClientRect().width / bar.parentElement.clientWidth")
    assert part == pytest.approx(19 / bound, abs=0.02)


def test_without_a_plane_nothing_is_bounded_and_the_clash_is_drawn(
    visit: Callable[..., Visit], svg_of: Callable[[Visit], str]
) -> None:
    tab = visit({"data": {"preset": "nearly"}})
    assert "so there is no limit" in tab.text("#updates-bound")
    assert not tab.page.locator("#meter").is_visible()
    _, proof = tab.answers("/api/proof")[-1]
    rows = proof["clash"]["rows"]
    assert 3 <= len(rows) <= 4  # as many as a clash in the plane needs
    color = tab.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--alarm').trim()")
    rings = re.findall(rf'<path d="M[^"]*a11 11 0 1 0[^"]*" fill="none" stroke="{color}"', svg_of(tab))
    assert len(rings) == len(rows)


def test_a_curve_of_higher_degree_separates(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "rings"}})
    assert tab.text("#verdict").startswith("No line can separate these")
    tab.choose("#degree", "2")
    tab.page.locator("#verdict", has_text="Separable: the widest margin").wait_for()


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
    """As in the numbers behind the curves."""
    tab = visit({"data": {"preset": "separable"}, "seed": 1})
    _, proof = tab.answers("/api/proof")[-1]
    assert proof["convergence"]["holds"]
    assert proof["convergence"]["mistakes"] == tab.length


def test_curves_need_a_run_and_show_why_it_ended(tab: Visit) -> None:
    assert tab.text("#stop") == "Every point is on the right side."
    assert tab.page.locator("#stop-details").is_visible()
    tab.choose("#preset", "nearly")
    assert tab.text("#stop") == "Stopped after 1,000 updates (the limit)."
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
        result = tab.press("ArrowRight").page.locator("#norms").get_attribute("aria-label")
        norm, bound = re.search(r": ([\d.]+) at update \d+; bound: at most t R² = ([\d.]+)", result).groups()
        assert float(norm) <= float(bound)


def test_updates_of_a_gradient_have_no_bound(visit: Callable[..., Visit]) -> None:
    runs = [{"algorithm": "nonlinear-mse-online", "knobs": {"max_updates": 100}}]
    tab = visit({"data": {"preset": "nearly"}, "runs": runs})
    assert tab.text("#updates-bound") == "100 updates so far."
    tab = visit({"data": {"preset": "nearly"}, "t": 1})
    assert tab.text("#updates-bound").startswith("1 update so far. No line separates")


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("degree", [1, 3])
def test_a_boundary_has_the_same_name_in_the_verdict_and_below(
    visit: Callable[..., Visit], degree: int, intercept: bool
) -> None:
    points, labels = [[1, 1], [1, 1], [0, 2], [2, -1]], [0, 1, 1, 0]  # two are at the same place, so no degree helps
    data = {"points": points, "labels": labels, "names": ["A", "B"], "box": [-1, 3, -2, 3]}
    knobs = {"fit_intercept": intercept, "max_updates": 5}
    tab = visit({"data": data, "degree": degree, "runs": [{"algorithm": "perceptron", "knobs": knobs}]})
    tab.page.locator("#verdict", has_text="can separate").wait_for()
    name = boundary_name(degree, intercept)
    assert tab.text("#verdict").startswith(f"No {name} can separate")
    assert tab.text("#updates-bound") == f"5 updates so far. No {name} separates the points, so there is no limit."
    assert f"moved the {'line' if degree == 1 else 'curve'}." in tab.now


def test_joint_and_one_vs_rest_runs_are_distinguished(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "six"}, "runs": [{"algorithm": "max-margin", "knobs": {}}]})
    assert tab.text("#verdict") == "Separable: the widest margin is 0.0382. This is for all classes together."
    assert "some classes not separable" in tab.now


def test_the_card_keeps_its_place_while_something_is_proved(tab: Visit) -> None:
    card = tab.page.locator("#verdict").locator("..")
    tall = card.bounding_box()["height"]
    held: list[Any] = []
    tab.page.route("**/api/proof", lambda route: held.append(route))
    tab.page.mouse.click(*tab.pixel(-1, -1, (-1.25, 1.25, -1.25, 1.25)))
    tab.soon(lambda: len(held), 1)
    assert tab.text("#verdict").startswith("Proving")
    assert card.bounding_box()["height"] == pytest.approx(tall, abs=0.1)
    held[0].continue_()
    assert tab.rest().text("#verdict").startswith("Separable")


def test_a_verdict_does_not_stand_for_another_intercept(visit: Callable[..., Visit]) -> None:
    data = {"points": [[1, 1], [2, 2]], "labels": [0, 1], "names": ["A", "B"], "box": [-3, 3, -3, 3]}
    tab = visit({"data": data, "runs": [{"algorithm": "soft-margin", "knobs": {}}]})
    assert tab.text("#verdict") == "Separable: the widest margin is 0.707."
    held: list[Any] = []
    tab.page.route("**/api/proof", lambda route: held.append(route))
    tab.page.locator("#knob-0-fit_intercept").uncheck()
    tab.soon(lambda: len(held), 1)
    assert tab.text("#verdict").startswith("Proving")
    held[0].continue_()
    assert tab.rest().text("#verdict").startswith("No line through the origin can separate")
