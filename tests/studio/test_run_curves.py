"""Curves and readings of a run against counting and summing row by row."""

# ruff: noqa: RUF001 - titles have a minus sign and Greek letters

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playback import numbers, phi, played, wrong
from sklearn.datasets import load_iris
from test_runs import request

import rosenblatt as rb
import rosenblatt.studio.curves as curves_module
from rosenblatt.online.pocket import errors_of_every_hypothesis, pocket
from rosenblatt.studio.curves import Data, Objective, curves_of_log, evaluate, weights_per_update
from rosenblatt.studio.fitting import fit_request
from rosenblatt.studio.recording import _pack_small, run
from rosenblatt.studio.run_request import parse_request
from rosenblatt.studio.solver_paths import describe_margin

CASES = [
    ("perceptron", "nearly", {}),
    ("perceptron", "lecture", {}),
    ("pocket", "xor", {}),
    ("margin", "moons", {}),
    ("vote", "three", {}),
    ("perceptron", "six", {"multiclass": "ovr"}),
    ("average", "three", {"multiclass": "ovr"}),
    ("batch", "nearly", {}),
    ("batch-mean", "three", {"multiclass": "ovr"}),
    ("mistakes", "moons", {}),
    ("pa-1", "outlier", {}),
    ("nonlinear-mse-online", "rings", {}),
    ("nonlinear-mse-batch", "three", {}),
]


def case(algorithm: str, preset: str, knobs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], Any]:
    query = request(algorithm, preset, **knobs)
    result = run(query)
    return query, result, played(result, query["points"], query["labels"])


@pytest.mark.parametrize(("algorithm", "preset", "knobs"), CASES)
def test_errors_are_those_of_counting_row_by_row(algorithm: str, preset: str, knobs: dict[str, Any]) -> None:
    query, result, weights = case(algorithm, preset, knobs)
    at, errors = numbers(result["curves"]["at"]), numbers(result["curves"]["errors"])
    assert at.tolist() == list(range(result["updates"] + 1))  # few points: every update is judged
    for t, found in zip(at, errors, strict=True):
        few, many = (wrong(result, weights[t], query["points"], query["labels"], slack) for slack in (-1e-12, 1e-12))
        assert few <= found <= many, t  # rounding may put a row on the plane on either side


@pytest.mark.parametrize(("algorithm", "preset", "knobs"), CASES)
def test_the_pocket_improves_as_the_errors_show(algorithm: str, preset: str, knobs: dict[str, Any]) -> None:
    query, result, weights = case(algorithm, preset, knobs)
    shown_pocket, model = result["curves"]["pocket"], fit_request(parse_request(query)).model
    if result["scheme"] != "rest":
        best, expected = np.inf, []
        for t, errors in enumerate(numbers(result["curves"]["errors"]).tolist()):
            if errors < best:
                best = errors
                expected.append((t, errors))
        assert list(zip(shown_pocket["t"], shown_pocket["errors"], strict=True)) == expected
        assert (shown_pocket["t"][-1], shown_pocket["errors"][-1]) == (pocket(model.log_).update, pocket(model.log_).errors)
        w = weights[shown_pocket["t"][-1]]
    else:
        w = np.array([weights[head["t"][-1]][h] for h, head in enumerate(shown_pocket["heads"])])
        for head, log in zip(shown_pocket["heads"], model.log_.runs(), strict=True):
            assert head["errors"][-1] == pocket(log).errors
            assert head["errors"] == sorted(head["errors"], reverse=True)
    found = model.reading("pocket")
    np.testing.assert_allclose(w, np.column_stack([found.intercept_, found.coef_]), atol=1e-9)


