"""Each operation on rows against NumPy: dense and CSR, both float types, both index types, all lengths of an unrolled loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.data.problem import make_rows
from rosenblatt.kernels.compile import OPTIONS
from rosenblatt.kernels.linear.rows import CSR, Dense, axpy, axpy_head, dot, dots, prefetch_row, sqnorm

# Not cached: the cache would not notice an edit of this file.
compiled = numba.njit(**OPTIONS)


@compiled
def call_dot(rows: Any, i: int, w: Any, out: Any) -> None:
    out[0] = dot(rows, i, w)


@compiled
def call_sqnorm(rows: Any, i: int, out: Any) -> None:
    out[0] = sqnorm(rows, i)


@compiled
def call_axpy(rows: Any, i: int, a: float, w: Any) -> None:
    axpy(rows, i, a, w)


@compiled
def call_dots(rows: Any, i: int, W: Any, out: Any) -> None:
    dots(rows, i, W, out)


@compiled
def call_axpy_head(rows: Any, i: int, a: float, W: Any, h: int) -> None:
    axpy_head(rows, i, a, W, h)


@compiled
def call_prefetch(rows: Any, i: int) -> None:
    prefetch_row(rows, i)


def layouts() -> Iterator[Any]:
    """Each container, number type and index type; float32 with long indices is compiled with --thorough."""
    for dtype in (np.float32, np.float64):
        for kind, index in (("dense", None), ("csr", np.int32), ("csr", np.int64)):
            marks = [pytest.mark.thorough] if (dtype, index) == (np.float32, np.int64) else []
            name = f"{kind}-{np.dtype(dtype)}-{index and np.dtype(index)}"
            yield pytest.param((kind, dtype, index), marks=marks, id=name)


@pytest.fixture(params=layouts())
def layout(request: pytest.FixtureRequest) -> Any:
    return request.param


def staircase(width: int = 9, seed: int = 0) -> Any:
    """Row i has i nonzeros, from none to `width`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(width + 1, width))
    for i in range(width + 1):
        X[i, rng.permutation(width)[: width - i]] = 0.0
    return X


def rows_of(X: Any, layout: Any) -> Any:
    kind, dtype, index = layout
    if kind == "dense":
        return make_rows(X.astype(dtype))
    S = sp.csr_array(X.astype(dtype))
    S.indices = S.indices.astype(index)
    return make_rows(S)


def heads_for(layout: Any, W: Any) -> Any:
    """Heads x features as the container wants them."""
    return np.ascontiguousarray(W if layout[0] == "dense" else W.T).astype(layout[1])


def tolerance(layout: Any) -> float:
    return 1e-12 if layout[1] is np.float64 else 1e-5


def test_the_rows_are_of_the_type_they_should_be(layout: Any) -> None:
    rows = rows_of(staircase(), layout)
    assert isinstance(rows, Dense if layout[0] == "dense" else CSR)
    assert rows.values.dtype == layout[1]


def test_dot_is_the_inner_product_for_any_number_of_nonzeros(layout: Any) -> None:
    X = staircase()
    rows, w, out = rows_of(X, layout), np.linspace(-1, 2, 9).astype(layout[1]), np.zeros(1)
    for i in range(len(X)):
        call_dot(rows, i, w, out)
        np.testing.assert_allclose(out[0], X[i].astype(layout[1]) @ w.astype(np.float64), atol=1e-12)


def test_dot_sums_in_float64(layout: Any) -> None:
    """1 + 2^-30 is lost in float32."""
    X = np.array([[1.0, 2.0**-30]])
    out = np.zeros(1)
    call_dot(rows_of(X, layout), 0, np.ones(2, layout[1]), out)
    assert out[0] == 1.0 + 2.0**-30


def test_sqnorm_is_the_squared_length(layout: Any) -> None:
    X = staircase()
    rows, out = rows_of(X, layout), np.zeros(1)
    for i in range(len(X)):
        call_sqnorm(rows, i, out)
        np.testing.assert_allclose(out[0], np.sum(X[i].astype(layout[1]).astype(np.float64) ** 2), atol=1e-12)


def test_axpy_adds_a_multiple_of_the_row(layout: Any) -> None:
    X = staircase()
    rows = rows_of(X, layout)
    for i in range(len(X)):
        w = np.arange(9).astype(layout[1])
        call_axpy(rows, i, -0.5, w)
        assert w.dtype == layout[1]
        np.testing.assert_allclose(w, np.arange(9) - 0.5 * X[i], atol=tolerance(layout))


def test_axpy_on_float64_sums_of_float32_rows_loses_nothing(layout: Any) -> None:
    X = staircase()
    rows = rows_of(X, layout)
    w = np.zeros(9)
    call_axpy(rows, 9, 0.1, w)
    np.testing.assert_allclose(w, 0.1 * X[9].astype(layout[1]).astype(np.float64), rtol=1e-15)


@pytest.mark.parametrize("k", range(1, 10))
def test_dots_gives_the_score_of_every_head(layout: Any, k: int) -> None:
    X = staircase()
    rows = rows_of(X, layout)
    W = np.random.default_rng(k).normal(size=(k, 9))
    for i in (0, 1, 4, 9):
        out = np.full(k, np.nan)
        call_dots(rows, i, heads_for(layout, W), out)
        np.testing.assert_allclose(out, W @ X[i], atol=tolerance(layout))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_axpy_head_moves_one_head_and_no_other(layout: Any, k: int) -> None:
    X = staircase()
    rows = rows_of(X, layout)
    for h in range(k):
        W = heads_for(layout, np.ones((k, 9)))
        call_axpy_head(rows, 7, 2.0, W, h)
        expected = np.ones((k, 9))
        expected[h] += 2.0 * X[7]
        np.testing.assert_allclose(W if layout[0] == "dense" else W.T, expected, atol=tolerance(layout))


def test_an_empty_row_scores_zero_and_moves_nothing(layout: Any) -> None:
    rows, out = rows_of(staircase(), layout), np.full(3, np.nan)
    w = np.ones(9, layout[1])
    call_axpy(rows, 0, 5.0, w)
    assert (w == 1.0).all()
    call_dots(rows, 0, heads_for(layout, np.ones((3, 9))), out)
    np.testing.assert_array_equal(out, np.zeros(3))


def test_a_column_far_out_is_found() -> None:
    for index in (np.int32, np.int64):
        S = sp.csr_array((np.array([2.0]), np.array([99_999], index), np.array([0, 1], index)), shape=(1, 100_000))
        w, out = np.zeros(100_000), np.zeros(1)
        w[-1] = 3.0
        call_dot(make_rows(S), 0, w, out)
        assert out[0] == 6.0


def test_prefetching_a_row_changes_nothing(layout: Any) -> None:
    rows = rows_of(staircase(), layout)
    before = rows.values.copy()
    for i in range(10):
        call_prefetch(rows, i)
    np.testing.assert_array_equal(rows.values, before)


def test_infinity_and_nan_are_not_optimised_away(layout: Any) -> None:
    rows, out = rows_of(np.ones((1, 9)), layout), np.zeros(1)
    w = np.zeros(9, layout[1])
    w[3] = np.inf
    call_dot(rows, 0, w, out)
    assert out[0] == np.inf
    w[5] = -np.inf
    with np.errstate(invalid="ignore"):
        call_dot(rows, 0, w, out)
    assert np.isnan(out[0])
