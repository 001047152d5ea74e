"""Rules with a threshold of their own, by the example of the perceptron with dynamic margin.

Panagiotakopoulos and Tsampouka (2011): w += y x where y <w, x> <= (1 - epsilon) |w|^2 / t after t updates. From w = 0, the
margin at the end is at least 1 - epsilon times the largest one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from oracles import augment, cyclic, noisy, separable
from rosenblatt.estimators.online import OnlineClassifier
from rosenblatt.kernels.linear.rules import step, threshold

CONTAINERS = {"dense": np.asarray, "csr": sp.csr_array}
# Each combination compiles the kernels again. The first three have every scheme and every container.
COMBINATIONS = [
    (2, "joint", "dense"),
    (4, "joint", "csr"),
    (4, "ovr", "dense"),
    pytest.param(2, "joint", "csr", marks=pytest.mark.thorough),
    pytest.param(4, "joint", "dense", marks=pytest.mark.thorough),
    pytest.param(4, "ovr", "csr", marks=pytest.mark.thorough),
]


class DynamicMarginRule(NamedTuple):
    epsilon: float


@threshold.of(DynamicMarginRule)
def _(rule: Any, sqnorm: Any, updates: Any) -> Any:
    if updates == 0:
        return np.inf
    return (1.0 - rule.epsilon) * sqnorm / updates


@step.of(DynamicMarginRule)
def _(rule: Any, margin: Any, sqnorm: Any, weight: Any) -> Any:
    return min(weight, 1.0)


class DynamicMargin(rb.Perceptron):
    epsilon = 0.4

    def _rule(self, problem: Any) -> Any:
        return DynamicMarginRule(self.epsilon)

    _solve = OnlineClassifier._solve


def dynamic_margin(moves: Any, passes: Any, epsilon: float) -> tuple[Any, list[int]]:
    """The weights and the rows of all updates. Row i moves w by the first of `moves[i]` with the smallest margin."""
    w, rows = np.zeros_like(moves[0][0]), []
    for order in passes:
        before = len(rows)
        for i in order:
            move = min(moves[i], key=lambda z: float(w @ z))
            if not rows or w @ move <= (1 - epsilon) * (w @ w) / len(rows):
                w = w + move
                rows.append(int(i))
        if len(rows) == before:
            break
    return w, rows


def binary_moves(P: Any, positive: Any) -> Any:
    return [[p if sign else -p] for p, sign in zip(P, positive, strict=True)]


def joint_moves(P: Any, codes: Any, k: int) -> Any:
    """Kesler's construction: +p for the class of the row and -p for a rival, in one vector."""
    plus = np.eye(k)
    return [[np.outer(plus[c] - plus[z], p).ravel() for z in range(k) if z != c] for p, c in zip(P, codes, strict=True)]


def runs(X: Any, codes: Any, multiclass: str, *arguments: Any) -> list[tuple[Any, list[int]]]:
    """The runs of the oracle: one, or one for each class against the rest."""
    P, k = augment(X), int(codes.max()) + 1
    if k == 2:
        return [dynamic_margin(binary_moves(P, codes == 1), *arguments)]
    if multiclass == "joint":
        return [dynamic_margin(joint_moves(P, codes, k), *arguments)]
    return [dynamic_margin(binary_moves(P, codes == h), *arguments) for h in range(k)]


def assert_equal(model: Any, expected: list[tuple[Any, list[int]]]) -> None:
    planes = np.column_stack([model.intercept_, model.coef_])
    np.testing.assert_array_equal(planes.ravel(), np.concatenate([w for w, _ in expected]))
    assert model.n_updates_ == sum(len(rows) for _, rows in expected)


def true_sqnorms(model: Any) -> Any:
    heads = np.column_stack([model._run.state.bias, model._run.heads])
    return np.square(heads if len(model._run.state.counts) > 1 else heads.reshape(1, -1)).sum(axis=1)


@pytest.mark.parametrize(("k", "multiclass", "container"), COMBINATIONS)
def test_every_update_is_that_of_the_paper(k: int, multiclass: str, container: str) -> None:
    X, codes = noisy(40, 3, k, seed=1)
    options = {"order": "cyclic", "max_iter": 4, "multiclass": multiclass}
    expected = runs(X, codes, multiclass, cyclic(40, 4), 0.4)
    for n_jobs in (1, 3):
        model = DynamicMargin(**options, n_jobs=n_jobs).fit(CONTAINERS[container](X), codes)
        assert_equal(model, expected)
        for h, (_, rows) in enumerate(expected):
            assert model.log_.rows[model.log_.heads == h].tolist() == rows
        np.testing.assert_array_equal(model._run.state.sqnorms, true_sqnorms(model))


