"""Facts about training columns: ranges, counts and missing cells, whatever the cut into chunks."""

from __future__ import annotations

import numpy as np
import pytest
from tables import cut, numbers, sparse, strings, table

from rosenblatt.data.csr import CSRMatrix
from rosenblatt.models.files import load_model
from rosenblatt.preprocessing.recipe import Recipe


@pytest.mark.parametrize("places", [[], [2], [1, 3, 4]])
def test_a_table_has_ranges_counts_and_missing_cells(places):
    data = table(
        a=numbers(3, np.nan, -1, 7, 2), b=numbers(1, 1, 1, 1, 1), c=strings("x", None, "y", "x", "x"),
        t=strings("the cat", None, "the dog", None, "a cat"),
    )  # fmt: skip
    facts = Recipe.learn(cut(data.features, places), degree=2, text=("t",)).facts
    assert facts is not None
    assert (facts.rows, facts.minimum.tolist(), facts.maximum.tolist(), facts.missing.tolist()) == (5, [-1, 1], [7, 1], [1, 0])
    names, words = facts.counts
    assert names is not None
    assert (names.tolist(), words, facts.string_missing.tolist()) == ([3, 1], None, [1, 2])


@pytest.mark.parametrize("places", [[], [7], [100, 101, 900]])
@pytest.mark.parametrize("in_memory", [False, True])
def test_means_and_deciles_do_not_depend_on_the_cut(places, in_memory):
    rng = np.random.default_rng(0)
    x, few = rng.normal(size=1000), rng.integers(0, 2, 1000) + 0.0
    x[::10] = np.nan
    facts = Recipe.learn(cut(table(x=x, few=few).features, places), in_memory=in_memory).facts
    assert facts is not None
    assert facts.edges is not None
    assert facts.shares is not None
    np.testing.assert_allclose(facts.mean, [np.nanmean(x), few.mean()])
    np.testing.assert_array_equal(facts.edges[0], np.nanquantile(x, np.arange(1, 10) / 10, method="inverted_cdf"))
    np.testing.assert_allclose(facts.shares[0], 0.1)
    np.testing.assert_allclose([facts.shares[1].max(), facts.shares[1].sum()], [max(few.mean(), 1 - few.mean()), 1.0])


@pytest.mark.parametrize("places", [[], [1], [1, 2]])
def test_sparse_ranges_include_zeros(places):
    X = np.array([[2.0, 5.0, 0.0], [3.0, -4.0, 0.0], [4.0, 0.0, 0.0]])
    rows = sparse(X)
    facts = Recipe.learn(cut(CSRMatrix(rows.values, rows.indices, rows.indptr, 3), places)).facts
    assert facts is not None
    assert facts.rows == 3
    np.testing.assert_array_equal(facts.minimum, X.min(axis=0)[: len(facts.minimum)])
    np.testing.assert_array_equal(facts.maximum, X.max(axis=0)[: len(facts.maximum)])


def test_wide_sparse_rows_have_none():
    wide = CSRMatrix(np.ones(1), np.array([999_999], np.int32), np.array([0, 1]), 1_000_000)
    assert Recipe.learn([wide]).facts is None


def test_earlier_files_have_none():
    assert load_model("tests/models/files/0.1.0-recipe.safetensors").recipe.facts is None
