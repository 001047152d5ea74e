"""Calibration against scikit-learn and against plain minimization, and what no row can spoil."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression

from rosenblatt.probabilities.fits import fit_map
from rosenblatt.probabilities.maps import CALIBRATIONS, Isotonic, Sigmoid, Temperature


def binary(n: int = 500, seed: int = 0, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    f = 3 * rng.normal(size=n)
    codes = (rng.random(n) < expit(0.7 * f - 0.4)).astype(np.intp)
    return scale * f[:, None], codes, 3 * rng.random(n)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_sigmoid_is_that_of_scikit_learn(weighted: bool, scale: float) -> None:
    scores, codes, weights = binary(scale=scale)
    found = fit_map("sigmoid", scores, codes, 2, weights if weighted else None)
    a, b = _sigmoid_calibration(scores[:, 0] / scale, codes, weights if weighted else None)
    assert isinstance(found, Sigmoid)
    np.testing.assert_allclose([found.a[0] * scale, found.b[0]], [-a, -b], rtol=1e-4)


def test_the_sigmoid_is_the_minimum() -> None:
    scores, codes, weights = binary()
    found = fit_map("sigmoid", scores, codes, 2, weights)
    assert isinstance(found, Sigmoid)
    up, down = weights[codes == 1].sum(), weights[codes == 0].sum()
    targets = np.where(codes == 1, (up + 1) / (up + 2), 1 / (down + 2))

    def loss(ab: np.ndarray) -> float:
        z = ab[0] * scores[:, 0] + ab[1]
        return float(weights @ (np.logaddexp(0, z) - targets * z))

    best = minimize(loss, [0.5, 0.0], method="BFGS", options={"gtol": 1e-9})
    assert loss(np.array([found.a[0], found.b[0]])) <= best.fun + 1e-9


def test_the_isotonic_map_is_that_of_scikit_learn() -> None:
    scores, codes, weights = binary()
    scores = scores.round(1)  # with ties
    found = fit_map("isotonic", scores, codes, 2, weights)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores[:, 0], codes, weights)
    points = np.linspace(-12, 12, 1001)
    np.testing.assert_allclose(found.probabilities(points[:, None])[:, 1], theirs.predict(points), atol=1e-12)


@pytest.mark.parametrize("heads", [1, 4])
def test_the_temperature_is_the_minimum(heads: int) -> None:
    rng = np.random.default_rng(1)
    k = max(heads, 2)
    codes = rng.integers(k, size=300)
    scores = rng.normal(size=(300, heads))
    scores[np.arange(300), codes if heads > 1 else 0] += 1.0 if heads > 1 else 2.0 * codes - 1.0
    scores *= 5.0
    found = fit_map("temperature", scores, codes, k)
    assert isinstance(found, Temperature)
    targets = np.full((300, k), 1 / 302 / (k - 1))
    targets[np.arange(300), codes] = 301 / 302

    def loss(log_t: float) -> float:
        return -float((targets * Temperature(float(np.exp(log_t))).log_probabilities(scores)).sum())

    best = minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
    assert found.temperature == pytest.approx(np.exp(best.x), rel=1e-6)


@pytest.mark.parametrize("kind", CALIBRATIONS)
@pytest.mark.parametrize("heads", [1, 3])
def test_a_weight_of_two_is_a_row_given_twice(kind: str, heads: int) -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(max(2, heads), size=60)
    scores = rng.normal(size=(60, heads))
    times = rng.integers(1, 4, size=60)
    points = rng.normal(size=(20, heads))
    weighted = fit_map(kind, scores, codes, max(2, heads), times.astype(float))
    repeated = fit_map(kind, np.repeat(scores, times, axis=0), np.repeat(codes, times), max(2, heads))
    np.testing.assert_allclose(weighted.probabilities(points), repeated.probabilities(points), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["sigmoid", "temperature"])
def test_rows_without_errors_do_not_give_certainty(kind: str) -> None:
    scores = np.repeat([-1.0, 1.0], 50)[:, None]
    found = fit_map(kind, scores, (scores[:, 0] > 0).astype(np.intp), 2).probabilities(scores)
    n = 50 if kind == "sigmoid" else 100  # the rows of a class, or all rows
    np.testing.assert_allclose(found.max(axis=1), (n + 1) / (n + 2), rtol=1e-6)


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_scores_that_are_worse_than_chance_give_the_shares_of_the_classes(kind: str) -> None:
    scores, codes = np.linspace(1, -1, 90)[:, None], np.repeat([0, 1], [60, 30])
    found = fit_map(kind, scores, codes, 2).probabilities(scores)[:, 1]
    assert np.ptp(found) < 1e-9
    assert found[0] == pytest.approx(0.5 if kind == "temperature" else 1 / 3, abs=0.01)  # one temperature has no shift


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_equal_scores_of_all_rows(kind: str) -> None:
    found = fit_map(kind, np.zeros((40, 1)), np.repeat([0, 1], [10, 30]), 2).probabilities(np.zeros((1, 1)))
    assert found[0, 1] == pytest.approx(0.5 if kind == "temperature" else 0.75, abs=0.02)


def test_levels_keep_their_two_corners() -> None:
    found = fit_map("isotonic", np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1]), 2)
    assert isinstance(found, Isotonic)
    assert (found.scores.tolist(), found.values.tolist()) == ([0, 2, 3, 5], [0, 0, 1, 1])
