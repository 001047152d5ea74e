"""The least number of errors: both bounds hold, the plane has the reported errors, and the proofs are valid."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from brute_force import clashing, errors_of, few_points, fewest_errors, signed
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from effort import in_time
from rosenblatt.data.problem import make_problem
from rosenblatt.proofs.minimum_errors.clashes import HittingSet, LowerBoundProof
from rosenblatt.proofs.minimum_errors.exact_signs import plane_with_errors, sides_of

containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def check(found: rb.MinimumErrors, X: Any, positive: Any, free: bool) -> None:
    """What must be true of any answer."""
    wrong, ties = errors_of(X, positive, found.coef, found.intercept)
    if free:
        assert not ties
        assert found.wrong.tolist() == wrong
    else:
        assert found.wrong.tolist() == sorted({*wrong, *ties})
        assert found.intercept == 0
    assert found.errors == len(found.wrong)
    assert found.optimal == (found.lower == found.errors)
    Z = signed(X, positive, free)
    for clash in found.clashes:
        assert clashing([Z[i] for i in clash])


def whole(X: Any) -> bool:
    """Small whole numbers. For others the best plane may not be a float: tenths that differ by 1e-17, for example."""
    return bool((np.rint(X) == X).all() and abs(X).max() < 100)


@settings(max_examples=100, deadline=None)
@given(few_points(), st.booleans(), st.booleans())
def test_few_points_are_proved_optimal(points: Any, free: bool, sparse: bool) -> None:
    X, positive = points
    found = rb.minimum_errors(sp.csr_array(X) if sparse else X, positive, fit_intercept=free, time_limit=20)
    check(found, X, positive, free)
    assert found.lower == fewest_errors(X, positive, free)
    assert found.optimal or not whole(X)


@settings(max_examples=25, deadline=None)
@given(few_points(6), st.booleans())
def test_clashes_alone_prove_it_too(points: Any, free: bool) -> None:
    """Columns that add nothing take the points beyond what is enumerated."""
    X, positive = points
    X = np.column_stack([X, X[:, :1], X[:, :1], X[:, :1], -X[:, :1]])
    found = rb.minimum_errors(X, positive, fit_intercept=free, time_limit=20 if whole(X) else 1)
    check(found, X, positive, free)
    fewest = fewest_errors(X[:, :-3], positive, free)
    assert found.lower <= fewest <= found.errors
    assert found.optimal or not whole(X)
    assert found.clashes or not found.errors


def noisy(n: int = 60, d: int = 6, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + rng.normal(size=n) > 0


@containers
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_every_container_and_dtype(container: Any, dtype: Any) -> None:
    X, y = noisy(15, 4)
    X = np.round(3 * X).astype(dtype)
    found = rb.minimum_errors(container(X), np.where(y, "yes", "no"), time_limit=3)
    check(found, X, y, True)
    assert found.lower > 0
    assert found.coef.dtype == np.float64


@pytest.mark.parametrize("free", [True, False])
def test_separable_rows_have_no_errors_at_once(free: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = X @ rng.normal(size=20) > 0
    found = rb.minimum_errors(X, y, fit_intercept=free)
    check(found, X, y, free)
    assert (found.errors, found.lower, found.optimal) == (0, 0, True)
    assert found.how == "a plane classifies all rows correctly"
    assert found.proof is LowerBoundProof.SEPARABLE
    assert in_time(found.seconds, 5)


def test_twins_are_counted_without_any_search() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([np.zeros((5, 6)), np.ones((4, 6)), rng.normal(size=(6, 6))])
    y = [1, 1, 1, 0, 0, 1, 0, 0, 0, *[1] * 6]
    found = HittingSet(make_problem(X, np.array(y), 2), 0, time.perf_counter() + 10)
    found.begin()
    assert found.lower == 3
    assert {len(clash) for clash in found.rests_on} == {2}


@containers
@pytest.mark.parametrize("free", [True, False])
def test_where_equal_rows_force_all_errors_that_is_the_proof(container: Any, free: bool) -> None:
    """Of three equal rows the fewer labels are wrong; ties are one error whichever side the plane is on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X @ np.arange(1.0, 9.0) > 0
    X, y = np.concatenate([X, X[:5], X[:1], X[5:7]]), np.concatenate([y, ~y[:5], y[:1], ~y[5:7]])
    found = rb.minimum_errors(container(X), y, fit_intercept=free)
    check(found, X, y, free)
    assert (found.errors, found.lower, found.exact) == (7, 7, True)
    assert len(found.clashes) == 7
    assert found.how == (
        "every plane misclassifies a row of each of these 7 pairs of equal rows with different labels, "
        "and this one classifies all others correctly"
    )


