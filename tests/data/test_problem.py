"""Rows and labels as the kernels want them: no copies, one type, nothing changed behind the caller's back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.data.problem import (
    as_heads,
    copy_state,
    make_problem,
    one_against_rest,
    pick_heads,
    read_only,
    take_rows,
    zero_state,
    zero_sums,
)
from rosenblatt.kernels.linear.rows import CSR, Dense
from rosenblatt.kernels.linear.schemes import Binary, Joint, Rest

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)

X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, -3.0, 0.0], [4.0, 5.0, 6.0]])
CODES = [0, 1, 1, 0]
kinds = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix], ids=["dense", "csr_array", "csr_matrix"])


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_and_rows_are_those_of_x(kind: Any, dtype: Any) -> None:
    problem = make_problem(kind(X.astype(dtype)), CODES, 2)
    assert (problem.n_rows, problem.n_features, problem.n_visited) == (4, 3, 4)
    assert problem.total_weight == 4.0
    assert problem.rows.values.dtype == dtype
    matrix = problem.matrix()
    np.testing.assert_array_equal(matrix.toarray() if sp.issparse(matrix) else matrix, X)


@kinds
def test_rows_are_views_that_cannot_be_written(kind: Any) -> None:
    given = kind(X.copy())
    problem = make_problem(given, CODES, 2)
    stored = given.data if sp.issparse(given) else given
    assert np.shares_memory(problem.rows.values, stored)
    assert not problem.rows.values.flags.writeable
    assert stored.flags.writeable
    if sp.issparse(given):
        assert np.shares_memory(problem.rows.indices, given.indices)
        assert not problem.rows.indices.flags.writeable


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_both_kinds_of_indices_stay_what_they_are(index: Any) -> None:
    given = sp.csr_array(X)
    given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    rows: Any = make_problem(given, CODES, 2).rows
    assert rows.indices.dtype == index
    assert rows.indptr.dtype == np.int64


def test_repeated_and_unsorted_columns_are_summed_in_a_copy() -> None:
    given = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3, 3, 3, 3])), shape=(4, 3))
    rows: Any = make_problem(given, CODES, 2).rows
    np.testing.assert_array_equal(rows.indices, [0, 2])
    np.testing.assert_array_equal(rows.values, [2.0, 4.0])
    np.testing.assert_array_equal(given.data, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(given.indices, [2, 0, 2])


def test_fit_leaves_a_matrix_with_repeated_columns_as_it_is_and_learns_its_sums() -> None:
    given = sp.csr_array((np.array([1.0, 2.0, -3.0, 1.0]), np.array([1, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    model = perceptron(order="cyclic").fit(given, [1, 0])
    np.testing.assert_array_equal(given.data, [1.0, 2.0, -3.0, 1.0])
    np.testing.assert_array_equal(model.coef_, perceptron(order="cyclic").fit(given.toarray(), [1, 0]).coef_)


@pytest.mark.parametrize("order", ["C", "F"])
def test_any_memory_order_gives_the_same_run(order: Any) -> None:
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    expected = perceptron(order="cyclic").fit(rows, y).coef_
    for given in (np.asarray(rows, order=order), np.repeat(rows, 2, axis=0)[::2], np.asfortranarray(rows)):
        np.testing.assert_array_equal(perceptron(order="cyclic").fit(given, y).coef_, expected)


def test_unaligned_rows_are_put_right() -> None:
    raw = bytearray(X.nbytes + 1)
    crooked = np.frombuffer(raw, np.uint8)[1:].view(np.float64).reshape(X.shape)
    crooked[:] = X
    assert not crooked.flags.aligned
    problem = make_problem(crooked, CODES, 2)
    assert problem.rows.values.flags.aligned
    np.testing.assert_array_equal(problem.matrix(), X)


def test_rows_that_may_not_be_written_are_fine(tmp_path: Any) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    for given in (mapped, read_only(X)):
        model = perceptron(order="cyclic").fit(given, CODES)
        np.testing.assert_array_equal(model.coef_, perceptron(order="cyclic").fit(X, CODES).coef_)


def test_two_classes_are_signs() -> None:
    labels = make_problem(X, CODES, 2).labels
    assert isinstance(labels, Binary)
    assert labels.signs.dtype == np.int8
    np.testing.assert_array_equal(labels.signs, [-1, 1, 1, -1])
    assert labels.weights.size == 0


def test_more_classes_are_codes() -> None:
    joint, rest = (make_problem(X, [0, 2, 1, 2], 3, multiclass=multiclass).labels for multiclass in ("joint", "ovr"))
    assert isinstance(joint, Joint)
    assert isinstance(rest, Rest)
    np.testing.assert_array_equal(joint.codes, [0, 2, 1, 2])
    np.testing.assert_array_equal(rest.codes, [0, 2, 1, 2])
    np.testing.assert_array_equal(rest.heads, [0, 1, 2])


def test_rows_of_weight_zero_are_not_visited() -> None:
    problem = make_problem(X, CODES, 2, weights=[1.0, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(problem.visited, [0, 2])
    assert problem.n_visited == 2
    assert problem.total_weight == 1.5
    assert make_problem(X, CODES, 2, weights=np.ones(4)).visited is None


@kinds
def test_a_stretch_of_rows_is_those_rows_and_all_of_them_are_a_view(kind: Any) -> None:
    problem = make_problem(kind(X), CODES, 2)
    for start, stop in [(0, 4), (1, 3), (2, 2), (3, 99)]:
        part = problem.matrix(start, stop)
        np.testing.assert_array_equal(part.toarray() if sp.issparse(part) else part, X[start:stop])
    whole = problem.matrix()
    assert np.shares_memory(whole.data if sp.issparse(whole) else whole, problem.rows.values)


@kinds
@pytest.mark.parametrize("wanted", [[3, 1], [0, 0, 2], [1], []])
def test_taken_rows_are_a_copy_of_just_those(kind: Any, wanted: Any) -> None:
    problem = make_problem(kind(X), CODES, 2)
    taken = take_rows(problem.rows, np.array(wanted, np.int32))
    assert isinstance(taken, Dense if kind is np.asarray else CSR)
    few = make_problem(kind(X[wanted].reshape(-1, 3)), [0] * len(wanted), 2)
    for mine, theirs in zip(taken, few.rows, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert not np.shares_memory(taken.values, problem.rows.values)


@pytest.mark.parametrize(
    ("kind", "n_classes", "multiclass", "shape", "runs"),
    [
        (np.asarray, 2, "joint", (3,), 1),
        (sp.csr_array, 2, "ovr", (3,), 1),
        (np.asarray, 4, "joint", (4, 3), 1),
        (sp.csr_array, 4, "joint", (3, 4), 1),
        (np.asarray, 4, "ovr", (4, 3), 4),
        (sp.csr_array, 4, "ovr", (3, 4), 4),
    ],
)
def test_weights_are_laid_out_as_the_container_wants(kind: Any, n_classes: int, multiclass: str, shape: Any, runs: int) -> None:
    problem = make_problem(kind(X.astype(np.float32)), CODES, n_classes, multiclass=multiclass)
    state = zero_state(problem, n_classes)
    assert state.w.shape == shape
    assert state.w.dtype == np.float32
    assert state.bias.dtype == state.sqnorms.dtype == np.float64
    assert len(state.counts) == runs
    assert not state.w.any()
    assert as_heads(state.w, problem.rows).shape == (1 if n_classes == 2 else 4, 3)
    sums = zero_sums(state)
    assert sums.w.shape == shape
    assert sums.w.dtype == np.float64


@kinds
def test_heads_are_chosen_and_separated_from_the_rest(kind: Any) -> None:
    problem = make_problem(kind(X), [0, 2, 1, 2], 3, multiclass="ovr")
    one = one_against_rest(problem, 2)
    np.testing.assert_array_equal(one.labels.signs, [-1, 1, -1, 1])
    assert one.rows is problem.rows
    state = zero_state(problem, 3)
    as_heads(state.w, problem.rows)[...] = np.arange(9.0).reshape(3, 3)
    state.bias[:] = [10.0, 20.0, 30.0]
    few = pick_heads(state, problem.rows, [2, 0])
    np.testing.assert_array_equal(as_heads(few.w, problem.rows), [[6.0, 7.0, 8.0], [0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(few.bias, [30.0, 10.0])
    flat = pick_heads(state, problem.rows, [1], flat=True)
    np.testing.assert_array_equal(flat.w, [3.0, 4.0, 5.0])
    flat.w[:], few.w[:] = 0.0, 0.0
    assert as_heads(state.w, problem.rows)[2, 0] == 6.0


def test_a_copied_state_is_independent() -> None:
    state = zero_state(make_problem(X, CODES, 2, x0=0.5), 2)
    copied = copy_state(state)
    copied.w[:] = 1.0
    copied.counts[:] = 7
    assert not state.w.any()
    assert not state.counts.any()
    assert copied.x0 == state.x0 == 0.5
