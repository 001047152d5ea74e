"""Exact runs on blocks: the bits of a run on one machine, however the rows are divided and however many tasks run at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import digest, noisy_rows
from sklearn.base import clone

import oracles
import rosenblatt as rb
from rosenblatt.cluster.engine import Handle, InProcess
from rosenblatt.cluster.exact import sweep_block, try_block
from rosenblatt.cluster.fit import fit
from rosenblatt.cluster.travel import blocks_of_pass, groups_of_heads, seed_of_block
from rosenblatt.online.schedules import Orders

CONTAINERS = {"dense": np.asarray, "csr": sp.csr_array}


def shrinking(k: int) -> float:
    return 1.0 / k


def one_for_thirty(k: int) -> float:
    if k > 30:
        raise ArithmeticError("no more steps")
    return 1.0


def assert_same_bits(model: Any, other: Any) -> None:
    for name in ("coef_", "intercept_", "variances_"):
        if hasattr(other, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(other, name), name)
    assert (model.n_updates_, model.n_iter_, model.stop_) == (other.n_updates_, other.n_iter_, other.stop_)


CYCLIC: dict[str, Any] = {
    "perceptron": rb.Perceptron(keep="average"),
    "one against the rest": rb.Perceptron(multiclass="ovr", keep="average"),
    "margin and step": rb.Perceptron(margin=0.5, step=shrinking, max_iter=5),
    "updates": rb.Perceptron(max_updates=77, multiclass="ovr"),
    "norm": rb.Perceptron(w_max=7.0, multiclass="ovr"),
    "first weights": rb.Perceptron(init=np.ones((3, 5)), class_weight={0: 0.5, 2: 2.0}, fit_intercept=False),
    "balanced": rb.Perceptron(class_weight="balanced", intercept_scaling=0.1),
    "passive-aggressive": rb.PassiveAggressive(max_iter=4),
    "passive-aggressive, each": rb.PassiveAggressive(variant="PA-II", multiclass="ovr", keep="last", max_iter=4),
    "nonlinear": rb.NonlinearMSE(solver="online", step=0.05, keep="average", max_iter=4),
    "AROW": rb.AROW(max_iter=4),
    "AROW, each": rb.AROW(multiclass="ovr", class_weight="balanced", max_iter=4),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("estimator", CYCLIC.values(), ids=CYCLIC)
def test_cyclic_runs_are_those_of_one_machine(estimator: Any, container: Any) -> None:
    X, y = noisy_rows(300, 5, 3)
    for dtype, rows in ((np.float64, (300, 90)), (np.float32, (41,))):
        data = container(X.astype(dtype)), y
        alone = clone(estimator).set_params(order="cyclic").fit(*data)
        for size in rows:
            for jobs in (1, 3):
                model = fit(clone(alone), data, InProcess(jobs), block_rows=size)
                assert_same_bits(model, alone)
                assert isinstance(estimator, rb.AROW) or model.log_ is None


@pytest.mark.parametrize("estimator", [rb.Perceptron(keep="average"), rb.AROW(max_iter=4), rb.Perceptron(multiclass="ovr")])
def test_rows_of_weight_zero_are_left_out(estimator: Any) -> None:
    X, y = noisy_rows(200, 4, 3)
    weights = np.random.default_rng(0).integers(0, 3, 200) * 0.5
    weights[40:80] = 0.0  # a whole block
    alone = clone(estimator).set_params(order="cyclic").fit(X, y, weights)
    for size in (200, 40, 27):
        assert_same_bits(fit(clone(alone), (X, y, weights), InProcess(2), block_rows=size), alone)
    with pytest.raises(ValueError, match="weights of all rows are zero"):
        fit(clone(alone).set_params(class_weight=dict.fromkeys(range(3), 0.0)), (X, y))


# --- orders --------------------------------------------------------------------------------------------------------------


def visited(order: str, sizes: Sequence[int], passes: int, seed: int) -> list[list[int]]:
    """The rows that each pass visits, from the definition of the order."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    found = []
    for done in range(passes):
        rows: list[int] = []
        for b in blocks_of_pass(order, seed, done, range(len(sizes))):
            drawn = Orders(order, sizes[b], 1 << 17, seed_of_block(seed, done, b)).next_passes(1)
            rows += [int(starts[b] + i) for part in drawn for i in part]
        found.append(rows)
    return found


