"""Many classes: the bounds of the margin are close, and found in seconds."""

import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from effort import in_time
from rosenblatt.parallel import one_blas_thread
from rosenblatt.proofs.class_pairs import KeslerRows
from rosenblatt.proofs.pairs_interior_point import PairsInteriorPoint


def parabola(n):
    x = np.arange(float(n))
    return np.column_stack([x, x * x]), np.arange(n)


def test_the_geometric_margin_is_narrow_where_the_intercepts_are_large():
    geometric = rb.certify(*parabola(30)).geometric
    assert geometric.gap < 1e-8
    assert geometric.lower == pytest.approx(58**-0.5, rel=1e-8)


def test_the_geometric_margin_does_not_change_when_rows_are_moved():
    X, y = parabola(12)
    here, there = (rb.certify(rows, y).geometric for rows in (X, X + 2.0**20))
    assert max(here.gap, there.gap) < 1e-8
    assert here.lower == pytest.approx(there.lower, rel=1e-8)


def test_unit_vectors_of_as_many_classes():
    # By symmetry w_c = e_c - mean: (w_l - w_z).e_l = 1, and sum |w_c|^2 = n - 1.
    n = 36
    begun = time.monotonic()
    certificate = rb.certify(np.eye(n), range(n))
    assert in_time(time.monotonic() - begun, 30)
    for space in (certificate.augmented, certificate.geometric):
        assert space.gap < 1e-12
        assert space.lower == pytest.approx((2 * (n - 1)) ** -0.5, rel=1e-12)


def test_many_classes_that_clash():
    X = np.vstack([np.eye(36), 2.0 * np.eye(36)[1] - np.eye(36)[0]])  # row 1 is half way between rows 0 and 36, of class 0
    y = np.append(np.arange(36), 0)
    certificate = rb.certify(X, y)
    assert certificate.verdict == "inseparable"
    rb.verify(certificate, X, y)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("scale", [1.0, 2.0**-1000, 2.0**1000])
def test_weights_and_planes_bracket_the_margin_of_random_rows(free, scale):
    rng = np.random.default_rng(0)
    X, codes = scale * rng.normal(size=(16, 8)), np.arange(16)
    rows = KeslerRows(X, codes, 16, 0.0)
    some = PairsInteriorPoint(rows, rows.index, free)
    with one_blas_thread():
        found = some.nearest(np.inf)
    for a, y in found:
        assert (a >= 0).all()
        np.testing.assert_allclose(some.A.T @ a, some.r, atol=1e-12)
        length = np.linalg.norm(some.point(a))
        least = (some.products(a) + some.A[:, 1:] @ y[1:]).min() / length
        assert least <= length * (1 + 1e-12)
        assert least == pytest.approx(length, rel=1e-9)
        planes = some.planes(a, y)
        W = np.array([[float(plane.weights[c]) for c in range(8)] for plane in planes])
        scores = X @ W.T + np.array([float(plane.intercept) for plane in planes])
        assert (scores.argmax(axis=1) == codes).all()


@pytest.mark.parametrize("x0", [0.0, 1.0])
def test_vectors_of_many_classes_are_sparse_and_the_same(x0, monkeypatch):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 30)), np.arange(60) % 40
    places = rng.permutation(60 * 39)[:50]
    few = KeslerRows(X, codes, 40, x0).take(places)
    assert sp.issparse(few)
    monkeypatch.setattr("rosenblatt.proofs.class_pairs.MAX_DENSE_COLUMNS", 10**6)
    assert (few.toarray() == KeslerRows(X, codes, 40, x0).take(places)).all()


def test_many_classes_take_memory_in_proportion_to_the_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 200)), np.arange(400) % 100
    rb.certify(X[:40], y[:40] % 2)
    tracemalloc.start()
    try:
        rb.certify(X, y, time_limit=0.5)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20  # 512 vectors of 20,100 numbers are 82 MB
    finally:
        tracemalloc.stop()
