"""Features of text: scikit-learn's vocabulary and values, whatever the weights and the cut into chunks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from tables import cut, dense, strings, table

from rosenblatt.data.table import DataError, Table
from rosenblatt.preprocessing.recipe import Recipe
from rosenblatt.preprocessing.text import gram_tables, plain_grams
from rosenblatt.preprocessing.text_kinds import WEIGHTS, TextKind, joined_name, parse_text_features

WEIGHT_SETTINGS = {
    "binary": {"binary": True, "use_idf": False},
    "counts": {"use_idf": False},
    "tfidf": {},
    "log-tfidf": {"sublinear_tf": True},
}
LATER = ["the cat, THE cat and the dog", "unknown", "", "  İstanbul ΟΔΟΣ ", "a b c the"]
KINDS = st.builds(
    lambda unit, low, more, weight: TextKind(unit, low, low + more, weight),
    st.sampled_from(["words", "chars"]), st.integers(1, 3), st.integers(0, 2), st.sampled_from(WEIGHTS),
)  # fmt: skip
TEXTS = st.lists(
    st.text(st.sampled_from("ab cß İΣσς_1.\t\u00a0é"), max_size=12) | st.sampled_from(LATER) | st.text(max_size=8),
    min_size=2, max_size=8,
)  # fmt: skip


class Oracle:
    """scikit-learn's vectorizer of this kind without runs that are in one text; raises ValueError if no gram is left."""

    def __init__(self, kind: TextKind, texts: list[str]) -> None:
        analyzer = {"words": "word", "chars": "char_wb"}[kind.unit]
        made = TfidfVectorizer(analyzer=analyzer, ngram_range=(kind.low, kind.high), norm=None, **WEIGHT_SETTINGS[kind.weight])
        rows = np.asarray((made.fit_transform(texts) != 0).sum(axis=0)).ravel()
        names = made.get_feature_names_out()
        kept = (rows >= 2) | (kind.unit == "words") & np.array([" " not in name for name in names])
        if not kept.any():
            raise ValueError("no gram")
        self.made, self.kept, self.grams = made, kept, tuple(names[kept])
        self.idf = made.idf_[kept] if kind.uses_idf else None

    def transform(self, texts: list[str]) -> np.ndarray:
        return normalize(self.made.transform(texts)[:, self.kept]).toarray()


@pytest.fixture
def compiled(monkeypatch):
    """Count the grams of all texts with compiled code, however few they are."""
    monkeypatch.setattr(plain_grams, "COMPILED_FROM", 0)
    monkeypatch.setattr(plain_grams, "IMPORT_FROM", 0)


def learned(texts: list[str], features: str, places: tuple[int, ...] = ()) -> Recipe:
    chunks = cut(Table(("t",), (strings(*texts),)), places)
    return Recipe.learn(chunks, text=("t",), text_features=features)


@settings(deadline=None)
@given(TEXTS, KINDS, st.integers(0, 8))
def test_grams_and_values_of_few_texts_are_scikit_learns(texts, kind, place):
    check_grams_and_values(texts, kind, place)


@pytest.mark.usefixtures("compiled")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, KINDS, st.integers(0, 8))
def test_grams_and_values_of_many_texts_are_scikit_learns(texts, kind, place):
    check_grams_and_values(texts, kind, place)


def check_grams_and_values(texts: list[str], kind: TextKind, place: int) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    try:
        expected = Oracle(kind, texts)
    except ValueError:
        with pytest.raises(
            DataError, match=r"text without words|no run of (words|characters) that --text-features names is in 2"
        ):
            learned(texts, kind.name)
        return
    recipe = learned(texts, kind.name, (min(place, len(texts)),))
    (part,) = recipe.strings[0].parts
    assert part.grams == expected.grams
    if kind.uses_idf:
        assert np.array_equal(part.idf, expected.idf)
    for some in (texts, LATER):
        np.testing.assert_allclose(
            dense(recipe.rows(table(t=strings(*some)))), expected.transform(some), rtol=1e-15, atol=1e-300
        )
    assert Recipe.from_parts(*recipe.to_parts()) == recipe


