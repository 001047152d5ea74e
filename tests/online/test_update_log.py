"""The log: columns, slices, replays, exports, and what is left of it after a pickle."""

from __future__ import annotations

import builtins
import copy
import pickle
from typing import Any

import numpy as np
import pytest
from short_runs import RUNS, fitted, noisy_rows

import rosenblatt as rb


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    """(model, the training rows as an array, labels)."""
    options = RUNS[request.param]
    return fitted(**options), *noisy_rows(options["classes"])


def naive_weights(model: Any, X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Coefficients and intercepts after every update, from the columns of the log and nothing else of it."""
    columns = model.log_.to_dict()
    k = len(model.classes_)
    W = np.zeros((1 if k == 2 else k, 1 + X.shape[1]))
    found = [W.copy()]
    batch = model._way == "batch"
    for at, (i, tau, time, rival, head) in enumerate(zip(*columns.values(), strict=True)):
        p = np.concatenate([[1.0], X[i]])
        if k == 2:
            W[0] += tau * (1 if y[i] == 1 else -1) * p
        elif model._multiclass == "ovr":
            W[head] += tau * (1 if rival == -1 else -1) * p
        else:
            W[y[i]] += tau * p
            W[rival] -= tau * p
        last_of_step = at + 1 == len(columns["row"]) or columns["time"][at + 1] != time
        if not batch or last_of_step:
            found.append(W.copy())
    return [(w[:, 1:], w[:, 0]) for w in found]


def test_a_log_shows_what_users_need() -> None:
    """What the package needs for replays is hidden."""
    names = "compact durations heads is_compact n_updates passes rivals rows runs steps times to_arrow to_dict weights_at"
    assert [name for name in dir(fitted(**next(iter(RUNS.values()))).log_) if not name.startswith("_")] == names.split()


# --- columns -----------------------------------------------------------------------------------------------------------


def test_weights_at_every_t_are_the_naive_replay(run: Any) -> None:
    model, X, y = run
    naive = naive_weights(model, X, y)
    assert len(naive) == model.log_.n_updates + 1
    for t, (coef, intercept) in enumerate(naive):
        found_coef, found_intercept = model.log_.weights_at(t)
        np.testing.assert_allclose(found_coef, coef, atol=1e-12)
        np.testing.assert_allclose(found_intercept, intercept, atol=1e-12)


def test_the_log_ends_at_the_weights_of_the_run_to_the_bit(run: Any) -> None:
    model, _, _ = run
    coef, intercept = model.log_.weights_at(model.log_.n_updates)
    np.testing.assert_array_equal(coef, model.coef_)
    np.testing.assert_array_equal(intercept, model.intercept_)


def test_columns_have_one_entry_per_update(run: Any) -> None:
    model, X, _ = run
    log = model.log_
    assert len(log) > 10
    for column in (log.rows, log.steps, log.times, log.rivals, log.heads):
        assert len(column) == len(log)
    assert log.rows.min() >= 0
    assert log.rows.max() < len(X)
    assert (log.steps > 0).all()
    assert (np.diff(log.times) >= 0).all()
    assert log.times[-1] < log.durations.max()


def test_columns_cannot_be_written() -> None:
    log = fitted(3).log_
    for column in (log.rows, log.steps, log.times, log.rivals, log.heads):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_binary_rivals_are_the_other_class() -> None:
    model, (_, y) = fitted(2), noisy_rows(2)
    np.testing.assert_array_equal(model.log_.rivals, 1 - y[model.log_.rows])
    assert not model.log_.heads.any()


def test_argmax_rivals_are_never_the_own_class() -> None:
    model, (_, y) = fitted(3), noisy_rows(3)
    assert (model.log_.rivals != y[model.log_.rows]).all()
    assert set(model.log_.rivals) == {0, 1, 2}
    assert not model.log_.heads.any()


def test_ovr_rivals_are_the_rest_on_own_rows_and_the_head_on_others() -> None:
    model, (_, y) = fitted(3, multiclass="ovr"), noisy_rows(3)
    own = model.log_.heads == y[model.log_.rows]
    assert own.any()
    assert not own.all()
    assert (model.log_.rivals[own] == -1).all()
    np.testing.assert_array_equal(model.log_.rivals[~own], model.log_.heads[~own])


def test_steps_hold_step_size_and_row_weight() -> None:
    X, y = noisy_rows(2)
    c = 1.0 + np.arange(len(y))
    log = rb.Perceptron(step=lambda k: 1.0 / k, max_iter=2, random_state=0).fit(X, y, sample_weight=c).log_
    np.testing.assert_allclose(log.steps, c[log.rows] / np.arange(1, len(log) + 1))


def test_times_count_the_rows_visited_before() -> None:
    X, y = noisy_rows(2)
    log = rb.Perceptron(order="cyclic", max_iter=3).fit(X, y).log_
    np.testing.assert_array_equal(log.times % len(y), log.rows)
    assert log.durations.tolist() == [3 * len(y)]


def test_passes_hold_the_number_of_updates_at_the_end_of_each() -> None:
    X, y = noisy_rows(2)
    log = rb.Perceptron(order="cyclic", max_iter=4).fit(X, y).log_
    assert log.passes == [int((log.times < n * len(y)).sum()) for n in range(1, 5)]


def test_a_run_without_updates_has_an_empty_log() -> None:
    X = np.array([[1.0], [-1.0]])
    log = rb.Perceptron(init=np.array([1.0])).fit(X, [1, 0]).log_
    assert len(log) == 0
    assert log.n_updates == 0
    assert list(log) == []
    assert [len(column) for column in log.to_dict().values()] == [0] * 5
    np.testing.assert_array_equal(log.weights_at(0)[0], [[1.0]])
    assert len(log.compact()) == 0
    assert len(log[:]) == 0
    with pytest.raises(IndexError):
        log[0]


# --- indexing ----------------------------------------------------------------------------------------------------------


def test_indexing_and_iteration_give_the_same_updates(run: Any) -> None:
    log = run[0].log_
    every = list(log)
    assert len(every) == len(log)
    assert [log[i] for i in range(len(log))] == every
    assert [log[i - len(log)] for i in range(len(log))] == every
    first = every[0]
    assert first == (log.rows[0], log.steps[0], log.times[0], log.rivals[0])
    assert first.row == log.rows[0]
    assert first.rival == log.rivals[0]


@pytest.mark.parametrize("beyond", [1000, -1000])
def test_an_index_beyond_the_end_is_an_index_error(beyond: int) -> None:
    with pytest.raises(IndexError):
        fitted(2).log_[beyond]


@pytest.mark.parametrize("stride", [2, -1])
def test_a_slice_with_a_stride_is_refused(stride: int) -> None:
    with pytest.raises(ValueError, match=f"step of 1, got {stride}"):
        fitted(2).log_[::stride]


@pytest.mark.parametrize("name", ["binary", "argmax-csr", "ovr", "ovr-csr", "pa"])
def test_a_slice_is_the_run_from_a_to_b(name: str) -> None:
    log = fitted(**RUNS[name]).log_
    n = len(log)
    for a, b in [(0, n), (3, n - 2), (n // 2, n // 2), (n - 1, n), (5, 3), (n, n)]:
        part = log[a:b]
        assert len(part) == max(0, b - a)
        assert list(part) == list(log)[a:b]
        for mine, whole in zip(part.weights_at(0), log.weights_at(a), strict=True):
            np.testing.assert_array_equal(mine, whole)
        for mine, whole in zip(part.weights_at(len(part)), log.weights_at(max(a, b)), strict=True):
            np.testing.assert_array_equal(mine, whole)


def test_a_slice_takes_open_and_negative_ends() -> None:
    log = fitted(2).log_
    assert list(log[-4:]) == list(log)[-4:]
    assert list(log[:7]) == list(log)[:7]
    assert list(log[2:][3:6]) == list(log)[5:8]


@pytest.mark.parametrize("name", ["binary-batch", "argmax-batch", "ovr-batch"])
def test_a_slice_of_a_batch_log_between_steps_replays_the_same(name: str) -> None:
    log = fitted(**RUNS[name]).log_
    part = log[int(log._record.edges[1]) : int(log._record.edges[3])]
    assert part.n_updates == 2
    for t in range(3):
        np.testing.assert_array_equal(part.weights_at(t)[0], log.weights_at(t + 1)[0])
        np.testing.assert_array_equal(part.weights_at(t)[1], log.weights_at(t + 1)[1])


@pytest.mark.parametrize("t", [-1, 1000])
def test_weights_at_refuses_a_time_outside_the_run(t: int) -> None:
    log = fitted(2).log_
    with pytest.raises(ValueError, match=rf"between 0 and the {log.n_updates} updates.*got {t}"):
        log.weights_at(t)


def test_weights_at_leaves_the_log_as_it_was() -> None:
    log = fitted(2).log_
    coef, _ = log.weights_at(3)
    coef[:] = 7.0
    log.weights_at(5)
    np.testing.assert_array_equal(log.weights_at(0)[0], np.zeros((1, 4)))
    assert not (log.weights_at(3)[0] == 7.0).any()


# --- batch -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", ["batch", "batch-mean"])
def test_a_batch_step_is_one_update_of_many_entries(update: str) -> None:
    model = fitted(2, update=update, max_iter=5)
    log = model.log_
    assert log._record.grouped
    assert log.n_updates == model.n_updates_ == len(np.unique(log.times)) == 5
    assert len(log) > log.n_updates
    np.testing.assert_array_equal(log.rows[log.times == 0], np.arange(30))


def test_batch_mean_steps_are_one_over_the_number_of_rows() -> None:
    log = fitted(2, update="batch-mean", step=2.0).log_
    np.testing.assert_allclose(log.steps, 2.0 / 30)


def test_an_online_update_is_one_entry() -> None:
    model = fitted(3)
    assert not model.log_._record.grouped
    assert model.log_.n_updates == len(model.log_) == model.n_updates_


# --- one against the rest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ovr", "ovr-csr", "ovr-batch"])
def test_ovr_runs_are_the_binary_logs_of_each_class(name: str) -> None:
    model = fitted(**RUNS[name])
    runs = model.log_.runs()
    assert len(runs) == 3
    assert sum(map(len, runs)) == len(model.log_)
    for h, one in enumerate(runs):
        coef, intercept = one.weights_at(one.n_updates)
        np.testing.assert_array_equal(coef[0], model.coef_[h])
        np.testing.assert_array_equal(intercept[0], model.intercept_[h])
        np.testing.assert_array_equal(one.rows, model.log_.rows[model.log_.heads == h])


def test_a_joint_log_is_its_own_only_run() -> None:
    log = fitted(3).log_
    assert log.runs() == [log]


# --- exports -----------------------------------------------------------------------------------------------------------


def test_to_dict_has_the_columns() -> None:
    log = fitted(3, multiclass="ovr").log_
    columns = log.to_dict()
    assert list(columns) == ["row", "step", "time", "rival", "head"]
    for name, column in columns.items():
        np.testing.assert_array_equal(column, getattr(log, name + "s"))


def test_to_arrow_has_the_columns() -> None:
    pytest.importorskip("pyarrow")
    log = fitted(3).log_
    table = log.to_arrow()
    assert table.num_rows == len(log)
    assert table.column_names == ["row", "step", "time", "rival", "head"]
    for name, column in log.to_dict().items():
        np.testing.assert_array_equal(table[name].to_numpy(), column)


def test_to_arrow_without_pyarrow_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without_pyarrow(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pyarrow":
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(ImportError, match=r"pyarrow.*rosenblatt\[data\]"):
        fitted(2).log_.to_arrow()


@pytest.mark.parametrize(("options", "kind"), [({"classes": 2}, "binary"), ({"classes": 3}, "joint")])
def test_repr_names_the_kind_and_the_sizes(options: Any, kind: str) -> None:
    log = fitted(**options).log_
    text = repr(log)
    assert kind in text
    assert f"{len(log)} updates" in text
    assert f"{3 * 30} visits" in text


# --- pickles and compact logs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [lambda log: pickle.loads(pickle.dumps(log)), copy.deepcopy, lambda log: log.compact()])
def test_a_pickled_log_holds_the_touched_rows_and_replays_to_the_bit(run: Any, how: Any) -> None:
    log = run[0].log_
    other = how(log)
    assert other.is_compact
    assert other._record.problem.n_rows == len(np.unique(log.rows))
    assert list(other) == list(log)
    assert other.n_updates == log.n_updates
    assert other.passes == log.passes
    np.testing.assert_array_equal(other.durations, log.durations)
    for t in (0, log.n_updates // 2, log.n_updates):
        for mine, whole in zip(other.weights_at(t), log.weights_at(t), strict=True):
            np.testing.assert_array_equal(mine, whole)


def test_a_pickle_of_few_updates_is_small_however_many_rows_there_were() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 20)), np.arange(3000) % 2
    model = rb.Perceptron(max_updates=5, max_iter=1).fit(X, y)
    assert len(pickle.dumps(model)) < X.nbytes / 20


def test_a_pickle_of_a_pickle_still_replays() -> None:
    log = fitted(3, csr=True).log_
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(log))))
    assert list(again) == list(log)
    np.testing.assert_array_equal(again.weights_at(len(log))[0], log.weights_at(len(log))[0])
    assert list(again[4:9]) == list(log)[4:9]


def test_compact_does_not_depend_on_the_training_rows() -> None:
    X, y = noisy_rows(2)
    log = rb.Perceptron(max_iter=3, random_state=0).fit(X, y).log_
    compact, before = log.compact(), log.weights_at(len(log))[0]
    X[:] = 0.0
    np.testing.assert_array_equal(compact.weights_at(len(log))[0], before)
    with pytest.raises(ValueError, match="X or coef_ was changed after fit"):
        log.weights_at(len(log))


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_a_pickled_model_gives_the_same_readings(keep: str, multiclass: str) -> None:
    X, _ = noisy_rows(3)
    model = fitted(3, multiclass=multiclass)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.reading(keep).decision_function(X), model.reading(keep).decision_function(X))


def test_the_pocket_of_a_pickled_model_needs_all_rows() -> None:
    model = pickle.loads(pickle.dumps(fitted(2)))
    with pytest.raises(ValueError, match="needs the training rows"):
        model.reading("pocket")
