"""A time limit holds for the whole call: wherever time runs out, the result is a checked certificate."""

from __future__ import annotations

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


def _normal(n: int, d: int, n_classes: int = 2, noise: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    y = np.argmax(X @ rng.normal(size=(d, n_classes)), axis=1)
    return X, np.where(rng.random(n) < noise, (y + 1) % n_classes, y)


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
