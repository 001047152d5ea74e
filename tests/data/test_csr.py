"""The CSR matrix: the same rows as SciPy's, from and to all other forms."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.csr import CSRMatrix, hstack, vstack
from rosenblatt.data.problem import make_rows, some_rows, take_rows

X = np.where(np.random.default_rng(0).random((9, 5)) < 0.5, 0.0, np.random.default_rng(1).normal(size=(9, 5)))
ROWS = CSRMatrix.from_dense(X)


def test_rows_of_every_origin_are_the_same() -> None:
    for rows in (ROWS, CSRMatrix.from_scipy(sp.coo_array(X)), CSRMatrix.from_kernel(make_rows(ROWS))):
        assert np.array_equal(rows.toarray(), X)
        assert np.array_equal(rows.to_scipy().toarray(), X)
    twice = sp.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    assert CSRMatrix.from_scipy(twice).toarray().tolist() == [[0, 2, 0]]
    assert twice.nnz == 2, "the caller's matrix is not changed"


def test_parts_of_rows() -> None:
    chosen = np.array([3, 0, 3])
    assert np.array_equal(ROWS.take(chosen).toarray(), X[chosen])
    assert np.array_equal(ROWS[X[:, 0] > 0].toarray(), X[X[:, 0] > 0])
    assert np.array_equal(ROWS.slice(2, 6).toarray(), X[2:6])
    part = some_rows(make_rows(ROWS), 2, 6)
    assert np.array_equal(CSRMatrix.from_kernel(take_rows(part, np.array([1, 3]))).toarray(), X[[3, 5]])
    assert np.array_equal(ROWS.with_width(3).toarray(), X[:, :3])
    assert np.array_equal(ROWS.with_width(7).toarray(), np.hstack([X, np.zeros((9, 2))]))


def test_stacking_and_products() -> None:
    assert np.array_equal(hstack([ROWS, ROWS], 9).toarray(), np.hstack([X, X]))
    assert np.array_equal(vstack([ROWS, ROWS.slice(0, 2)], 5).toarray(), np.vstack([X, X[:2]]))
    W = np.random.default_rng(2).normal(size=(5, 3))
    assert np.array_equal(ROWS @ W, ROWS.to_scipy() @ W)
    zeros = CSRMatrix(np.array([0.0, 1.0]), np.array([0, 1], np.int32), np.array([0, 1, 2]), 2).without_zeros()
    assert (zeros.values.tolist(), zeros.indptr.tolist()) == ([1.0], [0, 0, 1])
