"""The multinomial logistic loss on blocks: the optimum of one machine, within proved gaps, and the same bits on any engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import digest, noisy_rows

import rosenblatt as rb
from rosenblatt.cluster import multinomial
from rosenblatt.cluster.block_set import open_blocks
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.multinomial import BlockMultinomial, Joint, totals_of_block
from rosenblatt.cluster.sources import sources_of
from rosenblatt.data.problem import make_rows
from rosenblatt.svm import multinomial as one_machine
from rosenblatt.svm.multinomial import MultinomialLoss

INTERCEPTS: list[dict[str, Any]] = [{}, {"penalize_intercept": True, "intercept_scaling": 2.0}, {"fit_intercept": False}]


def model(**options: Any) -> Any:
    return rb.SoftMargin(loss="logistic", random_state=0, **options)


def fitted(options: dict[str, Any], data: Any, rows: int | None = None) -> Any:
    """The estimator fitted in one thread, after a check that three threads give the same bits."""
    one, three = (rb.cluster.fit(model(**options), data, InProcess(jobs), block_rows=rows) for jobs in (1, 3))
    assert digest(one) == digest(three)
    return one


def check_bounds(found: Any, one: Any) -> None:
    """Each of two solutions is no better than the other one's bound, and both reached the tolerance."""
    assert found.stop_.reason == one.stop_.reason == "tolerance"
    assert found.gap_[0] <= found.tol
    for a, b in ((found, one), (one, found)):
        assert a.objective_[0] >= (b.objective_[0] - b.dual_gap_[0]) * (1.0 - 1e-12)


def rows_of(X: Any, sparse: bool) -> Any:
    return sp.csr_array(X * (abs(X) > 1.0)) if sparse else X


