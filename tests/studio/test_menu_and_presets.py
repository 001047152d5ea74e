"""The menu comes from the catalog, and the presets agree with their descriptions."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS, Algorithm
from rosenblatt.studio.menu import algorithm_of, knobs_set, menu
from rosenblatt.studio.page_data import page_data
from rosenblatt.studio.presets import PRESETS
from rosenblatt.studio.recording import record, run
from rosenblatt.studio.run_request import Features, RequestError


def test_the_menu_has_every_algorithm_and_knobs_that_are_parameters() -> None:
    entries = menu()
    assert [entry["name"] for entry in entries] == list(ALGORITHMS)
    for entry in entries:
        algorithm = ALGORITHMS[entry["name"]]
        assert entry["title"] == algorithm.title
        assert entry["summary"].endswith(".")
        assert entry["logged"] == algorithm.logged
        names = [knob["name"] for knob in entry["knobs"]]
        assert len(names) == len(set(names))
        for knob in entry["knobs"]:
            assert knob["help"]
            assert knob["name"] in algorithm.options or knob["name"] in ("schedule", "start")
            assert not isinstance(algorithm.parameters.get(knob["name"]), str)
            if knob["kind"] == "choice":
                assert knob["default"] in [choice["value"] for choice in knob["choices"]]
            elif knob["kind"] == "number" and knob["default"] is not None:
                assert knob["low"] <= knob["default"] <= knob["high"]
            if knob["default"] is None:
                assert knob["optional"]
    knobs = {entry["name"]: {knob["name"]: knob for knob in entry["knobs"]} for entry in entries}
    assert knobs["margin"]["margin"]["default"] == 1.0
    assert knobs["perceptron"]["margin"]["default"] == 0.0
    assert "order" not in knobs["mistakes"]
    assert "order" not in knobs["batch"]
    assert "C" not in knobs["pa"]
    assert "tol" in knobs["batch"]
    assert "tol" not in knobs["perceptron"]


def test_an_algorithm_of_the_catalog_appears_automatically(monkeypatch: pytest.MonkeyPatch) -> None:
    bold = Algorithm("Bold perceptron", "Perceptron", "Bold.", {"margin": 2.0, "keep": "average"}, logged=True)
    monkeypatch.setitem(ALGORITHMS, "bold", bold)
    (entry,) = [entry for entry in menu() if entry["name"] == "bold"]
    assert entry["summary"]
    assert entry["keep"] == "average"
    result = run({"points": [[0, 0], [1, 1]], "labels": [0, 1], "algorithm": "bold"})
    assert result["title"] == "Bold perceptron"
    assert "margin=2.0" in result["code"]


def test_a_fitted_model_finds_its_algorithm_and_is_shown_without_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, algorithm in ALGORITHMS.items():
        found = algorithm_of(algorithm.make())
        assert ALGORITHMS[found].name == algorithm.name
        words = {key: value for key, value in algorithm.parameters.items() if isinstance(value, str)}
        assert words.items() <= ALGORITHMS[found].options.items(), name
    assert knobs_set(rb.Perceptron(margin=0.5, max_updates=30, order="cyclic", max_iter=None)) == {
        "margin": 0.5, "max_updates": 30,
    }  # fmt: skip
    assert knobs_set(rb.Perceptron())["max_updates"] == 10_000
    settled = knobs_set(rb.Perceptron(margin="auto").fit([[0.0], [1.0], [2.0]], [0, 1, 0]))
    assert settled["margin"] == pytest.approx(8 / 3)  # the mean squared length of (1, x)
    assert settled["max_iter"] == 1000
    preset = PRESETS["three"]
    X, y = np.array(preset.points), np.array(["red", "green", "blue"])[list(preset.labels)]
    fits = [rb.Perceptron(keep="pocket", random_state=0).fit(X, y), rb.SoftMargin().fit(X, y)]
    monkeypatch.setattr(rb.Perceptron, "fit", None)
    monkeypatch.setattr(rb.SoftMargin, "fit", None)
    for model, title in zip(fits, ("Pocket perceptron", "Soft margin"), strict=True):
        result = record(model, X, y)
        assert result["title"] == title
        assert result["classes"] == [0, 1, 2]
        assert result["readings"]["pocket" if result["log"] else "last"] == (model.predict(X) != y).sum()
        json.dumps(result, allow_nan=False)
    wide = rb.LinearMSE().fit([[0, 0, 1], [1, 1, 0]], [0, 1])
    with pytest.raises(RequestError, match="two columns; this one has 3"):
        record(wide, [[0, 0], [1, 1]], [0, 1])


def test_models_with_weights_and_without_their_rows_are_shown_too() -> None:
    preset = PRESETS["nearly"]
    X, y = np.array(preset.points), np.array(preset.labels)
    heavy = rb.Perceptron(keep="pocket", random_state=0).fit(X, y, sample_weight=np.linspace(0.5, 2.5, len(y)))
    result = record(heavy, X, y)
    assert result["readings"]["pocket"] == (heavy.predict(X) != y).sum()
    assert result["curves"]["pocket"]["errors"][-1] == result["readings"]["pocket"]
    thawed = pickle.loads(pickle.dumps(heavy))  # whose log has only the rows that moved the weights
    assert record(thawed, X, y)["log"] == result["log"]
    with pytest.raises(RequestError, match="X is not what the model was fitted on"):
        record(thawed, X[::-1], y[::-1])
    for model in (rb.Perceptron(log=False).fit(X, y), rb.Perceptron().partial_fit(X, y)):
        result = record(model, X, y)
        assert result["log"] is None
        assert result["readings"]["last"] == (model.predict(X) != y).sum()
    with pytest.raises(RequestError, match="this model has none; fit it with log=True"):
        record(rb.Perceptron(keep="vote", log=False).fit(X, y), X, y)
    with pytest.raises(RequestError, match="fitted on 80 rows, but there are 79 points"):
        record(heavy, X[1:], y[1:])


def test_page_data_is_json_with_its_mode() -> None:
    page = page_data("export", state={"degree": 2})
    assert json.loads(json.dumps(page, allow_nan=False)) == page
    assert page["version"] == rb.__version__
    assert page["recordings"] == []
    with pytest.raises(ValueError, match="mode must be one of"):
        page_data("paper")


def test_presets_are_small_round_and_inside_their_boxes() -> None:
    for preset in PRESETS.values():
        points = np.array(preset.points)
        assert points.shape == (len(preset.labels), 2)
        assert preset.name == "lecture" or 30 <= len(points) <= 120
        np.testing.assert_array_equal(points, points.round(3))
        x0, x1, y0, y1 = preset.box
        assert ((points > [x0, y0]) & (points < [x1, y1])).all()
        assert preset.to_json()["degree"] == {"xor": 2, "rings": 2, "moons": 3}.get(preset.name, 1)
        assert len(preset.to_json()["names"]) == len(set(preset.labels))


def margin_of(name: str, degree: int = 1) -> float:
    """The widest geometric margin, or 0 where there is none."""
    preset = PRESETS[name]
    found = rb.certify(Features(degree).rows(np.array(preset.points)), list(preset.labels))
    return found.geometric.lower if isinstance(found, rb.Separable) else 0.0


def test_presets_agree_with_their_descriptions() -> None:
    assert margin_of("separable") > 0.12  # of a picture that is 2.5 wide
    assert 0.0 < margin_of("outlier") < 0.06
    assert margin_of("nearly") == margin_of("xor") == margin_of("rings") == margin_of("moons") == 0.0
    assert margin_of("xor", 2) > 0.0
    assert margin_of("rings", 2) > 0.0
    assert margin_of("moons", 2) == 0.0
    assert margin_of("moons", 3) > 0.0
    assert margin_of("three") > 0.1
    assert margin_of("six") > 0.0
    nearly = PRESETS["nearly"]
    assert rb.minimum_errors(nearly.points, nearly.labels).errors in (2, 3)


def test_the_outlier_alone_makes_its_margin_narrow() -> None:
    points, labels = np.array(PRESETS["outlier"].points), np.array(PRESETS["outlier"].labels)
    without = [
        found.geometric.lower
        for row in range(len(labels))
        if isinstance(found := rb.certify(np.delete(points, row, 0), np.delete(labels, row)), rb.Separable)
    ]
    assert sorted(without)[-1] > 4 * sorted(without)[-2]


def test_four_patterns_are_solved_by_hand() -> None:
    result = run({"points": PRESETS["lecture"].points, "labels": PRESETS["lecture"].labels})
    assert result["stop"]["reason"] == "separated"
    assert 3 <= result["updates"] <= 8
    assert all(x == int(x) for point in PRESETS["lecture"].points for x in point)
