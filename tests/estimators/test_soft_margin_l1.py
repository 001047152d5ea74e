"""`SoftMargin(penalty="l1")`: its gap is proved, its weights are optimal, and few of them are other than zero."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from l1_oracle import check_feasible, dual, primal, rows_of
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC, l1_min_c
from sklearn.utils.estimator_checks import parametrize_with_checks

import rosenblatt as rb
from effort import amount
from rosenblatt.estimators.base import StopWarning
from rosenblatt.estimators.svm_base import ZeroPlaneWarning
from rosenblatt.svm import l1_newton

LOSSES = ("squared_hinge", "logistic")
INTERCEPTS: dict[str, dict[str, Any]] = {
    "free": {},
    "penalized": {"penalize_intercept": True, "intercept_scaling": 2.0},
    "none": {"fit_intercept": False},
}
SHAPES = {"narrow": (150, 30), "wide": (60, 1500)}


def all_multipliers(model: Any, n: int) -> Any:
    a = np.zeros(n)
    a[model.support_[0]] = model.multipliers_[0]
    return a


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("container", ["float64", "float32", "csr"])
def test_the_gap_is_that_of_primal_and_dual_on_all_rows(loss: str, intercept: str, shape: str, container: str) -> None:
    X, y = rows_of(*SHAPES[shape])
    rng = np.random.default_rng(1)
    weights = np.where(rng.random(len(y)) < 0.1, 0.0, rng.uniform(0.5, 2.0, len(y)))
    X = X.astype(np.float32) if container == "float32" else X
    given = sp.csr_array(X) if container == "csr" else X
    model = rb.SoftMargin(penalty="l1", loss=loss, C=0.1, tol=1e-5, class_weight={1: 2.0}, **INTERCEPTS[intercept])
    model.fit(given, y, sample_weight=weights)
    X, signs, costs = X.astype(np.float64), np.where(y == 1, 1.0, -1.0), 0.1 * weights * np.where(y == 1, 2.0, 1.0)
    counts, penalized = costs > 0, 2.0 if intercept == "penalized" else 0.0
    a, w, b = all_multipliers(model, len(y))[counts], model.coef_[0], float(model.intercept_[0])
    found = primal(X[counts], signs[counts], costs[counts], w, b, loss, penalized)
    products = check_feasible(X[counts], signs[counts], costs[counts], a, loss, intercept == "free", penalized)
    assert found == pytest.approx(model.objective_[0], rel=1e-10)
    assert found - dual(costs[counts], a, loss) == pytest.approx(model.dual_gap_[0], abs=1e-10 * found)
    assert model.gap_[0] == pytest.approx(model.dual_gap_[0] / found)
    assert model.gap_[0] <= 1e-5
    assert model.stop_.reason == "tolerance"
    assert model.solver_ == ["newton"]
    # Where a column is not near its bound, its weight is zero; where a weight is, the product has its sign.
    used = w != 0.0
    assert 0 < used.sum() < 0.9 * min(X.shape)
    assert (abs(products[used]) > 0.9).all()
    assert (np.sign(products[used]) == np.sign(w[used])).all()
    assert model.canonical_[0][counts] == pytest.approx(signs[counts] * (X[counts] @ w + b))
    assert np.isnan(model.canonical_[0][~counts]).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
def test_optimality_conditions_hold_at_a_small_tolerance(loss: str, shape: str) -> None:
    X, y = rows_of(*SHAPES[shape])
    model = rb.SoftMargin(penalty="l1", loss=loss, C=1.0, tol=1e-9).fit(X, y)
    products = X.T @ (all_multipliers(model, len(y)) * np.where(y == 1, 1.0, -1.0))
    used = model.coef_[0] != 0.0
    assert products[used] == pytest.approx(np.sign(model.coef_[0][used]), abs=1e-4)
    assert abs(products[~used]).max() <= 1.0 + 1e-12


@pytest.mark.parametrize("C", [0.15, 0.4, 1.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_objective_is_that_of_scikit_learn(shape: str, C: float) -> None:
    X, y = rows_of(*SHAPES[shape], seed=3)
    signs, costs = np.where(y == 1, 1.0, -1.0), np.full(len(y), C)
    peers: list[tuple[str, Any]] = [
        # On wide rows LIBLINEAR takes up to 30,000 passes, in an order that depends on the seed.
        ("squared_hinge", LinearSVC(penalty="l1", dual=False, C=C, tol=1e-6, max_iter=100_000, random_state=0)),
        ("logistic", LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, tol=1e-6, random_state=0)),
    ]
    for loss, peer in peers:
        ours = rb.SoftMargin(penalty="l1", loss=loss, C=C, tol=1e-7, penalize_intercept=True).fit(X, y)
        peer.fit(X, y)  # a warning that it has not converged is an error
        theirs = primal(X, signs, costs, peer.coef_[0], float(peer.intercept_[0]), loss, 1.0)
        assert ours.objective_[0] - ours.dual_gap_[0] <= theirs * (1 + 1e-12)  # a proved bound of any weights
        assert theirs == pytest.approx(ours.objective_[0], rel=1e-6)


def test_objective_is_that_of_saga_with_a_free_intercept() -> None:
    X, y = rows_of(*SHAPES["narrow"], seed=4)
    ours = rb.SoftMargin(penalty="l1", loss="logistic", C=0.3, tol=1e-8).fit(X, y)
    peer = LogisticRegression(l1_ratio=1.0, solver="saga", C=0.3, tol=1e-7, max_iter=20_000, random_state=0).fit(X, y)
    theirs = primal(X, np.where(y == 1, 1.0, -1.0), np.full(len(y), 0.3), peer.coef_[0], float(peer.intercept_[0]), "logistic")
    assert theirs == pytest.approx(ours.objective_[0], rel=1e-5)
    assert peer.coef_[0] == pytest.approx(ours.coef_[0], abs=1e-2)


@pytest.mark.parametrize("loss", LOSSES)
def test_working_sets_find_the_minimum_that_all_columns_have(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows_of(200, 120, seed=5)
    model = rb.SoftMargin(penalty="l1", loss=loss, C=0.3, tol=1e-8)
    every = model.fit(X, y).objective_[0]
    monkeypatch.setattr(l1_newton, "MAX_DENSE_COLUMNS", 10)
    monkeypatch.setattr(l1_newton, "MAX_SPARSE_COLUMNS", 10)
    monkeypatch.setattr(l1_newton, "FIRST_COLUMNS", 7)
    for most in (1000, 5):  # the Hessian of a working set, and column by column
        monkeypatch.setattr(l1_newton, "MAX_MATRIX_COLUMNS", most)
        for given in (X, X.astype(np.float32).astype(np.float64), sp.csr_array(X)):
            for intercept in INTERCEPTS.values():
                part = rb.SoftMargin(penalty="l1", loss=loss, C=0.3, tol=1e-6, **intercept).fit(given, y)
                assert part.gap_[0] <= 1e-6
                if not intercept and given is X:
                    assert part.objective_[0] == pytest.approx(every, rel=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_warm_path_has_the_objectives_of_cold_fits(loss: str, shape: str) -> None:
    X, y = rows_of(*SHAPES[shape], seed=6)
    warm = rb.SoftMargin(penalty="l1", loss=loss, tol=1e-6, warm_start=True)
    steps = []
    for C in (0.2, 0.25, 0.3, 0.25, 0.2, 0.2):
        cold = rb.SoftMargin(penalty="l1", loss=loss, tol=1e-6, C=C).fit(X, y)
        warm.set_params(C=C).fit(X, y)
        assert warm.objective_[0] == pytest.approx(cold.objective_[0], rel=2e-6)
        assert warm.gap_[0] <= 1e-6
        steps.append((warm.n_iter_, cold.n_iter_))
    assert sum(step for step, _ in steps) < sum(step for _, step in steps)
    assert warm.fit(X, y).n_iter_ == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_order_of_rows_and_columns_does_not_matter(loss: str) -> None:
    X, y = rows_of(*SHAPES["wide"], seed=7)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    model = rb.SoftMargin(penalty="l1", loss=loss, C=0.5, tol=1e-10)
    one = model.fit(X, y).coef_[0]
    assert model.fit(X[rows][:, columns], y[rows]).coef_[0] == pytest.approx(one[columns], abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_several_classes_are_one_binary_problem_each_with_the_same_bits_on_any_threads(loss: str, scheme: Any) -> None:
    rng = np.random.default_rng(8)
    X = sp.csr_array(rng.standard_normal((90, 1200)) * (rng.random((90, 1200)) < 0.1))
    y = np.argmax(X[:, :3].toarray() + 0.1 * rng.standard_normal((90, 3)), axis=1)
    model = rb.SoftMargin(penalty="l1", loss=loss, C=1.0, multiclass=scheme).fit(X, y)
    again = rb.SoftMargin(penalty="l1", loss=loss, C=1.0, multiclass=scheme, n_jobs=3).fit(X, y)
    assert np.array_equal(model.coef_, again.coef_)
    assert np.array_equal(model.intercept_, again.intercept_)
    if scheme == "ovr":
        alone = rb.SoftMargin(penalty="l1", loss=loss, C=1.0).fit(X, y == 1)
        assert np.array_equal(alone.coef_[0], model.coef_[1])
    else:
        pair = y != 1
        alone = rb.SoftMargin(penalty="l1", loss=loss, C=1.0).fit(X[pair], y[pair])
        assert np.array_equal(alone.coef_[0], model.coef_[1])


def test_auto_is_one_plane_for_each_class() -> None:
    X, y = rows_of(90, 7)
    y = np.where(X[:, 1] > 0.5, 2, y)
    model = rb.SoftMargin(penalty="l1", loss="logistic").fit(X, y)
    assert model.multiclass_ == "ovr"
    assert model.coef_.shape == (3, 7)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True])
def test_constant_zero_and_equal_columns(loss: str, sparse: bool) -> None:
    X, y = rows_of(100, 12, seed=9)
    more = np.column_stack([X, np.full(100, 3.0), np.zeros(100), np.full(100, 1e8), X])
    given = sp.csr_array(more) if sparse else more
    model = rb.SoftMargin(penalty="l1", loss=loss, C=0.5, tol=1e-7).fit(given, y)
    w = model.coef_[0]
    assert (w[12:15] == 0.0).all()  # a free intercept takes the place of a constant column
    plain = rb.SoftMargin(penalty="l1", loss=loss, C=0.5, tol=1e-7).fit(X, y)
    assert model.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-6)
    assert w[:12] + w[15:] == pytest.approx(plain.coef_[0], abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_below_the_smallest_cost_all_weights_are_zero_and_the_warning_names_it(loss: str, intercept: str) -> None:
    X, y = rows_of(100, 12, seed=10)
    model = rb.SoftMargin(penalty="l1", loss=loss, C=1e-4, tol=1e-9, **INTERCEPTS[intercept])
    with pytest.warns(ZeroPlaneWarning) as caught:
        model.fit(X, y)
    assert not model.coef_.any()
    assert model.gap_[0] <= 1e-9
    least = caught[0].message.least_C  # type: ignore[union-attr]
    assert f"use C={least * 1.00001:.6g} or more" in str(caught[0].message)
    if intercept == "none":
        assert least == pytest.approx(l1_min_c(X, y, loss={"logistic": "log"}.get(loss, loss), fit_intercept=False))
    else:
        share = y.mean()  # the intercept alone predicts the share of the classes: a row's pull is its distance from it
        least_by_hand = 1.0 / abs(X.T @ (y - share)).max() / (1.0 if loss == "logistic" else 4.0)
        assert least == pytest.approx(least_by_hand)
        b = np.log(share / (1 - share)) if loss == "logistic" else 2 * share - 1
        assert model.intercept_[0] == pytest.approx(b)
    assert np.count_nonzero(model.set_params(C=least * 1.0001).fit(X, y).coef_) == 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e160, 1e300])
def test_values_of_any_size_end_in_finite_weights(loss: str, scale: float) -> None:
    X, y = rows_of(60, 8, seed=11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StopWarning)  # a gap relative to a penalty of 1e-300 is beyond float64
        warnings.simplefilter("ignore", ZeroPlaneWarning)
        model = rb.SoftMargin(penalty="l1", loss=loss).fit(X * scale, y)
        mixed = rb.SoftMargin(penalty="l1", loss=loss, tol=0.3).fit(np.column_stack([X, X[:, 0] * scale]), y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(mixed.coef_).all()
    assert np.isfinite(model.objective_).all()
    if scale > 1:
        likelihood = rb.SoftMargin(penalty="l1", loss=loss, C=1e6).fit(X, y)
        assert model.score(X * scale, y) == pytest.approx(likelihood.score(X, y), abs=0.05)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "hinge"}, "penalty='l1' needs loss='squared_hinge' or loss='logistic', got loss='hinge'"),
        ({"penalty": "l0"}, "penalty must be one of 'l2', 'l1', got 'l0'"),
        ({"multiclass": "multinomial"}, "penalty='l1' needs multiclass='ovr' or 'ovo', got multiclass='multinomial'"),
        ({"C": np.inf}, "penalty='l1' needs a finite C"),
        ({"C": np.inf, "loss": "squared_hinge"}, "penalty='l1' needs a finite C"),
        (
            {"loss": "squared_hinge", "solver": "dual-coordinates"},
            "penalty='l1' needs solver='auto' or 'newton', got solver='dual",
        ),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    X, y = rows_of(40, 8)
    with pytest.raises(ValueError, match=message):
        rb.SoftMargin(**{"penalty": "l1", "loss": "logistic", **parameters}).fit(X, y)


def test_an_iteration_limit_warns_with_the_gap_it_left() -> None:
    X, y = rows_of(*SHAPES["wide"])
    with pytest.warns(StopWarning, match="stopped after 1 iteration"):
        model = rb.SoftMargin(penalty="l1", loss="logistic", tol=1e-9, max_iter=1).fit(X, y)
    assert model.n_iter_ == 1
    assert 1e-9 < model.gap_[0] < 1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_model_files_continue_where_the_fit_ended(loss: str, tmp_path: Path) -> None:
    X, y = rows_of(80, 10)
    model = rb.SoftMargin(penalty="l1", loss=loss, warm_start=True).fit(X, y)
    rb.save(model, tmp_path / "l1.safetensors")
    loaded: Any = rb.load(tmp_path / "l1.safetensors")
    assert loaded.penalty == "l1"
    assert np.array_equal(loaded.coef_, model.coef_)
    assert loaded.set_params(C=1.1).fit(X, y).n_iter_ == model.set_params(C=1.1).fit(X, y).n_iter_
    assert np.array_equal(loaded.coef_, model.coef_)


def test_the_cost_is_chosen_along_a_path() -> None:
    X, y = rows_of(*SHAPES["wide"])
    model = rb.SoftMarginCV(penalty="l1", loss="logistic", Cs=[0.3, 1.0, 10.0], cv=3).fit(X, y)
    same = rb.SoftMargin(penalty="l1", loss="logistic", C=model.C_).fit(X, y)
    assert np.array_equal(model.coef_, same.coef_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rosenblatt.estimators.svm_base.ZeroPlaneWarning")  # random labels
@parametrize_with_checks(
    [
        rb.SoftMargin(penalty="l1", loss="logistic"),
        *amount([], [rb.SoftMargin(penalty="l1", loss="squared_hinge", penalize_intercept=True)]),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
