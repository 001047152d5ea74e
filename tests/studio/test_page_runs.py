"""Python computes, the page plays: what is played is the kernels' run, to the last bit that a browser has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_visit import Visit
from playback import phi

import rosenblatt as rb
from rosenblatt.studio.menu import menu
from rosenblatt.studio.presets import PRESETS
from rosenblatt.studio.recording import run
from rosenblatt.studio.worker import STOPPED

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:the rows were not separated")]
LOGGED = [algorithm["name"] for algorithm in menu() if algorithm["logged"]]
SOLVED = [algorithm["name"] for algorithm in menu() if not algorithm["logged"]]
# What the page's own module makes of a run: the weights of every moment, and which points they misclassify.
REPLAYED = """async ([run, points, labels]) => {
  const { Recording } = await import("/model/recording.js");
  const recording = new Recording(run, points, labels);
  const wrong = t => recording.countErrors(recording.at(t));
  return [Array.from(recording.weights), wrong(recording.length)];
}"""

# The readings at the end: the weights of pocket and average, and the votes on a grid.
READINGS = """async ([run, points, labels, box]) => {
  const { Recording } = await import("/model/recording.js");
  const { VoteCount } = await import("/view/votes.js");
  const recording = new Recording(run, points, labels);
  const pocket = recording.pocketAt(recording.length);
  const votes = new VoteCount(recording, box);
  votes.count(recording.length, 60000);
  const { nx, ny } = votes.grid;
  return [Array.from(pocket.weights ?? recording.at(pocket.t)), Array.from(recording.averageAt(recording.length)),
    votes.shares().map(share => Array.from(share)), nx, ny];
}"""


def data_of(preset: str) -> tuple[Any, Any]:
    return np.array(PRESETS[preset].points, float), np.array(PRESETS[preset].labels)


def carried_out(code: str) -> dict[str, Any]:
    """The names that a text of the page's has in the end."""
    names: dict[str, Any] = {"print": lambda *_: None}
    exec(code, names)
    return names


def test_the_page_shows_the_log_of_the_perceptron(visit: Callable[..., Visit]) -> None:
    X, y = data_of("three")
    model = rb.Perceptron(order="cyclic", max_iter=None, max_updates=1000).fit(X, y)
    tab = visit({"data": {"preset": "three"}, "t": 0})
    assert tab.length == model.n_updates_
    for t, row in enumerate(model.log_.rows[:12], 1):
        result = tab.press("ArrowRight").now
        assert result.startswith(f"Update {t} of {model.n_updates_}, pass ")
        assert f"Point {row + 1} ({'ABC'[y[row]]}) moved the line." in result


def test_changed_points_are_computed_again_and_the_answer_is_played(
    visit: Callable[..., Visit], saved: Callable[[Visit, str], Path]
) -> None:
    X, y = data_of("nearly")
    tab = visit({"data": {"preset": "nearly"}, "runs": [{"algorithm": "perceptron", "knobs": {"max_updates": 200}}]})
    tab.page.keyboard.press("2")
    tab.page.mouse.click(*tab.pixel(-0.9, 0.9, PRESETS["nearly"].box))
    tab.rest()
    result = json.loads(saved(tab, "JSON of the run").read_text())["runs"][0]
    request, played = result["request"], result["run"]
    assert request["points"][:-1] == X.tolist()
    assert request["labels"] == [*y.tolist(), 1]
    X, y = np.array(request["points"]), np.array(request["labels"])
    model = rb.Perceptron(order="cyclic", max_iter=None, max_updates=200).fit(X, y)
    log = model.log_
    assert played["log"]["rows"] == log.rows.tolist()
    assert played["log"]["steps"] == log.steps.tolist()
    assert played["updates"] == model.n_updates_ == tab.length
    assert played["readings"]["last"] == int((model.reading("last").predict(X) != y).sum())


@pytest.mark.parametrize(("preset", "degree"), [("nearly", 1), ("moons", 3), ("three", 1), ("three", 2)])
def test_replayed_weights_are_those_of_python(tab: Visit, preset: str, degree: int) -> None:
    """Of every algorithm that keeps a log: the moves, made one after the other in the page, end in the fitted weights."""
    X, y = data_of(preset)
    for name in LOGGED:
        sent = {"points": X.tolist(), "labels": y.tolist(), "algorithm": name, "knobs": {"max_updates": 150}, "degree": degree}
        made = run(sent)
        weights, wrong = tab.page.evaluate(REPLAYED, [made, sent["points"], sent["labels"]])
        names = carried_out(made["code"])
        model = names["model"]
        model = model.reading("last") if hasattr(model, "reading") else model
        expected = np.column_stack([np.atleast_1d(model.intercept_), np.atleast_2d(model.coef_)])
        shape = made["updates"] + 1, made["heads"], -1
        last = np.array(weights).reshape(shape)[-1]
        np.testing.assert_allclose(last, expected, rtol=1e-9, atol=1e-12 * abs(expected).max(), err_msg=name)
        judged = model.predict(names["X"]) != names["y"]
        assert wrong == judged.sum(), name