def weights_of(n: int) -> Any:
    return np.random.default_rng(7).integers(0, 3, n).astype(float)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_optimum_is_that_of_one_machine(intercept: dict[str, Any], sparse: bool, weighted: bool) -> None:
    X, y = noisy_rows(300, 8, 4)
    X = rows_of(X, sparse)
    data = (X, y, weights_of(300)) if weighted else (X, y)
    for options in ({"C": 0.1}, {"C": 10.0, "tol": 1e-8, "class_weight": "balanced"}):
        options = {**intercept, **options}
        found, one = fitted(options, data, 37), model(**options).fit(*data)
        check_bounds(found, one)
    np.testing.assert_allclose(found.coef_, one.coef_, atol=1e-4 * abs(one.coef_).max())
    np.testing.assert_allclose(found.intercept_, one.intercept_, atol=1e-4 * abs(one.coef_).max())


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("narrow", [True, False])
def test_sums_over_blocks_are_those_of_all_rows(
    free: bool, sparse: bool, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not narrow:
        for name in ("MAX_DENSE_COLUMNS", "MAX_SPARSE_COLUMNS"):
            monkeypatch.setattr(one_machine, name, 3)
    X, y = noisy_rows(130, 6, 3)
    X, weights = rows_of(X, sparse), weights_of(130)
    joint = Joint(3, 0.7, 1.0, free)
    blocks = open_blocks(InProcess(), sources_of((X, y, weights), 17))
    many = BlockMultinomial(blocks, joint, blocks.sum(totals_of_block, joint))
    one = MultinomialLoss(make_rows(X), y, 3, 0.7 * weights, 1.0, free, 1)
    assert many.shape == one.shape
    np.testing.assert_allclose(many.totals, one.totals, rtol=1e-12)
    v, p = np.random.default_rng(2).normal(size=(2, many.penalty.size))
    (value, gradient), (expected, slope) = many.at(v), one.at(v)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-10)
    np.testing.assert_allclose(many.product(p), one.product(p), atol=1e-10)
    np.testing.assert_allclose(many.precondition()(p), one.precondition()(p), atol=1e-9)
    assert many.gap_at(gradient) == pytest.approx(one.gap_at(slope), rel=1e-9)
    assert many.solution(v, value).dual == pytest.approx(one.solution(v, expected).dual, abs=1e-9 * value)
    assert many.line_search(v, -p if gradient @ p > 0.0 else p) > 0.0


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("size", [0.0, 0.5, 5.0])
def test_any_point_has_a_bound(free: bool, size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy_rows(200, 5, 3)
    options = {} if free else {"fit_intercept": False}
    optimum = model(tol=1e-10, **options).fit(X, y).objective_[0]
    joint = Joint(3, 1.0, float(free), free)
    blocks = open_blocks(InProcess(), sources_of((X, y), 30))
    objective = BlockMultinomial(blocks, joint, blocks.sum(totals_of_block, joint))
    v = size * np.random.default_rng(4).normal(size=objective.penalty.size)
    value, _ = objective.at(v)
    found = objective.solution(v, value)
    assert found.dual <= optimum * (1.0 + 1e-9) <= value * (1.0 + 2e-9)
    monkeypatch.setattr(multinomial, "MAX_LOST_SHARE", 0.0)  # all sums with twice the digits
    assert objective.solution(v, value).dual == pytest.approx(found.dual, abs=1e-9 * value)


def test_sums_with_twice_the_digits_keep_what_cancels() -> None:
    parts = [(np.array([a]), np.zeros(1)) for a in (1e20, 3.0, -1e20, 4.0)]
    total = parts[0]
    for part in parts[1:]:
        total = multinomial.add_twice(total, part)
    assert float(total[0][0] + total[1][0]) == 7.0


def test_large_values_have_a_gap() -> None:
    X, y = noisy_rows(300, 5, 3)
    options = {"tol": 1e-6, "C": 1e-3}
    check_bounds(fitted(options, (X * 1e5, y), 40), model(**options).fit(X * 1e5, y))


def test_a_sample_is_where_many_rows_start(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy_rows(6000, 5, 3)
    found = fitted({"tol": 1e-6}, (X, y), 700)
    check_bounds(found, model(tol=1e-6).fit(X, y))
    monkeypatch.setattr(multinomial, "sample_size", lambda blocks: None)
    assert fitted({"tol": 1e-6}, (X, y), 700).n_iter_ > found.n_iter_


def test_classes_may_be_missing_from_blocks_and_blocks_may_be_empty() -> None:
    X, y = noisy_rows(120, 4, 3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    parts = [(X[a:b], y[a:b]) for a, b in ((0, 0), (0, 30), (30, 30), (30, 100), (100, 120), (120, 120))]
    check_bounds(fitted({}, parts), model().fit(X, y))


def test_many_columns_and_classes_are_added_up_the_tree() -> None:
    rng = np.random.default_rng(5)
    X = sp.random(200, 1500, 0.01, "csr", random_state=1)
    y = rng.integers(0, 5, 200)
    check_bounds(fitted({}, (X, y), 20), model().fit(X, y))


def test_a_model_is_saved_and_continued(tmp_path: Path) -> None:
    X, y = noisy_rows(200, 5, 3)
    found = rb.cluster.fit(model(warm_start=True, tol=1e-5), (X, y), InProcess(), block_rows=50)
    assert found.multiclass_ == "multinomial"
    assert np.allclose(found.predict_proba(X).sum(axis=1), 1.0)
    rb.save(found, tmp_path / "model")
    again = rb.load(tmp_path / "model")
    assert np.array_equal(again.decision_function(X), found.decision_function(X))
    for each in (found, again):
        rb.cluster.fit(each, (X, y), InProcess(), block_rows=50)
        assert each.n_iter_ == 0
        assert each.gap_[0] <= 1e-5
        assert each.fit(X, y).n_iter_ <= 1


def test_what_cannot_be_solved_is_one_sentence() -> None:
    X, y = noisy_rows(60, 3, 3)
    with pytest.raises(ValueError, match="C=inf needs all rows in one memory"):
        rb.cluster.fit(model(C=np.inf), (X, y), InProcess(), block_rows=20)
    with pytest.raises(ValueError, match="every row of class 1 has weight 0"):
        rb.cluster.fit(model(class_weight={1: 0.0}), (X, y), InProcess(), block_rows=20)