@pytest.mark.parametrize("order", ["permuted", "random"])
def test_other_orders_are_given_by_the_blocks(order: str) -> None:
    X, y = noisy_rows(120, 4)
    X = np.round(4.0 * X)
    passes = visited(order, [50, 50, 20], 3, seed=7)
    blocks = [sorted(set(np.searchsorted([50, 100], each, side="right"))) for each in passes]
    assert blocks == [[0, 1, 2]] * 3
    if order == "permuted":
        assert all(sorted(each) == list(range(120)) for each in passes)
        assert len({tuple(each) for each in passes}) == 3
    textbook = oracles.perceptron(oracles.augment(X), 2 * y - 1, passes)
    for jobs in (1, 3):
        model = fit(rb.Perceptron(order=order, max_iter=3, random_state=7), (X, y), InProcess(jobs), block_rows=50)
        assert model.n_updates_ == len(textbook.rows)
        np.testing.assert_array_equal(np.concatenate([model.intercept_, model.coef_[0]]), textbook.last)


@pytest.mark.parametrize("order", ["permuted", "random"])
@pytest.mark.parametrize("learner", [rb.Perceptron, rb.AROW])
def test_runs_do_not_depend_on_the_number_of_tasks(learner: Any, order: str) -> None:
    X, y = noisy_rows(200, 5, 4)
    for multiclass in ("joint", "ovr"):
        parameters = {"order": order, "multiclass": multiclass, "max_iter": 5, "random_state": 3}
        models = [fit(learner(**parameters), (X, y), InProcess(jobs), block_rows=33) for jobs in (1, 2, 4)]
        assert len({digest(model) for model in models}) == 1
        assert models[0].score(X, y) > 0.35


# --- separable rows ------------------------------------------------------------------------------------------------------


def separable(n: int = 240, d: int = 4, gamma: float = 0.05) -> tuple[Any, Any, float]:
    """Rows with the margin gamma from a plane without intercept, and their largest length."""
    rng = np.random.default_rng(5)
    u = np.ones(d) / np.sqrt(d)
    X = rng.normal(size=(n, d))
    y = (X @ u > 0.0).astype(int)
    X += np.outer((2 * y - 1) * gamma, u)
    return X, y, float(np.linalg.norm(X, axis=1).max())


class Recording(InProcess):
    """Counts the tasks by their function."""

    def __init__(self, n_jobs: int = 1) -> None:
        super().__init__(n_jobs)
        self.made: dict[Any, int] = {}

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        kind = arguments[0] if function.__name__ == "run_on_block" else function
        self.made[kind] = self.made.get(kind, 0) + 1
        return super().submit(function, *arguments)


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random"])
def test_updates_are_at_most_the_square_of_radius_over_margin(order: str) -> None:
    X, y, radius = separable()
    model = fit(
        rb.Perceptron(order=order, max_iter=None, fit_intercept=False, random_state=0), (X, y), InProcess(2), block_rows=50
    )
    assert model.stop_.separated
    assert (model.predict(X) == y).all()
    assert 0 < model.n_updates_ <= (radius / 0.05) ** 2


def mostly_easy() -> tuple[Any, Any]:
    """Fourteen blocks of 60 rows, of which two have all the rows near the plane."""
    X, y, _ = separable(840, gamma=1.0)
    near = np.r_[300:360, 660:720]
    X[near], y[near], _ = separable(120, gamma=0.01)
    return X, y


@pytest.mark.parametrize("keep", ["last", "average"])
def test_late_passes_try_blocks_side_by_side_with_the_same_bits(keep: Any) -> None:
    X, y = mostly_easy()
    alone = rb.Perceptron(order="cyclic", max_iter=None, keep=keep, fit_intercept=False).fit(X, y)
    swept = 14 * alone.n_iter_
    for jobs in (1, 3):
        engine = Recording(jobs)
        assert_same_bits(fit(clone(alone), (X, y), engine, block_rows=60), alone)
        assert engine.made[try_block] > 0.5 * swept
        assert engine.made[sweep_block] < 0.5 * swept
        assert engine.made[try_block] + engine.made[sweep_block] < 2 * swept


def test_limits_are_met_within_tried_blocks() -> None:
    X, y = mostly_easy()
    whole = rb.Perceptron(order="cyclic", max_iter=500, fit_intercept=False).fit(X, y)
    assert whole.stop_.separated
    for parameters in ({"max_updates": whole.n_updates_ - 1}, {"max_updates": whole.n_updates_}, {"max_iter": 3}):
        alone = clone(whole).set_params(**parameters).fit(X, y)
        model = fit(clone(alone), (X, y), InProcess(2), block_rows=60)
        assert_same_bits(model, alone)
        assert model.coef_.flags.writeable


