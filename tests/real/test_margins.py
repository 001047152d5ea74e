"""Widest margins of real data: libsvm's plane and support vectors, known margins, proofs that verify."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import rosenblatt as rb
from datasets import data_file, libsvm

pytestmark = pytest.mark.slow


def sonar() -> tuple[Any, Any]:
    lines = [line.split(",") for line in data_file("uci/sonar.all-data").read_text().split()]
    return np.array([line[:-1] for line in lines], np.float64), np.array([line[-1] for line in lines])


def setosa() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X, (y == 0).astype(int)


def mushrooms() -> tuple[Any, Any]:
    X, y = libsvm("mushrooms")
    return X.toarray(), y


@pytest.mark.parametrize("data", [sonar, setosa, mushrooms])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_the_conditions_of_the_optimum_hold_and_no_plane_is_wider(data: Any, container: Any) -> None:
    X, y = data()
    model = rb.MaxMargin(tol=1e-12).fit(container(X), y)
    signs = np.where(y == model.classes_[1], 1, -1)
    assert model.gap_ <= 1e-12
    canonical = signs * (X @ model.coef_[0] + model.intercept_[0])
    assert canonical.min() > 1 - 1e-9
    held = model.support_[0]
    np.testing.assert_allclose(canonical[held], 1, rtol=1e-8)
    alpha = model.multipliers_[0]
    assert (alpha > 0).all()
    assert abs((alpha * signs[held]).sum()) < 1e-10 * alpha.sum()
    w = (alpha * signs[held]) @ X[held]
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-6, atol=1e-9 * np.linalg.norm(w))
    # Primal and dual objective, each from its own variables.
    primal, dual = model.coef_[0] @ model.coef_[0] / 2, alpha.sum() - w @ w / 2
    assert dual == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize("data", [setosa, mushrooms])
def test_libsvm_finds_the_same(data: Any) -> None:
    X, y = data()
    model, peer = rb.MaxMargin(tol=1e-12).fit(X, y), SVC(kernel="linear", C=1e10, tol=1e-8).fit(X, y)
    assert np.linalg.norm(model.coef_) == pytest.approx(np.linalg.norm(peer.coef_), rel=1e-6)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    # Mushrooms are rows of zeros and ones, and many more lie on the margin than hold it: any of those may.
    on_margin = np.flatnonzero(model.canonical_[0] < 1 + 1e-6)
    assert set(model.support_[0].tolist()) <= set(on_margin.tolist())
    assert set(peer.support_.tolist()) <= set(on_margin.tolist())
    if data is setosa:
        assert model.support_[0].tolist() == sorted(peer.support_.tolist())


@pytest.mark.thorough  # libsvm takes long
def test_libsvm_stops_short_of_sonars_margin_with_the_same_support_vectors() -> None:
    """At tol=1e-8 its plane has rows inside the margin still; scaled until they are outside, it is narrower than ours."""
    X, y = sonar()
    model, peer = rb.MaxMargin(tol=1e-12).fit(X, y), SVC(kernel="linear", C=1e10, tol=1e-8).fit(X, y)
    assert model.support_[0].tolist() == sorted(peer.support_.tolist())
    signs = np.where(y == model.classes_[1], 1, -1)
    scores = X @ peer.coef_[0]
    theirs = (scores[signs > 0].min() - scores[signs < 0].max()) / 2 / np.linalg.norm(peer.coef_)
    assert 0.9 * model.margin_ < theirs < 0.99 * model.margin_


def test_sonar_has_the_margin_that_others_found() -> None:
    """With the bias counted in the norm: of standardized features 0.0195706371, of raw ones 0.00107931339 (by NNLS, too)."""
    X, y = sonar()
    one = np.ones((len(X), 1))
    for rows, margin in (((X - X.mean(axis=0)) / X.std(axis=0), 0.0195706371), (X, 0.00107931339)):
        model = rb.MaxMargin(tol=1e-10, fit_intercept=False).fit(np.hstack([rows, one]), y)
        assert model.margin_ == pytest.approx(margin, rel=3e-9)
        assert model.gap_ <= 1e-10


@pytest.mark.parametrize(
    "name",
    [
        "heart_scale",
        "breast-cancer_scale",
        "australian",
        "german.numer",
        "a1a",
        "a9a",
        pytest.param("ijcnn1.trn.bz2", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("container", ["csr", pytest.param("dense", marks=pytest.mark.thorough)])
def test_inseparable_data_is_refused_with_a_short_proof_that_verifies(name: str, container: str) -> None:
    X, y = libsvm(name)
    rows = X.toarray() if container == "dense" else X
    with pytest.raises(rb.NotSeparable) as caught:
        rb.MaxMargin().fit(rows, y)
    proof = caught.value
    assert proof.exact
    assert proof.check(rows, y)
    assert proof.check(X, y)
    assert 2 <= len(proof.rows) <= X.shape[1] + 2
    broken = rb.NotSeparable(proof.rows[:-1], proof.weights[:-1], proof.positive)
    assert not broken.check(rows, y)


def test_equal_rows_of_a9a_with_opposite_labels_are_named() -> None:
    X, y = libsvm("a9a")
    with pytest.raises(rb.NotSeparable, match="rows 88 and 436 are the same point with different labels"):
        rb.MaxMargin().fit(X, y)
    assert (X[[87]] != X[[435]]).nnz == 0
    assert y[87] != y[435]
