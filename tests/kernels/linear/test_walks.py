"""Walks through hypotheses: errors and votes of every one of them, against weights built one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rosenblatt.kernels.linear.walks import Moves, count_errors_joint, count_votes, count_votes_joint, count_wrong, make_move

D, M = 3, 11


def walk(k: int, n: int = 12, seed: int = 0) -> tuple[Any, Any, Any, Any, Any]:
    """(start, vectors, moves, rows, every hypothesis the moves complete)."""
    rng = np.random.default_rng(seed)
    start, vectors, rows = rng.normal(size=(k, D)), rng.normal(size=(5, D)), rng.normal(size=(M, D))
    plus = rng.integers(0, k, n)
    minus = np.where(rng.random(n) < 0.5, -1, (plus + 1) % k) if k > 1 else np.full(n, -1)
    # The last column of the rows is 1, and what a move adds there comes as its shift.
    rows[:, -1], bias = 1.0, vectors[:, -1].copy()
    vectors[:, -1] = 0.0
    which, coefs = rng.integers(0, 5, n), rng.normal(size=n)
    heads = plus.astype(np.int32), minus.astype(np.int32)
    moves = Moves(which, coefs, coefs * bias[which], *heads, rng.random(n) < 0.7)
    W, hypotheses = start.copy(), []
    for s in range(n):
        moved = coefs[s] * np.append(vectors[which[s], :-1], bias[which[s]])
        W[plus[s]] += moved
        if minus[s] >= 0:
            W[minus[s]] -= moved
        if moves.ends[s]:
            hypotheses.append(W.copy())
    return start, vectors, moves, rows, hypotheses


weighted = pytest.mark.parametrize("weights", [np.zeros(0), np.linspace(0.5, 2.0, M)], ids=["plain", "weighted"])


def wrong(planes: Any, shifts: Any, rows: Any, signs: Any, weights: Any, doubt: float, errors: Any, mistake: Any = 0.0) -> None:
    """count_wrong on products that are off by `mistake`."""
    rough = (planes @ rows.T + mistake).astype(np.float32)
    count_wrong(planes, shifts, rows, rough, np.full(len(planes), doubt), np.asarray(signs, np.float32), weights, errors)


@weighted
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("doubt", [1e-5, 0.5, np.inf])
def test_count_wrong_counts_rows_at_or_under_zero_however_rough_the_products(weights: Any, seed: int, doubt: float) -> None:
    rng = np.random.default_rng(seed)
    planes, shifts, rows = rng.normal(size=(6, D)), rng.normal(size=6), rng.normal(size=(M, D))
    signs = np.where(np.arange(M) % 2, 1, -1)
    errors, mistake = np.zeros(6), 0.0 if doubt < 0.5 else rng.uniform(-0.49, 0.49, (6, M))
    wrong(planes, shifts, rows, signs, weights, doubt, errors, mistake)
    c = weights if weights.size else np.ones(M)
    np.testing.assert_allclose(errors, [c[signs * (rows @ w + b) <= 0].sum() for w, b in zip(planes, shifts, strict=True)])
    assert len(set(errors.tolist())) > 1


@weighted
@pytest.mark.parametrize("k", [2, 3, 5])
def test_count_errors_joint_counts_rows_a_rival_equals_or_beats(weights: Any, k: int) -> None:
    start, vectors, moves, rows, hypotheses = walk(k)
    codes = (np.arange(M) % k).astype(np.int32)
    errors = np.zeros(len(hypotheses))
    count_errors_joint(vectors @ rows.T, moves, codes, weights, start @ rows.T, np.zeros(k), errors)
    c = weights if weights.size else np.ones(M)
    for found, W in zip(errors, hypotheses, strict=True):
        scores = rows @ W.T
        own = scores[np.arange(M), codes]
        rivals = np.where(np.arange(k) == codes[:, None], -np.inf, scores).max(axis=1)
        assert found == pytest.approx(c[own <= rivals].sum())


@pytest.mark.parametrize("seed", range(3))
def test_count_votes_gives_every_hypothesis_its_votes(seed: int) -> None:
    start, vectors, moves, rows, hypotheses = walk(1, seed=seed)
    counts = np.arange(len(hypotheses)) % 3 * 1.5
    votes = np.zeros((1, M))
    count_votes(vectors @ rows.T, moves, counts, start @ rows.T, np.zeros(1), votes)
    np.testing.assert_allclose(
        votes[0], sum(b * np.where(rows @ W[0] > 0, 1, -1) for b, W in zip(counts, hypotheses, strict=True))
    )


@pytest.mark.parametrize("k", [2, 3, 5])
def test_count_votes_joint_gives_the_votes_to_the_best_head(k: int) -> None:
    start, vectors, moves, rows, hypotheses = walk(k)
    counts = np.arange(len(hypotheses)) % 3 * 1.5
    votes, expected = np.zeros((k, M)), np.zeros((k, M))
    count_votes_joint(vectors @ rows.T, moves, counts, start @ rows.T, np.zeros(k), votes)
    for count, W in zip(counts, hypotheses, strict=True):
        expected[(rows @ W.T).argmax(axis=1), np.arange(M)] += count
    np.testing.assert_allclose(votes, expected)


def still(ends: bool = True) -> Moves:
    nothing = np.zeros(1)
    return Moves(np.zeros(1, np.int64), nothing, nothing, np.zeros(1, np.int32), np.full(1, -1, np.int32), np.array([ends]))


def test_a_row_on_the_plane_is_an_error_of_both_signs_and_a_vote_for_the_smaller_label() -> None:
    products, scores = np.zeros((1, 2)), np.zeros((1, 2))
    errors, votes = np.zeros(1), np.zeros((1, 2))
    wrong(np.zeros((1, D)), np.zeros(1), np.ones((2, D)), [1, -1], np.zeros(0), 1e-6, errors)
    count_votes(products, still(), np.ones(1), scores.copy(), np.zeros(1), votes)
    assert errors.tolist() == [2.0]
    assert votes.tolist() == [[-1.0, -1.0]]


def test_equal_heads_are_an_error_and_a_vote_for_the_first() -> None:
    products, scores = np.zeros((1, 3)), np.zeros((3, 3))
    errors, votes = np.zeros(1), np.zeros((3, 3))
    count_errors_joint(products, still(), np.arange(3, dtype=np.int32), np.zeros(0), scores.copy(), np.zeros(3), errors)
    count_votes_joint(products, still(), np.ones(1), scores.copy(), np.zeros(3), votes)
    assert errors.tolist() == [3.0]
    np.testing.assert_array_equal(votes, [[1.0] * 3, [0.0] * 3, [0.0] * 3])


def test_a_move_that_completes_nothing_is_not_counted() -> None:
    errors = np.zeros(0)
    count_errors_joint(
        np.ones((1, 2)), still(ends=False), np.zeros(2, np.int32), np.zeros(0), np.zeros((2, 2)), np.zeros(2), errors
    )
    votes = np.zeros((2, 2))
    count_votes_joint(np.ones((1, 2)), still(ends=False), np.zeros(0), np.zeros((2, 2)), np.zeros(2), votes)
    assert not votes.any()


def test_errors_are_added_to_what_is_there() -> None:
    """Rows come in blocks, and a block adds to the errors of those before."""
    errors = np.array([5.0])
    wrong(np.ones((1, 1)), np.zeros(1), np.array([[1.0], [-1.0]]), [1, 1], np.zeros(0), 1e-6, errors)
    assert errors.tolist() == [6.0]


def test_a_move_adds_to_one_head_and_takes_from_another() -> None:
    heads = np.array([2], np.int32), np.array([0], np.int32)
    moves = Moves(np.array([1]), np.array([2.0]), np.array([0.5]), *heads, np.array([True]))
    scores, bias = np.zeros((3, 2)), np.zeros(3)
    make_move(np.array([[9.0, 9.0], [1.0, -1.0]]), moves, 0, scores, bias)
    np.testing.assert_array_equal(scores, [[-2.0, 2.0], [0.0, 0.0], [2.0, -2.0]])
    np.testing.assert_array_equal(bias, [-0.5, 0.0, 0.5])


@weighted
def test_products_that_are_no_numbers_are_computed_again(weights: Any) -> None:
    planes, rows, errors = np.array([[1.0, -1.0, 0.0]]), np.ones((M, D)), np.zeros(1)
    rows[::2, 0] = 3.0
    wrong(planes, np.zeros(1), rows, np.ones(M), weights, 1e-6, errors, mistake=np.nan)
    c = weights if weights.size else np.ones(M)
    np.testing.assert_allclose(errors, [c[1::2].sum()])