@pytest.mark.parametrize(("algorithm", "preset", "knobs"), CASES)
def test_readings_average_and_vote_counts_agree_with_the_models(algorithm: str, preset: str, knobs: dict[str, Any]) -> None:
    query, result, weights = case(algorithm, preset, knobs)
    model, X = fit_request(parse_request(query)).model, phi(result, query["points"])[:, 1:]
    for keep, errors in result["readings"].items():
        assert errors == (model.reading(keep).predict(X) != query["labels"]).sum(), keep
    mean = model.reading("average")
    averages = numbers(result["average"]["weights"]).reshape(-1, *weights.shape[1:])
    np.testing.assert_allclose(averages[-1], np.column_stack([mean.intercept_, mean.coef_]), rtol=1e-5, atol=1e-5)
    lives = numbers(result["vote_counts"])
    vote = model.reading("vote").decision_function(X)
    if result["scheme"] == "rest":
        lives = lives.reshape(len(weights), -1)
        signs = np.where(np.einsum("thj,nj->thn", weights, phi(result, query["points"])) > 0, 1.0, -1.0)
        np.testing.assert_allclose(vote, (np.einsum("th,thn->hn", lives, signs) / lives.sum(axis=0)[:, None]).T, atol=1e-9)
        return
    for t, average in zip(numbers(result["average"]["at"]), averages, strict=True):
        lived = lives[: t + 1]
        expected = np.tensordot(lived, weights[: t + 1], 1) / lived.sum() if lived.sum() else weights[t]
        np.testing.assert_allclose(average, expected, rtol=1e-5, atol=1e-5)
    if result["scheme"] == "binary":
        scores = np.where(weights[:, 0] @ phi(result, query["points"]).T > 0, 1.0, -1.0)
        np.testing.assert_allclose(vote, lives @ scores / lives.sum(), atol=1e-9)
    else:
        chosen = np.einsum("thj,nj->thn", weights, phi(result, query["points"])).argmax(axis=1)
        shares = [(lives[:, None] * (chosen == h)).sum(axis=0) / lives.sum() for h in range(weights.shape[1])]
        np.testing.assert_allclose(vote, np.transpose(shares), atol=1e-9)


def test_survivals_leave_out_the_row_a_hypothesis_was_born_on() -> None:
    one, other = (numbers(run(request("vote", "moons", vote_count=word))["vote_counts"]) for word in ("lifetime", "survivals"))
    np.testing.assert_array_equal(one[1:] - 1.0, other[1:])
    assert one[0] == other[0]


LOSSES = {
    "perceptron": lambda m: np.maximum(0.0, -m),
    "margin": lambda m: np.maximum(0.0, 1.0 - m),
    "pa-2": lambda m: np.maximum(0.0, 1.0 - m),
    "arow": lambda m: np.maximum(0.0, 1.0 - m) ** 2,
    "max-margin": lambda m: np.maximum(0.0, 1.0 - m),
    "nonlinear-mse": lambda m: 0.5 * (1.0 - np.tanh(m)) ** 2,
    "logistic-mse": lambda m: 0.5 * (1.0 - 1.0 / (1.0 + np.exp(-m))) ** 2,
    "linear-mse": lambda m: (1.0 - m) ** 2,
}


@pytest.mark.parametrize("preset", ["nearly", "three"])
@pytest.mark.parametrize("algorithm", LOSSES)
def test_the_loss_is_the_sum_over_the_rows(algorithm: str, preset: str) -> None:
    for knobs in ({"multiclass": "ovo"}, {"multiclass": "ovr"}) if algorithm == "max-margin" else ({},):
        query, result, weights = case(algorithm, preset, knobs)
        P, codes = phi(result, query["points"]), np.array(query["labels"])
        for t, found in zip(numbers(result["curves"]["at"]), numbers(result["curves"]["loss"]), strict=True):
            scores = P @ weights[t].T
            if result["scheme"] == "binary":
                margins = [scores[:, 0] * (2 * codes - 1)]
            elif result["scheme"] == "joint":
                margins = [np.array([s[c] - np.delete(s, c).max() for s, c in zip(scores, codes, strict=True)])]
            elif result["scheme"] == "rest":
                margins = [scores[:, h] * np.where(codes == h, 1, -1) for h in range(scores.shape[1])]
            else:
                margins = [
                    (scores[:, h] * np.where(codes == b, 1, -1))[(codes == a) | (codes == b)]
                    for h, (a, b) in enumerate(result["pairs"])
                ]
            assert found == pytest.approx(sum(LOSSES[algorithm](m).sum() for m in margins), rel=1e-9, abs=1e-9)


