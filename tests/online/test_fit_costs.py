"""What a fit costs beside its updates: kernel calls, and copies of the weights."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.online import solver
from rosenblatt.online.readings import average

pytestmark = pytest.mark.once
ORDERS = ["cyclic", "permuted", "random"]


def overlapping(k: int = 2, n: int = 100, d: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    X = rng.normal(size=(n, d))
    X[np.arange(n), y] += 0.5
    return X, y


def wide(n: int = 300, d: int = 20_000, k: int = 30, seed: int = 0) -> tuple[Any, Any]:
    """Sparse rows of small integers, so that scores are exact. The first two classes share rows, the others are separable."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.integers(0, d // 10, (n, 10)) * 10 + np.arange(10), axis=1)
    indices, starts = (each.astype(np.int32) for each in (places.ravel(), np.arange(0, places.size + 1, 10)))
    X = sp.csr_array((rng.integers(1, 9, places.size) * 1.0, indices, starts), shape=(n, d))
    y = np.arange(n) % k
    same = y < 2
    X = sp.csr_array(sp.vstack([X[same][::2], X[same][::2], X[~same]]))
    return X, np.concatenate([np.arange(same.sum()) >= same.sum() // 2, y[~same]]).astype(int)


def most_bytes(work: Callable[[], object]) -> int:
    """The largest amount of memory that `work` has allocated at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- kernel calls ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("options", [{}, {"k": 3}, {"k": 3, "multiclass": "ovr"}], ids=str)
def test_passes_over_few_rows_share_kernel_calls(monkeypatch: pytest.MonkeyPatch, order: str, options: dict[str, Any]) -> None:
    X, y = overlapping(options.pop("k", 2))
    calls, sweep = [], solver.online
    monkeypatch.setattr(solver, "online", lambda *args: calls.append(1) or sweep(*args))
    model = rb.Perceptron(order=order, random_state=0, max_iter=100, **options).fit(X, y)
    assert model.n_iter_ == 100
    assert len(calls) <= 8


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("k", "options"),
    [
        (2, {}),
        (2, {"max_updates": 77}),
        pytest.param(2, {"step": lambda k: 1.0 / k}, id="decreasing steps"),
        (3, {"multiclass": "joint", "w_max": 9.0}),
        (4, {"multiclass": "ovr", "max_updates": 60}),
        (4, {"multiclass": "ovr", "w_max": 8.0}),
        (4, {"multiclass": "ovr", "class_weight": {0: 0.0}}),
    ],
    ids=str,
)
def test_a_call_per_pass_makes_the_same_run(order: str, k: int, options: dict[str, Any]) -> None:
    """A callback gets every pass, so that each pass is a call of its own."""
    X, y = overlapping(k, n=60)
    X[y == 1] += 20.0
    reports: list[rb.Progress] = []
    alone = rb.Perceptron(order=order, random_state=0, max_iter=40, **options).fit(X, y)
    with rb.progress_callback(reports.append):
        watched = rb.Perceptron(order=order, random_state=0, max_iter=40, **options).fit(X, y)
    assert [report.passes for report in reports if report.ended_pass] == list(range(1, watched.n_iter_ + 1))
    assert (alone.stop_, alone.n_iter_, alone.n_updates_) == (watched.stop_, watched.n_iter_, watched.n_updates_)
    np.testing.assert_array_equal(alone.coef_, watched.coef_)
    np.testing.assert_array_equal(alone.intercept_, watched.intercept_)
    assert list(alone.log_) == list(watched.log_)
    assert alone.log_.passes == watched.log_.passes
    np.testing.assert_array_equal(alone.log_.durations, watched.log_.durations)
    np.testing.assert_array_equal(np.diff([0, *(report.updates for report in reports if report.ended_pass)]),
                                  np.diff([0, *watched.log_.passes]))  # fmt: skip


# --- copies of the weights ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "copies"),
    [
        ({"multiclass": "ovr"}, 1.0),
        ({"multiclass": "joint"}, 1.0),
        ({"multiclass": "ovr", "log": False, "order": "cyclic"}, 1.0),
        ({"multiclass": "joint", "keep": "average"}, 2.0),
        ({"multiclass": "ovr", "keep": "average"}, 2.0),
        ({"multiclass": "joint", "keep": "average", "order": "cyclic"}, 2.0),
        ({"multiclass": "joint", "keep": "average", "log": False}, 2.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_holds_its_weights_once(options: dict[str, Any], copies: float, dtype: Any) -> None:
    """And the average its sums in float64; its result takes their memory."""
    X, y = wide(d=40_000)
    X = X.astype(dtype)
    if dtype == np.float32 and "keep" in options:
        copies += 1
    model = rb.Perceptron(max_iter=10, random_state=0, **options)
    model.fit(X[:60, :50], y[:60])  # compiles the kernels
    most = most_bytes(lambda: model.fit(X, y))
    assert model.coef_.nbytes * copies <= most <= model.coef_.nbytes * (copies + 0.4)  # tape, log and labels take 1.7 MB


def test_the_scan_at_a_limit_copies_no_weights() -> None:
    X, y = wide(60, 400_000, 4)
    model = rb.Perceptron(multiclass="ovr", max_iter=2, random_state=0)
    model.fit(X[:, :50], y)  # compiles the kernels
    most = most_bytes(lambda: model.fit(X, y))
    assert "passes" in model.stop_.heads
    assert most <= 1.2 * model.coef_.nbytes  # the weights of one head are a quarter


def test_an_entry_of_a_log_takes_few_bytes_until_it_is_read() -> None:
    X, y = wide()
    log = rb.Perceptron(multiclass="ovr", random_state=0, max_iter=3).fit(X, y).log_
    entry = [part.rows.itemsize + part.times.itemsize + part.others.itemsize for part in log._record.parts]
    assert max(entry) <= 5
    assert {part.steps.strides for part in log._record.parts} == {(0,)}  # all steps are one number
    assert log.rows.dtype == log.heads.dtype == np.int32


@pytest.mark.parametrize("options", [{}, {"max_updates": 5}, {"w_max": 30.0}, {"keep": "average", "order": "cyclic"}], ids=str)
@pytest.mark.parametrize("container", ["wide CSR", "CSR", "dense"])
def test_heads_that_stop_one_by_one_are_k_binary_runs(options: dict[str, Any], container: str) -> None:
    """The weights of stopped heads stay in their places (wide rows) or move behind the others."""
    X, y = wide(120, 40_000 if container == "wide CSR" else 60, 6)
    X = X.toarray() if container == "dense" else X
    model = rb.Perceptron(multiclass="ovr", random_state=0, max_iter=30, **options).fit(X, y)
    assert len(set(model.log_.durations.tolist())) > 1
    for h in range(6):
        one = rb.Perceptron(random_state=0, max_iter=30, **options).fit(X, (y == h).astype(int))
        np.testing.assert_array_equal(model.coef_[h], one.coef_[0])
        np.testing.assert_array_equal(model.intercept_[h], one.intercept_[0])
        assert model.stop_.heads[h] == one.stop_.reason
        assert model.log_.durations[h] == one.log_.durations[0]


def test_the_weights_of_the_last_hypothesis_are_those_that_learning_continues_from() -> None:
    X, y = overlapping()
    model = rb.Perceptron(random_state=0, max_iter=3).fit(X, y)
    assert np.shares_memory(model.coef_, model._run.state.w)
    model.coef_[:] += 1.0
    with pytest.raises(ValueError, match="X or coef_ was changed after fit"):
        model.reading("average")
    average = rb.Perceptron(keep="average", random_state=0, max_iter=3).fit(X, y)
    assert not np.shares_memory(average.coef_, average._run.state.w)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_the_average_in_the_memory_of_its_sums_has_the_same_bits(container: Any, k: int) -> None:
    X, y = overlapping(k)
    rows = container(X.astype(np.float32))
    run = rb.Perceptron(random_state=0, max_iter=3).fit(rows, y)._run
    apart = average(run.state, run._sums(), run.durations, run.dense)
    together = average(run.state, run._sums(), run.durations, run.dense, in_place=True)
    assert together.w.dtype == np.float32
    np.testing.assert_array_equal(together.w, apart.w)


# --- copies of the rows ------------------------------------------------------------------------------------------------


def shuffled_columns(X: Any) -> Any:
    """The same matrix with the columns of each row in random order."""
    rng, X = np.random.default_rng(1), sp.csr_array(X).copy()
    for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        order = a + rng.permutation(b - a)
        X.data[a:b], X.indices[a:b] = X.data[order], X.indices[order]
    X.has_sorted_indices = X.has_canonical_format = False
    return sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


LEARNERS: dict[str, Callable[[], Any]] = {
    "perceptron": lambda: rb.Perceptron(max_iter=5, random_state=0),
    "one-vs-rest": lambda: rb.Perceptron(max_iter=5, random_state=0, multiclass="ovr"),
    "pocket": lambda: rb.Perceptron(max_iter=5, random_state=0, keep="pocket"),
    "vote": lambda: rb.Perceptron(max_iter=5, random_state=0, keep="vote"),
    "batch": lambda: rb.Perceptron(max_iter=5, update="batch"),
    "margin": lambda: rb.Perceptron(max_iter=5, random_state=0, margin="auto", init="sum"),
    "certified": lambda: rb.Perceptron(certify=True, random_state=0),
    "passive-aggressive": lambda: rb.PassiveAggressive(max_iter=5, random_state=0),
    "AROW": lambda: rb.AROW(max_iter=5, random_state=0),
    "tanh": lambda: rb.NonlinearMSE(solver="online", max_iter=5, random_state=0),
    "soft margin": lambda: rb.SoftMargin(random_state=0),
}


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", LEARNERS)
def test_columns_in_any_order_give_the_same_model(name: str, k: int) -> None:
    X, y = wide(60, 200, k)
    y = np.arange(X.shape[0]) % k if name in ("certified", "soft margin") else y  # separable
    given = shuffled_columns(X)
    before = given.data.copy(), given.indices.copy()
    sorted_columns, any_order = LEARNERS[name]().fit(X, y), LEARNERS[name]().fit(given, y)
    assert not given.has_sorted_indices
    np.testing.assert_array_equal(given.data, before[0])
    np.testing.assert_array_equal(given.indices, before[1])
    np.testing.assert_allclose(any_order.decision_function(X), sorted_columns.decision_function(X), rtol=1e-6, atol=1e-6)
    assert any_order.stop_ == sorted_columns.stop_
    if getattr(any_order, "log_", None) is not None:
        np.testing.assert_array_equal(any_order.log_.rows, sorted_columns.log_.rows)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", ["perceptron", "passive-aggressive", "AROW"])
def test_rows_with_columns_in_any_order_are_not_copied(name: str, index: Any) -> None:
    X, y = wide(20_000, 200, 2)
    values, columns = (part.reshape(-1, 10)[:, ::-1].ravel() for part in (X.data, X.indices))
    given = sp.csr_array((values, columns.astype(index), X.indptr), shape=X.shape)
    given.indices, given.indptr = columns.astype(index), X.indptr.astype(index)
    LEARNERS[name]().fit(given[::1000], y[::1000])  # compiles the kernels
    most, most_if_sorted = (most_bytes(lambda rows=rows: LEARNERS[name]().fit(rows, y)) for rows in (given, X))
    assert most <= most_if_sorted + 0.3 * given.data.nbytes  # the kernels need long row pointers
    model = LEARNERS[name]().fit(given, y)
    if name != "AROW":
        rows = model.log_._record.problem.rows
        assert np.shares_memory(rows.values, given.data)
        assert np.shares_memory(rows.indices, given.indices)


def repeated_columns(X: Any) -> Any:
    """The same matrix with every value in two parts, in random order."""
    parts = sp.hstack([X * 0.25, X * 0.75], format="csr")
    return shuffled_columns(sp.csr_array((parts.data, parts.indices % X.shape[1], parts.indptr), shape=X.shape))


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", LEARNERS)
def test_repeated_columns_count_as_their_sum(name: str, k: int) -> None:
    X, y = wide(60, 200, k)
    y = np.arange(X.shape[0]) % k if name in ("certified", "soft margin") else y  # separable
    given = repeated_columns(X)
    before = given.data.copy(), given.indices.copy()
    once, twice = LEARNERS[name]().fit(X, y), LEARNERS[name]().fit(given, y)
    np.testing.assert_array_equal(given.data, before[0])
    np.testing.assert_array_equal(given.indices, before[1])
    np.testing.assert_allclose(twice.decision_function(X), once.decision_function(X), rtol=1e-6, atol=1e-6)
    assert twice.stop_ == once.stop_
    if getattr(twice, "log_", None) is not None:
        np.testing.assert_array_equal(twice.log_.rows, once.log_.rows)
        for keep in ("pocket", "average", "vote"):
            np.testing.assert_allclose(
                twice.reading(keep).decision_function(X), once.reading(keep).decision_function(X), rtol=1e-6, atol=1e-6
            )


@pytest.mark.parametrize("options", [{"w_max": 60.0}, {"w_max": 60.0, "multiclass": "ovr"}, {"margin": "auto"}], ids=str)
def test_lengths_of_repeated_columns_are_those_of_their_sums(options: dict[str, Any]) -> None:
    X, y = wide(60, 200, 4)
    once, twice = (rb.Perceptron(max_iter=20, random_state=0, **options).fit(rows, y) for rows in (X, repeated_columns(X)))
    assert (twice.stop_, twice.n_updates_) == (once.stop_, once.n_updates_)
    np.testing.assert_allclose(twice.coef_, once.coef_)


def test_chunks_with_repeated_columns_are_learned() -> None:
    X, y = wide(60, 200, 4)
    given = repeated_columns(X)
    for make in (rb.Perceptron, rb.PassiveAggressive, rb.AROW):
        one, other = make(), make()
        for first in range(0, 60, 20):
            one.partial_fit(X[first : first + 20], y[first : first + 20], classes=range(4))
            other.partial_fit(given[first : first + 20], y[first : first + 20], classes=range(4))
        np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("arrange", [repeated_columns, lambda X: sp.csr_array((X.data, X.indices // 2 * 2, X.indptr), X.shape)])
@pytest.mark.parametrize("name", ["perceptron", "passive-aggressive", "batch", "AROW"])
def test_rows_with_repeated_columns_are_not_copied(name: str, arrange: Callable[[Any], Any]) -> None:
    X, y = wide(20_000, 200, 2)
    columns = np.sort(np.random.default_rng(0).integers(0, 199, (len(y), 40)), axis=1).astype(np.int32)
    given = arrange(sp.csr_array((np.ones(columns.size), columns.ravel(), np.arange(len(y) + 1) * 40), shape=X.shape))
    LEARNERS[name]().fit(given[::1000], y[::1000])  # compiles the kernels
    size = given.data.nbytes + given.indices.nbytes + given.indptr.nbytes
    canonical = given.copy()
    canonical.sum_duplicates()
    most, most_if_canonical = (most_bytes(lambda rows=rows: LEARNERS[name]().fit(rows, y)) for rows in (given, canonical))
    assert most <= most_if_canonical + 0.15 * size
    model = LEARNERS[name]().fit(given, y)
    if name != "AROW":
        rows = model.log_._record.problem.rows
        assert np.shares_memory(rows.values, given.data)
        assert np.shares_memory(rows.indices, given.indices)


def test_a_log_with_repeated_columns_is_replayed_after_a_pickle() -> None:
    X, y = wide(60, 200, 2)
    given = repeated_columns(X)
    model = rb.PassiveAggressive(keep="vote", random_state=0, max_iter=3).fit(given, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.log_.weights_at(again.log_.n_updates)[0], model.reading("last").coef_)


def test_a_zero_step_of_repeated_columns_is_judged_by_their_exact_sum() -> None:
    """1 + 2^-60 is not 1, although the float sum is: no proof that the two rows cancel."""
    apart = sp.csr_array(([1.0, 2.0**-60, 1.0], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    same = sp.csr_array(([0.5, 0.5, 1.0], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    reasons = [rb.Perceptron(update="batch", max_iter=9).fit(X, [0, 1]).stop_.reason for X in (apart, same)]
    assert reasons[0] != "impossible"
    assert reasons[1] == "impossible"


def test_a_chunk_continues_an_average_whose_sums_were_replaced() -> None:
    X, y = wide(d=40_000)
    options: dict[str, Any] = {"keep": "average", "order": "cyclic"}
    model = rb.Perceptron(max_iter=1, **options).fit(X, y)
    assert model._run.sums is None
    np.testing.assert_allclose(
        model.partial_fit(X, y).coef_, rb.Perceptron(max_iter=2, **options).fit(X, y).coef_, rtol=1e-9, atol=1e-9
    )
