"""Maps from scores to probabilities: sums, order, extreme scores, and the numbers that a map may have."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.probabilities.maps import Isotonic, ProbabilityMap, Sigmoid, Temperature, map_of_arrays

BINARY: list[ProbabilityMap] = [
    Sigmoid(np.array([0.7]), np.array([-0.2])),
    Temperature(2.5),
    Isotonic(np.array([-1.0, 0.0, 2.0]), np.array([0.0, 0.4, 0.9]), np.array([3])),
]
OF_THREE: list[ProbabilityMap] = [
    Sigmoid(np.array([0.7, 0.0, 2.0]), np.array([-0.2, 0.1, 3.0])),
    Temperature(0.5),
    Isotonic(np.array([-1.0, 2.0, 0.0, -3.0, 3.0]), np.array([0.1, 0.9, 0.3, 0.0, 1.0]), np.array([2, 1, 2])),
]
SCORES = np.array([-1e308, -1e30, -800.0, -1.0, -1e-300, 0.0, 1e-300, 1.0, 800.0, 1e30, 1e308])


@pytest.mark.parametrize("one", [*BINARY, *OF_THREE], ids=lambda one: one.kind)
def test_rows_sum_to_one_for_scores_of_any_size(one: ProbabilityMap) -> None:
    scores = SCORES[:, None] if one in BINARY else np.stack(np.meshgrid(SCORES, SCORES, SCORES), -1).reshape(-1, 3)
    found, logs = one.probabilities(scores), one.log_probabilities(scores)
    assert found.shape == (len(scores), 2 if one in BINARY else 3)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.exp(logs), found, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("one", BINARY, ids=lambda one: one.kind)
def test_probabilities_grow_with_the_score(one: ProbabilityMap) -> None:
    found = one.probabilities(np.linspace(-20, 20, 999)[:, None])[:, 1]
    assert (np.diff(found) >= 0).all()


def test_logarithms_of_probabilities_too_small_for_a_float() -> None:
    assert Sigmoid(np.array([1.0]), np.array([0.0])).log_probabilities(np.array([[-1e4]])).tolist() == [[0.0, -1e4]]
    assert Temperature(1.0).log_probabilities(np.array([[0.0, 1e4, 0.0]])).tolist() == [[-1e4, 0.0, -1e4]]


def test_an_isotonic_map_without_a_chance_for_any_class_gives_all_the_same() -> None:
    never = Isotonic(np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0]), np.array([1, 1, 1]))
    np.testing.assert_allclose(never.probabilities(np.zeros((1, 3))), 1 / 3)


@pytest.mark.parametrize("one", [*BINARY, *OF_THREE], ids=lambda one: one.kind)
def test_a_map_is_restored_from_its_arrays(one: ProbabilityMap) -> None:
    heads = 1 if one in BINARY else 3
    scores = np.random.default_rng(0).normal(size=(50, heads))
    again = map_of_arrays(one.kind, one.to_arrays(), heads)
    np.testing.assert_array_equal(again.probabilities(scores), one.probabilities(scores))


FLOATS, COUNT = np.array([0.0, 1.0]), np.array([2])


@pytest.mark.parametrize(
    ("kind", "arrays"),
    [
        ("platt", {"a": np.ones(1), "b": np.ones(1)}),
        ("sigmoid", {"a": np.ones(1)}),
        ("sigmoid", {"a": np.ones(2), "b": np.ones(2)}),
        ("sigmoid", {"a": np.array([-1.0]), "b": np.zeros(1)}),  # turns the order around
        ("sigmoid", {"a": np.array([np.inf]), "b": np.zeros(1)}),
        ("sigmoid", {"a": np.ones(1, np.float32), "b": np.zeros(1)}),
        ("temperature", {"temperature": np.zeros(1)}),
        ("temperature", {"temperature": np.array([np.nan])}),
        ("temperature", {"temperature": np.ones(2)}),
        ("isotonic", {"scores": FLOATS, "values": FLOATS, "counts": np.array([1])}),
        ("isotonic", {"scores": FLOATS, "values": FLOATS, "counts": np.array([2.0])}),
        ("isotonic", {"scores": FLOATS, "values": FLOATS, "counts": np.array([0])}),
        ("isotonic", {"scores": FLOATS, "values": FLOATS, "counts": np.array([1, 1])}),
        ("isotonic", {"scores": FLOATS[::-1], "values": FLOATS, "counts": COUNT}),
        ("isotonic", {"scores": FLOATS, "values": FLOATS[::-1], "counts": COUNT}),
        ("isotonic", {"scores": FLOATS, "values": 2 * FLOATS, "counts": COUNT}),
        ("isotonic", {"scores": FLOATS, "values": -FLOATS[::-1], "counts": COUNT}),
        ("isotonic", {"scores": np.array([0.0, np.inf]), "values": FLOATS, "counts": COUNT}),
    ],
)
def test_invalid_numbers_are_refused(kind: str, arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="map from scores to probabilities is invalid"):
        map_of_arrays(kind, arrays, 1)
