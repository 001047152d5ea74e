"""A vocabulary's columns and counts are CountVectorizer's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hard_texts import BROKEN, TEXTS
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

import rosenblatt as rb

SETTINGS = st.fixed_dictionaries(
    {
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "ngram_range": st.tuples(st.integers(1, 4), st.integers(0, 2)).map(lambda pair: (pair[0], sum(pair))),
        "lowercase": st.booleans(),
        "binary": st.booleans(),
        "dtype": st.sampled_from([np.int64, np.float32, np.float64]),
    }
)


def same(ours, theirs):
    theirs.sort_indices()
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@given(st.lists(TEXTS | BROKEN, min_size=1, max_size=4), st.lists(TEXTS, min_size=1, max_size=2), SETTINGS, st.integers(1, 3))
def test_columns_and_counts_are_those_of_scikit_learn(texts, more, settings, least):
    ours, theirs = rb.Vocabulary(**settings, min_count=least, norm=None), CountVectorizer(**settings, min_df=least)
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:  # nothing left, or fewer texts than must have a word
        with pytest.raises(ValueError, match=r"the texts contain no words|no word is in min_count="):
            ours.fit(texts)
        return
    same(ours.fit_transform(texts), expected)
    same(ours.transform(more), theirs.transform(more))
    assert ours.vocabulary_ == theirs.vocabulary_
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert ours.counts_.tolist() == (expected > 0).sum(axis=0).ravel().tolist()[0]


def test_tables_grow_and_blocks_are_one(monkeypatch):
    texts = [" ".join(f"word{k * j % 97}" for j in range(k % 40)) for k in range(60)]
    expected = CountVectorizer(ngram_range=(1, 2)).fit_transform(texts)
    monkeypatch.setattr("rosenblatt.preprocessing.text.blocks.BLOCK_CHARS", 500)
    monkeypatch.setattr("rosenblatt.preprocessing.text.gram_tables.FIRST_ENTRIES", 1)
    monkeypatch.setattr("rosenblatt.preprocessing.text.gram_tables.FIRST_BYTES", 1)
    bag = rb.Vocabulary(ngram_range=(1, 2), norm=None, dtype=np.int64)
    same(bag.fit_transform(iter(texts)), expected)
    same(bag.fit(iter(texts)).transform(iter(texts)), expected)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_have_length_one(norm):
    texts = ["the cat the hat", "", "a dog"]
    counts = CountVectorizer(dtype=np.float64).fit_transform(texts)
    same(rb.Vocabulary(norm=norm).fit_transform(texts), normalize(counts, norm))


def test_of_more_words_those_in_the_most_texts_are_kept():
    texts = ["cc bb aa", "cc bb", "cc dd dd dd", b"aa"]
    assert list(rb.Vocabulary(max_words=2).fit(texts).get_feature_names_out()) == ["aa", "cc"]
    assert rb.Vocabulary(max_words=9).fit(texts).counts_.tolist() == [2, 2, 3, 1]


@pytest.mark.parametrize(
    ("parameters", "texts", "error", "sentence"),
    [
        ({}, "a text", ValueError, r"Iterable over raw text documents expected, string object received\."),
        ({}, [], ValueError, "the texts contain no words"),
        ({}, ["a b c"], ValueError, "contain no words; a word has at least two letters or digits"),
        ({"analyzer": "char"}, [""], ValueError, "the texts contain no words$"),
        ({}, ["ab", 3], TypeError, "text 1 must be a string or bytes, got 3"),
        ({"min_count": 0}, ["ab"], ValueError, "min_count must be at least 1, got 0"),
        ({"min_count": 2}, ["ab"], ValueError, "no word is in min_count=2 texts; the most frequent word is in 1"),
        ({"max_words": 0}, ["ab"], ValueError, "max_words must be at least 1, got 0"),
        ({"analyzer": "line"}, ["ab"], ValueError, "analyzer must be one of"),
        ({"norm": "max"}, ["ab"], ValueError, "norm must be 'l1', 'l2' or None"),
        ({"ngram_range": (0, 1)}, ["ab"], ValueError, r"ngram_range must be .* got \(0, 1\)"),
    ],
)
def test_impossible_settings_are_reported(parameters, texts, error, sentence):
    with pytest.raises(error, match=sentence):
        rb.Vocabulary(**parameters).fit(texts)


def test_it_must_be_fitted():
    with pytest.raises(NotFittedError):
        rb.Vocabulary().transform(["ab"])
    with pytest.raises(NotFittedError):
        rb.Vocabulary().get_feature_names_out()


def test_it_works_in_a_pipeline_and_is_cloned_and_pickled():
    texts, y = ["free money now", "meeting at noon", "money for free", "lunch at noon"] * 3, [1, 0, 1, 0] * 3
    model = make_pipeline(rb.Vocabulary(min_count=2), Perceptron()).fit(texts, y)
    assert model.score(texts, y) == 1
    bag = model[0]
    assert not hasattr(clone(bag), "vocabulary_")
    same(pickle.loads(pickle.dumps(bag)).transform(texts), bag.transform(texts))
