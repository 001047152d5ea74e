"""Enumeration in low dimension: the fewest errors, exactly, for points in any position."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from brute_force import few_points, fewest_errors, separable, signed
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import in_time
from rosenblatt.proofs.minimum_errors import enumeration
from rosenblatt.proofs.minimum_errors.enumeration import Enumerated, enumerate_planes


def enumerated(X: Any, positive: Any, free: bool = True) -> Enumerated:
    found = enumerate_planes(np.asarray(X, np.float64), np.asarray(positive), free, time.perf_counter() + 60)
    assert found is not None
    return found


def check(X: Any, positive: Any, free: bool) -> None:
    found, Z = enumerated(X, positive, free), signed(X, positive, free)
    assert found.errors == fewest_errors(X, positive, free)
    assert found.right.sum() == len(X) - found.errors
    assert separable([z for z, right in zip(Z, found.right, strict=True) if right])


@settings(max_examples=150, deadline=None)
@given(few_points(), st.booleans())
def test_no_set_of_rows_does_better(points: Any, free: bool) -> None:
    check(*points, free)


@pytest.mark.parametrize("free", [True, False])
def test_grids_with_every_point_twice(free: bool) -> None:
    X = [[a, b] for a in (-1, 0, 1) for b in (0, 1)] * 2
    check(X[:9], [True, False, True, True, False, False, True, False, True], free)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("spread", [1.0, 0.1, 1e-25])
def test_four_weights_without_a_bias(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (6, 4)) * 1.0
    X[:, 1] = np.where(rng.random(6) < 0.5, X[:, 1], spread * X[:, 1])
    check(X, rng.random(6) < 0.5, False)


def many(seed: int, n: int, d: int, kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)) * 1.0 if kind == "grid" else rng.normal(size=(n, d))
    if kind == "decimals":
        X = np.round(X, 1)
    return X, rng.random(n) < 0.5


@pytest.mark.parametrize("kind", ["grid", "normal", "decimals"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_integers_and_floats_agree(kind: str, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a unit roundoff so large that no float sign is certain, integers decide every sign, and the results are the same."""
    X, positive = many(d, {1: 60, 2: 25, 3: 9}[d], d, kind)
    found = [enumerated(X, positive, free).errors for free in (True, False)]
    monkeypatch.setattr(enumeration, "UNIT_ROUNDOFF", 1e3)
    monkeypatch.setattr("rosenblatt.proofs.minimum_errors.exact_signs.SIGNIFICANT_BITS", 53)
    monkeypatch.setattr("rosenblatt.proofs.minimum_errors.exact_signs.IntegerPoints._bits", lambda *args: 99)
    assert [enumerated(X, positive, free).errors for free in (True, False)] == found


def test_one_flip_of_the_last_bit_is_seen() -> None:
    """Three points on a line, up to rounding: which side the middle one is on is decided, not guessed."""
    a, c = np.array([0.1, 0.1]), np.array([0.3, 0.3])
    for middle, errors in ((0.2, 1), (np.nextafter(0.2, 1), 0), (np.nextafter(0.2, 0), 0)):
        X = np.array([a, [0.2, middle], c])
        assert enumerated(X, [True, False, True]).errors == errors


def test_time_that_is_too_short_gives_no_answer() -> None:
    X, positive = many(0, 300, 3, "normal")
    begun = time.perf_counter()
    assert enumerate_planes(X, positive, True, begun + 0.2) is None
    assert in_time(time.perf_counter() - begun, 2)


def test_the_number_of_tries_is_reported() -> None:
    X, positive = many(0, 20, 2, "normal")
    found = enumerated(np.concatenate([X, X]), np.concatenate([positive, positive]))
    assert (found.points, found.tried) == (20, 190)
