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
    with pytest.raises(ValueError, match="share must be greater than 0 and less than 1"):
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


@given(st.integers(0, 2**16), st.integers(2, 8), st.lists(st.integers(2, 30), min_size=2, max_size=5))
def test_folds_partition_the_rows_and_every_class(seed, n_folds, sizes):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    if n_folds > len(codes):
        return
    fold = assign_folds(codes, n_folds, seed)
    assert fold.shape == codes.shape
    assert set(fold.tolist()) == set(range(n_folds))
    for code, size in enumerate(sizes):
        counts = np.bincount(fold[codes == code], minlength=n_folds)
        assert counts.sum() == size
        assert counts.max() - counts.min() <= 1
        assert counts.max() < size, "every class has rows outside of each fold"


def test_a_held_out_row_depends_on_the_rows_of_its_class_alone():
    labels = np.array(["a", "b"] * 100, object)
    held = Holdout(0.25, 9).mask(labels)
    alone = Holdout(0.25, 9).mask(labels[labels == "a"])
    np.testing.assert_array_equal(held[labels == "a"], alone)


def test_impossible_folds():
    with pytest.raises(ValueError, match="--cv must be at least 2, got 1"):
        assign_folds(np.array([0, 1]), 1)
    with pytest.raises(ValueError, match="two rows of every class"):
        assign_folds(np.array([0, 0, 1]), 2)
    with pytest.raises(ValueError, match="got 9 folds for 4 rows"):
        assign_folds(np.array([0, 0, 1, 1]), 9)
