"""Sentences of the page about runs and proofs, made from codes and fields."""

from __future__ import annotations

import re
from typing import Any, get_args

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.online.stopping import StopReason
from rosenblatt.studio.run_request import Features
from rosenblatt.studio.texts import clash_sentence, separability_sentence, stop_clause, stop_sentence

TWO = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [2.0, 0.5]]), np.array([0, 1, 0, 1])


@pytest.mark.parametrize("reason", get_args(StopReason))
def test_every_reason_has_a_clause_for_every_kind_of_model(reason: Any) -> None:
    online = rb.Perceptron(update="batch", max_updates=1000, w_max=2.5, tol=0.1)
    for model in (online, rb.SoftMargin(), rb.MaxMargin(), rb.AROW(), rb.NonlinearMSE()):
        if reason in ("updates", "norm") and model is not online:
            continue  # only online learners have these limits
        clause = stop_clause(model.fit(*TWO), reason)
        assert re.match(r"(stopped|solved|every point|trained)", clause)
        assert not clause.endswith(".")
        assert "row" not in clause


def test_limits_are_named_with_their_numbers() -> None:
    model = rb.Perceptron(max_updates=1000, w_max=2.5, max_iter=1, margin=2.0).fit(*TWO)
    assert stop_clause(model, "updates") == "stopped after 1,000 updates (the limit)"
    assert stop_clause(model, "norm") == "stopped because |w| exceeded 2.5"
    assert stop_clause(model, "passes") == "stopped after 1 pass (the limit)"
    assert stop_clause(model, "separated") == "every point is on the right side, with y·score over 2"
    assert stop_clause(model, "tolerance") == "stopped because the last step was zero"
    batch = rb.Perceptron(update="batch", tol=0.1).fit(*TWO)
    assert stop_clause(batch, "tolerance") == "stopped because the last step was shorter than the tolerance 0.1"
    assert stop_sentence(rb.SoftMargin().fit(*TWO)) == "Solved: no further improvement is possible."


def test_a_proof_names_the_boundary_as_the_page_does() -> None:
    for intercept, degree, what in ((True, 1, "line"), (False, 1, "line through the origin"), (True, 2, "curve of degree 2")):
        clause = stop_clause(rb.Perceptron(fit_intercept=intercept).fit(*TWO), "impossible", degree)
        assert clause == f"stopped because no {what} can separate the points, which is proved"


def test_planes_that_were_trained_separately_have_a_clause_for_each_reason() -> None:
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.1, 0.1], [4.1, 0.0], [0.0, 4.1]])
    model = rb.Perceptron(multiclass="ovr", random_state=0).fit(X, [0, 1, 2, 0, 1, 2])
    assert stop_sentence(model) == "All 3 lines: every point is on the right side."
    model = rb.Perceptron(multiclass="ovr", max_updates=1, order="cyclic").fit(X, [0, 1, 2, 0, 1, 2])
    assert "3 lines: stopped after 1 update (the limit)" in stop_sentence(model)
    assert "3 curves of degree 2: stopped after 1 update" in stop_sentence(model, degree=2)


@pytest.mark.parametrize(
    ("points", "labels", "sentence"),
    [
        ([[1, 1], [1, 1], [2, 0]], [0, 1, 1], "points 1 and 2 are at the same place, with different classes"),
        ([[0, 0], [1, 1], [2, 2]], [0, 1, 0], "point 2 lies on the segment 1-3"),
        ([[0, 0], [4, 0], [0, 4], [1, 1]], [0, 0, 0, 1], "point 4 lies inside the triangle 1-2-3"),
        ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], "the segments 1-2 and 3-4 cross"),
    ],
)
def test_a_clash_is_described_by_its_points_counted_from_one(points: Any, labels: Any, sentence: str) -> None:
    proof = rb.certify(np.array(points, float), np.array(labels))
    assert isinstance(proof, rb.Inseparable)
    assert clash_sentence(proof, Features()) == f"No line can separate these: {sentence}."
    assert separability_sentence(proof, Features()) == clash_sentence(proof, Features())


def test_curves_and_lines_through_the_origin_are_named() -> None:
    points, labels = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]), np.array([0, 1, 1])
    proof = rb.certify(points, labels, fit_intercept=False)
    assert clash_sentence(proof, Features()) == "No line through the origin can separate these 2 points: 1, 2."
    proof = rb.certify(points, labels)
    assert separability_sentence(proof, Features()) == f"Separable: the widest margin is {proof.geometric.lower:.3g}."
    rng = np.random.default_rng(1)
    features = Features(2)
    proof = rb.certify(features.rows(rng.normal(size=(80, 2))), rng.integers(0, 2, 80))
    assert re.fullmatch(r"No curve of degree 2 can separate these \d+ points: [\d, ]+\.", clash_sentence(proof, features))
