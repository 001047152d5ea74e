"""The polynomial expansion: scikit-learn's products bit for bit, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import PolynomialFeatures

from rosenblatt.data import polynomials
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.polynomials import Polynomial


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_products_are_those_of_scikit_learn(columns: int, degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polynomials, "PRODUCTS_PER_BLOCK", 20)
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(60, columns))
    theirs, ours = PolynomialFeatures(degree, include_bias=False), Polynomial(columns, degree)
    assert np.array_equal(ours.expand(X, from_right=True), theirs.fit_transform(X))
    thin = sp.csr_matrix(X * (rng.random(X.shape) < 0.5))
    thin.data[0] = 0.0  # explicit zeros stay
    expected, found = theirs.fit_transform(thin), ours.expand_sparse(CSRMatrix.from_scipy(thin))
    assert np.array_equal(found.indptr, expected.indptr)
    assert np.array_equal(found.indices, expected.indices)
    assert np.array_equal(found.values, expected.data)


def test_sparse_and_dense_rows_have_the_same_features() -> None:
    X = np.where(np.random.default_rng(0).random((30, 4)) < 0.5, 0.0, 0.1)
    polynomial = Polynomial(4, 5)
    assert np.array_equal(polynomial.expand_sparse(CSRMatrix.from_dense(X)).toarray(), polynomial.expand(X))
    factors = [polynomial.factors(j) for j in range(polynomial.width)]
    assert factors == sorted(factors, key=lambda columns: (len(columns), columns))
