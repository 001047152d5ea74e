"""A hold-out takes its share of every class, whatever the cuts; folds spread every class."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.training.split import Holdout, assign_folds


@given(st.integers(0, 2**20), st.floats(0.01, 0.99), st.lists(st.integers(0, 40), max_size=8))
def test_cuts_do_not_matter_and_every_class_gives_its_share(seed, share, cuts):
    labels = np.random.default_rng(seed).choice(["a", "b", "c"], 40, p=[0.7, 0.2, 0.1]).astype(object)
    whole = Holdout(share, seed).mask(labels)
    stream = Holdout(share, seed)
    edges = [0, *sorted(cuts), 40]
    assert np.array_equal(np.concatenate([stream.mask(labels[a:b]) for a, b in itertools.pairwise(edges)]), whole)
    for label in set(labels):
        mine = whole[labels == label]
        assert abs(mine.sum() - share * len(mine)) <= 1.0 + share
        assert not mine[0]


def test_seeds_choose_other_rows_and_labels_are_not_in_step():
    labels = np.repeat([0.0, 1.0], 500)
    masks = [Holdout(0.2, seed).mask(labels) for seed in range(20)]
    assert len({mask.tobytes() for mask in masks}) == 20
    assert all(mask.sum() == 200 for mask in masks)
    assert np.mean([mask[:500] == mask[500:] for mask in masks]) < 0.75  # independent: 0.68
    times = np.sum(masks, axis=0)
    assert times.max() < 15


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_impossible_shares(share):
    with pytest.raises(ValueError, match="--holdout must be greater than 0"):
        Holdout(share)


@pytest.mark.parametrize("count", [2, 3, 10])
def test_folds_are_even_in_every_class(count):
    codes = np.random.default_rng(0).choice(3, 100, p=[0.6, 0.3, 0.1])
    fold = assign_folds(codes, count, seed=1)
    for code in range(3):
        sizes = np.bincount(fold[codes == code], minlength=count)
        assert sizes.max() - sizes.min() <= 1
    sizes = np.bincount(fold, minlength=count)
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(fold, assign_folds(codes, count, seed=1))
    assert not np.array_equal(fold, assign_folds(codes, count, seed=2))


def test_impossible_folds():
    with pytest.raises(ValueError, match="--cv must be at least 2, got 1"):
        assign_folds(np.array([0, 1]), 1)
    with pytest.raises(ValueError, match="two rows of every class"):
        assign_folds(np.array([0, 0, 1]), 2)