def test_the_minimized_curve_ends_at_the_objective_of_the_model() -> None:
    for algorithm, knobs, end in (
        ("soft-margin", {"C": 7.0}, lambda model: model.objective_),
        ("soft-margin", {"C": 0.5, "loss": "squared_hinge"}, lambda model: model.objective_),
        ("nonlinear-mse", {}, lambda model: model.loss_),
        ("ridge", {"alpha": 0.0}, lambda model: model.mse_ * 80),
    ):
        query = request(algorithm, "nearly", **knobs)
        loss = numbers(run(query)["curves"]["loss"])
        assert loss[-1] == pytest.approx(end(fit_request(parse_request(query)).model), rel=1e-6)
        assert loss[-1] <= loss.min() * (1.0 + 1e-3)  # nothing on the way there is lower


def test_curves_of_long_runs_are_thinned_but_the_pocket_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves_module, "MAX_SCORES_ONE_HEAD", 1.0)
    monkeypatch.setattr(curves_module, "MIN_CURVE_POINTS", 10)
    query = request("perceptron", "moons")
    result = run(query)
    at, errors = numbers(result["curves"]["at"]), numbers(result["curves"]["errors"])
    every = errors_of_every_hypothesis(fit_request(parse_request(query)).model.log_)
    assert 10 <= len(at) <= 10 + len(result["curves"]["pocket"]["t"]) < len(every)
    np.testing.assert_array_equal(errors, every[at])
    assert min(result["curves"]["pocket"]["errors"]) == every.min()


@pytest.mark.parametrize("size", [1e-300, 1e-60, 1.0, 1e60])
def test_averages_are_sent_in_as_many_bytes_as_hold_them(size: float) -> None:
    sent = _pack_small(np.array([[0.0, size]]))
    assert list(sent) == ["f32" if size == 1.0 else "f64"]
    assert numbers(sent).tolist() == [0.0, size]


def test_a_row_on_the_plane_is_wrong() -> None:
    """Of two classes and of more, also where no log has counted it: weights of zeros get nothing right."""
    X = np.array([[1.0, 2.0], [-1.0, 1.0], [0.0, 3.0]])
    for scheme, heads, codes in (("binary", 1, [0, 1, 1]), ("joint", 3, [0, 1, 2]), ("rest", 3, [0, 1, 2])):
        data = Data(X, np.array(codes), max(codes) + 1, scheme, 1.0)
        errors, _ = evaluate(np.zeros((1, heads, 3)), data, Objective("none", np.abs))
        assert errors.tolist() == [3]


def test_curves_have_every_improvement_of_the_pocket_where_they_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    query = request("pocket", "moons", max_updates=300)
    model = fit_request(parse_request(query)).model
    X, y = np.array(query["points"]), np.array(query["labels"])
    monkeypatch.setattr("rosenblatt.studio.curves.MAX_SCORES_ONE_HEAD", 1.0)
    monkeypatch.setattr("rosenblatt.studio.curves.MIN_CURVE_POINTS", 5)
    curves = curves_of_log(model.log_, weights_per_update(model.log_), Data(X, y, 2, "binary", 1.0), Objective("none", np.abs))
    assert len(curves.pocket.updates) > 5
    assert set(curves.pocket.updates) <= set(curves.at)
    assert len(curves.at) < 100


def test_of_several_binary_problems_the_narrowest_margin_and_the_widest_gap_are_shown() -> None:
    model = rb.SoftMargin(multiclass="ovr").fit(*load_iris(return_X_y=True))
    model.gap_ = np.array([0.1, 0.3, 0.2])
    result = describe_margin(model)
    assert (result["gap"], result["margin"]) == (0.3, min(model.margin_))


@pytest.mark.parametrize(
    ("algorithm", "title"),
    [
        ("perceptron", "perceptron loss, Σ max(0, −m)"),
        ("pa-1", "hinge loss, Σ max(0, 1 − m)"),
        ("soft-margin", "½|w|² + Σ max(0, 1 − m)"),
        ("linear-mse", "squared error, Σ (1 − m)²"),
        ("ridge", "squared error, Σ (1 − m)² + |w|²"),
        ("nonlinear-mse", "squared error, ½ Σ (1 − tanh m)²"),
        ("logistic-mse", "squared error, ½ Σ (1 − σ(m))²"),
    ],
)
def test_the_title_of_the_loss_is_the_formula_that_is_minimized(algorithm: str, title: str) -> None:
    assert run(request(algorithm, "separable"))["curves"]["loss_title"] == title