@pytest.mark.parametrize("container", ["dense", pytest.param("csr", marks=pytest.mark.thorough)])
def test_a_warm_start_continues_the_count_of_updates(container: str) -> None:
    X, codes = noisy(40, 3, 2, seed=2)
    model = DynamicMargin(order="cyclic", max_iter=2, warm_start=True).fit(CONTAINERS[container](X), codes)
    assert_equal(model.fit(CONTAINERS[container](X), codes), runs(X, codes, "joint", cyclic(40, 4), 0.4))


@pytest.mark.parametrize(("k", "multiclass"), [(2, "joint"), (4, "ovr")])
def test_max_updates_counts_those_of_one_fit(k: int, multiclass: str) -> None:
    X, codes = noisy(40, 3, k, seed=2)
    model = DynamicMargin(order="cyclic", multiclass=multiclass, max_updates=5, warm_start=True).fit(X, codes)
    first = model.n_updates_
    assert model.fit(X, codes).n_updates_ == first + 5 * len(model.coef_)
    assert (model.stop_.reason, model.stop_.limit) == ("updates", 5)


def test_a_warm_start_may_change_the_scheme() -> None:
    X, codes = noisy(40, 3, 3, seed=2)
    model = DynamicMargin(max_iter=2, warm_start=True, random_state=0).fit(X, codes)
    made = model.n_updates_
    model.set_params(multiclass="ovr").fit(X, codes)
    assert (model._run.state.counts >= made).all()
    np.testing.assert_allclose(model._run.state.sqnorms, true_sqnorms(model), rtol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_chunks_of_a_stream_change_no_bit(container: str, multiclass: str) -> None:
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(60, 4)), np.arange(60) % 3
    rows = CONTAINERS[container](X)
    whole = DynamicMargin(order="cyclic", max_iter=1, multiclass=multiclass).fit(rows, codes)
    model = DynamicMargin(multiclass=multiclass)
    for start in range(0, 60, 7):
        model.partial_fit(rows[start : start + 7], codes[start : start + 7], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model._run.state.sqnorms, whole._run.state.sqnorms)


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_norms_are_kept_when_a_class_comes_late(multiclass: str) -> None:
    X, codes = noisy(60, 3, 3, seed=4)
    early = codes < 2
    model = DynamicMargin(multiclass=multiclass).partial_fit(X[early], codes[early])
    model.partial_fit(sp.csr_array(X), codes)
    np.testing.assert_array_equal(model._run.state.sqnorms, true_sqnorms(model))


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random", "mistakes"])
@pytest.mark.parametrize("epsilon", [0.5, 0.1])
def test_the_margin_is_near_the_largest(order: str, epsilon: float) -> None:
    X, y, _ = separable(40, 3, 0.1, seed=5)
    model = DynamicMargin(order=order, max_iter=None, random_state=0)
    model.epsilon = epsilon
    model.fit(X, y)
    largest = rb.MaxMargin(fit_intercept=False).fit(augment(X), y).margin_[0]
    assert model.stop_.separated
    assert (1 - epsilon) * largest < rb.margin(model, X, y) <= largest * (1 + 1e-9)


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_the_margin_of_several_classes_is_near_the_largest(multiclass: str) -> None:
    centers = np.array([[0.0, 4.0], [4.0, -4.0], [-4.0, -4.0]])
    codes = np.arange(30) % 3
    X = centers[codes] + np.random.default_rng(6).uniform(-1, 1, (30, 2))
    model = DynamicMargin(max_iter=None, multiclass=multiclass, random_state=0).fit(X, codes)
    planes, P = np.column_stack([model.intercept_, model.coef_]), augment(X)
    if multiclass == "joint":
        problems = [(planes.ravel(), joint_moves(P, codes, 3))]
    else:
        problems = [(planes[h], binary_moves(P, codes == h)) for h in range(3)]
    assert model.stop_.separated
    for w, moves in problems:
        Z = np.concatenate(moves)
        largest = rb.MaxMargin(fit_intercept=False).fit(np.concatenate([Z, -Z]), np.repeat([1, 0], len(Z))).margin_[0]
        assert 0.6 * largest < (Z @ w).min() / np.linalg.norm(w) <= largest * (1 + 1e-9)


def test_a_batch_counts_as_one_update() -> None:
    X, codes = noisy(40, 3, 2, seed=7)
    model = DynamicMargin(update="batch", max_iter=6).fit(X, codes)
    Z = np.concatenate(binary_moves(augment(X), codes == 1))
    w = Z.sum(axis=0)
    for t in range(1, 6):
        w = w + Z[Z @ w <= 0.6 * (w @ w) / t].sum(axis=0)
    np.testing.assert_array_equal(np.append(model.intercept_, model.coef_), w)


@pytest.mark.parametrize("order", ["cyclic", "mistakes"])
def test_a_squared_norm_out_of_range_is_an_error(order: str) -> None:
    with pytest.raises(ValueError, match="exceed the range of float64: X has values up to 1e160"):
        DynamicMargin(order=order, max_iter=None).fit([[1e160], [-1e160]], [1, 0])
