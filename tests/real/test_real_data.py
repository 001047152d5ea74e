"""Real data: theorems that must hold on it, and scikit-learn's weights where it runs the same algorithm."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as Peer

import rosenblatt as rb
from datasets import data_file, libsvm, mnist

pytestmark = pytest.mark.slow


def peer(passes: int, **parameters: Any) -> Peer:
    """scikit-learn's perceptron, rows in order and a fixed number of passes."""
    return Peer(shuffle=False, tol=None, max_iter=passes, **parameters)


def fit_peer(model: Peer, X: Any, y: Any, **start: Any) -> Peer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        return model.fit(X, y, **start)


# --- mushrooms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csr", "dense"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["cyclic", "permuted", "random"])
def test_mushrooms_are_separated_within_the_mistake_bound(order: str, dtype: Any, kind: str) -> None:
    X, y = libsvm("mushrooms", dtype)
    rows = X.toarray() if kind == "dense" else X
    model = rb.Perceptron(max_iter=None, order=order, random_state=0).fit(rows, y)
    assert model.stop_.separated
    np.testing.assert_array_equal(model.predict(rows), y)
    # Novikoff: every separator u bounds the updates by (R/gamma_u)^2, so the one found does, too.
    w = np.concatenate([model.intercept_, model.coef_[0]]).astype(np.float64)
    P = np.column_stack([np.ones(X.shape[0]), X.toarray()])
    gamma = (np.where(y == 2, 1, -1) * (P @ w)).min() / np.linalg.norm(w)
    R = np.linalg.norm(P, axis=1).max()
    assert gamma > 0
    assert 0 < model.n_updates_ <= (R / gamma) ** 2


def test_mushrooms_in_batch_are_separated_within_their_bound() -> None:
    X, y = libsvm("mushrooms")
    model = rb.Perceptron(max_iter=None, update="batch").fit(X, y)
    assert model.stop_.separated
    np.testing.assert_array_equal(model.predict(X), y)
    P = np.column_stack([np.ones(X.shape[0]), X.toarray()])
    w = np.concatenate([model.intercept_, model.coef_[0]])
    gamma = (np.where(y == 2, 1, -1) * (P @ w)).min() / np.linalg.norm(w)
    assert len(model.log_) <= len(y) * (np.linalg.norm(P, axis=1).max() / gamma) ** 2


def test_every_reading_of_separated_mushrooms_is_as_it_should_be() -> None:
    X, y = libsvm("mushrooms")
    model = rb.Perceptron(max_iter=None, random_state=0).fit(X, y)
    pocket = model.reading("pocket")
    assert pocket.pocket_errors_ == 0
    np.testing.assert_array_equal(pocket.predict(X), y)
    for keep in ("average", "vote"):
        assert model.reading(keep).score(X, y) > 0.99


# --- w8a ---------------------------------------------------------------------------------------------------------------


def with_indices(X: Any, index: Any) -> Any:
    """The same matrix with another type of indices; scikit-learn's learners take int32 only."""
    return sp.csr_matrix((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_w8a_sparse_weights_without_intercept_are_those_of_scikit_learn(index: Any) -> None:
    """Values are 0 and 1, so everything is a whole number and exact."""
    X, y = libsvm("w8a")
    theirs = fit_peer(peer(2, fit_intercept=False), with_indices(X, np.int32), y)
    ours = rb.Perceptron(order="cyclic", max_iter=2, fit_intercept=False).fit(with_indices(X, index), y)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_w8a_sparse_weights_with_intercept_are_those_of_scikit_learn(index: Any) -> None:
    """scikit-learn scales the bias step of sparse rows by 0.01, so that x_0^2 = 0.01.

    Scores are whole numbers and a hundredth times the updates. From half a hundredth none of them is zero, or else rounding
    would decide.
    """
    X, y = libsvm("w8a")
    theirs = fit_peer(peer(3), with_indices(X, np.int32), y, intercept_init=np.array([0.005]))
    start = np.concatenate([[0.05], np.zeros(X.shape[1])])
    ours = rb.Perceptron(order="cyclic", max_iter=3, intercept_scaling=0.1, init=start).fit(with_indices(X, index), y)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_w8a_dense_weights_are_those_of_scikit_learn() -> None:
    X, y = libsvm("w8a")
    X = X[:10_000].toarray()
    ours = rb.Perceptron(order="cyclic", max_iter=3).fit(X, y[:10_000])
    theirs = fit_peer(peer(3), X, y[:10_000])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)


def test_w8a_updates_are_counted_as_a_naive_pass_counts_them() -> None:
    X, y = libsvm("w8a")
    X, y = X[:3000], y[:3000]
    w, bias, updates = np.zeros(X.shape[1]), 0.0, 0
    for i in range(X.shape[0]):
        columns, values = X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]]
        if y[i] * (w[columns] @ values + bias) <= 0:
            w[columns] += y[i] * values
            bias += y[i]
            updates += 1
    model = rb.Perceptron(order="cyclic", max_iter=1).fit(X, y)
    assert model.n_updates_ == updates
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-9)


def test_w8a_streamed_in_chunks_is_one_pass_of_fit() -> None:
    X, y = libsvm("w8a")
    for keep in ("last", "average"):
        model = rb.Perceptron(keep=keep)
        for start in range(0, X.shape[0], 7001):
            model.partial_fit(X[start : start + 7001], y[start : start + 7001], classes=[-1, 1])
        whole = rb.Perceptron(keep=keep, order="cyclic", max_iter=1).fit(X, y)
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        np.testing.assert_array_equal(model.intercept_, whole.intercept_)


# --- MNIST -------------------------------------------------------------------------------------------------------------


def test_mnist_one_vs_rest_weights_are_those_of_scikit_learn() -> None:
    X, y = mnist(rows=10_000)
    ours = rb.Perceptron(multiclass="ovr", order="cyclic", max_iter=2).fit(X, y)
    theirs = fit_peer(peer(2), X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_averaged_perceptron_reads_most_digits(dtype: Any, multiclass: str) -> None:
    X, y = mnist(rows=10_000)
    X_test, y_test = mnist("t10k")
    model = rb.Perceptron(keep="average", multiclass=multiclass, max_iter=3, random_state=0).fit(X.astype(dtype), y)
    assert model.score(X_test.astype(dtype), y_test) > 0.85


def test_mnist_dense_and_sparse_runs_make_the_same_updates() -> None:
    X, y = mnist(rows=3000)
    dense, csr = (rb.Perceptron(order="cyclic", max_iter=2).fit(rows, y) for rows in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.log_.rows, csr.log_.rows)
    np.testing.assert_array_equal(dense.log_.rivals, csr.log_.rivals)
    np.testing.assert_allclose(dense.coef_, csr.coef_, atol=1e-9)


# --- the folder --------------------------------------------------------------------------------------------------------


def test_a_missing_file_is_named_when_its_test_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("ROSENBLATT_DATA", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"libsvm/mushrooms.*ROSENBLATT_DATA"):
        data_file("libsvm/mushrooms")