@settings(deadline=None)
@given(TEXTS, KINDS, st.integers(0, 8))
def test_few_and_many_texts_have_the_same_bits(texts, kind, place):
    found = []
    for limit in (0, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plain_grams, "COMPILED_FROM", limit)
            patch.setattr(plain_grams, "IMPORT_FROM", limit)
            try:
                recipe = learned(texts, kind.name, (min(place, len(texts)),))
            except DataError as error:
                found.append((str(error),))
            else:
                rows = recipe.rows(table(t=strings(*texts, *LATER)))
                found.append((recipe, *(array.tolist() for array in (rows.values, rows.indices, rows.indptr))))
    assert found[0] == found[1]


def test_parts_stand_side_by_side_with_length_one():
    texts = ["the cat sat", "the dog sat", "a cat"]
    recipe = learned(texts, "words-2,chars-2-3:counts")
    both = [Oracle(kind, texts).transform(texts) / np.sqrt(2) for kind in parse_text_features("words-2,chars-2-3:counts")]
    X = dense(recipe.rows(table(t=strings(*texts))))
    np.testing.assert_allclose(X, np.hstack(both), rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-14)
    names = list(recipe.feature_names)
    assert names[:4] == ["t:cat", "t:dog", "t:sat", "t:the"]  # "dog" is in one text, as "cat sat" is, which is no feature
    assert "t:' ca'" in names
    assert recipe.notes[0] == (
        f"Column 't' is text: 4 words and pairs of words and {len(names) - 4} runs of 2 to 3 characters within words "
        "(--text-features words-2,chars-2-3:counts)."
    )


def test_a_part_without_grams_is_left_out():
    recipe = learned(["cat dog", "dog cat"], "words-2-3,chars-3-3")
    assert [part.kind.unit for part in recipe.strings[0].parts] == ["chars"]


def test_missing_cells_and_unknown_words_have_no_features():
    recipe = Recipe.learn([table(t=strings("the cat", None, "the dog"))], text=("t",), text_features="words")
    (part,) = recipe.strings[0].parts
    assert part.grams == ("cat", "dog", "the")
    assert part.idf.tolist() == [np.log(2) + 1.0, np.log(2) + 1.0, np.log(4 / 3) + 1.0]  # the missing one of three is counted
    assert dense(recipe.rows(table(t=strings("nothing known", None, "", "the")))).tolist() == [[0.0] * 3] * 3 + [
        [0.0, 0.0, 1.0]
    ]


def test_lone_surrogates_are_question_marks():
    recipe = learned(["a\ud800b", "a?b"], "chars-2-2:counts")
    assert recipe.strings[0].parts[0].grams == (" a", "?b", "a?", "b ")
    assert Recipe.from_parts(*recipe.to_parts()) == recipe


@pytest.mark.usefixtures("compiled")
def test_rows_do_not_depend_on_blocks(monkeypatch):
    texts = [" ".join(f"word{k * j % 17}" for j in range(k % 9)) for k in range(40)]
    expected = dense(learned(texts, "words-2").rows(table(t=strings(*texts))))
    monkeypatch.setattr("rosenblatt.preprocessing.text.blocks.BLOCK_CHARS", 50)
    monkeypatch.setattr("rosenblatt.preprocessing.text.gram_tables.FIRST_ENTRIES", 1)
    monkeypatch.setattr("rosenblatt.preprocessing.text.gram_tables.FIRST_BYTES", 1)
    recipe = learned(texts, "words-2", (3, 20))
    assert np.array_equal(dense(recipe.rows(table(t=strings(*texts)))), expected)


@pytest.mark.usefixtures("compiled")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.sampled_from(["words-2:counts", "words,chars-2-3:log-tfidf"]), st.lists(st.integers(0, 8), max_size=3))
def test_rows_of_the_learned_texts_have_the_bits_of_later_ones(texts, features, places):
    try:
        recipe = learned(texts, features, tuple(sorted(places)))
    except DataError:
        return
    (block,) = recipe.strings
    first, again = (block.sparse(strings(*texts)) for _ in range(2))  # from the grams counted, and from the texts
    for one, other in zip(
        (first.values, first.indices, first.indptr), (again.values, again.indices, again.indptr), strict=True
    ):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


