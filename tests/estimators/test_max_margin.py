"""`MaxMargin` from outside: what it leaves, several classes, bad input, scikit-learn's contract."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

import rosenblatt as rb
from rosenblatt.estimators.svm_base import ZeroPlaneWarning

containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def blobs(k: int = 2, n: int = 60, d: int = 3, dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    y = np.arange(n) % k
    return (rng.normal(size=(n, d)) + 8.0 * rng.normal(size=(k, d))[y]).astype(dtype), np.array(["d", "a", "c", "b", "e"])[y]


# --- two classes ----------------------------------------------------------------------------------------------------------


@containers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_a_fit_leaves(container: Any, dtype: Any) -> None:
    X, y = blobs(dtype=dtype)
    rows = container(X)
    model = rb.MaxMargin().fit(rows, y)
    signs = np.where(y == model.classes_[1], 1, -1)
    w = model.coef_[0]
    assert (model.coef_.shape, model.intercept_.shape, model.coef_.dtype) == ((1, 3), (1,), np.float64)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(w))
    assert model.margin_.shape == model.gap_.shape == (1,)
    assert 0 <= model.gap_ <= 1e-6
    (canonical,), (support,), (multipliers,), (vectors,) = (
        model.canonical_, model.support_, model.multipliers_, model.support_vectors_
    )  # fmt: skip
    np.testing.assert_allclose(canonical, signs * model.decision_function(rows), rtol=1e-5, atol=1e-5)
    assert canonical.min() == pytest.approx(1)
    np.testing.assert_allclose(canonical[support], 1, rtol=1e-5)
    kept = vectors.toarray() if sp.issparse(rows) else vectors
    assert np.array_equal(kept, X[support])
    held = signs[support] * multipliers
    np.testing.assert_allclose(held @ kept.astype(float), w, rtol=1e-6, atol=1e-9)
    assert abs(held.sum()) < 1e-9 * multipliers.sum()
    assert (model.solver_, model.stop_.reason, model.proof_) == (["active-set"], "tolerance", [None])
    assert model.n_iter_ >= 1
    assert model.score(rows, y) == 1.0


def test_scikit_learn_finds_the_same_plane_and_support_vectors() -> None:
    X, y = blobs(n=200)
    model, peer = rb.MaxMargin(tol=1e-12).fit(X, y), SVC(kernel="linear", C=1e10, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-6)
    assert model.support_[0].tolist() == sorted(peer.support_.tolist())


def test_without_a_bias_the_plane_goes_through_the_origin() -> None:
    X = np.array([[2.0, 1.0], [1.0, 3.0], [-2.0, 1.0]])
    model = rb.MaxMargin(fit_intercept=False).fit(X, [1, 1, 0])
    assert model.intercept_.tolist() == [0.0]
    assert model.canonical_.min() == pytest.approx(1)
    with pytest.raises(rb.NotSeparable, match="origin"):
        rb.MaxMargin(fit_intercept=False).fit([[1.0], [2.0]], [0, 1])


@containers
def test_rows_of_weight_zero_are_as_good_as_absent_and_other_weights_count_fully(container: Any) -> None:
    X, y = blobs()
    spoilt = np.concatenate([X, X])
    both = np.concatenate([y, y[::-1]])
    c = np.concatenate([np.linspace(0.1, 9, 60), np.zeros(60)])
    model, plain = rb.MaxMargin().fit(container(spoilt), both, sample_weight=c), rb.MaxMargin().fit(container(X), y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)
    assert model.support_[0].tolist() == plain.support_[0].tolist()
    assert np.isnan(model.canonical_[:, 60:]).all()
    np.testing.assert_allclose(model.canonical_[:, :60], plain.canonical_, rtol=1e-9)


def test_inseparable_rows_raise_and_leave_the_estimator_as_it_was() -> None:
    X, y = blobs()
    model = rb.MaxMargin().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(rb.NotSeparable) as caught:
        model.fit(X, np.random.default_rng(0).permutation(y))
    assert caught.value.exact
    assert np.array_equal(model.coef_, before)


def test_soft_keeps_the_proof_and_fits_what_is_left() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    model = rb.MaxMargin(inseparable="soft").fit(X, y)
    assert model.proof_[0].check(X, y)
    assert model.stop_.reason == "inseparable"
    assert model.stop_.sentence == "no plane separates the rows; slack was allowed"
    assert model.score(X, y) > 0.8
    assert model.canonical_.min() < 1


def test_rows_are_neither_changed_nor_copied() -> None:
    X, y = blobs()
    X.flags.writeable = False
    rb.MaxMargin().fit(X, y)
    rb.MaxMargin().fit(sp.csr_array(X), y)


def test_a_fit_that_does_not_converge_reports_its_gradient() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(
        ConvergenceWarning, match=r"tol=1e-6 was not reached: stopped after 2 iterations \(the limit\) with a gap"
    ):
        model = rb.MaxMargin(max_iter=2).fit(X, y)
    assert model.stop_.reason == "steps"
    assert model.gap_ > 1e-6


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_progress_names_the_problem_and_counts_iterations(multiclass: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = blobs(3)
    model = rb.MaxMargin(multiclass=multiclass, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(", ")[0] for line in lines] == sorted(line.split(", ")[0] for line in lines)
    assert lines[0].startswith("problem 1, iteration ")
    assert lines[-1].startswith("problem 3, iteration ")
    assert max(int(line.split("iteration ")[1].split(":")[0]) for line in lines) == model.n_iter_


def test_progress_of_one_problem_counts_what_max_iter_limits(capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).normal(size=(300, 8))
    with pytest.warns(ConvergenceWarning, match=r"stopped after 4 iterations \(the limit\)"):
        model = rb.MaxMargin(max_iter=4, verbose=1).fit(X, (X[:, 0] > 0).astype(int))
    assert model.n_iter_ == 4
    assert capsys.readouterr().err.splitlines()[-1].startswith("iteration 4: gap ")


def test_a_model_pickles() -> None:
    X, y = blobs(3)
    model = rb.MaxMargin().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again.stop_ == model.stop_


# --- several classes --------------------------------------------------------------------------------------------------------


@containers
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_each_machine_is_the_binary_one(scheme: str, container: Any) -> None:
    X, y = blobs(4, n=80, d=6)
    model = rb.MaxMargin(multiclass=scheme).fit(container(X), y)
    names = model.classes_
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert len(model.coef_) == (4 if scheme == "ovr" else 6)
    for h, plane in enumerate(model.coef_):
        mine = np.ones(80, bool) if scheme == "ovr" else np.isin(y, names[list(pairs[h])])
        positive = y == (names[h] if scheme == "ovr" else names[pairs[h][1]])
        alone = rb.MaxMargin().fit(container(X[mine]), positive[mine])
        np.testing.assert_allclose(plane, alone.coef_[0], rtol=1e-9)
        assert model.margin_[h] == pytest.approx(alone.margin_)
        assert model.support_[h].tolist() == np.flatnonzero(mine)[alone.support_[0]].tolist()
        assert np.array_equal(np.isnan(model.canonical_[h]), ~mine)
    assert model.decision_function(X).shape == (80, 4)
    assert model.score(X, y) == 1.0
    assert model.stop_.heads == ("tolerance",) * len(model.coef_)
    assert len(model.gap_) == len(model.coef_)


def test_votes_are_those_of_scikit_learn() -> None:
    """A class scores its votes and a fraction, which decides between equal votes by another rule than scikit-learn's."""
    X, y = blobs(4, n=80, d=6)
    model = rb.MaxMargin(tol=1e-10, multiclass="ovo").fit(X, y)
    peer = OneVsOneClassifier(rb.MaxMargin(tol=1e-10)).fit(X, y)
    grid = np.random.default_rng(0).normal(size=(300, 6)) * 8
    votes = np.floor(model.decision_function(grid))
    assert np.array_equal(votes, np.rint(peer.decision_function(grid)))
    alone = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
    assert alone.sum() > 250
    assert np.array_equal(model.predict(grid)[alone], peer.predict(grid)[alone])


