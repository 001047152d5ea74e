"""Proofs for the page: separating planes, clashes, and the inequalities along the run."""

from __future__ import annotations

import json

import numpy as np
import pytest
from playback import numbers, phi, played
from test_runs import request

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.studio.fitting import fit_request
from rosenblatt.studio.presets import PRESETS
from rosenblatt.studio.proof import prove
from rosenblatt.studio.recording import run
from rosenblatt.studio.run_request import parse_request


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_plane_has_the_margin_and_the_clash_sums_to_nothing(
    preset: str, degree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rosenblatt.studio.proof.TIME_LIMIT_S", 60.0)  # on a busy machine the limit may come first
    sent = request("perceptron", preset, degree)
    result, proof = run(sent), prove(sent)
    json.dumps(proof, allow_nan=False)
    P, codes = phi(result, sent["points"]), np.array(sent["labels"])
    k = len(set(sent["labels"]))
    if proof["verdict"] == "separable":
        W = np.array(proof["plane"])
        assert np.linalg.norm(W) == pytest.approx(1.0)
        scores = P @ W.T
        own = scores[np.arange(len(P)), codes] if k > 2 else None
        margins = (
            scores[:, 0] * (2 * codes - 1)
            if own is None
            else np.array([own[i] - np.delete(scores[i], codes[i]).max() for i in range(len(P))]) / np.sqrt(2)
        )
        assert margins.min() == pytest.approx(proof["margin"], rel=1e-6)
        assert proof["radius"] == pytest.approx(np.linalg.norm(P, axis=1).max())
        assert proof["bound"] == pytest.approx((proof["radius"] / proof["margin"]) ** 2)
        assert proof["geometric"] >= proof["margin"]
        assert proof["sentence"] == f"Separable: the widest margin is {proof['geometric']:.3g}."
        assert proof["clash"] is None
    else:
        clash = proof["clash"]
        assert sum(clash["weights"]) == pytest.approx(1.0)
        assert proof["sentence"] == clash["sentence"]
        what = "line" if degree == 1 else f"curve of degree {degree}"
        assert clash["sentence"].startswith(f"No {what} can separate these")
        assert clash["rows"] == sorted(set(clash["rows"]))
        if k == 2:
            signs = np.where(codes[clash["rows"]] == 1, 1.0, -1.0)
            assert abs((np.array(clash["weights"]) * signs) @ P[clash["rows"]]).max() < 1e-9
        assert proof["plane"] is proof["margin"] is proof["bound"] is None
    found = proof["convergence"]
    (model,) = fit_request(parse_request(sent)).model.convergence_
    assert found["holds"]
    assert f"made {model.mistakes:,} update" in found["sentence"]
    assert ("The inequalities hold" in found["sentence"]) == model.holds
    assert found["mistakes"] == len(numbers(result["log"]["rows"]))
    assert (found["mistake_bound"] is None) == (proof["verdict"] != "separable")
    norms, most = numbers(found["norms"]), numbers(found["norm_bound"])
    assert len(norms) == len(most) == result["updates"] + 1
    assert (norms <= most * (1 + 1e-9)).all()
    weights = played(result, sent["points"], sent["labels"])
    expected = np.square(weights).sum(axis=(1, 2)) / (1 if k == 2 else 2)
    np.testing.assert_allclose(norms, expected, rtol=1e-9, atol=1e-12)
    assert (found["alignments"] is None) == (proof["verdict"] != "separable")
    if found["alignments"] is not None:
        assert (numbers(found["alignments"]) >= numbers(found["alignment_bound"]) - 1e-9).all()


def test_only_a_perceptron_that_is_one_run_has_the_convergence_proof() -> None:
    for name, algorithm in ALGORITHMS.items():
        proof = prove(request(name, "three"))
        assert proof["verdict"] == "separable"
        assert (proof["convergence"] is not None) == (algorithm.name == "Perceptron")
    assert prove(request("perceptron", "three", multiclass="ovr"))["convergence"] is None


def test_planes_through_the_origin_have_proofs_of_their_own() -> None:
    points, labels = [[1, 1], [2, 2]], [0, 1]
    assert prove({"points": points, "labels": labels})["verdict"] == "separable"
    for sent in ({"knobs": {"fit_intercept": False}}, {"algorithm": "soft-margin", "knobs": {"fit_intercept": False}}):
        assert prove({"points": points, "labels": labels, **sent})["verdict"] == "inseparable"


def test_no_time_leaves_it_undecided_and_does_not_call_it_inseparable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.studio.proof.TIME_LIMIT_S", 1e-9)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2)).round(3)
    sent = {"points": points.tolist(), "labels": rng.integers(0, 3, 300).tolist(), "degree": 5}
    proof = prove(sent)
    json.dumps(proof, allow_nan=False)
    if proof["verdict"] == "undecided":
        assert "No separating w* exists" not in proof["convergence"]["sentence"]
        assert proof["plane"] is proof["clash"] is None


def test_what_certify_cannot_hold_is_undecided_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> rb.Undecided:
        raise ValueError("the proof was found, but too large: scale the features")

    monkeypatch.setattr("rosenblatt.studio.proof.certify", fail)
    proof = prove(request("perceptron", "separable"))
    assert proof["verdict"] == "undecided"
    assert "scale the features" in proof["sentence"]


def test_a_proof_is_not_looked_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def patient(X: object, y: object, *, fit_intercept: bool, time_limit: float) -> object:
        limits.append(time_limit)
        return rb.certify(X, y, fit_intercept=fit_intercept, time_limit=time_limit)

    monkeypatch.setattr("rosenblatt.studio.proof.certify", patient)
    prove(request("soft-margin", "xor"))
    assert 0 < limits[0] <= 3
