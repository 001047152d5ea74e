"""Verdicts compared with enumeration: integers, so that hulls touch and points coincide, and floats of all sizes."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from truth import least_norm, nullspace, pairs, separates

import rosenblatt as rb
from resident_memory import resident_mb

RELAXED: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}


@st.composite
def labeled_grids(draw: Any) -> tuple[Any, list[int], bool]:
    """Few points of a small grid: half of the labels are those of planes, which makes about half of the sets separable."""
    k = draw(st.sampled_from([2, 2, 3]))
    d = draw(st.integers(1, 4 if k == 2 else 2))
    n = draw(st.integers(k, 10 if k == 2 else 7))
    rng, m = np.random.default_rng(draw(st.integers(0, 1 << 30))), draw(st.integers(1, 4))
    X = rng.integers(-m, m + 1, (n, d))
    y = rng.integers(0, k, n)
    if draw(st.booleans()):
        y = np.argmax(X @ rng.integers(-2, 3, (d, k)) + rng.integers(-1, 2, k), axis=1)
    if len(set(y.tolist())) < k:
        y[:k] = range(k)
    return X, y.tolist(), draw(st.booleans())


def check(X: Any, y: list[int], intercept: bool, given_as: Any = np.asarray) -> Any:
    """The verdict is the truth, it is verified, a clash is minimal; gives the certificate."""
    where, vectors = pairs([[Fraction(value) for value in row] for row in X.tolist()], y, intercept)
    certificate = rb.certify(given_as(X), y, fit_intercept=intercept)
    assert certificate.verdict == ("separable" if separates(vectors) else "inseparable")
    assert rb.verify(certificate, X, y)
    if isinstance(certificate, rb.Inseparable):
        assert all(weight > 0 for weight in certificate.weights)
        taken = [vectors[where.index(pair[:2])] for pair in certificate.clash]
        # One dimension: no proper part of the pairs sums to zero. So they are at most as many as dimensions, and one more.
        assert len(nullspace(taken)) == 1
        assert len(taken) <= (X.shape[1] + intercept) * max(y) + 1
    else:
        assert certificate.augmented.gap <= 1e-9
        assert certificate.geometric.gap <= 1e-9
        assert 0 < certificate.geometric.lower_squared <= certificate.geometric.upper_squared
        assert np.isfinite(certificate.coef).all()
        assert str(certificate)
    return certificate


@settings(max_examples=150, **RELAXED)
@given(labeled_grids())
def test_every_verdict_is_the_truth(data: tuple[Any, list[int], bool]) -> None:
    check(*data)


@pytest.mark.thorough
@settings(max_examples=2000, **RELAXED)
@given(labeled_grids())
def test_every_one_of_2000_verdicts_is_the_truth(data: tuple[Any, list[int], bool]) -> None:
    check(*data)


@settings(max_examples=40, phases=[Phase.generate], **RELAXED)
@given(labeled_grids())
def test_the_widest_margins_are_in_their_brackets(data: tuple[Any, list[int], bool]) -> None:
    X, y, intercept = data
    k, rows = max(y) + 1, len(y)
    few = range(min(5, rows) if k == 2 else 0)  # every support of them will be tried
    kept = sorted({*few, *(y.index(c) for c in range(k))})
    X, y = X[kept, :2], [y[i] for i in kept]
    certificate = rb.certify(X, y, fit_intercept=intercept)
    if not isinstance(certificate, rb.Separable):
        return
    points = [[1, *x] if intercept else x for x in X.tolist()]
    assert certificate.radius_squared == max(sum(value * value for value in p) for p in points)
    if k == 2:
        signed = [[(2 * c - 1) * value for value in p] for p, c in zip(points, y, strict=True)]
        augmented = least_norm(signed, [0] * len(y))
        geometric = least_norm([q[1:] for q in signed], y) / 4 if intercept else augmented
        assert certificate.geometric.lower_squared <= geometric <= certificate.geometric.upper_squared
    else:
        pairs = [(p, own, rival) for p, own in zip(points, y, strict=True) for rival in range(k) if rival != own]
        signed = [[((z == own) - (z == rival)) * value for z in range(k) for value in p] for p, own, rival in pairs]
        augmented = least_norm(signed, [0] * len(signed)) / 2
    assert certificate.augmented.lower_squared <= augmented <= certificate.augmented.upper_squared


@st.composite
def floats_of_all_sizes(draw: Any) -> tuple[Any, list[int], bool, Any]:
    X, y, intercept = draw(labeled_grids())
    rng, X = np.random.default_rng(draw(st.integers(0, 1 << 30))), X.astype(np.float64)
    (n, d), way = X.shape, draw(st.sampled_from(["columns", "rows", "values", "all", "ulps", "far", "float32"]))
    if way in ("columns", "rows", "values"):
        X *= 10.0 ** rng.integers(-307, 306, {"columns": (1, d), "rows": (n, 1), "values": (n, d)}[way])
    elif way == "all":
        X = np.ldexp(X, int(rng.integers(-1070, 1021)))
    elif way == "ulps":
        X = np.nextafter(0.1 * X, rng.choice([-np.inf, np.inf], (n, d)))
    elif way == "far":
        X += 10.0 ** rng.integers(0, 16)
    else:
        X = (X * rng.choice([1, 1e-8, 1e8, 3e-5], (1, d))).astype(np.float32)
    return X, y, intercept, draw(st.sampled_from([np.asarray, sp.csr_array]))


@settings(max_examples=80, **RELAXED)
@given(floats_of_all_sizes())
def test_neither_size_nor_rounding_changes_a_verdict(data: tuple[Any, list[int], bool, Any]) -> None:
    check(*data)


@pytest.mark.thorough
@settings(max_examples=400, **RELAXED)
@given(floats_of_all_sizes())
def test_neither_size_nor_rounding_changes_400_verdicts(data: tuple[Any, list[int], bool, Any]) -> None:
    check(*data)


@pytest.mark.once
def test_threads_that_proved_something_leave_no_memory() -> None:
    """FLINT has caches for each thread, 0.2 MB here, which it does not free when the thread ends."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-(10**6), 10**6, size=(60, 8)).astype(float), rng.integers(0, 2, 60)

    def certify_in_threads(count: int) -> float:
        for _ in range(count):
            thread = threading.Thread(target=rb.certify, args=(X, y))
            thread.start()
            thread.join()
        return resident_mb()

    before = certify_in_threads(20)
    assert certify_in_threads(100) - before < 8.0
