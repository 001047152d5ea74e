"""Votes of pairs: the class with the most votes, and what decides between classes with equal votes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import rosenblatt.scores
from rosenblatt.scores import votes_of_pairs, winners


def winner_by_hand(scores: Any, k: int) -> tuple[int, list[int]]:
    """The class that the documented rule chooses, step by step, and the votes."""
    duels = dict(zip(combinations(range(k), 2), scores, strict=True))
    votes = [sum(pair[score > 0] == c for pair, score in duels.items()) for c in range(k)]
    leaders = [c for c in range(k) if votes[c] == max(votes)]
    among = [sum(pair[score > 0] == c and set(pair) <= set(leaders) for pair, score in duels.items()) for c in range(k)]
    leaders = [c for c in leaders if among[c] == max(among[z] for z in leaders)]
    lost = {c: sum(abs(score) for pair, score in duels.items() if c in pair and pair[score > 0] != c) for c in leaders}
    return min(leaders, key=lambda c: (lost[c], c)), votes


@pytest.mark.parametrize("k", [3, 4, 5, 8])
def test_equal_votes_are_decided_by_the_duels_among_them_then_by_the_scores_of_lost_ones(k: int) -> None:
    rng = np.random.default_rng(k)
    scores = rng.normal(size=(400, k * (k - 1) // 2)) * 10.0 ** rng.integers(-2, 3, size=(400, 1))
    found = votes_of_pairs(scores, k)
    expected = [winner_by_hand(row, k) for row in scores.tolist()]
    assert winners(found).tolist() == [winner for winner, _ in expected]
    assert np.floor(found).tolist() == [votes for _, votes in expected]
    leaders = (np.floor(found) == np.floor(found).max(axis=1, keepdims=True)).sum(axis=1)
    assert (leaders == 2).any() or k == 3  # two of three classes cannot have equal votes above the third's
    assert (leaders == 3).any()


def test_of_two_classes_with_equal_votes_their_own_plane_decides() -> None:
    """Classes 0 and 3 have two votes each, and 0 has lost by far more; but it won against 3."""
    scores = np.array([[-1.0, 50.0, -0.1, -1.0, 1.0, 1.0]])  # pairs (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)
    found = votes_of_pairs(scores, 4)
    assert np.floor(found).tolist() == [[2.0, 1.0, 1.0, 2.0]]
    assert winners(found).tolist() == [0]


def test_classes_that_are_equal_in_all_give_way_to_the_smaller() -> None:
    assert winners(votes_of_pairs(np.array([[-1.0, 1.0, -1.0]]), 3)).tolist() == [0]  # each beats one other by as much
    assert winners(votes_of_pairs(np.zeros((1, 3)), 3)).tolist() == [0]


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_scores_of_any_size_keep_the_order_of_votes(size: float) -> None:
    scores = size * np.random.default_rng(0).normal(size=(100, 10))
    found = votes_of_pairs(scores, 5)
    assert np.isfinite(found).all()
    assert np.array_equal(np.floor(found), np.floor(votes_of_pairs(np.sign(scores), 5)))


def test_rows_do_not_depend_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(1).normal(size=(50, 21)).astype(np.float32)
    whole = votes_of_pairs(scores, 7)
    assert whole.flags.c_contiguous
    monkeypatch.setattr(rosenblatt.scores, "VALUES_PER_BLOCK", 70)
    assert np.array_equal(votes_of_pairs(scores, 7), whole)
    assert np.array_equal(votes_of_pairs(scores[13:14], 7), whole[13:14])
