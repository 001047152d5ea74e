"""`SoftMargin` with several classes: the scheme that it chooses, and planes that are zero."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import rosenblatt as rb
from rosenblatt.data.problem import make_rows
from rosenblatt.estimators.svm_base import ZeroPlaneWarning
from rosenblatt.svm.problem import MAX_PAIR_WEIGHTS, choose_scheme


def amid(n: int = 330, k: int = 11, seed: int = 0) -> tuple[Any, Any]:
    """Classes that lie amid each other: several have no plane against the rest."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(k, 2, 4))[y, rng.integers(0, 2, n)] + 0.5 * rng.normal(size=(n, 4)), y


def fit_quietly(X: Any, y: Any, **parameters: Any) -> rb.SoftMargin:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroPlaneWarning)
        return rb.SoftMargin(**parameters).fit(X, y)


# --- planes that are zero up to rounding -------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_planes_that_are_zero_up_to_rounding_are_zero(pack: Any, penalize_intercept: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr("rosenblatt.svm.solver_choice.MIN_SAMPLED_ROWS", 100)  # sparse rows begin with passes
    X, y = amid()
    with pytest.warns(
        ZeroPlaneWarning, match=r"of 11 planes are zero, .* use loss='squared_hinge' or multiclass='ovo'"
    ) as caught:
        model = rb.SoftMargin(multiclass="ovr", penalize_intercept=penalize_intercept).fit(pack(X), y)
    length = np.linalg.norm(model.coef_, axis=1)
    zero = length == 0.0
    assert 3 <= zero.sum() <= 10
    assert str(caught[0].message).startswith(f"{zero.sum()} of 11")
    assert caught[0].filename == __file__
    assert length[~zero].min() > 1e-3
    assert np.isinf(model.margin_[zero]).all()
    assert model.margin_[~zero].max() < 1e3
    assert (model.gap_ <= 1e-3).all()
    assert model.intercept_[zero] == pytest.approx(-1.0, abs=0.1 if penalize_intercept else 2e-8)


def test_predictions_of_new_rows_do_not_depend_on_the_order_of_training_rows() -> None:
    X, y = amid()
    order, new = np.random.default_rng(1).permutation(len(y)), amid(seed=3)[0]
    for scheme in ("ovr", "ovo", "auto"):
        one, other = fit_quietly(X, y, multiclass=scheme), fit_quietly(X[order], y[order], multiclass=scheme)
        assert np.array_equal(one.predict(new), other.predict(new))