@pytest.mark.parametrize(
    ("preset", "degree", "multiclass"),
    [
        ("nearly", 1, "joint"),
        ("three", 1, "joint"),
        ("three", 2, "ovr"),
        pytest.param("moons", 2, "joint", marks=pytest.mark.thorough),
        pytest.param("six", 1, "ovr", marks=pytest.mark.thorough),
    ],
)
def test_readings_are_those_of_python(tab: Visit, preset: str, degree: int, multiclass: str) -> None:
    X, y = data_of(preset)
    box = list(PRESETS[preset].box)
    knobs = {"max_updates": 60, "multiclass": multiclass}
    sent = {"points": X.tolist(), "labels": y.tolist(), "algorithm": "perceptron", "knobs": knobs, "degree": degree}
    made = run(sent)
    pocket, average, shares, nx, ny = tab.page.evaluate(READINGS, [made, sent["points"], sent["labels"], box])
    names = carried_out(made["code"])
    for weights, name, near in ((pocket, "pocket", 1e-9), (average, "average", 1e-5)):
        model = names["model"].reading(name)
        expected = np.column_stack([model.intercept_, model.coef_])
        np.testing.assert_allclose(np.reshape(weights, expected.shape), expected, atol=near * abs(expected).max())
    knots = np.array([[x, y] for y in np.linspace(*box[2:], ny + 1) for x in np.linspace(*box[:2], nx + 1)])
    some = np.random.default_rng(0).integers(0, len(knots), 400)
    vote = names["model"].reading("vote").decision_function(phi(made, knots[some])[:, 1:])
    share = np.array(shares)[:, some].T
    if made["scheme"] == "binary":
        vote = vote[:, None]
    if made["scheme"] != "joint":  # from -1 to 1
        share = 2 * share - 1
    # A knot on a plane may be counted on either side of it, by rounding.
    assert (abs(share - vote).max(axis=1) < 1e-9).mean() > 0.98


def test_solved_weights_are_those_of_python(tab: Visit) -> None:
    X, y = data_of("outlier")
    for name in SOLVED:
        sent = {"points": X.tolist(), "labels": y.tolist(), "algorithm": name, "knobs": {}, "degree": 1}
        made = run(sent)
        weights, wrong = tab.page.evaluate(REPLAYED, [made, sent["points"], sent["labels"]])
        names = carried_out(made["code"])
        model = names["model"]
        expected = np.column_stack([np.atleast_1d(model.intercept_), np.atleast_2d(model.coef_)])
        last = np.array(weights).reshape(made["updates"] + 1, made["heads"], -1)[-1]
        np.testing.assert_allclose(last, expected, rtol=1e-6, atol=1e-9 * abs(expected).max(), err_msg=name)
        assert wrong == (model.predict(X) != y).sum(), name


def test_a_drag_sends_requests_and_the_last_answer_counts(visit: Callable[..., Visit]) -> None:
    """However the answers to many moves come, what is seen in the end is the run of the points where they are."""
    tab = visit({"data": {"preset": "lecture"}})
    box, mouse = PRESETS["lecture"].box, tab.page.mouse
    mouse.move(*tab.pixel(-2, 0, box))
    mouse.down()
    for n in range(12):
        mouse.move(*tab.pixel(-2 + n / 3, n / 4, box))
    mouse.up()
    mouse.move(0, 0)
    tab.rest()
    request, made = max(tab.answers(), key=lambda each: each[0]["points"][3][0])
    assert request["points"][3] == tab.state["data"]["points"][3]
    assert f"of {made['updates']}" in tab.now


def test_a_run_that_was_stopped_is_reported_in_one_sentence(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "nearly"}})
    before, sentence = tab.now, STOPPED.format(20)
    tab.page.route("**/api/run", lambda route: route.fulfill(status=503, json={"error": sentence}))
    tab.choose("#degree", "5")
    assert tab.trouble == sentence
    tab.page.unroute_all()
    tab.page.get_by_role("button", name="Back to the last run").click()
    assert (tab.rest().trouble, tab.now) == ("", before)
    tab.page.route("**/api/proof", lambda route: route.fulfill(status=503, json={"error": sentence}))
    tab.choose("#degree", "2")
    assert tab.text("#verdict") == sentence  # and not that it is being proved
    tab.faults.clear()  # the browser reports a 503


def test_a_long_run_that_a_change_made_obsolete_is_stopped(visit: Callable[..., Visit]) -> None:
    tab = visit({"data": {"preset": "nearly"}})
    hanging: list[Any] = []
    tab.page.route("**/api/run", lambda route: route.continue_() if hanging else hanging.append(route))
    tab.page.locator("#degree").select_option("5")
    tab.soon(lambda: len(hanging), 1)
    tab.page.locator("#degree").select_option("2")
    assert tab.rest().trouble == ""
    runs = [request for request in tab.requests if request.url.endswith("/api/run")]
    assert [(request.post_data_json["degree"], request.failure) for request in runs[-2:]] == [
        (5, "net::ERR_ABORTED"),
        (2, None),
    ]
    assert "Update" in tab.now
    tab.faults.clear()
