"""Every algorithm of the catalog, on every preset, gives a run that the page can play: replayed from its record alone it has
the model's own weights, at the end and on the way."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from playback import numbers, phi, played, wrong

from effort import amount
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.studio.fitting import fit_request
from rosenblatt.studio.menu import knobs_of
from rosenblatt.studio.presets import PRESETS
from rosenblatt.studio.recording import run
from rosenblatt.studio.run_request import parse_request


def request(algorithm: str, preset: str, degree: int = 1, **knobs: Any) -> dict[str, Any]:
    given = PRESETS[preset]
    few = {"max_updates": 150} if "max_updates" in knobs_of(ALGORITHMS[algorithm]) else {}
    return {
        "points": [list(point) for point in given.points], "labels": list(given.labels), "algorithm": algorithm,
        "knobs": few | knobs, "degree": degree, "scaled": degree == 3, "seed": 3,
    }  # fmt: skip


def schemes_of(algorithm: str, preset: str) -> list[dict[str, str]]:
    knob = knobs_of(ALGORITHMS[algorithm]).get("multiclass")
    if knob is None or max(PRESETS[preset].labels) == 1:
        return [{}]
    return [{"multiclass": word} for word, _ in knob.choices]


BRIEF = ("separable", "nearly", "three")  # two classes, with and without a plane between them, and several


@pytest.mark.parametrize(
    "preset", [name if name in BRIEF else pytest.param(name, marks=pytest.mark.thorough) for name in PRESETS]
)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_replays_to_the_models_weights(algorithm: str, preset: str) -> None:
    for degree in amount((1, 2), (1, 2, 3)):
        for scheme in schemes_of(algorithm, preset) if degree == 2 else [{}]:
            sent = request(algorithm, preset, degree, **scheme)
            result = run(sent)
            json.dumps(result, allow_nan=False)
            obeys(result, sent)
            model = fit_request(parse_request(sent)).model
            weights = played(result, sent["points"], sent["labels"])
            last = model.reading("last") if result["log"] is not None else model
            near(weights[-1], np.column_stack([last.intercept_, last.coef_]))
            for t in {0, 1, result["updates"] // 2, result["updates"]} if result["log"] is not None else ():
                t = min(t, result["updates"])
                coef, intercept = model.log_.weights_at(t)
                near(weights[t], np.column_stack([intercept, coef]))


def near(found: Any, expected: Any) -> None:
    assert found.shape == expected.shape
    assert abs(found - expected).max() <= 1e-9 * max(1.0, abs(expected).max())


def obeys(result: dict[str, Any], sent: dict[str, Any]) -> None:
    """What the page relies on."""
    n, T, H = len(sent["labels"]), result["updates"], result["heads"]
    classes = sorted(set(sent["labels"]))
    k, width = len(classes), 1 + len(result["features"]["exponents"])
    assert result["classes"] == classes
    assert result["algorithm"] == sent["algorithm"]
    assert result["title"] == ALGORITHMS[sent["algorithm"]].title
    assert result["scheme"] in (("binary",) if k == 2 else ("joint", "rest", "pairs"))
    assert {"binary": 1, "joint": k, "rest": k, "pairs": k * (k - 1) // 2}[result["scheme"]] == H
    assert (result["pairs"] is not None) == (result["scheme"] == "pairs")
    assert len(result["features"]["names"]) == width - 1
    assert len(numbers(result["start"])) == H * width
    assert result["stop"]["reason"]
    assert result["stop"]["sentence"]
    assert result["seconds"] >= 0.0
    assert (result["log"] is None) != (result["frames"] is None)
    assert (result["log"] is not None) == ALGORITHMS[sent["algorithm"]].logged
    curves = result["curves"]
    at, errors, loss = (numbers(curves[name]) for name in ("at", "errors", "loss"))
    assert len(at) == len(errors) == len(loss)
    assert at[0] == 0
    assert at[-1] == T
    assert (np.diff(at) > 0).all()
    assert ((errors >= 0) & (errors <= n)).all()
    assert (loss >= 0).all()
    assert np.isfinite(loss).all()
    assert curves["loss_title"]
    weights = played(result, sent["points"], sent["labels"])
    assert len(weights) == T + 1
    assert (result["svm"] is not None) == (ALGORITHMS[sent["algorithm"]].name in ("MaxMargin", "SoftMargin"))
    if result["log"] is not None:
        obeys_as_log(result, n, T, H, width)
    else:
        frames = result["frames"]
        assert len(frames["titles"]) == len(set(frames["titles"])) == T + 1
        assert result["average"] is result["vote_counts"] is curves["pocket"] is None
        assert set(result["readings"]) == {"last"}
        if result["svm"] is not None:
            assert len(frames["support"]) == len(frames["margin"]) == T + 1
            assert frames["support"][-1] == result["svm"]["support"]


def obeys_as_log(result: dict[str, Any], n: int, T: int, H: int, width: int) -> None:
    log = result["log"]
    rows, steps, times, others, edges = (numbers(log[name]) for name in ("rows", "steps", "times", "others", "edges"))
    assert len(rows) == len(steps) == len(times) == len(others) == edges[-1]
    assert ((rows >= 0) & (rows < n)).all()
    assert (steps > 0).all()
    assert (np.diff(times) >= 0).all()
    assert ((others >= 0) & (others < H)).all()
    assert edges[0] == 0
    assert len(edges) == T + 1
    assert (np.diff(edges) > 0).all()
    assert log["passes"] == sorted(log["passes"])
    assert all(0 <= t <= T for t in log["passes"])
    some = numbers(result["average"]["at"])
    assert some[0] == 0
    assert some[-1] == T
    assert len(numbers(result["average"]["weights"])) == len(some) * H * width
    assert len(numbers(result["vote_counts"])) == (T + 1) * (H if result["scheme"] == "rest" else 1)
    pocket = result["curves"]["pocket"]
    assert pocket["t"][0] == 0
    assert len(pocket["t"]) == len(pocket["errors"])
    assert set(pocket["t"]) <= set(numbers(result["curves"]["at"]).tolist())
    assert ("heads" in pocket) == (result["scheme"] == "rest")
    assert set(result["readings"]) == {"last", "pocket", "average", "vote"}


@pytest.mark.parametrize("algorithm", ["max-margin", "soft-margin"])
@pytest.mark.parametrize("preset", ["separable", "nearly", "three"])
def test_support_vectors_lie_on_the_margin_band(algorithm: str, preset: str) -> None:
    sent = request(algorithm, preset, tol=1e-8, multiclass="ovr")
    result = run(sent)
    model, svm = fit_request(parse_request(sent)).model, result["svm"]
    several = isinstance(model.support_, list)
    assert svm["support"] == sorted(set(np.concatenate(model.support_ if several else [model.support_]).tolist()))
    assert svm["margin"] == pytest.approx(min(model.margin_) if several else model.margin_)
    w = played(result, sent["points"], sent["labels"])[-1]
    codes = np.array(sent["labels"])
    signs = np.array([np.where(codes == (1 if len(w) == 1 else h), 1, -1) for h in range(len(w))])
    slack = np.maximum(0.0, 1.0 - signs * (w @ phi(result, sent["points"]).T)).max(axis=0)
    np.testing.assert_allclose(svm["slack"], slack, atol=1e-6)
    assert svm["margin"] == pytest.approx(1.0 / np.linalg.norm(w[:, 1:], axis=1).max())


def test_points_of_a_logistic_loss_have_no_rings() -> None:
    """Every point has a multiplier there, so that rings would say nothing."""
    result = run(request("logistic", "nearly"))
    assert result["svm"]["support"] == []
    assert not any(result["frames"]["support"])


def test_a_path_ends_where_nothing_may_cross_any_more() -> None:
    result = run(request("max-margin", "outlier"))
    weights = played(result, *(PRESETS["outlier"].points, PRESETS["outlier"].labels))
    assert result["updates"] >= 10
    np.testing.assert_allclose(weights[-2], weights[-1], rtol=0.02)  # the largest C is the hard margin's
    assert (np.diff(result["frames"]["margin"]) <= 1e-9).all()  # the larger C, the narrower the margin
    assert result["stop"]["reason"] == "tolerance"
    assert run(request("max-margin", "nearly"))["stop"]["reason"] == "inseparable"


def test_arow_is_shown_row_by_row_and_pass_by_pass() -> None:
    for order, fewest in (("cyclic", 100), ("permuted", 5)):
        result = run(request("arow", "moons", order=order, max_iter=6))
        assert result["updates"] > fewest or order == "permuted"
        assert result["frames"]["titles"][0] == "start"
        assert result["frames"]["titles"][-1].startswith("pass 6")


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    sent = request("perceptron", "moons", order="permuted")
    alike, other = run(sent), run(sent | {"seed": 4})
    again = run(dict(sent))
    assert {**alike, "seconds": 0} == {**again, "seconds": 0}
    assert alike["log"] != other["log"]


def test_codes_may_leave_some_out() -> None:
    sent = request("perceptron", "three") | {"knobs": {}}
    sent["labels"] = [5 if label == 2 else 2 * label for label in sent["labels"]]
    result = run(sent)
    obeys(result, sent)
    assert result["classes"] == [0, 2, 5]
    assert wrong(result, played(result, sent["points"], sent["labels"])[-1], sent["points"], sent["labels"]) == 0


def test_long_runs_are_cut_to_what_can_be_played() -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(3000, 2)).round(3)
    sent = {"points": points.tolist(), "labels": rng.integers(0, 3, 3000).tolist(), "knobs": {"max_updates": 10_000}}
    for algorithm, knobs in (
        ("batch", {}), ("nonlinear-mse-batch", {}), ("perceptron", {"multiclass": "ovr"}), ("batch", {"multiclass": "ovr"}),
    ):  # fmt: skip
        result = run(sent | {"algorithm": algorithm, "knobs": sent["knobs"] | knobs})
        assert len(json.dumps(result)) < 3_000_000
        assert result["updates"] <= 10_000
        assert "plays only the first" in result["cut"]
        assert result["log"]["passes"]
        assert "max_updates=" in result["code"]
        assert "max_updates=10000" not in result["code"]


def test_a_batch_run_that_has_few_rows_to_correct_is_not_cut() -> None:
    rng = np.random.default_rng(6)
    points = rng.normal(size=(2000, 2)).round(3)
    labels = (points[:, 0] > 0).astype(int)
    points[:, 0] += np.where(labels, 0.1, -0.1) + 3.0
    result = run({"points": points.tolist(), "labels": labels.tolist(), "algorithm": "batch", "knobs": {"max_updates": 5000}})
    assert result["cut"] is None
    assert result["stop"]["reason"] == "separated"
    assert result["updates"] > 80_000 / 2000  # what could be sent if each step were of all rows
