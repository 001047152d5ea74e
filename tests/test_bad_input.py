"""What is refused, in which words, and that a model is as good as before after a fit that failed."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_passes=10)
ESTIMATORS = [rb.Perceptron, rb.PassiveAggressive]
both = pytest.mark.parametrize("estimator", ESTIMATORS)
containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def good(classes: int = 2, n: int = 30) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), np.arange(n) % classes


def refused(model: Any, X: Any, y: Any, message: str, kind: Any = ValueError, **options: Any) -> None:
    """`fit` and, where there is one, `partial_fit` refuse, in these words."""
    for name in ("fit", "partial_fit"):
        if hasattr(model, name):
            with pytest.raises(kind, match=message):
                getattr(model, name)(X, y, **options)


def refusal(call: Callable[[], Any]) -> str:
    """The words of a ValueError, or none where there was no error."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""


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
        (np.zeros((4, 2)), np.zeros((4, 2)), "(?i)y should be a 1d array"),
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
        estimator(max_passes=2).fit(*good()).predict(X)


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


# --- parameters --------------------------------------------------------------------------------------------------------


SHARED = [
    ("keep", "best", ValueError),
    ("keep", None, ValueError),
    ("multiclass", "ovo", ValueError),
    ("vote_count", "one", ValueError),
    ("order", "shuffled", ValueError),
    ("max_passes", 0, ValueError),
    ("max_passes", -3, ValueError),
    ("max_passes", 1.5, TypeError),
    ("max_passes", True, TypeError),
    ("max_passes", "ten", (TypeError, ValueError)),
    ("fit_intercept", "yes", TypeError),
    ("warm_start", None, TypeError),
    ("log", "no", TypeError),
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


# --- a fit that failed -------------------------------------------------------------------------------------------------


def fail_with(model: Any, name: str) -> None:
    X, y = good()
    wide = np.ones((30, 5))
    calls: dict[str, Callable[[], Any]] = {
        "NaN": lambda: model.fit(np.full_like(X, np.nan), y),
        "one class of wider rows": lambda: model.fit(wide, np.zeros(30)),
        "weights of wider rows": lambda: model.fit(wide, y, sample_weight=-np.ones(30)),
        "weights in a chunk": lambda: model.partial_fit(X, y, sample_weight=-np.ones(30)),
        "labels in a chunk": lambda: model.partial_fit(X, y + 7),
        "overflow": lambda: model.fit(wide * 1e308 * np.sign(y - 0.5)[:, None], 1 - y),
        "parameter": lambda: model.set_params(max_passes=0).fit(wide, y),
    }
    with pytest.raises(ValueError):  # noqa: PT011 - the words are tested above
        calls[name]()


@both
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "failure",
    ["NaN", "one class of wider rows", "weights of wider rows", "weights in a chunk", "labels in a chunk", "parameter"],
)
def test_a_failed_fit_leaves_the_model_as_it_was(estimator: Any, keep: str, classes: int, failure: str) -> None:
    X, y = good(classes)
    model = estimator(keep=keep, max_passes=2, random_state=0).fit(X, y)
    scores, stop, log = model.decision_function(X), model.stop_, model.log_
    fail_with(model, failure)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert (model.stop_, model.log_) == (stop, log)
    assert model.n_features_in_ == 3


def test_a_fit_that_overflowed_leaves_the_model_as_it_was() -> None:
    X, y = good()
    model = perceptron(order="cyclic").fit(X, y)
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match="left the range"):
        model.fit(np.full((4, 5), 1.7e308), [0, 1, 0, 1])
    np.testing.assert_array_equal(model.decision_function(X), scores)


def test_a_failed_fit_leaves_the_names_of_the_columns() -> None:
    pd = pytest.importorskip("pandas")
    X, y = good()
    model = perceptron().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.raises(ValueError, match="one class"):
        model.fit(pd.DataFrame(X, columns=["d", "e", "f"]), np.zeros(30))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    model.predict(pd.DataFrame(X, columns=["a", "b", "c"]))