def test_threads_do_not_change_a_bit() -> None:
    X, y = blobs(5, n=200, d=8)
    alone, shared = (rb.MaxMargin(multiclass="ovo", n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    assert np.array_equal(alone.coef_, shared.coef_)
    assert np.array_equal(alone.intercept_, shared.intercept_)


def test_the_class_that_cannot_be_separated_is_named() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with pytest.raises(rb.NotSeparable, match="of class versicolor from the rest") as caught:
        rb.MaxMargin().fit(X, names)
    assert caught.value.check(X, names)
    with pytest.raises(rb.NotSeparable, match="of class virginica from class versicolor") as caught:
        rb.MaxMargin(multiclass="ovo").fit(X, names)
    assert caught.value.check(X, names)
    assert not (names[caught.value.rows] == "setosa").any()


# --- bad input ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"tol": 0}, ValueError, "tol must be greater than 0"),
        ({"tol": float("nan")}, ValueError, "tol"),
        ({"tol": "small"}, TypeError, "tol must be a number"),
        ({"multiclass": "joint"}, ValueError, "multiclass must be one of 'ovr', 'ovo'"),
        ({"inseparable": "ignore"}, ValueError, "inseparable must be one of 'raise', 'soft'"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"fit_intercept": "yes"}, TypeError, "fit_intercept"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
    ],
)
def test_bad_parameters_are_named(parameters: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        rb.MaxMargin(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_bad_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        rb.MaxMargin().fit([[0.0], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="only one class"):
        rb.MaxMargin().fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="every row of class 1 has weight 0"):
        rb.MaxMargin().fit([[0.0], [1.0]], [0, 1], sample_weight=[1.0, 0.0])


@containers
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200, 1e300])
def test_huge_and_tiny_values_are_separated(size: float, container: Any) -> None:
    """scikit-learn's SVC does not end on three such rows."""
    X, y = np.array([[1.0, 2.0], [2.0, 1.0], [-3.0, 1.0]]) * size, [1, 1, 0]
    model = rb.MaxMargin().fit(container(X), y)
    assert model.predict(container(X)).tolist() == y
    assert model.margin_ / size == pytest.approx(rb.MaxMargin().fit(X / size, y).margin_, rel=1e-9)
    assert np.isfinite(model.canonical_).all()
    with pytest.raises(rb.NotSeparable):
        rb.MaxMargin().fit(container(np.array([[1.0], [2.0], [3.0]]) * size), [1, 0, 1])