def test_wide_rows_are_seen_to_be_separable_but_for_equal_ones() -> None:
    """Too wide for clashes to be looked for in the time."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(450, 500)), rng.integers(0, 2, 450)
    for forced in (0, 3):
        found = rb.minimum_errors(np.concatenate([X, X[:forced]]), np.append(y, 1 - y[:forced]), time_limit=10)
        assert (found.errors, found.lower, found.exact) == (forced, forced, True)


def test_without_a_time_limit_it_goes_on_until_it_is_proved() -> None:
    X, y = noisy(20, 4, 1)
    found = rb.minimum_errors(X, y, time_limit=None)
    assert found.optimal
    assert found.errors > 0


def test_rows_of_zeros_are_errors_without_a_bias() -> None:
    X = np.array([[0.0, 0.0], [0.0, -0.0], [1.0, 2.0], [2.0, 1.0]])
    found = rb.minimum_errors(X, [0, 1, 0, 1], fit_intercept=False)
    assert (found.errors, found.lower) == (2, 2)
    assert found.wrong.tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(2))
def test_the_answer_is_the_same_every_time_it_is_proved(seed: int) -> None:
    X, y = noisy(13, 4, seed)
    one, two = (rb.minimum_errors(X, y, random_state=seed, time_limit=60) for _ in range(2))
    assert one.optimal
    assert (one.errors, one.lower, one.how, one.clashes) == (two.errors, two.lower, two.how, two.clashes)
    assert one.coef.tobytes() == two.coef.tobytes()
    assert one.intercept == two.intercept


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.05, 1.0, pytest.param(3.0, marks=pytest.mark.thorough)])
def test_the_time_limit_is_kept(limit: float) -> None:
    rb.minimum_errors(*noisy(20, 5), time_limit=1)  # compiled
    begun = time.perf_counter()
    found = rb.minimum_errors(*noisy(2000, 30), time_limit=limit)
    assert in_time(time.perf_counter() - begun, 1.1 * limit + 1.0)
    assert not found.optimal
    assert (limit > 0.5) <= found.lower < found.errors


def test_a_bound_from_weights_is_safe_for_any_solution() -> None:
    """Weights that overload a row are scaled down: two clashes that share row 0 prove one error, not two."""
    X, y = noisy(10, 2)
    hitting = HittingSet(make_problem(X, y.astype(int), 2), 0, time.perf_counter() + 1)
    grain = 1 << 40
    hitting._use_weights([(0, 1, 2), (0, 3, 4)], [grain, grain])
    assert hitting.lower == 1
    hitting._use_weights([(0, 1), (1, 2), (0, 2)], [grain // 2 + 1] * 3)
    assert hitting.lower == 2
    assert hitting.rests_on == [(0, 1), (1, 2), (0, 2)]


def test_sides_are_exact_where_floats_cancel() -> None:
    X = np.array([[0.1, 0.2, -0.3], [1e300, -1e300, 1.0], [3.0, 1.0, 1.0], [1e308, 1e308, -1e308]])
    for container in (np.asarray, sp.csr_array):
        problem = make_problem(container(X), np.array([0, 1, 0, 1]), 2)
        assert sides_of(problem, np.array([1.0, 1.0, 1.0]), 0.0).tolist() == [1, 1, 1, 1]
        assert sides_of(problem, np.array([1.0, 1.0, 1.0]), -1.0).tolist() == [-1, 0, 1, 1]


def test_a_plane_is_moved_off_the_rows_on_it() -> None:
    problem = make_problem(np.array([[1.0], [1.0], [2.0], [0.0]]), np.array([0, 1, 1, 0]), 2)
    plane = plane_with_errors(problem, np.array([1.0]), -1.0)
    assert plane.errors == 1
    assert 0 not in sides_of(problem, plane.coef, plane.bias)


def test_it_reports_its_findings() -> None:
    found = rb.minimum_errors([[0], [1], [2], [3]], [0, 1, 0, 1])
    assert str(found) == (
        "The best plane misclassifies 1 row, and no plane misclassifies fewer: no plane classifies all rows correctly."
    )
    guess = rb.minimum_errors(*noisy(400, 12), time_limit=0.3)
    start = f"A plane misclassifies {guess.errors} rows, and no plane misclassifies fewer than {guess.lower}: "
    assert str(guess).startswith(start)


def test_verbose_writes_lines_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    rb.minimum_errors(*noisy(100, 8), time_limit=0.5, verbose=1)
    out = capsys.readouterr()
    assert out.out == ""
    assert "errors, at least" in out.err


# --- what is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((0, 3)), [], r"0 sample\(s\)"),
        (np.zeros((4, 0)), [0, 1, 0, 1], r"0 feature\(s\)"),
        (np.zeros(4), [0, 1, 0, 1], "Expected 2D array, got 1D"),
        (np.zeros((4, 2)), [0, 1, 0], r"inconsistent numbers of samples: \[4, 3\]"),
        (np.zeros((4, 2)), np.zeros((4, 2)), "(?i)y should be a 1d array"),
        (np.zeros((4, 2)), [0, 0, 0, 0], "needs at least two classes, but y has only one: 0"),
        (np.zeros((7, 2)), list("abcdefg"), "supports 2 classes, but y has 7"),
        (np.zeros((4, 2)), [0.5, 1.5, 0.2, 0.1], "(?i)continuous"),
        (np.zeros((2, 2)), [0.0, np.nan], "y has missing labels; drop their rows"),
        (np.array([[1.0], [np.nan]]), [0, 1], "(?i)X contains NaN"),
        (np.array([[1.0], [np.inf]]), [0, 1], "(?i)X contains infinity"),
        (np.array([[1j], [2j]]), [0, 1], "(?i)complex"),
    ],
)
def test_bad_rows_and_labels_are_refused(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rb.minimum_errors(X, y)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"time_limit": 0}, ValueError, "time_limit must be greater than 0, got 0"),
        ({"time_limit": float("nan")}, ValueError, "time_limit must be greater than 0, got nan"),
        ({"time_limit": "1"}, TypeError, "time_limit must be a number, got '1'"),
        ({"random_state": -1}, ValueError, "random_state must be at least 0, got -1"),
        ({"random_state": 0.5}, TypeError, "random_state must be an integer, got 0.5"),
        ({"fit_intercept": "yes"}, TypeError, "fit_intercept must be True or False, got 'yes'"),
    ],
)
def test_bad_parameters_are_refused(options: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        rb.minimum_errors([[0.0], [1.0]], [0, 1], **options)
