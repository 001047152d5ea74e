"""Exact steps along lines: as good as trying every interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rosenblatt.kernels.linear.column_order import SORT_STACK, sort_with
from rosenblatt.kernels.linear.zero_one import search_lines


@pytest.mark.parametrize("n", [0, 1, 2, 16, 17, 300])
@pytest.mark.parametrize("kinds", [2, 1000])
def test_marks_go_with_their_keys(n: int, kinds: int) -> None:
    rng = np.random.default_rng(n)
    keys = rng.integers(0, kinds, n) * 1.0
    marks = (keys % 2).astype(np.int8)
    expected = np.sort(keys)
    sort_with(keys, marks, n, np.empty(SORT_STACK, np.int64))
    assert (keys == expected).all()
    assert (marks == expected % 2).all()


def test_sorted_and_reversed_keys_are_sorted() -> None:
    for keys in (np.arange(500.0), np.arange(500.0)[::-1].copy(), np.concatenate([np.arange(250.0), np.arange(250.0)[::-1]])):
        expected = np.sort(keys)
        sort_with(keys, np.zeros(500, np.int8), 500, np.empty(SORT_STACK, np.int64))
        assert (keys == expected).all()


def fewest(scores: Any, p: Any, reach: float) -> int:
    """By trying the middle of every interval."""
    edge = reach * abs(scores).sum() / abs(p).sum()
    points = np.sort(np.concatenate([[-edge, edge], [t for t in -scores[p != 0] / p[p != 0] if abs(t) < edge]]))
    return min(int((scores + t * p <= 0).sum()) for t in (points[1:] + points[:-1]) / 2)


@pytest.mark.parametrize("reach", [0.1, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(4))
def test_every_step_is_the_best_on_its_line(reach: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, lines = 60, 5
    P, scores = rng.normal(size=(lines, n)), rng.normal(size=n)
    P[1, ::2] = 0.0  # rows that do not move
    P[2] = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    room, steps = (np.empty(n), np.empty(n, np.int8), np.empty(SORT_STACK, np.int64)), np.zeros(lines)
    begun, random = scores.copy(), np.array([seed + 1], np.uint64)
    for r in range(lines):
        expected = fewest(scores, P[r], reach)
        errors = search_lines(P, np.array([r]), scores, steps, *room, reach, random)
        assert errors == expected == (scores <= 0).sum()
    np.testing.assert_allclose(scores, begun + steps @ P, atol=1e-9)


def test_a_line_that_moves_nothing_is_passed_over() -> None:
    scores, steps = np.array([1.0, -1.0]), np.zeros(1)
    room = np.empty(2), np.empty(2, np.int8), np.empty(SORT_STACK, np.int64)
    search_lines(np.zeros((1, 2)), np.array([0]), scores, steps, *room, 1.0, np.array([1], np.uint64))
    assert (scores == [1.0, -1.0]).all()
    assert steps[0] == 0