@pytest.mark.usefixtures("compiled")
def test_the_grams_of_the_learned_texts_are_used_once_and_for_them_alone():
    texts = ["one two", "two three two", "three one"]
    for later in (texts, texts[:2], pickle.loads(pickle.dumps(texts))):
        (block,) = learned(texts, "words").strings
        assert pickle.loads(pickle.dumps(block)).learned.take(texts) is None
        block.sparse(strings(*later))
        assert block.learned.take(texts) is None
    (block,) = learned(texts, "words").strings
    assert block.learned.take([*texts]) is not None
    streamed = Recipe.learn([Table(("t",), (strings(*texts),))], text=("t",), text_features="words", in_memory=False)
    assert streamed.strings[0].learned.take(texts) is None


@pytest.mark.usefixtures("compiled")
def test_too_many_grams_of_learned_texts_are_not_kept(monkeypatch):
    monkeypatch.setattr(gram_tables, "MAX_NOTED", 4)
    texts = ["one two", "two three two", "three one"]
    (block,) = learned(texts, "words").strings
    assert block.learned.take(texts) is None
    assert block.sparse(strings(*texts)).to_scipy().shape == (3, 3)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("places", [(), (3,), (1, 2, 3, 4, 5)])
def test_grams_beyond_the_limit_are_not_counted(monkeypatch, places):
    monkeypatch.setattr("rosenblatt.preprocessing.text_features.MAX_GRAMS_COUNTED", 5)
    monkeypatch.setattr("rosenblatt.preprocessing.recipe_notes.MAX_GRAMS_COUNTED", 5)
    recipe = learned(["bb aa", "cc aa", "dd ee ff", "ff ff", "ff ee", "zz bb"], "words", places)
    assert recipe.strings[0].parts[0].grams == ("aa", "bb", "cc", "dd", "ee")
    assert "of the first 5 distinct ones" in recipe.notes[0]


@pytest.mark.usefixtures("compiled")
def test_the_most_frequent_grams_are_kept(monkeypatch):
    monkeypatch.setattr("rosenblatt.preprocessing.text_features.MAX_GRAMS", 2)
    assert learned(["aa bb cc", "bb cc", "cc aa bb", "bb"], "words").strings[0].parts[0].grams == ("bb", "cc")


@pytest.mark.parametrize(
    "text", ["binary", "words", "words-2", "words-2-3", "words:counts", "chars-3-5", "words-3:tfidf,chars-2-2"]
)
def test_names_of_kinds_are_canonical(text):
    assert joined_name(parse_text_features(text)) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("letters", r"text_features must be words, words-2, chars-3-5 or binary.*; got 'letters'"),
        ("", "got ''"),
        ("words,", "got ''"),
        ("chars-3", "'chars-3' must have the least and the largest number of characters, such as chars-3-5"),
        ("chars-5-3", "'chars-5-3' has a range that is reversed: write chars-3-5"),
        ("words-0", "reversed|lengths from 1 to 5 words"),
        ("words-0-2", "'words-0-2' must have lengths from 1 to 5 words"),
        ("words-6", "lengths from 1 to 5 words"),
        ("chars-3-11", "lengths from 1 to 10 chars"),
        ("words:heavy", "'words:heavy' must have a weight among binary, counts, tfidf, log-tfidf"),
        ("words,words-2", "has two items of words: give one range, such as words-1-3"),
        (None, "must be text such as"),
    ],
)  # fmt: skip
def test_unknown_kinds_are_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        Recipe.learn([table(t=strings("a b", "a b"))], text=("t",), text_features=text)


def test_features_of_text_need_a_text_column():
    for rows in (table(t=strings("red", "blue")), np.eye(2)):
        with pytest.raises(DataError, match="--text-features words-2: no column is text; name a column of text with --text"):
            Recipe.learn([rows], text_features="words-2")