def test_a_step_that_fails_is_reported_once_it_is_reached() -> None:
    X, y = mostly_easy()
    model = rb.Perceptron(order="cyclic", step=one_for_thirty, fit_intercept=False, max_iter=200)
    for rows in (840, 60):
        with pytest.raises(ArithmeticError, match="no more steps"):
            fit(clone(model), (X, y), block_rows=rows)
    assert not hasattr(model, "coef_")
    few = clone(model).set_params(max_updates=30)
    assert_same_bits(fit(clone(few), (X, y), InProcess(2), block_rows=60), clone(few).fit(X, y))


def test_heads_travel_in_groups() -> None:
    assert [len(groups_of_heads(k)) for k in (1, 3, 4, 10, 100)] == [1, 1, 2, 5, 8]
    X, y = noisy_rows(150, 4, 10)
    alone = rb.Perceptron(order="cyclic", multiclass="ovr", max_iter=3).fit(X, y)
    engine = Recording(3)
    assert_same_bits(fit(clone(alone), (X, y), engine, block_rows=50), alone)
    assert engine.made[sweep_block] + engine.made.get(try_block, 0) >= 5 * 3


# --- what goes on from there ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [rb.Perceptron(keep="average"), rb.PassiveAggressive(multiclass="ovr"), rb.AROW()],
    ids=lambda e: type(e).__name__,
)
def test_partial_fit_warm_starts_and_model_files_go_on(estimator: Any, tmp_path: Path) -> None:
    X, y = noisy_rows(120, 4, 3)
    parameters = {"order": "cyclic", "max_iter": 2, "warm_start": True}
    alone, model = (clone(estimator).set_params(**parameters) for _ in range(2))
    alone.fit(X, y)
    fit(model, (X, y), block_rows=50)
    rb.save(model, tmp_path / "m.safetensors")
    loaded = rb.load(tmp_path / "m.safetensors")
    assert_same_bits(loaded, alone)
    fit(model, (X, y), block_rows=70)  # from the weights of the first fit
    assert_same_bits(model, alone.fit(X, y))
    for each in (model, alone):
        each.partial_fit(X[:30], y[:30])
    assert_same_bits(model, alone)
    loaded.partial_fit(X[:30], y[:30])
    assert np.isfinite(loaded.coef_).all()


def test_the_other_readings_say_what_they_need() -> None:
    X, y = noisy_rows(60, 3)
    model = fit(rb.Perceptron(order="cyclic", max_iter=2), (X, y), block_rows=20)
    assert model.log_ is None
    with pytest.raises(ValueError, match="needs the log"):
        model.reading("vote")


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (rb.Perceptron(keep="vote"), "keep='vote' .*: use keep='average', or fit"),
        (rb.Perceptron(keep="pocket", init="sum"), "keep='pocket' .*: use keep='average', or fit"),
        (rb.Perceptron(certify=True), "certify=True .*: use certify=False, or fit"),
        (rb.Perceptron(order="mistakes"), "order='mistakes' .*: use order='cyclic', or fit"),
        (rb.PassiveAggressive(early_stopping=True), "early_stopping=True .*: use early_stopping=False, or fit"),
        (rb.AROW(early_stopping=True), "early_stopping=True .*: use early_stopping=False, or fit"),
        (rb.AROW(calibrate="sigmoid"), "calibrate='sigmoid' .*: use calibrate=None, or fit"),
    ],
)
def test_what_needs_all_rows_is_refused_in_one_sentence(estimator: Any, sentence: str) -> None:
    X, y = noisy_rows(30, 3)
    with pytest.raises(ValueError, match=sentence):
        fit(estimator, (X, y), block_rows=10)
    assert not hasattr(estimator, "classes_")


def test_shards_are_for_mixed_runs() -> None:
    with pytest.raises(ValueError, match="shards=2 is for mode='mixed'"):
        fit(rb.Perceptron(), noisy_rows(30, 3), shards=2)


def test_a_run_without_limit_warns_if_it_stalls() -> None:
    X, y = np.array([[1.0], [1.0], [2.0], [-1.0]]), np.array([0, 1, 1, 0])
    with pytest.warns(UserWarning, match="not separated"):
        model = fit(rb.Perceptron(order="cyclic", max_iter=None, w_max=1e6), (X, y), block_rows=2)
    assert model.stop_.reason == "stalled"
