"""Huge and tiny numbers: a fit ends in finite weights or in a clear error, and learns where the range allows it."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from inputs import ESTIMATORS, both, containers, good, refusal
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)


def huge(scale: float, dtype: Any, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = (rng.uniform(0.3, 1.0, size=(24, 3)) * rng.choice([-1.0, 1.0], size=(24, 3)) * scale).astype(dtype)
    return X, rng.integers(0, classes, 24)


def finite_or_refused(model: Any, X: Any, y: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        words = refusal(lambda: model.fit(X, y))
        if words:
            assert "range" in words or "overflow" in words
            assert "scale" in words
            return
        if model._keep != "vote":
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_).all()
        predicted = model.predict(X)
    if model.stop_.separated:
        np.testing.assert_array_equal(predicted, y)


SCALES = [
    (1e150, np.float64),
    (1e200, np.float64),
    (1e300, np.float64),
    (1.7e308, np.float64),
    (1e30, np.float32),
    (3e38, np.float32),
]
scales = pytest.mark.parametrize(("scale", "dtype"), SCALES, ids=[f"{scale:g}" for scale, _ in SCALES])


@scales
@containers
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("w_max", [None, 1.0, 1e150])
@pytest.mark.parametrize(
    "options",
    [{}, {"update": "batch"}, {"update": "batch-mean"}, {"multiclass": "ovr"}, {"order": "mistakes", "max_iter": 2}],
    ids=["online", "batch", "batch-mean", "ovr", "mistakes"],
)
def test_huge_rows_end_in_finite_weights_or_a_clear_error(
    scale: float, dtype: Any, container: Any, classes: int, w_max: Any, options: Any
) -> None:
    X, y = huge(scale, dtype, classes)
    finite_or_refused(perceptron(w_max=w_max, random_state=0, **options), container(X), y)


@scales
@containers
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("keep", ["pocket", "average", "vote"])
def test_huge_rows_give_finite_readings_or_a_clear_error(
    scale: float, dtype: Any, container: Any, classes: int, keep: str
) -> None:
    X, y = huge(scale, dtype, classes)
    finite_or_refused(perceptron(keep=keep, random_state=0), container(X), y)


@scales
@containers
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("classes", [2, 3])
def test_huge_rows_end_for_passive_aggressive(scale: float, dtype: Any, container: Any, variant: str, classes: int) -> None:
    X, y = huge(scale, dtype, classes)
    finite_or_refused(rb.PassiveAggressive(variant=variant, max_iter=10, random_state=0), container(X), y)


@scales
@containers
def test_huge_rows_end_where_the_start_is_their_sum(scale: float, dtype: Any, container: Any) -> None:
    X, y = huge(scale, dtype, 2)
    finite_or_refused(perceptron(init="sum", random_state=0), container(X), y)


@scales
def test_huge_rows_end_with_a_margin_and_without_passes_to_count(scale: float, dtype: Any) -> None:
    X, y = huge(scale, dtype, 2)
    X[:, 0] = np.abs(X[:, 0]) * np.where(y == 1, 1.0, -1.0)
    finite_or_refused(perceptron(max_iter=None, random_state=0), X, y)
    finite_or_refused(perceptron(margin=1e300, max_iter=20, random_state=0), X, y)


@pytest.mark.parametrize("scale", [1e100, 1e150])
def test_huge_rows_that_fit_the_range_are_learned(scale: float) -> None:
    """The scale of the rows changes nothing for a perceptron without intercept."""
    X, y = good()
    model = perceptron(order="cyclic", fit_intercept=False).fit(X, y)
    big = 2.0 ** np.round(np.log2(scale))
    np.testing.assert_array_equal(perceptron(order="cyclic", fit_intercept=False).fit(X * big, y).coef_, model.coef_ * big)


@pytest.mark.parametrize("scale", [1e10, 1e25])
def test_passive_aggressive_learns_large_float32_rows(scale: float) -> None:
    X = np.array([[1.0, 0.5], [0.8, -0.5], [-1.0, 0.5], [-0.7, -0.5]])
    y = np.array([1, 1, 0, 0])
    model = rb.PassiveAggressive(fit_intercept=False, max_iter=10).fit((X * scale).astype(np.float32), y)
    np.testing.assert_array_equal(model.predict(X * scale), y)


def test_a_batch_step_that_cancels_among_huge_rows_ends() -> None:
    finite_or_refused(perceptron(update="batch", step=0.1), np.full((4, 1), 1.7e308), [1, 1, 0, 0])


@both
@containers
@pytest.mark.parametrize("scale", [1e-150, 1e-300, 5e-324, 0.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_tiny_rows_end_in_finite_weights(
    estimator: Any, container: Any, scale: float, fit_intercept: bool, classes: int
) -> None:
    X, y = good(classes)
    finite_or_refused(estimator(fit_intercept=fit_intercept, max_iter=10, random_state=0), container(np.sign(X) * scale), y)


@pytest.mark.parametrize("scale", [2.0**-500, 2.0**-1000])
def test_a_perceptron_learns_tiny_rows_as_it_learns_others(scale: float) -> None:
    """Without intercept, only signs of scores count; they survive as long as the products do."""
    X, y = good()
    X = np.sign(X)
    model = perceptron(order="cyclic", fit_intercept=False).fit(X, y)
    small = perceptron(order="cyclic", fit_intercept=False).fit(X * scale, y)
    if scale**2 > 0:
        np.testing.assert_array_equal(small.coef_, model.coef_ * scale)
    else:
        assert not small.stop_.separated


@pytest.mark.parametrize("weight", [1e-320, 1e300])
@pytest.mark.parametrize("update", ["online", "batch", "batch-mean"])
def test_extreme_weights_of_rows_end(update: str, weight: float) -> None:
    X, y = good()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = perceptron(update=update, random_state=0)
        words = refusal(lambda: model.fit(X, y, sample_weight=np.full(30, weight)))
    assert not words or "range" in words or "weight" in words
    assert words or np.isfinite(model.coef_).all()


def test_rows_of_zeros_are_never_separated() -> None:
    for estimator in ESTIMATORS:
        model = estimator(fit_intercept=False, max_iter=10).fit(np.zeros((4, 2)), [0, 1, 0, 1])
        assert not model.stop_.separated
        assert np.isfinite(model.coef_).all()