def categories(n: int = 600, k: int = 5, *, noise: float = 0.35, seed: int = 2) -> tuple[Any, Any]:
    """One-hot columns: few different rows, many of them exactly on the margin of several planes."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 4, (n, 4))
    y = np.where(rng.random(n) < noise, rng.integers(0, k, n), (cells[:, 0] + (cells[:, 1] > 1)) % k)
    return np.eye(4)[cells].reshape(n, -1), y


@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_rounding_errors_do_not_decide_between_rows_on_several_margins(penalize_intercept: bool) -> None:
    X, y = categories()
    order = np.random.default_rng(1).permutation(len(y))
    parameters: dict[str, Any] = {"multiclass": "ovr", "penalize_intercept": penalize_intercept}
    one, other = fit_quietly(X, y, **parameters), fit_quietly(X[order], y[order], **parameters)
    assert np.array_equal(one.predict(X), other.predict(X))
    scores = np.sort(one.decision_function(X), axis=1)
    assert ((scores[:, -1] - scores[:, -2]) < 1e-8).any()  # there are ties
    assert (scores[:, -1] - scores[:, -2]).min() > 0.9e-9
    # The gap is that of the lowered intercepts.
    signs = np.where(y[None] == one.classes_[:, None], 1.0, -1.0)
    margins = signs * (X @ one.coef_.T + one.intercept_).T
    assert one.canonical_ == pytest.approx(margins, abs=1e-12)
    penalty = (one.coef_**2).sum(axis=1) + (one.intercept_**2 if penalize_intercept else 0.0)
    assert one.objective_ == pytest.approx(penalty / 2 + np.maximum(0.0, 1.0 - margins).sum(axis=1), rel=1e-13)
    assert 1e-10 < one.gap_.max() < 1e-7


@pytest.mark.parametrize(("k", "seed"), [(2, 7), (5, 1)])
def test_rounding_errors_do_not_decide_on_the_plane_of_two_classes(k: int, seed: int) -> None:
    """Of a pair, and of a fit with two classes."""
    X, y = categories(k=k, noise=0.6, seed=seed)
    order = np.random.default_rng(1).permutation(len(y))
    one, other = fit_quietly(X, y), fit_quietly(X[order], y[order])
    assert np.array_equal(one.predict(X), other.predict(X))
    scores, all_margins = X @ one.coef_.T + one.intercept_, one.canonical_
    on_plane = abs(scores) < 1e-8
    assert on_plane.any()
    assert scores[on_plane] == pytest.approx(-1e-9, abs=1e-10)  # they go to the smaller label
    for h, (i, j) in enumerate(combinations(range(k), 2)):
        mine = (y == i) | (y == j)
        margins = np.where(y[mine] == j, 1.0, -1.0) * scores[mine, h]
        assert all_margins[h, mine] == pytest.approx(margins, abs=1e-12)
        objective = (one.coef_[h] ** 2).sum() / 2 + np.maximum(0.0, 1.0 - margins).sum()
        assert one.objective_[h] == pytest.approx(objective, rel=1e-13)
    assert one.gap_.max() < 1e-7


def test_intercepts_stay_where_no_row_ties_or_the_tolerance_is_finer() -> None:
    X, y = categories()
    fine = fit_quietly(X, y, multiclass="ovr", tol=1e-10)
    assert fine.gap_.max() <= 1e-10
    X, y = load_iris(return_X_y=True)
    assert fit_quietly(X, y, multiclass="ovr").gap_.max() <= 1e-10


def test_a_tie_of_zero_planes_goes_to_the_smaller_label() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 4
    with pytest.warns(ZeroPlaneWarning, match="4 of 4 planes are zero"):
        model = rb.SoftMargin(multiclass="ovr").fit(X, y)
    assert np.array_equal(model.decision_function(X), np.full((400, 4), -1.0))
    assert set(model.predict(X)) == {0}


def test_a_rare_class_amid_the_other_has_no_plane_unless_it_is_weighted() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 10 == 0
    with pytest.warns(
        ZeroPlaneWarning, match="the plane is zero, and all rows are predicted alike: use loss='squared_hinge' or"
    ):
        model = rb.SoftMargin().fit(X, y)
    assert not model.predict(X).any()
    assert rb.SoftMargin(loss="squared_hinge").fit(X, y).coef_.any()
    assert rb.SoftMargin(class_weight="balanced").fit(X, y).coef_.any()


def test_columns_that_are_constant_give_a_zero_plane() -> None:
    with pytest.warns(ZeroPlaneWarning, match="the columns do not tell the classes apart"):
        rb.SoftMargin(loss="squared_hinge").fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("loss", "remedy"), [("hinge", "use loss='squared_hinge' or"), ("squared_hinge", "the columns do not tell")]
)
def test_a_zero_plane_of_a_pair_votes_as_its_warning_says(loss: str, remedy: str) -> None:
    X, y = np.ones((12, 2)), np.repeat([3, 5, 7], [4, 4, 4])
    with pytest.warns(ZeroPlaneWarning, match=f"3 of 3 planes are zero, .* smaller label of equally frequent ones: {remedy}"):
        equal = rb.SoftMargin(loss=loss).fit(X, y)
    assert set(equal.predict(X)) == {3}
    with pytest.warns(ZeroPlaneWarning, match="votes for its more frequent class"):
        assert set(rb.SoftMargin(loss=loss).fit(X[:9], y[3:]).predict(X)) == {5}


@pytest.mark.parametrize("unit", [1e-9, 1e-100, 1e6])
def test_small_weights_are_kept(unit: float) -> None:
    """Weights in other units are small or large, but not rounding errors."""
    X, y = amid(k=3)
    model = rb.SoftMargin(C=unit**-2, multiclass="ovo").fit(unit * X, y)
    assert (np.linalg.norm(model.coef_ * unit, axis=1) > 0.1).all()


# --- the scheme --------------------------------------------------------------------------------------------------------


def test_pairs_are_chosen_except_for_wide_sparse_rows() -> None:
    tall, wide = np.zeros((3, 1000)), np.zeros((3, 1001))
    schemes = {
        (pack, X.shape[1]): choose_scheme(make_rows(pack(X)), 3) for pack in (np.asarray, sp.csr_array) for X in (tall, wide)
    }
    assert [scheme for (_, _), scheme in schemes.items()] == ["ovo", "ovo", "ovo", "ovr"]
    assert choose_scheme(make_rows(tall), 2) == "ovr"
    most = int(np.sqrt(2 * MAX_PAIR_WEIGHTS / 1000))
    assert choose_scheme(make_rows(tall), most) == "ovo"
    assert choose_scheme(make_rows(tall), most + 2) == "ovr"


def test_the_default_reports_the_scheme_and_equals_it() -> None:
    X, y = amid(k=4)
    model = rb.SoftMargin().fit(X, y)
    assert (model.multiclass, model.multiclass_) == ("auto", "ovo")
    assert np.array_equal(model.coef_, rb.SoftMargin(multiclass="ovo").fit(X, y).coef_)
    with pytest.raises(AttributeError, match="no multiclass_ before fit"):
        rb.SoftMargin().multiclass_  # noqa: B018


def test_a_parameter_set_after_the_fit_does_not_change_predictions(tmp_path: Any) -> None:
    X, y = amid(k=4)
    model = rb.SoftMargin().fit(X, y)
    rb.save(model, tmp_path / "model")
    expected, again = model.predict(X), pickle.loads(pickle.dumps(model))
    for each in (model, again, rb.load(tmp_path / "model")):
        assert each.multiclass_ == "ovo"
        assert np.array_equal(each.predict(X), expected)
        assert np.array_equal(each.set_params(multiclass="ovr").predict(X), expected)


def test_a_pair_has_the_multipliers_of_its_rows_alone() -> None:
    """Weights of rows, and margins, support and multipliers by the places of the rows in X."""
    X, y = amid(k=4)
    c = np.random.default_rng(2).choice([0.0, 0.5, 2.0], len(y))
    model = rb.SoftMargin(tol=1e-9).fit(X, y, sample_weight=c)
    margins = model.canonical_
    assert margins.shape == (6, len(y))
    for h, (i, j) in enumerate([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]):
        mine = np.flatnonzero(((y == i) | (y == j)) & (c > 0))
        alone = rb.SoftMargin(tol=1e-9).fit(X[mine], y[mine], sample_weight=c[mine])
        assert np.array_equal(model.coef_[h], alone.coef_[0])
        assert np.array_equal(model.support_[h], mine[alone.support_[0]])
        assert np.array_equal(margins[h, mine], alone.canonical_[0])
        assert np.isnan(np.delete(margins[h], mine)).all()
        signs = np.where(y == j, 1.0, -1.0)[model.support_[h]]
        assert (model.multipliers_[h] * signs) @ X[model.support_[h]] == pytest.approx(model.coef_[h], rel=1e-6)


def test_a_warm_start_of_pairs_goes_on() -> None:
    X, y = amid(600, 4)
    options: dict[str, Any] = {"solver": "dual-coordinates", "random_state": 0, "tol": 1e-4}
    model = rb.SoftMargin(warm_start=True, **options).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold / 2
