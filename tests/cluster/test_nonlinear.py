"""`NonlinearMSE(solver="minimum")` on blocks finds the minimum that it finds on one machine, by the same steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import noisy_rows

import rosenblatt as rb
from rosenblatt.cluster import nonlinear_mse
from rosenblatt.cluster.block_set import open_blocks
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.sources import sources_of
from rosenblatt.data.problem import make_problem
from rosenblatt.estimators.base import StopWarning
from rosenblatt.least_squares import nonlinear
from rosenblatt.least_squares.nonlinear import Descent, largest_of_columns
from rosenblatt.online.rules.nonlinear_mse import nonlinear_mse_rule


def fitted(options: dict[str, Any], data: tuple[Any, ...], rows: int) -> Any:
    """The estimator fitted in one thread, after a check that three threads give the same bits."""
    models = [rb.cluster.fit(rb.NonlinearMSE(**options), data, InProcess(jobs), block_rows=rows) for jobs in (1, 3)]
    for name in ("coef_", "intercept_", "loss_", "gradient_norm_", "saturated_", "n_iter_"):
        assert np.array_equal(*(getattr(model, name) for model in models)), name
    return models[0]


def agrees(found: Any, one: Any) -> None:
    np.testing.assert_allclose(found.coef_, one.coef_, atol=1e-5 * abs(one.coef_).max())
    np.testing.assert_allclose(found.intercept_, one.intercept_, atol=1e-5 * max(1.0, abs(one.coef_).max()))
    assert found.loss_ == pytest.approx(one.loss_, rel=1e-9)
    assert found.gradient_norm_ <= found.tol
    assert found.stop_.reason == one.stop_.reason == "solved"
    assert np.array_equal(found.saturated_, one.saturated_)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("activation", ["tanh", "logistic"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_blocks_give_the_minimum_of_all_rows(k: int, activation: str, intercept: bool, sparse: bool) -> None:
    X, y = noisy_rows(300, 8, k)
    rows = sp.csr_array(X * (abs(X) > 1.0)) if sparse else X
    weights = np.random.default_rng(1).integers(0, 3, 300).astype(float)
    options = {"activation": activation, "fit_intercept": intercept, "intercept_scaling": 2.0}
    found, one = fitted(options, (rows, y, weights), 37), rb.NonlinearMSE(**options).fit(rows, y, weights)
    agrees(found, one)
    assert "Newton's method" in found.stop_.sentence


def test_many_columns_are_solved_by_lbfgs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nonlinear, "MAX_NEWTON_COLUMNS", 10)
    X, y = noisy_rows(400, 12, 3)
    found = fitted({}, (X, y), 90)
    agrees(found, rb.NonlinearMSE().fit(X, y))
    assert "L-BFGS" in found.stop_.sentence


@pytest.mark.parametrize("sparse", [True, False])
def test_sums_over_blocks_are_those_of_all_rows(sparse: bool) -> None:
    X, y = noisy_rows(120, 6, 2)
    rows: Any = sp.csr_array(X * (abs(X) > 1.0)) if sparse else X
    weights = np.random.default_rng(1).integers(0, 3, 120).astype(float)
    problem, rule = make_problem(rows, y, 2, weights=weights, x0=0.5), nonlinear_mse_rule("tanh")
    blocks = open_blocks(InProcess(), sources_of((rows, y, weights), 17))
    scale = nonlinear_mse.scale_of_columns(blocks, 0.5)
    assert np.array_equal(scale, largest_of_columns(problem))
    one = Descent(problem, rule, scale)
    many = nonlinear_mse.BlockDescent(blocks, nonlinear_mse.Head(0, 0.5, rule, blocks.total_weight), scale, 7)
    v = np.random.default_rng(2).normal(size=7)
    (value, gradient), (expected, slope) = many(v), one(v)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-12)
    np.testing.assert_allclose(many.second_derivative(), one.second_derivative(), atol=1e-12)


def test_rows_of_some_blocks_may_have_no_weight() -> None:
    X, y = noisy_rows(100, 4, 2)
    weights = np.ones(100)
    weights[20:40] = 0.0
    parts = [(X[a:b], y[a:b], weights[a:b]) for a, b in ((0, 20), (20, 40), (40, 40), (40, 100))]
    found = rb.cluster.fit(rb.NonlinearMSE(), parts, InProcess())
    agrees(found, rb.NonlinearMSE().fit(X, y, weights))


def test_saturated_rows_are_counted_over_all_blocks() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [8.0]])
    y = np.array([0, 0, 0, 1, 1, 1, 0])
    found = rb.cluster.fit(rb.NonlinearMSE(), (X, y), InProcess(), block_rows=2)
    assert found.saturated_.tolist() == [6]


def test_a_fit_continues_from_the_weights_before() -> None:
    X, y = noisy_rows(200, 5, 3)
    model = rb.cluster.fit(rb.NonlinearMSE(warm_start=True), (X, y), InProcess(), block_rows=50)
    steps = model.n_iter_
    rb.cluster.fit(model, (X, y), InProcess(), block_rows=50)
    assert model.n_iter_ == 0 < steps
    with pytest.raises(ValueError, match="warm_start continues a fit on classes"):
        rb.cluster.fit(model, (X, y % 2), InProcess(), block_rows=50)


def test_a_model_is_saved_and_read(tmp_path: Path) -> None:
    X, y = noisy_rows(200, 5, 3)
    model = rb.cluster.fit(rb.NonlinearMSE(), (X, y), InProcess(), block_rows=50)
    rb.save(model, tmp_path / "model")
    again = rb.load(tmp_path / "model")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert (again.loss_, again.gradient_norm_) == (model.loss_, model.gradient_norm_)
    one = rb.NonlinearMSE().fit(X, y)
    assert sorted(vars(model)) == sorted(vars(one))


def test_the_limit_of_iterations_is_reported() -> None:
    X, y = noisy_rows(200, 5, 2)
    with pytest.warns(StopWarning, match="the minimum was not reached") as caught:
        found = rb.cluster.fit(rb.NonlinearMSE(max_iter=2), (X, y), InProcess(), block_rows=50)
    assert found.n_iter_ == 2
    assert found.stop_.reason == "passes"
    assert caught[0].filename == __file__


def test_scores_that_overflow_are_one_sentence() -> None:
    X, y = noisy_rows(50, 3, 2)
    model = rb.NonlinearMSE(warm_start=True)
    rb.cluster.fit(model, (X, y), InProcess(), block_rows=20)
    model._run.state.w[:] = 1e300
    with pytest.raises(ValueError, match="exceeds the range of float64: scale the features"):
        rb.cluster.fit(model, (X * 1e150, y), InProcess(), block_rows=20)
