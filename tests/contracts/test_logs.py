"""Contracts of every algorithm that keeps a log: container and number type do not change it, and it replays to the weights.

`test_every_algorithm.py` has the contracts that do not need a log, and compares logs where there is one.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from test_every_algorithm import assert_same_bits

from rosenblatt.catalog import ALGORITHMS
from rosenblatt.kernels.compile import COMPILED

ONLINE = {name: algorithm for name, algorithm in ALGORITHMS.items() if algorithm.logged}

SCHEMES = {"binary": (2, "joint"), "joint": (4, "joint"), "ovr": (4, "ovr")}


def rows_of(scheme, dtype):
    """Small integers: every score is exact in either number type and any order of summation. As many features as classes."""
    k, _ = SCHEMES[scheme]
    rng = np.random.default_rng(k)
    y = np.arange(48) % k
    X = rng.integers(-2, 3, (48, 4)) * rng.integers(0, 2, (48, 4))
    X[np.arange(48), y] += 1 + 7 * (y == 0)  # one class separates early
    return X.astype(dtype), np.array(["d", "a", "c", "b"])[y]


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return request.param


def kinds():
    """Every algorithm on each container, and the first of each class on float32; --thorough adds the other combinations."""
    firsts = {algorithm.estimator: name for name, algorithm in reversed(ONLINE.items())}
    for name, algorithm in ONLINE.items():
        for dtype, container in itertools.product(("float64", "float32"), ("dense", "csr")):
            brief = dtype == "float64" or (COMPILED and container == "dense" and firsts[algorithm.estimator] == name)
            marks = [] if brief else [pytest.mark.thorough]  # plain Python has one number type
            yield pytest.param((name, dtype, container), marks=marks, id=f"{name}-{dtype}-{container}")


@pytest.fixture(params=kinds())
def kind(request):
    return request.param


@pytest.fixture
def dtype(kind):
    return kind[1]


@pytest.fixture
def pack(kind):
    return {"dense": np.ascontiguousarray, "csr": sp.csr_array}[kind[2]]


@pytest.fixture
def make(kind, scheme):
    return maker(ONLINE[kind[0]], scheme)


def maker(algorithm, scheme):
    def make(**parameters):
        few = 1 if algorithm.parameters.get("order") == "mistakes" else 4
        many = {"multiclass": SCHEMES[scheme][1]} if "multiclass" in algorithm.make().get_params() else {}
        return algorithm.make(**{**many, "random_state": 5, "max_iter": few, **parameters})

    return make


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", ONLINE)
def test_dense_and_csr_agree(name, scheme, dtype):
    X, y = rows_of(scheme, dtype)
    make = maker(ALGORITHMS[name], scheme)
    dense, csr = make().fit(X, y), make().fit(sp.csr_array(X), y)
    # Sums are added in another order, so a row exactly on the margin (passive-aggressive steps lead there) may move by a hair.
    moved, moved_csr = (np.flatnonzero(model.log_.steps > 1e-6) for model in (dense, csr))
    assert dense.log_.rows[moved].tolist() == csr.log_.rows[moved_csr].tolist()
    assert dense.log_.rivals[moved].tolist() == csr.log_.rivals[moved_csr].tolist()
    np.testing.assert_allclose(dense.log_.steps[moved], csr.log_.steps[moved_csr], rtol=1e-5, atol=1e-6)
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(dense.decision_function(X), csr.decision_function(X), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(csr.decision_function(sp.csr_array(X)), csr.decision_function(X), rtol=tolerance, atol=tolerance)
    if hasattr(dense, "coef_"):
        np.testing.assert_allclose(dense.coef_, csr.coef_, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(dense.intercept_, csr.intercept_, rtol=tolerance, atol=tolerance)


@pytest.mark.once
def test_weights_keep_the_number_type_of_the_rows(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    rows = pack(X)
    model = make().fit(rows, y)
    k = SCHEMES[scheme][0]
    if hasattr(model, "coef_"):
        assert model.coef_.dtype == dtype
        assert model.coef_.shape == (1 if k == 2 else k, 4)
    assert model.log_.weights_at(model.log_.n_updates)[0].dtype == dtype
    assert model.decision_function(pack(X)).shape == ((48,) if k == 2 else (48, k))


@pytest.mark.once
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "name", [name if name == "perceptron" else pytest.param(name, marks=pytest.mark.thorough) for name in ONLINE]
)
def test_long_indices_give_the_same_bits(name, scheme, dtype):
    X, y = rows_of(scheme, dtype)
    make = maker(ALGORITHMS[name], scheme)
    short, long = sp.csr_array(X), sp.csr_array(X)
    short.indices, short.indptr = short.indices.astype(np.int32), short.indptr.astype(np.int32)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    one, other = make().fit(short, y), make().fit(long, y)
    assert one.log_._record.problem.rows.indices.dtype == np.int32
    assert other.log_._record.problem.rows.indices.dtype == np.int64
    assert_same_bits(one, other, X)


@pytest.mark.once
def test_rows_are_neither_changed_nor_copied(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    rows = pack(X)
    labels = y.copy()
    model = make().fit(rows, y)
    model.predict(rows)
    assert np.array_equal(rows.toarray() if sp.issparse(rows) else rows, rows_of(scheme, dtype)[0])
    assert np.array_equal(y, labels)
    kept = model.log_._whole()._record.problem.rows
    if sp.issparse(rows):
        assert np.shares_memory(kept.values, rows.data)
        assert np.shares_memory(kept.indices, rows.indices)
    else:
        assert np.shares_memory(kept.values, rows)


def test_the_log_replays_to_the_last_weights(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    rows = pack(X)
    model = make(keep="last").fit(rows, y)
    coef, intercept = model.log_.weights_at(model.log_.n_updates)
    assert np.array_equal(coef, model.coef_)
    assert np.array_equal(intercept, model.intercept_)


def test_rows_of_weight_zero_are_as_good_as_absent(make, scheme, dtype, pack):
    """In the order of the rows; a draw from more rows is another draw."""
    X, y = rows_of(scheme, dtype)
    c = np.arange(48) % 3 > 0
    order = {} if make().order == "mistakes" else {"order": "cyclic"}
    weighted, fewer = make(**order).fit(pack(X), y, sample_weight=c.astype(float)), make(**order).fit(pack(X[c]), y[c])
    assert np.flatnonzero(c)[fewer.log_.rows].tolist() == weighted.log_.rows.tolist()
    assert np.array_equal(weighted.decision_function(X), fewer.decision_function(X))
