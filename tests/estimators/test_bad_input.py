"""What is refused, in which words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from inputs import ESTIMATORS, both, containers, good, refusal

import rosenblatt as rb

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)


def refused(model: Any, X: Any, y: Any, message: str, kind: Any = ValueError, **options: Any) -> None:
    """`fit` and, where there is one, `partial_fit` refuse, in these words."""
    for name in ("fit", "partial_fit"):
        if hasattr(model, name):
            with pytest.raises(kind, match=message):
                getattr(model, name)(X, y, **options)


# --- X and y -----------------------------------------------------------------------------------------------------------


@both
@containers
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_nan_and_infinity_in_x_are_refused(estimator: Any, container: Any, value: float, word: str) -> None:
    X, y = good()
    X[5, 1] = value
    refused(estimator(), container(X), y, f"(?i)X contains {word}")


@both
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((0, 3)), [], r"0 sample\(s\).*shape=\(0, 3\)"),
        (np.zeros((4, 0)), [0, 1, 0, 1], r"0 feature\(s\).*shape=\(4, 0\)"),
        (np.zeros(4), [0, 1, 0, 1], "Expected 2D array, got 1D"),
        (np.zeros((2, 2, 2)), [0, 1], "(?i)dim 3|3 dim"),
        (np.zeros((4, 2)), [0, 1, 0], r"inconsistent numbers of samples: \[4, 3\]"),
        (np.zeros((4, 2)), np.full((4, 2), 3), r"must be an indicator matrix of 0 and 1, but Y\[0, 0\] is 3"),
        (np.zeros((4, 2)), [0.5, 1.5, 0.2, 0.1], "(?i)continuous"),
        (np.zeros((4, 2)), [0.0, 1.0, np.nan, 1.0], "(?i)NaN"),
        (np.zeros((4, 2)), None, "(?i)requires y"),
        (np.array([["a", "b"]] * 2), [0, 1], "(?i)could not convert|numeric"),
        (np.array([[1j], [2j]]), [0, 1], "(?i)complex"),
    ],
    ids=["no rows", "no columns", "1d", "3d", "lengths", "y 2d", "y continuous", "y NaN", "no y", "strings", "complex"],
)
def test_wrong_shapes_and_kinds_are_refused(estimator: Any, X: Any, y: Any, message: str) -> None:
    refused(estimator(), X, y, message)


@both
@pytest.mark.parametrize("keep", ["last", "pocket", "average", "vote"])
def test_one_class_is_refused_by_fit_and_named(estimator: Any, keep: str) -> None:
    X, _ = good()
    with pytest.raises(ValueError, match=rf"{estimator.__name__}.*one class.*'spam'"):
        estimator(keep=keep).fit(X, np.full(30, "spam"))


@both
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((4, 2)), "2 features.*3 features"),
        (np.zeros(3), "Expected 2D"),
        (np.full((1, 3), np.nan), "NaN"),
        (np.zeros((0, 3)), "0 sample"),
    ],
)
def test_predict_refuses_other_rows_than_it_was_fitted_on(estimator: Any, X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator(max_iter=2).fit(*good()).predict(X)


@both
def test_nothing_can_be_predicted_before_fit(estimator: Any) -> None:
    for call in (lambda m: m.predict(good()[0]), lambda m: m.decision_function(good()[0]), lambda m: m.reading("vote")):
        with pytest.raises(ValueError, match="not fitted"):
            call(estimator())


# --- weights of rows and classes ---------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[np.ones(29), -0.5], "sample_weight.*negative.*-0.5"),
        (np.r_[np.ones(29), np.nan], "(?i)sample_weight contains NaN"),
        (np.r_[np.ones(29), np.inf], "(?i)sample_weight contains infinity"),
        (np.ones(29), r"sample_weight.*\(29,\)"),
        (np.ones((30, 2)), "(?i)sample.weight"),
    ],
    ids=["negative", "NaN", "infinite", "too few", "2d"],
)
def test_bad_sample_weights_are_refused(estimator: Any, weights: Any, message: str) -> None:
    refused(estimator(), *good(), message, sample_weight=weights)


@both
def test_weights_that_are_all_zero_leave_nothing_to_fit(estimator: Any) -> None:
    X, y = good()
    with pytest.raises(ValueError, match=r"(?i)sample.weight.*zero"):
        estimator().fit(X, y, sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match=r"class_weight.*zero"):
        estimator(class_weight={0: 0.0, 1: 0.0}).fit(X, y)


@both
@pytest.mark.parametrize(
    ("weight", "kind", "message"),
    [
        ("equal", ValueError, "class_weight.*'equal'"),
        ({0: -1.0, 1: 1.0}, ValueError, r"class_weight.*-1\.0"),
        ({0: np.nan, 1: 1.0}, ValueError, "class_weight.*nan"),
        ([1.0, 2.0], (TypeError, ValueError), r"class_weight.*\[1\.0, 2\.0\]"),
    ],
)
def test_bad_class_weights_are_refused(estimator: Any, weight: Any, kind: Any, message: str) -> None:
    refused(estimator(class_weight=weight), *good(), message, kind)


@both
def test_weights_of_unknown_classes_are_refused_where_the_classes_are_known(estimator: Any) -> None:
    X, y = good()
    words = "class_weight has a weight for 7, which is not a class, and none for class 1"
    with pytest.raises(ValueError, match=words):
        estimator(class_weight={0: 2.0, 7: 3.0}).fit(X, y)
    with pytest.raises(ValueError, match=words):
        estimator(class_weight={0: 2.0, 7: 3.0}).partial_fit(X, y, classes=[0, 1])
    estimator(class_weight={0: 2.0, 7: 3.0}).partial_fit(X, y)  # class 7 may come later
    estimator(class_weight={0: 2.0, 1: 1.0, 7: 3.0}).fit(X, y)  # as a part of the rows may lack a class


# --- parameters --------------------------------------------------------------------------------------------------------


SHARED = [
    ("keep", "best", ValueError),
    ("keep", None, ValueError),
    ("multiclass", "ovo", ValueError),
    ("vote_count", "one", ValueError),
    ("order", "shuffled", ValueError),
    ("max_iter", 0, ValueError),
    ("max_iter", -3, ValueError),
    ("max_iter", 1.5, TypeError),
    ("max_iter", True, TypeError),
    ("max_iter", "ten", (TypeError, ValueError)),
    ("fit_intercept", "yes", TypeError),
    ("warm_start", None, TypeError),
    ("log", "no", ValueError),
    ("log", None, TypeError),
    ("intercept_scaling", 0.0, ValueError),
    ("intercept_scaling", float("nan"), ValueError),
    ("intercept_scaling", "1", TypeError),
]
PERCEPTRON = [
    ("update", "minibatch", ValueError),
    ("init", "random", ValueError),
    ("init", None, (ValueError, TypeError)),
    ("margin", -0.5, ValueError),
    ("margin", float("nan"), ValueError),
    ("margin", float("inf"), ValueError),
    ("margin", "wide", (ValueError, TypeError)),
    ("margin", True, TypeError),
    ("step", 0.0, ValueError),
    ("step", -1.0, ValueError),
    ("step", float("nan"), ValueError),
    ("step", float("inf"), ValueError),
    ("step", "fast", TypeError),
    ("step", None, TypeError),
    ("max_updates", 0, ValueError),
    ("max_updates", 2.0, TypeError),
    ("max_updates", True, TypeError),
    ("w_max", 0.0, ValueError),
    ("w_max", -1.0, ValueError),
    ("w_max", float("nan"), ValueError),
    ("w_max", "big", TypeError),
]
PASSIVE = [
    ("variant", "PA-III", ValueError),
    ("C", 0.0, ValueError),
    ("C", -1.0, ValueError),
    ("C", float("nan"), ValueError),
    ("C", "1", TypeError),
    ("C", None, TypeError),
]
CASES = [
    *((estimator, *case) for estimator in ESTIMATORS for case in SHARED),
    *((rb.Perceptron, *case) for case in PERCEPTRON),
    *((rb.PassiveAggressive, *case) for case in PASSIVE),
]


@pytest.mark.parametrize(("estimator", "name", "value", "kind"), CASES)
def test_a_bad_parameter_is_named_with_its_value(estimator: Any, name: str, value: Any, kind: Any) -> None:
    X, y = good()
    model = estimator(**{name: value})
    for call in ("fit", "partial_fit"):
        if hasattr(model, call):
            with pytest.raises(kind) as error:
                getattr(model, call)(X, y)
            assert name in str(error.value)
            assert repr(value) in str(error.value)


@pytest.mark.parametrize("tol", [0.0, -1.0, float("nan")])
@pytest.mark.parametrize("update", ["batch", "batch-mean"])
def test_a_tolerance_must_be_positive(update: str, tol: float) -> None:
    refused(perceptron(update=update, tol=tol), *good(), f"tol.*{tol!r}")


def test_a_tolerance_is_for_batch_steps_only() -> None:
    refused(perceptron(tol=0.1), *good(), r"tol=0\.1.*update='online'")


@pytest.mark.parametrize(
    ("step", "kind", "message"),
    [
        (lambda k: float("nan"), ValueError, r"step\(1\) returned nan"),
        (lambda k: 0, ValueError, r"step\(1\) returned 0"),
        (lambda k: -1.0 / k, ValueError, r"step\(1\) returned -1\.0"),
        (lambda k: float("inf"), ValueError, r"step\(1\) returned inf"),
        (lambda k: "fast", TypeError, r"step\(1\) returned 'fast'"),
        (lambda k: None, TypeError, r"step\(1\) returned None"),
        (lambda k: 1.0 if k < 4 else float("nan"), ValueError, r"step\(4\) returned nan"),
    ],
)
@pytest.mark.parametrize("update", ["online", "batch"])
def test_a_step_callable_must_return_positive_numbers(update: str, step: Callable[[int], Any], kind: Any, message: str) -> None:
    refused(perceptron(update=update, step=step), *good(), message, kind)


@pytest.mark.parametrize(
    ("init", "classes", "message"),
    [
        (np.ones(2), 2, r"init.*\(1, 3\).*\(1, 4\).*\(2,\)"),
        (np.ones((2, 3)), 2, r"init.*\(1, 3\).*\(2, 3\)"),
        (np.ones((2, 3)), 3, r"init.*\(3, 3\).*\(2, 3\)"),
        (np.ones((1, 1, 3)), 2, r"init.*\(1, 1, 3\)"),
        (np.array([1.0, np.nan, 0.0]), 2, "init"),
        (np.array([1.0, np.inf, 0.0]), 2, "init"),
        (np.array(["a", "b", "c"]), 2, "init"),
    ],
)
def test_a_start_of_the_wrong_shape_or_kind_is_refused(init: Any, classes: int, message: str) -> None:
    refused(perceptron(init=init), *good(classes), message)


def test_a_start_with_weight_0_needs_an_intercept() -> None:
    X, y = good()
    perceptron(init=np.ones(4)).fit(X, y)
    with pytest.raises(ValueError, match=r"init.*\(1, 3\).*\(4,\)"):
        perceptron(init=np.ones(4), fit_intercept=False).fit(X, y)


def test_a_start_beyond_the_range_of_float32_is_refused_without_a_warning() -> None:
    X, y = good()
    with pytest.raises(ValueError, match=r"init|range"):
        perceptron(init=np.full(3, 1e300)).fit(X.astype(np.float32), y)


@pytest.mark.parametrize("w_max", [1e200, np.float64(1e200), 1.7e308])
@pytest.mark.parametrize("update", ["online", "batch"])
def test_a_bound_whose_square_overflows_is_refused_or_holds(update: str, w_max: float) -> None:
    X, y = good()
    model = perceptron(w_max=w_max, update=update)
    words = refusal(lambda: model.fit(X, y))
    if words:
        assert "w_max" in words
        assert repr(w_max) in words
    else:
        assert model.stop_.reason != "norm"


def test_an_unknown_reading_is_refused() -> None:
    with pytest.raises(ValueError, match=r"keep.*'best'"):
        perceptron().fit(*good()).reading("best")


def test_warm_start_from_another_problem_is_refused() -> None:
    X, y = good()
    model = perceptron(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start.*3 features.*2 features"):
        model.fit(X[:, :2], y)
    with pytest.raises(ValueError, match=r"warm_start.*classes \[0, 1\].*\[0, 1, 2\]"):
        model.fit(*good(3))


def test_an_unknown_parameter_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="shuffle"):
        perceptron(shuffle=True)
