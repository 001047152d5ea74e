"""Batch steps on blocks: the run of one machine, and the proof by a step of exactly zero."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import digest, noisy_rows
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import rosenblatt as rb
from rosenblatt.cluster.batch_steps import add_exactly, expand
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.fit import fit

CONTAINERS = {"dense": np.asarray, "csr": sp.csr_array}


def halving(k: int) -> float:
    return 2.0 ** -min(k, 8)


def assert_same_run(model: Any, other: Any, *, rtol: float = 0.0) -> None:
    for name in ("coef_", "intercept_"):
        np.testing.assert_allclose(getattr(model, name), getattr(other, name), rtol, rtol)
    assert (model.n_updates_, model.n_iter_) == (other.n_updates_, other.n_iter_)
    assert rtol or model.stop_ == other.stop_
    assert model.stop_.reason == other.stop_.reason


EXACT: dict[str, Any] = {
    "sum": rb.Perceptron(update="batch", max_iter=40),
    "mean": rb.Perceptron(update="batch-mean", max_iter=20),
    "average": rb.Perceptron(update="batch", keep="average", max_iter=25),
    "one against the rest": rb.Perceptron(update="batch", multiclass="ovr", max_iter=30),
    "margin": rb.Perceptron(update="batch", margin="auto", step=halving, max_iter=20),
    "first weights": rb.Perceptron(update="batch", init="sum", max_iter=10),
    "array": rb.Perceptron(update="batch", init=np.ones((3, 5)), fit_intercept=False, max_iter=10),
    "norm": rb.Perceptron(update="batch", w_max=100.0, multiclass="ovr"),
    "updates": rb.Perceptron(update="batch", max_updates=13, multiclass="ovr"),
    "length": rb.Perceptron(update="batch", tol=90.0),
    "weights": rb.Perceptron(update="batch", class_weight={0: 0.5, 1: 2.0}, max_iter=20),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("estimator", EXACT.values(), ids=EXACT)
def test_whole_numbers_give_the_bits_of_one_machine(estimator: Any, container: Any) -> None:
    X, y = noisy_rows(256, 5, 3)
    for dtype, rows in ((np.float64, (256, 60)), (np.float32, (37,))):
        data = container(np.round(3.0 * X).astype(dtype)), y
        alone = clone(estimator).fit(*data)
        for size in rows:
            assert_same_run(fit(clone(estimator), data, InProcess(), block_rows=size), alone)


REAL = [
    rb.Perceptron(update="batch", multiclass="ovr", max_iter=10),
    rb.Perceptron(update="batch-mean", margin="auto", keep="average", max_iter=10),
    rb.NonlinearMSE(solver="batch", max_iter=25),
    rb.NonlinearMSE(solver="batch-mean", activation="logistic", keep="average", max_iter=25),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", REAL, ids=lambda each: type(each).__name__)
def test_real_numbers_give_the_run_of_one_machine_up_to_rounding(estimator: Any, weighted: bool) -> None:
    X, y = noisy_rows(200, 4, 3)
    weights = np.random.default_rng(1).integers(0, 3, 200) / 2.0
    weights[60:90] = 0.0
    data = (X, y, weights) if weighted else (X, y)
    alone = clone(estimator).fit(*data)
    models = [fit(clone(estimator), data, InProcess(jobs), block_rows=30) for jobs in (1, 2, 4)]
    assert len({digest(model) for model in models}) == 1
    assert_same_run(models[0], alone, rtol=1e-9)
    if isinstance(estimator, rb.NonlinearMSE):
        assert models[0].loss_ == pytest.approx(alone.loss_)
        assert models[0].gradient_norm_ == pytest.approx(alone.gradient_norm_)
        np.testing.assert_array_equal(models[0].saturated_, alone.saturated_)


def test_separable_rows_are_separated_within_the_bound() -> None:
    rng = np.random.default_rng(3)
    u, X = np.ones(3) / math.sqrt(3.0), rng.normal(size=(150, 3))
    y = (X @ u > 0.0).astype(int)
    X += np.outer(0.1 * (2 * y - 1), u)
    model = fit(rb.Perceptron(update="batch", fit_intercept=False, max_iter=None), (X, y), InProcess(2), block_rows=40)
    assert model.stop_.separated
    assert (model.predict(X) == y).all()
    assert model.n_updates_ <= 150 * np.square(X).sum(axis=1).max() / 0.1**2


# --- a step of zero ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_a_step_of_zero_is_a_proof(classes: int, multiclass: Any, container: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.tile(np.round(8.0 * rng.normal(size=(12, 4))) / 1024.0, (classes, 1))  # every row once with each label
    y = np.repeat(np.arange(classes), 12)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    alone = rb.Perceptron(update="batch", multiclass=multiclass, max_iter=50).fit(container(X), y)
    assert classes == 3 or alone.stop_.reason == "impossible"
    for size in (5, 100):
        model = fit(clone(alone), (container(X), y), InProcess(2), block_rows=size)
        assert model.stop_ == alone.stop_


def test_a_step_that_is_rounded_to_zero_proves_nothing() -> None:
    X, y = np.array([[6e15], [0.25], [6e15], [0.0]]), np.array([1, 1, 0, 0])  # the signed rows sum to 0.25
    for size in (4, 2):
        stop = fit(rb.Perceptron(update="batch", fit_intercept=False), (X, y), block_rows=size).stop_
        assert stop.reason == "tolerance"
        assert stop.sentence == "stopped because the step is zero although 4 rows violate the margin"


def test_nothing_is_proved_about_rounded_rows_or_weights() -> None:
    X, y = np.array([[1.0], [2.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    assert fit(rb.Perceptron(update="batch"), (X, y), block_rows=3).stop_.reason == "impossible"
    weighted = fit(rb.Perceptron(update="batch"), (X, y, np.full(4, 2.0)), block_rows=3)
    assert weighted.stop_.reason == "tolerance"
    large = fit(rb.Perceptron(update="batch"), (X * 2.0**53, y), block_rows=3)
    assert large.stop_.reason == "tolerance"
    rounded = rb.Perceptron(update="batch")
    rounded._rounded = "the rows were scaled"
    stop = fit(rounded, (X, y), block_rows=3).stop_
    assert stop.reason == "tolerance"
    assert stop.sentence.endswith("nothing is proved: the rows were scaled")


FLOATS = st.lists(st.floats(-1e30, 1e30), max_size=12)


@given(FLOATS, FLOATS)
def test_sums_are_exact(left: list[float], right: list[float]) -> None:
    def exact(numbers: Any) -> Fraction:
        return sum((Fraction(float(each)) for each in numbers), Fraction(0))

    parts = [np.array(expand(each)).reshape(-1, 1, 1) for each in (left, right)]
    assert [exact(part.ravel()) for part in parts] == [exact(left), exact(right)]
    both = add_exactly(*parts)
    assert both is not None
    assert exact(both.ravel()) == exact(left + right)
    assert both.any() == (exact(left + right) != 0)
    assert len(expand(left)) <= len(left)


# --- what goes on from there ---------------------------------------------------------------------------------------------


def test_a_warm_start_goes_on() -> None:
    X, y = noisy_rows(100, 4)
    X = np.round(4.0 * X)
    alone, model = (rb.Perceptron(update="batch", warm_start=True, max_iter=4) for _ in range(2))
    for _ in range(2):
        assert_same_run(fit(model, (X, y), block_rows=30), alone.fit(X, y))
    assert model.log_ is None


@pytest.mark.parametrize("keep", ["vote", "pocket"])
def test_readings_of_all_steps_are_refused(keep: Any) -> None:
    with pytest.raises(ValueError, match=f"keep='{keep}' .*: use keep='average', or fit"):
        fit(rb.Perceptron(update="batch", keep=keep), noisy_rows(30, 3))


def test_a_run_without_limit_warns_if_it_stalls() -> None:
    X, y = np.array([[1.0], [2.0], [2.0], [-1.0]]), np.array([0, 1, 1, 0])
    X[0] = 3.0
    with pytest.warns(UserWarning, match="not separated"):
        model = fit(rb.Perceptron(update="batch", max_iter=None, max_updates=50), (X, y), block_rows=2)
    assert model.stop_.reason == "updates"
