"""`LinearMSE` on blocks is `LinearMSE` on one machine, up to rounding, and the same bits on any engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.cluster import linear_mse
from rosenblatt.cluster.block_set import open_blocks
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.sources import sources_of
from rosenblatt.data.problem import make_problem
from rosenblatt.estimators.base import StopWarning
from rosenblatt.least_squares.augmented_rows import AugmentedRows
from rosenblatt.least_squares.moments import squared


def training_set(n: int, d: int, k: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows around a mean other than zero, classes that partly depend on them, and weights, some of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    y = np.argmax(X[:, :k] + rng.normal(size=(n, k)), axis=1)
    return X, y, rng.integers(0, 3, n).astype(float)


def same_bits(a: Any, b: Any) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("coef_", "intercept_", "mse_", "n_iter_"))


def fitted(options: dict[str, Any], data: tuple[Any, ...], rows: int) -> Any:
    """The estimator fitted in one thread, after a check that three threads give the same bits."""
    models = [rb.cluster.fit(rb.LinearMSE(**options), data, InProcess(jobs), block_rows=rows) for jobs in (1, 3)]
    assert same_bits(*models)
    return models[0]


def agrees(found: Any, options: dict[str, Any], data: tuple[Any, ...], digits: float = 1e-11) -> None:
    one = rb.LinearMSE(**options).fit(*data)
    size = abs(one.coef_).max()
    assert abs(found.coef_ - one.coef_).max() <= digits * size
    assert abs(found.intercept_ - one.intercept_).max() <= digits * max(size, 1.0)
    assert abs(found.mse_ - one.mse_) <= digits
    assert found.stop_.reason == one.stop_.reason == "solved"


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_blocks_give_the_plane_of_all_rows(k: int, alpha: float, intercept: bool, sparse: bool) -> None:
    X, y, weights = training_set(300, 20, k)
    rows = sp.csr_array(X * (abs(X) > 1.0)) if sparse else X
    options = {"alpha": alpha, "fit_intercept": intercept, "intercept_scaling": 2.0}
    for size in (37, 300):
        found = fitted(options, (rows, y, weights), size)
        agrees(found, options, (rows, y, weights))
        assert found.solver_ == "normal"
        assert found.rank_ == 20 + intercept
        assert "normal equations" in found.stop_.sentence


def test_moments_of_integers_are_exact() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(-9, 10, (500, 6)).astype(float), rng.integers(0, 3, 500)
    whole = squared(make_problem(X, y, 3, multiclass="ovr"), np.zeros(6))
    for size in (13, 100, 500):
        blocks = open_blocks(InProcess(), sources_of((X, y), size))
        assert np.array_equal(blocks.sum(linear_mse.squares_of_block, 1.0, np.zeros(6), size=1 << 20), whole)
    model = fitted({}, (X, y), 13)
    assert same_bits(model, rb.LinearMSE().fit(X, y))


def test_dependent_columns_give_the_shortest_plane() -> None:
    X, y, _ = training_set(200, 8, 3)
    X[:, 7] = X[:, 0] - X[:, 1]
    found = fitted({}, (X, y), 23)
    assert found.solver_ == "svd"
    assert found.rank_ == 8
    agrees(found, {}, (X, y))


def test_columns_far_from_zero_keep_their_digits() -> None:
    X, y, _ = training_set(200, 8, 3)
    found = fitted({}, (X + 1e7, y), 30)
    assert found.solver_ == "normal"
    agrees(found, {}, (X + 1e7, y), 1e-8)


def test_fewer_rows_than_columns_are_met_exactly() -> None:
    X, y, _ = training_set(20, 60, 3)
    found = fitted({}, (X, y), 7)
    assert found.mse_ < 1e-20
    assert found.rank_ == 20
    agrees(found, {}, (X, y))


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(300, 40, 4), (30, 90, 2)])
@pytest.mark.parametrize("sparse", [True, False])
def test_wide_rows_are_solved_by_conjugate_gradients(
    alpha: float, intercept: bool, shape: tuple[int, int, int], sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_mse, "MAX_SPARSE_GRAM", 10)
    X, y, weights = training_set(*shape)
    rows = sp.csr_array(X * (abs(X) > 1.5)) if sparse else X
    options = {"alpha": alpha, "fit_intercept": intercept, "intercept_scaling": 0.5, "tol": 1e-12}
    found = fitted(options, (rows, y, weights), 29)
    assert found.solver_ == "cgls"
    assert found.rank_ is None
    assert found.n_iter_ > 2
    assert "conjugate gradients" in found.stop_.sentence
    agrees(found, options, (rows, y, weights), 1e-8)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_products_of_blocks_are_those_of_all_rows(ridge: float) -> None:
    X, y, weights = training_set(120, 10, 3)
    problem = make_problem(X, y, 3, multiclass="ovr", weights=weights, x0=0.5)
    one = AugmentedRows(problem, ridge)
    many = linear_mse.System(open_blocks(InProcess(), sources_of((X, y, weights), 17)), 0.5, ridge)
    rng = np.random.default_rng(3)
    P, W = rng.normal(size=(2, *one.shape))
    assert many.shape == one.shape
    assert many.unit == one.unit
    assert many.ridge == one.ridge
    np.testing.assert_allclose(many.curvature(P), np.square(one.times(P)).sum(axis=0), rtol=1e-12)
    left, gradient = one.right - one.times(W), np.empty_like(W)
    many.gradient(W, gradient)
    np.testing.assert_allclose(gradient, one.transposed(left), rtol=1e-10)
    np.testing.assert_allclose(many.excess(gradient, W, 1e-3), one.excess(left, one.transposed(left), W, 1e-3), rtol=1e-10)


def test_the_limit_of_iterations_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_mse, "MAX_SPARSE_GRAM", 5)
    X, y, _ = training_set(100, 12, 2)
    with pytest.warns(StopWarning, match="the minimum was not reached") as caught:
        found = rb.cluster.fit(rb.LinearMSE(max_iter=3), (X, y), InProcess(), block_rows=30)
    assert found.stop_.reason == "passes"
    assert found.stop_.limit == 3
    assert found.n_iter_ == 3
    assert caught[0].filename == __file__


def test_classes_may_be_missing_from_blocks_and_blocks_may_be_empty() -> None:
    X, y, _ = training_set(90, 5, 3)
    order = np.argsort(y)
    X, y = X[order], y[order]
    parts = [(X[a:b], y[a:b]) for a, b in ((0, 0), (0, 25), (25, 25), (25, 80), (80, 90), (90, 90))]
    found = rb.cluster.fit(rb.LinearMSE(class_weight="balanced"), parts, InProcess())
    agrees(found, {"class_weight": "balanced"}, (X, y))


def test_learning_continues_from_blocks_and_from_a_file(tmp_path: Path) -> None:
    X, y, _ = training_set(200, 6, 3)
    found = rb.cluster.fit(rb.LinearMSE(), (X[:150], y[:150]), InProcess(), block_rows=40)
    rb.save(found, tmp_path / "model")
    whole = rb.LinearMSE().fit(X, y)
    for model in (found, rb.load(tmp_path / "model")):
        model.partial_fit(X[150:], y[150:])
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


def test_a_sum_that_overflows_is_one_sentence() -> None:
    X, y, _ = training_set(50, 3, 2)
    with pytest.raises(ValueError, match="exceeds the range of float64: scale the features"):
        rb.cluster.fit(rb.LinearMSE(), (X * 1e200, y), InProcess(), block_rows=20)
