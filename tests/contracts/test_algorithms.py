"""Contracts of every algorithm that keeps a log: container, number type, seed and threads do not change the fit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

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


# Every algorithm runs on each container and each number type; --thorough adds the other two combinations. Plain Python has one
# number type.
KINDS = [
    ("float64", "dense"),
    ("float32" if COMPILED else "float64", "csr"),
    pytest.param(("float32", "dense"), marks=pytest.mark.thorough),
    pytest.param(("float64", "csr"), marks=pytest.mark.thorough),
]


@pytest.fixture(params=KINDS, ids="-".join)
def kind(request):
    return request.param


@pytest.fixture
def dtype(kind):
    return kind[0]


@pytest.fixture
def pack(kind):
    return {"dense": np.ascontiguousarray, "csr": sp.csr_array}[kind[1]]


@pytest.fixture(params=ONLINE)
def make(request, scheme):
    return maker(ONLINE[request.param], scheme)


def maker(algorithm, scheme):
    def make(**parameters):
        few = 1 if algorithm.parameters.get("order") == "mistakes" else 4
        many = {"multiclass": SCHEMES[scheme][1]} if "multiclass" in algorithm.make().get_params() else {}
        return algorithm.make(**{**many, "random_state": 5, "max_iter": few, **parameters})

    return make


def assert_same_bits(one, other, X):
    for name in ("coef_", "intercept_"):
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    for name, column in one.log_.to_dict().items():
        assert np.array_equal(column, other.log_.to_dict()[name]), name
    assert np.array_equal(one.log_.durations, other.log_.durations)
    assert one.log_.passes == other.log_.passes
    assert (one.n_iter_, one.n_updates_, one.stop_) == (other.n_iter_, other.n_updates_, other.stop_)


@pytest.mark.once
def test_it_learns_something(make, scheme, dtype, pack):
    """Better than always predicting the largest class, on training rows; one last hypothesis may be poor by chance."""
    X, y = rows_of(scheme, dtype)
    scores = [make(random_state=seed).fit(pack(X), y).score(pack(X), y) for seed in range(5)]
    commonest = max(np.unique(y, return_counts=True)[1]) / len(y)
    assert np.mean(scores) > commonest + 0.1


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.thorough)])
def test_dense_and_csr_agree(make, scheme, dtype):
    X, y = rows_of(scheme, dtype)
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
    model = make().fit(pack(X), y)
    k = SCHEMES[scheme][0]
    if hasattr(model, "coef_"):
        assert model.coef_.dtype == dtype
        assert model.coef_.shape == (1 if k == 2 else k, 4)
    assert model.log_.weights_at(model.log_.n_updates)[0].dtype == dtype
    assert model.decision_function(pack(X)).shape == ((48,) if k == 2 else (48, k))


@pytest.mark.once
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "make", [name if name == "perceptron" else pytest.param(name, marks=pytest.mark.thorough) for name in ONLINE], indirect=True
)
def test_long_indices_give_the_same_bits(make, scheme, dtype):
    X, y = rows_of(scheme, dtype)
    short, long = sp.csr_array(X), sp.csr_array(X)
    short.indices, short.indptr = short.indices.astype(np.int32), short.indptr.astype(np.int32)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    one, other = make().fit(short, y), make().fit(long, y)
    assert one.log_.record.problem.rows.indices.dtype == np.int32
    assert other.log_.record.problem.rows.indices.dtype == np.int64
    assert_same_bits(one, other, X)


@pytest.mark.once
def test_a_seed_gives_the_same_bits_again(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    assert_same_bits(make().fit(pack(X), y), make().fit(pack(X), y), X)


@pytest.mark.once
def test_threads_do_not_change_a_bit(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    alone = make(n_jobs=1).fit(pack(X), y)
    for n_jobs in (2, 3):
        assert_same_bits(alone, make(n_jobs=n_jobs).fit(pack(X), y), X)


@pytest.mark.once
def test_a_refit_is_a_fresh_fit(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    used = make().fit(pack(X[:30] * 2), y[:30])
    assert_same_bits(used.fit(pack(X), y), make().fit(pack(X), y), X)
    assert_same_bits(clone(used).fit(pack(X), y), make().fit(pack(X), y), X)


@pytest.mark.once
def test_rows_are_neither_changed_nor_copied(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    rows = pack(X)
    labels = y.copy()
    model = make().fit(rows, y)
    model.predict(rows)
    assert np.array_equal(rows.toarray() if sp.issparse(rows) else rows, rows_of(scheme, dtype)[0])
    assert np.array_equal(y, labels)
    kept = model.log_.record.problem.rows
    if sp.issparse(rows):
        assert np.shares_memory(kept.values, rows.data)
        assert np.shares_memory(kept.indices, rows.indices)
    else:
        assert np.shares_memory(kept.values, rows)


def test_the_log_replays_to_the_last_weights(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    model = make(keep="last").fit(pack(X), y)
    coef, intercept = model.log_.weights_at(model.log_.n_updates)
    assert np.array_equal(coef, model.coef_)
    assert np.array_equal(intercept, model.intercept_)


@pytest.mark.once
def test_a_pickled_model_predicts_the_same(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    model = make().fit(pack(X), y)
    loaded = pickle.loads(pickle.dumps(model))
    assert np.array_equal(loaded.decision_function(pack(X)), model.decision_function(pack(X)))
    assert np.array_equal(loaded.predict(pack(X)), model.predict(pack(X)))
    assert loaded.stop_ == model.stop_
    for name, column in model.log_.to_dict().items():
        assert np.array_equal(column, loaded.log_.to_dict()[name]), name
    coef, _ = loaded.log_.weights_at(loaded.log_.n_updates)
    assert np.array_equal(coef, model.log_.weights_at(model.log_.n_updates)[0])


@pytest.mark.once
def test_weights_of_one_change_nothing(make, scheme, dtype, pack):
    X, y = rows_of(scheme, dtype)
    assert_same_bits(make().fit(pack(X), y, sample_weight=np.ones(48)), make().fit(pack(X), y), X)


def test_rows_of_weight_zero_are_as_good_as_absent(make, scheme, dtype, pack):
    """In the order of the rows; a draw from more rows is another draw."""
    X, y = rows_of(scheme, dtype)
    c = np.arange(48) % 3 > 0
    order = {} if make().order == "mistakes" else {"order": "cyclic"}
    weighted, fewer = make(**order).fit(pack(X), y, sample_weight=c.astype(float)), make(**order).fit(pack(X[c]), y[c])
    assert np.flatnonzero(c)[fewer.log_.rows].tolist() == weighted.log_.rows.tolist()
    assert np.array_equal(weighted.decision_function(X), fewer.decision_function(X))
