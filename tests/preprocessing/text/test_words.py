"""Token patterns and stop words in the kernels: the same matrix as scikit-learn's, and the patterns that are left to `re`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

import rosenblatt as rb
from rosenblatt.preprocessing.text.words import WordPattern, stop_word_table, word_pattern

RUNS = {
    r"(?u)\b\w\w+\b": WordPattern(r"\w", 2),
    r"(?u)\b\w+\b": WordPattern(r"\w", 1),
    r"\w+": WordPattern(r"\w", 1),
    r"\b\w{3,}": WordPattern(r"\w", 3),
    r"\S+": WordPattern(r"\S", 1),
    "[a-z]+": WordPattern("[a-z]", 1),
    "[A-Za-z0-9_][A-Za-z0-9_]+": WordPattern("[A-Za-z0-9_]", 2),
    "[^a-m]{2,}": WordPattern("[^a-m]", 2),
}
OTHERS = [
    r"\b[a-z]+\b",
    r"\w+-\w+",
    r"(\w+)",
    r"\w{2,4}",
    r"\w*",
    r"\w{0,}",
    "[z-a]+",
    r"[\w']+",
    r"\w+?",
    r"(?i)\w+",
    None,
    "",
]
TEXTS = st.text(st.sampled_from("aAbzZ the of 019_-'é ÉßΣİ\n\t\U0001d400"), max_size=40)


def same(texts: list[str], **parameters: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stop words that are no tokens
        ours, theirs = (kind(**parameters).transform(texts) for kind in (rb.TextHasher, HashingVectorizer))
    assert ours.shape == theirs.shape
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(ours, part), getattr(theirs, part))


@pytest.mark.parametrize("pattern", RUNS)
def test_runs_of_one_kind_of_character_are_recognized(pattern: str) -> None:
    assert word_pattern(pattern) == RUNS[pattern]
    assert rb.TextHasher(token_pattern=pattern)._is_compiled()


@pytest.mark.parametrize("pattern", OTHERS)
def test_other_patterns_are_left_to_regular_expressions(pattern: object) -> None:
    assert word_pattern(pattern) is None


@given(
    texts=st.lists(TEXTS, min_size=1, max_size=4),
    pattern=st.sampled_from([*RUNS, r"\w+-\w+"]),
    stop_words=st.sampled_from([None, "english", ["the", "é", "aa", "of-", ""], {"a", "ß", 3}]),
    lowercase=st.booleans(),
    ngrams=st.sampled_from([(1, 1), (1, 3), (2, 2)]),
)
def test_the_matrix_is_that_of_scikit_learn(texts: Any, pattern: Any, stop_words: Any, lowercase: Any, ngrams: Any) -> None:
    stop_words = list(stop_words) if isinstance(stop_words, set) else stop_words
    same(texts, token_pattern=pattern, stop_words=stop_words, lowercase=lowercase, ngram_range=ngrams, n_features=64)


def test_names_and_accents_follow_the_words_that_are_left() -> None:
    hasher = rb.TextHasher(stop_words=["the"], token_pattern=r"\S+", names=10, strip_accents="ascii")
    hasher.transform(["The café, the Thé"])
    assert sorted(hasher.names_.values()) == ["cafe,"]
    same(["The café, the Thé"], stop_words=["the"], token_pattern=r"\S+", strip_accents="ascii")


def test_a_text_that_cannot_be_encoded_is_refused_as_in_scikit_learn() -> None:
    for kind in (rb.TextHasher, HashingVectorizer):
        with pytest.raises(UnicodeEncodeError):
            kind(token_pattern=r"\S+").transform(["a \ud800 b"])
        assert kind(stop_words=["a"]).transform(["aa \ud800 b"]).nnz == 1


def test_an_unknown_list_of_stop_words_is_named() -> None:
    with pytest.raises(ValueError, match="not a built-in stop list: klingon"):
        rb.TextHasher(stop_words="klingon").transform(["a"])  # type: ignore[arg-type]


def test_every_stop_word_is_in_the_table_and_words_that_share_its_slot_are_not() -> None:
    words = [f"w{i}" for i in range(300)]
    table = stop_word_table(words)
    assert sorted(table.slots[table.slots > 0].tolist()) == list(range(1, 301))
    left = rb.TextHasher(stop_words=words).build_analyzer()(" ".join(words + [f"x{i}" for i in range(300)]))
    same([" ".join(words), " ".join(words + [f"x{i}" for i in range(300)])], stop_words=words)
    assert len(left) == 300


def test_tokens_of_a_tokenizer_may_be_bytes_or_not_ascii() -> None:
    for tokens in (["a", "bc"], ["é", "a"], [b"a", b"\xff"]):
        same(["x"], analyzer=lambda text, tokens=tokens: tokens)