def test_a_model_whose_first_fit_failed_is_not_fitted() -> None:
    model = perceptron()
    with pytest.raises(ValueError, match="one class"):
        model.fit(good()[0], np.zeros(30))
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(good()[0])
    model.partial_fit(*good())


# --- huge and tiny numbers ---------------------------------------------------------------------------------------------


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
        if model.keep != "vote":
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
    [{}, {"update": "batch"}, {"update": "batch-mean"}, {"multiclass": "ovr"}, {"order": "mistakes", "max_passes": 2}],
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
    finite_or_refused(perceptron(keep, random_state=0), container(X), y)


@scales
@containers
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("classes", [2, 3])
def test_huge_rows_end_for_passive_aggressive(scale: float, dtype: Any, container: Any, variant: str, classes: int) -> None:
    X, y = huge(scale, dtype, classes)
    finite_or_refused(rb.PassiveAggressive(variant=variant, max_passes=10, random_state=0), container(X), y)


@scales
@containers
def test_huge_rows_end_where_the_start_is_their_sum(scale: float, dtype: Any, container: Any) -> None:
    X, y = huge(scale, dtype, 2)
    finite_or_refused(perceptron(init="sum", random_state=0), container(X), y)


@scales
def test_huge_rows_end_with_a_margin_and_without_passes_to_count(scale: float, dtype: Any) -> None:
    X, y = huge(scale, dtype, 2)
    X[:, 0] = np.abs(X[:, 0]) * np.where(y == 1, 1.0, -1.0)
    finite_or_refused(perceptron(max_passes=None, random_state=0), X, y)
    finite_or_refused(perceptron(margin=1e300, max_passes=20, random_state=0), X, y)


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
    model = rb.PassiveAggressive(fit_intercept=False, max_passes=10).fit((X * scale).astype(np.float32), y)
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
    finite_or_refused(estimator(fit_intercept=fit_intercept, max_passes=10, random_state=0), container(np.sign(X) * scale), y)


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
        model = estimator(fit_intercept=False, max_passes=10).fit(np.zeros((4, 2)), [0, 1, 0, 1])
        assert not model.stop_.separated
        assert np.isfinite(model.coef_).all()


# --- Ctrl-C ------------------------------------------------------------------------------------------------------------

LONG_FIT = textwrap.dedent(
    """
    import sys
    import numpy as np
    import rosenblatt as rb

    estimator, parameters, k = getattr(rb, sys.argv[1]), eval(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300_000, 50)), rng.integers(0, k, 300_000)
    model = estimator(random_state=0, **parameters)
    model.set_params(max_passes=1).fit(X[:200, :40], y[:200])  # also compiles what the long fit needs
    before = model.predict(X[:200, :40])
    model.set_params(max_passes=None)
    sys.stdout.write("fitting\\n")
    sys.stdout.flush()
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        after = model.predict(X[:200, :40])
        sys.stdout.write("unharmed\\n" if (after == before).all() else "harmed\\n")
        raise
    """
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "parameters", "classes"),
    [
        ("Perceptron", {}, 2),
        ("Perceptron", {}, 4),
        ("Perceptron", {"multiclass": "ovr"}, 4),
        ("Perceptron", {"multiclass": "ovr", "n_jobs": 2}, 4),
        ("Perceptron", {"update": "batch", "n_jobs": 2}, 2),
        ("Perceptron", {"update": "batch", "multiclass": "ovr"}, 3),
        ("Perceptron", {"order": "mistakes"}, 2),
        ("Perceptron", {"keep": "pocket", "max_updates": 500_000}, 2),
        ("PassiveAggressive", {"keep": "average", "log": False}, 2),
    ],
)
def test_ctrl_c_ends_a_long_fit_within_a_second_and_breaks_nothing(estimator: str, parameters: Any, classes: int) -> None:
    command = [sys.executable, "-c", LONG_FIT, estimator, repr(parameters), str(classes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "fitting\n"
            time.sleep(1.5)
            assert process.poll() is None
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            answer = process.stdout.readline()
            waited = time.monotonic() - sent
            out, errors = process.communicate(timeout=10)
        finally:
            process.kill()
    assert answer + out == "unharmed\n", errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert waited < 2.0  # half a second where nothing else runs
