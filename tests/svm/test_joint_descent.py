"""Many classes against the rest that are solved together reach the gap, the optimum and the same bits on all threads."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import rosenblatt as rb
from rosenblatt.svm import several_classes
from rosenblatt.svm.joint_descent import MAX_PASSES, joint_blocks

N, WIDTH, CLASSES = 240, 2500, 14


def texts_like(dtype: type = np.float64) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(5)
    y = rng.integers(0, CLASSES, N)
    common = sp.random_array((N, WIDTH), density=0.004, rng=rng, format="lil", dtype=np.float64)
    for i in range(N):
        common[i, 20 * y[i] + rng.integers(0, 20, 4)] = 1.0
    X = sp.csr_array(common)
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    return sp.csr_array(X.multiply(1.0 / lengths[:, None]), dtype=dtype), y


def model(**parameters: object) -> rb.SoftMargin:
    settings = {"loss": "squared_hinge", "penalize_intercept": True, "solver": "dual-coordinates", "random_state": 3}
    return rb.SoftMargin(**settings | parameters)


def together(monkeypatch: pytest.MonkeyPatch) -> list[range]:
    """The blocks that are solved together from now on."""
    seen: list[range] = []
    descend = several_classes.joint_multipliers

    def noted(rows, codes, block, *rest):
        seen.append(block)
        return descend(rows, codes, block, *rest)

    monkeypatch.setattr(several_classes, "joint_multipliers", noted)
    return seen


def test_few_last_classes_are_solved_one_by_one():
    assert joint_blocks(2) == []
    assert joint_blocks(3) == [range(3)]
    assert joint_blocks(10) == [range(8)]
    assert joint_blocks(11) == [range(8), range(8, 11)]


@pytest.mark.once
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_weights_are_those_of_linear_svc(monkeypatch, dtype, fit_intercept):
    seen, (X, y) = together(monkeypatch), texts_like(dtype)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    made = model(tol=1e-9, C=2.0, fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    other = LinearSVC(C=2.0, tol=1e-9, max_iter=100_000, fit_intercept=fit_intercept).fit(X.astype(float), y, weights)
    assert seen == [range(8), range(8, 14)]
    assert made.gap_.max() <= 1e-9
    assert made.n_iter_ > MAX_PASSES  # more passes of each class
    np.testing.assert_allclose(made.coef_, other.coef_, atol=2e-4)
    np.testing.assert_allclose(made.intercept_, other.intercept_ if fit_intercept else 0.0, atol=2e-4)


def test_every_class_reaches_the_tolerance_with_the_same_bits_on_all_threads(monkeypatch):
    seen, (X, y) = together(monkeypatch), texts_like()
    made, threaded = (model(tol=0.01, n_jobs=n).fit(X, y) for n in (1, 2))
    assert len(seen) == 4
    assert made.gap_.max() <= 0.01
    assert np.array_equal(made.coef_, threaded.coef_)
    assert np.array_equal(made.intercept_, threaded.intercept_)
    monkeypatch.setattr(several_classes, "joint_blocks", lambda n: [])
    single = model(tol=0.01).fit(X, y)
    assert (single.predict(X) == made.predict(X)).all()


@pytest.mark.parametrize(
    "parameters", [{"loss": "hinge"}, {"penalize_intercept": False}, {"max_iter": 10}, {"multiclass": "ovo"}, {"penalty": "l1"}]
)
def test_other_problems_are_solved_one_by_one(monkeypatch, parameters):
    seen, (X, y) = together(monkeypatch), texts_like()
    settings = {"solver": "auto"} if "penalty" in parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model(**settings | parameters).fit(X, y)
    assert seen == []


def test_rows_without_weight_and_dense_rows_are_solved_one_by_one(monkeypatch):
    seen, (X, y) = together(monkeypatch), texts_like()
    model(tol=0.01).fit(X, y, sample_weight=np.where(np.arange(N) % 7, 1.0, 0.0))
    model(tol=0.01).fit(X.toarray()[:, :300], y)
    assert seen == []
