"""Degenerate geometry, where a tolerance would guess, is decided exactly, in every container and with close bounds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from effort import in_time

UP, DOWN = np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)
TOUCHING = {
    "in a point": ([[0, 0], [2, 0], [1, 0], [1, 1]], [0, 0, 1, 1]),
    "in an edge": ([[0, 0], [2, 0], [0, 1], [1, 0], [3, 0], [1, -1]], [0, 0, 0, 1, 1, 1]),
    "in a corner": ([[0, 0, 0], [1, 1, 1], [1, 1, 1], [2, 1, 1]], [0, 0, 1, 1]),
    "past by an ulp": ([[0.0], [1.0], [DOWN], [2.0]], [0, 0, 1, 1]),
    "a zero and minus zero": ([[0.0, 0.0], [-0.0, 0.0]], [0, 1]),
    "columns of zeros": ([[0, 0, 0]] * 4, [0, 1, 0, 1]),
    "tiny beside huge": ([[1e-300, 1e300], [2e-300, 1e300], [3e-300, 1e300], [4e-300, 1e300]], [0, 1, 0, 1]),
    "three classes on a line": ([[0, 0], [1, 1], [2, 2], [3, 3]], [0, 1, 2, 0]),
    "three classes in a point": ([[0, 0], [0, 0], [1, 0], [0, 1]], [0, 1, 1, 2]),
    "far away": ([[1e15, 1e15], [1e15 + 2, 1e15], [1e15 + 1, 1e15]], [0, 0, 1]),
}
APART = {
    "by an ulp": ([[0.0], [1.0], [UP], [2.0]], [0, 0, 1, 1]),
    "by an ulp, three classes": ([[0.0, 0], [1.0, 0], [UP, 0], [2.0, 0], [0, 5]], [0, 0, 1, 1, 2]),
    "by 1e-12": ([[0, 0], [1, 1], [1 + 1e-12, 1 - 1e-12], [2, 0]], [0, 0, 1, 1]),
    "by 1e-14": ([[0, 0], [1, 1], [1 + 1e-14, 1 - 1e-14], [2, 0]], [0, 0, 1, 1]),
    "one row each": ([[1, 2], [1, 3]], [0, 1]),
    "one row each, three classes": ([[1, 2], [1, 3], [4, 4]], [0, 1, 2]),
    "tiny beside huge": ([[1e-300, 1e300], [2e-300, 1e300], [3e-300, 1e300], [4e-300, 1e300]], [0, 0, 1, 1]),
    "the smallest floats": ([[5e-324, 1.0], [1e-323, 1.0], [1.5e-323, 1.0], [2e-323, -1.0]], [0, 0, 1, 1]),
    "scales": ([[1e-8, 1e8], [2e-8, 2e8], [1.5e-8, 1e8], [3e-8, 2e8]], [0, 0, 1, 1]),
    "far away": ([[1e15, 1e15], [1e15 + 2, 1e15], [1e15 + 1, 1e15 + 1]], [0, 0, 1]),
}
SCALES = [1e-300, 1e-308, 5e-322, 1e300, 1e308]


@pytest.mark.parametrize("name", TOUCHING)
def test_hulls_that_touch_are_not_separable(name: str) -> None:
    X, y = TOUCHING[name]
    certificate = rb.certify(X, y)
    assert isinstance(certificate, rb.Inseparable)
    assert rb.verify(certificate, X, y)


@pytest.mark.parametrize("name", APART)
def test_hulls_that_do_not_are_however_near(name: str) -> None:
    X, y = APART[name]
    certificate = rb.certify(X, y)
    assert isinstance(certificate, rb.Separable)
    assert max(certificate.geometric.gap, certificate.augmented.gap) < 1e-9
    assert rb.verify(certificate, X, y)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_sizes_do_not_matter(scale: float, intercept: bool, classes: int) -> None:
    X, y = np.array([[1.0, 0.1], [0.1, 1.0], [-1.0, -1.0], [0.9, 0.1]]) * scale, [0, 1, 2 % classes, 0]
    if classes == 2:
        X[2] = X[0]
    certificate = rb.certify(X, y, fit_intercept=intercept)
    assert isinstance(certificate, rb.Separable)
    assert max(certificate.geometric.gap, certificate.augmented.gap) < 1e-9
    assert np.isfinite(certificate.coef).all()
    assert np.isfinite(certificate.intercept).all()
    assert 0 <= certificate.geometric.lower <= certificate.geometric.upper
    X[3] = X[1]
    assert isinstance(rb.certify(X, y, fit_intercept=intercept), rb.Inseparable)


@pytest.mark.parametrize("seed", [2, 3, 44, 49, 51, 85])
def test_weights_that_underflow_do_not_hide_the_nearest_row(seed: int) -> None:
    """A weight of 1e-320 is known to two digits only, and a row may have 1e160 there: the bound on scores must reflect that."""
    rng = np.random.default_rng(seed)
    X = 10.0 ** rng.integers(-300, 300, 3) * rng.integers(-4, 5, (6, 3))
    y = [0, 1, 0, 1, 0, 1]
    assert rb.verify(rb.certify(X, y), X, y)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_points_on_a_line_in_space(d: int) -> None:
    X = np.outer(np.arange(7), np.arange(1, d + 1)) * 0.1
    assert isinstance(rb.certify(X, [0, 0, 0, 1, 1, 1, 1]), rb.Separable)
    clash = rb.certify(X, [0, 0, 0, 1, 1, 1, 0])
    assert isinstance(clash, rb.Inseparable)


def test_grids() -> None:
    grid = np.array(np.meshgrid(*[range(7)] * 3)).reshape(3, -1).T
    y = (grid.sum(axis=1) > 9).astype(int)
    certificate = rb.certify(grid, y)
    assert isinstance(certificate, rb.Separable)
    assert certificate.geometric.upper == pytest.approx(0.5 / np.sqrt(3), rel=1e-12)
    y[171] = 1 - y[171]  # the center
    assert isinstance(rb.certify(grid, y), rb.Inseparable)


CONTAINERS = {
    "csr": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "frame": pd.DataFrame,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "int8": lambda X: X.astype(np.int8),
    "int8 csr, duplicates": lambda X: _with_duplicates(X.astype(np.int8)),
    "duplicates": lambda X: _with_duplicates(X),
    "explicit zeros": lambda X: _with_zeros(X),
    "read-only": lambda X: _read_only(X),
}
LABELS = {
    "strings": ["no", "yes"],
    "bools": [False, True],
    "floats": [-1.0, 1.0],
    "large": [0, 10**17 + 1],
}


def _with_duplicates(X: Any) -> Any:
    twice = np.repeat(np.arange(X.shape[1]), 2)
    parts = np.stack([X - 1, np.ones_like(X)], axis=2).reshape(len(X), -1)
    indptr = np.arange(len(X) + 1) * len(twice)
    return sp.csr_array((parts.ravel(), np.tile(twice, len(X)), indptr), shape=X.shape)


def _with_zeros(X: Any) -> Any:
    return sp.csr_array((X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), np.arange(len(X) + 1) * X.shape[1]), X.shape)


def _read_only(X: Any) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("separable", [True, False])
def test_the_certificate_does_not_depend_on_the_container(container: str, separable: bool) -> None:
    X = np.array([[0, 3, 0], [1, 0, -2], [-4, 0, 0], [-1, 2, 1], [0, 0, 0]], float)
    y = [0, 1, 0, 1, 1] if separable else [0, 1, 1, 1, 0]
    X[4] = [5, 5, 5] if separable else X[1]
    held = CONTAINERS[container](X)
    certificate = rb.certify(held, y)
    assert rb.verify(certificate, held, y)
    assert rb.verify(certificate, X, y)
    assert certificate.verdict == rb.certify(X, y).verdict
    assert certificate.about == rb.certify(X, y).about


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind(kind: str) -> None:
    X, names = np.array([[0.0], [1.0], [3.0], [4.0]]), LABELS[kind]
    for codes in ([0, 0, 1, 1], [0, 1, 0, 1]):
        y = np.array([names[c] for c in codes])
        certificate = rb.certify(X, y)
        assert rb.verify(certificate, X, y)
        assert rb.verify(certificate, X, y.tolist())
        assert not rb.verify(certificate, X, y[::-1])


@pytest.mark.parametrize("shape", [(6, 40), (400, 2)])
@pytest.mark.parametrize("classes", [2, 3])
def test_few_rows_and_many(shape: tuple[int, int], classes: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), np.arange(shape[0]) % classes
    certificate = rb.certify(X, y)
    assert certificate.verdict == ("separable" if shape[0] < shape[1] else "inseparable")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_time_limit_is_kept(classes: int, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 200)), rng.integers(0, classes, 3000)
    held = sp.csr_array(X) if sparse else X
    rb.certify(X[:50, :3], y[:50], time_limit=0.05)  # compiled
    began = time.perf_counter()
    certificate = rb.certify(held, y, time_limit=0.05)
    assert in_time(time.perf_counter() - began, 3.0)  # about one, on a machine that does nothing else
    assert rb.verify(certificate, X, y)
    if isinstance(certificate, rb.Undecided):
        assert 0 < certificate.augmented.upper < np.inf
        assert "a geometric margin above" in str(certificate)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_columns_of_very_different_sizes_are_decided(classes: int, sparse: bool) -> None:
    """Floats see only the largest of them: verdicts are found in columns made even, and hold of the columns as they are."""
    rng, d = np.random.default_rng(0), 8
    rows = rng.normal(size=(160, d))
    X = rows * 10.0 ** np.round(np.linspace(-8, 8, d))
    held = sp.csr_array(X) if sparse else X
    noise = rb.certify(held, rng.integers(0, classes, len(X)), time_limit=20)
    assert isinstance(noise, rb.Inseparable)
    labels = np.argmax(rows[:20] @ rng.normal(size=(d, classes)), axis=1)
    assert isinstance(rb.certify(held[:20], labels, time_limit=20), rb.Separable)