def test_one_feature_zero_columns_and_fewer_rows_than_columns() -> None:
    assert rb.MaxMargin().fit([[1.0], [2.0], [5.0]], [0, 0, 1]).intercept_[0] == pytest.approx(-7 / 3)
    X, y = blobs()
    padded = np.column_stack([np.zeros(60), X, np.zeros((60, 2))])
    model = rb.MaxMargin().fit(padded, y)
    np.testing.assert_allclose(model.coef_[0, 1:4], rb.MaxMargin().fit(X, y).coef_[0], rtol=1e-9)
    assert not model.coef_[0, [0, 4, 5]].any()
    wide = np.random.default_rng(0).normal(size=(10, 200))
    few = rb.MaxMargin(tol=1e-12).fit(wide, np.arange(10) % 2)
    assert few.canonical_.min() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
def test_classes_around_the_same_point_have_a_zero_plane_with_slack(pack: Any, tmp_path: Any) -> None:
    """Class 2 lies around the mean of the others; no plane is better than another."""
    X, y = np.array([[0.1], [0.1], [0.7], [-0.5], [1.1], [-0.9]]), [0, 1, 0, 1, 2, 2]
    with pytest.warns(ZeroPlaneWarning, match="1 of 3 planes are zero, .* use multiclass='ovo'"):
        model = rb.MaxMargin(inseparable="soft").fit(pack(X), y)
    assert model.coef_.any(axis=1).tolist() == [True, True, False]
    assert np.isinf(model.margin_[2])
    assert model.margin_[:2].max() < 1e3
    assert model.intercept_[2] == pytest.approx(-1 / 3)  # the mean of the signs
    assert model.canonical_[2] == pytest.approx(np.where(np.array(y) == 2, 1, -1) * model.intercept_[2])
    rb.save(model, tmp_path / "model")
    assert np.array_equal(rb.load(tmp_path / "model").predict(X), model.predict(pack(X)))
    with pytest.warns(ZeroPlaneWarning, match="the columns do not tell the classes apart"):
        point = rb.MaxMargin(inseparable="soft").fit(pack(np.ones((6, 2))), [0, 1] * 3)
    assert point.intercept_.tolist() == [0.0]
    assert set(point.predict(X[:, [0, 0]])) == {0}


# --- rows on the margin ------------------------------------------------------------------------------------------------------


WALL = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [2.0, 1.0], [-1.0, 1.0], [3.0, 5.0]])


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_all_rows_on_the_margin_are_named_and_the_support_is_among_them(pack: Any, shift: float) -> None:
    y = np.array([0, 0, 0, 1, 0, 1])
    model = rb.MaxMargin().fit(pack(WALL + shift), y)
    assert model.on_margin_[0].tolist() == [0, 1, 2, 3]
    assert set(model.support_[0]) < {0, 1, 2, 3}
    assert model.canonical_[0, :4] == pytest.approx(1, rel=1e-9)
    assert (model.canonical_[0, 4:] > 1.5).all()
    assert len(model.support_vectors_[0] if pack is np.asarray else model.support_[0]) == len(model.support_[0])


def test_rows_on_the_margin_of_several_problems_and_with_slack() -> None:
    X, y = blobs(3)
    model = rb.MaxMargin().fit(X, y)
    for canonical, near, support in zip(model.canonical_, model.on_margin_, model.support_, strict=True):
        assert set(support) <= set(near)
        assert (np.delete(canonical, near) > 1.0).all()
    noise = np.random.default_rng(0).normal(size=(30, 2))
    soft = rb.MaxMargin(inseparable="soft").fit(noise, np.arange(30) % 2)
    assert set(np.flatnonzero(soft.canonical_[0] < 1.0)) <= set(soft.on_margin_[0])
    again = pickle.loads(pickle.dumps(model))
    assert [each.tolist() for each in again.on_margin_] == [each.tolist() for each in model.on_margin_]


def test_rows_on_the_margin_need_the_canonical_margins(tmp_path: Any) -> None:
    with pytest.raises(AttributeError, match="before fit"):
        rb.MaxMargin().on_margin_  # noqa: B018
    rb.save(rb.MaxMargin().fit(WALL, [0, 0, 0, 1, 0, 1]), tmp_path / "wall.safetensors")
    with pytest.raises(AttributeError, match="model files do not hold it"):
        rb.load(tmp_path / "wall.safetensors").on_margin_  # noqa: B018
