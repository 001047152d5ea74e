"""A time limit holds for the whole call: wherever time runs out, the result is a checked certificate."""

from __future__ import annotations

import importlib
import itertools
import math
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from effort import amount, in_time
from rosenblatt.certificates.time_limit import OutOfTimeError, check_time, run_until
from rosenblatt.data.problem import make_problem
from rosenblatt.proofs import prover
from rosenblatt.proofs.minimum_errors import search
from rosenblatt.proofs.minimum_errors.clashes import ClashFinder, plane_for
from rosenblatt.svm.nearest_points import approach, nearest_points
from rosenblatt.svm.signed_rows import SignedRows


def _normal(n: int, d: int, n_classes: int = 2, noise: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    y = np.argmax(X @ rng.normal(size=(d, n_classes)), axis=1)
    return X, np.where(rng.random(n) < noise, (y + 1) % n_classes, y)


certify_module = importlib.import_module("rosenblatt.proofs.certify")

CASES = {
    "separable": _normal(12, 3),
    "inseparable": _normal(20, 2, noise=0.3),
    "three classes": _normal(15, 3, 3),
    "touching": ([[0.0], [1.0], [np.nextafter(1, 0)], [2.0]], [0, 0, 1, 1]),
    "uneven columns": (_normal(12, 3)[0] * [1e-9, 1.0, 1e9], _normal(12, 3)[1]),
    "sparse": (sp.csr_array(np.round(_normal(30, 5)[0])), np.arange(30) % 2),
}


def _stop_clock(monkeypatch: Any, after: int) -> Any:
    """A clock for `check_time` that jumps past every deadline at its call number `after`; returns the count of calls."""
    calls = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: 1e18 if next(calls) >= after else 0.0)
    monkeypatch.setattr("rosenblatt.certificates.time_limit.time", clock)
    return calls


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_wherever_time_runs_out_the_certificate_holds(name: str, intercept: bool, monkeypatch: Any) -> None:
    X, y = CASES[name]
    full = rb.certify(X, y, fit_intercept=intercept)
    with monkeypatch.context() as patch:
        calls = _stop_clock(patch, 10**9)
        assert rb.certify(X, y, fit_intercept=intercept, time_limit=1e6) == full
        n_checks = next(calls)
    assert n_checks > 2
    for after in range(0, n_checks + 2, amount(1 + n_checks // 12, 1)):
        with monkeypatch.context() as patch:
            _stop_clock(patch, after)
            found = rb.certify(X, y, fit_intercept=intercept, time_limit=1e6)
        assert rb.verify(found, X, y)
        assert found == full or found.verdict == "undecided"
        assert found.verdict == "undecided" or after > 0


def test_minimum_errors_ends_when_exact_arithmetic_runs_out_of_time(monkeypatch: Any) -> None:
    X, y = _normal(40, 3, noise=0.2)
    for after in (0, 10):
        with monkeypatch.context() as patch:
            _stop_clock(patch, after)
            found = rb.minimum_errors(X, y, time_limit=0.5)
        assert 0 <= found.lower <= found.errors <= 20


@pytest.mark.parametrize("name", ["separable", "inseparable", "three classes", "duplicates"])
def test_wherever_time_runs_out_the_doctor_says_what_was_left_out(name: str, monkeypatch: Any) -> None:
    X, y = CASES[name] if name in CASES else (np.repeat(_normal(12, 2)[0], 3, axis=0), np.arange(36) % 2)
    with monkeypatch.context() as patch:
        calls = _stop_clock(patch, 10**9)
        full = rb.doctor(X, y, time_limit=0.3)
        n_checks = next(calls)
    assert full.of("no_time") == []
    for after in [0, 1, 2, 3, *range(4, n_checks + 2, 1 + n_checks // amount(8, 200))]:
        with monkeypatch.context() as patch:
            _stop_clock(patch, after)
            found = rb.doctor(X, y, time_limit=0.3)
        assert rb.verify(found.certificate, X, y)
        assert found.findings[0].kind == "verdict"
        assert found.of("no_time") or after > 1
        assert all(str(each).startswith("There was no time to ") for each in found.of("no_time"))


def test_every_step_towards_the_nearest_points_looks_at_the_clock(monkeypatch: Any) -> None:
    X, y = _normal(80, 6)
    problem = make_problem(X, y, 2)
    calls = _stop_clock(monkeypatch, 10**9)
    found = nearest_points(problem)
    assert next(calls) >= found.steps > 5
    _stop_clock(monkeypatch, 5)
    with run_until(1.0), pytest.raises(OutOfTimeError):
        nearest_points(problem)


def test_every_row_that_a_run_starts_from_looks_at_the_clock(monkeypatch: Any) -> None:
    """The factor of thousands of rows takes minutes."""
    X, y = _normal(80, 90)
    rows = SignedRows(make_problem(X, y, 2))
    calls = _stop_clock(monkeypatch, 10**9)
    approach(rows, tol=1e-6, max_steps=0, start=np.ones(80))
    assert next(calls) >= 80
    _stop_clock(monkeypatch, 40)
    with run_until(1.0), pytest.raises(OutOfTimeError):
        approach(rows, tol=1e-6, max_steps=0, start=np.ones(80))


def test_exact_systems_and_checks_of_clashes_have_the_deadline_of_the_search(monkeypatch: Any) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    left, seconds = np.ones(60, bool), 1e6
    finder = ClashFinder(make_problem(X, y, 2), time.perf_counter() + seconds)
    assert isinstance(finder.find(left), tuple)
    with monkeypatch.context() as patch:
        patch.setattr("rosenblatt.svm.exact_separation.SECONDS_PER_SYSTEM", seconds)
        assert finder.find(left) is None
    monkeypatch.setattr(finder, "_checked", lambda _: check_time(2 * seconds))
    assert finder.find(left) is None


def test_pairs_of_equal_rows_are_compared_until_the_deadline(monkeypatch: Any) -> None:
    problem = make_problem(np.repeat(np.arange(1.0, 11.0), 2)[:, None], np.arange(20) % 2, 2)
    finder = ClashFinder(problem, math.inf)
    assert len(finder.equal_pairs()) == 10
    looks = itertools.count()
    monkeypatch.setattr(finder, "out_of_time", lambda: next(looks) > 4)
    assert finder.equal_pairs() == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_the_plane_for_rows_without_pairs_ends_at_its_deadline(monkeypatch: Any) -> None:
    X, y = _normal(30, 3)
    problem = make_problem(X, y, 2)
    plane = plane_for(problem, np.ones(30, bool), time.monotonic() + 1e6)
    assert plane is not None
    assert plane.errors == 0
    _stop_clock(monkeypatch, 1)
    assert plane_for(problem, np.ones(30, bool), time.monotonic() + 1e6) is None


def test_a_tenth_of_the_limit_is_kept_for_the_final_check(monkeypatch: Any) -> None:
    """Numbers of many digits take longer to check than their number suggests."""
    seconds = []

    class Prover(prover.TwoClasses):
        def __init__(self, given: Any, intercept: bool, deadline: float, verbose: bool) -> None:
            seconds.append(deadline - time.monotonic())
            super().__init__(given, intercept, deadline, verbose)

    monkeypatch.setattr("rosenblatt.proofs.certify.TwoClasses", Prover)
    assert rb.certify(*CASES["separable"], time_limit=1000.0).verdict == "separable"
    assert 850.0 < seconds[0] <= 900.0


def test_the_bounds_of_wide_rows_are_computed_within_the_limit(monkeypatch: Any) -> None:
    """A bound from two rows of 500,000 values takes more than a second and is not interrupted."""
    ends: list[float] = []

    def recorded(deadline: float) -> Any:
        ends.append(deadline - time.monotonic())
        return run_until(deadline)

    monkeypatch.setattr(certify_module, "run_until", recorded)
    X, y = sp.csr_array(([1.0], ([0], [0])), shape=(2, 1)), [0, 1]
    rb.certify(X, y, time_limit=1000.0)
    monkeypatch.setattr(certify_module, "SECONDS_PER_BOUND_VALUE", 1000.0)
    rb.certify(X, y, time_limit=1000.0)
    assert 990.0 < ends[0] <= 1000.0
    assert 490.0 < ends[2] <= 500.0  # half a value in each row
    monkeypatch.setattr(certify_module, "SECONDS_PER_BOUND_VALUE", 1e6)
    rb.certify(X, y, time_limit=1000.0)
    assert 390.0 < ends[4] <= 400.0


def test_least_squares_start_a_search_only_if_they_end_in_time(monkeypatch: Any) -> None:
    X, y = _normal(60, 4, noise=0.2)
    monkeypatch.setattr(search, "MAX_ROTATION_WORK", 0)
    fits = []
    fit = np.linalg.lstsq
    monkeypatch.setattr(search.np.linalg, "lstsq", lambda *given, **options: fits.append(1) or fit(*given, **options))
    problem = make_problem(X, y, 2)
    search.Search(problem, 0, time.perf_counter() + 1e6)
    assert len(fits) == 1
    monkeypatch.setattr(search, "SECONDS_PER_FIT_WORK", 1e6)
    found = search.Search(problem, 0, time.perf_counter() + 1e6)
    assert len(fits) == 1
    assert 0 < found.best.errors < 60


def test_no_deadline_outside_and_the_earlier_one_inside() -> None:
    check_time(1e300)
    now = time.monotonic()
    with run_until(now + 1e6):
        with run_until(now - 1.0), pytest.raises(OutOfTimeError):
            check_time()
        with run_until(math.inf), pytest.raises(OutOfTimeError):
            check_time(2e6)
        check_time()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("n", "d", "n_classes", "scale"),
    [(20_000, 100, 2, 1.0), (300, 20_000, 2, 1.0), (1000, 5000, 2, 1.0), (2000, 400, 30, 1.0), (5000, 50, 2, 1e12)],
)
def test_limits_hold_within_a_fifth_of_a_second(n: int, d: int, n_classes: int, scale: float) -> None:
    X, y = _normal(n, d, n_classes)
    X *= np.geomspace(1 / scale, scale, d)
    rb.certify(X[:10], np.arange(10) % 2, time_limit=5.0)  # compiles
    began = time.perf_counter()
    rb.certify(X, y, time_limit=0.5)
    assert in_time(time.perf_counter() - began, 0.9)
    began = time.perf_counter()
    rb.doctor(X, y, time_limit=2.0)
    assert in_time(time.perf_counter() - began, 2.6)
