"""The rows are HashingVectorizer's, bit for bit; the names and explanations are those of the rows."""

from __future__ import annotations

import io
import pickle
import re

import numpy as np
import pytest
from hard_texts import BROKEN, TEXTS
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import rosenblatt as rb
from rosenblatt.preprocessing.text.blocks import CONTEXT_DEPENDENT_LETTERS, character_tables

PARAMETERS = st.fixed_dictionaries(
    {
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "ngram_range": st.tuples(st.integers(1, 9), st.integers(0, 2)).map(lambda pair: (pair[0], sum(pair))),
        "lowercase": st.booleans(),
        "n_features": st.sampled_from([1, 2, 3, 10, 64, 1000, 2**20, 10**6 + 3, 2**31 - 1]),
        "binary": st.booleans(),
        "norm": st.sampled_from(["l1", "l2", None]),
        "alternate_sign": st.booleans(),
        "dtype": st.sampled_from([np.float64, np.float32, np.int64, np.int8, bool]),
    }
)


def same(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.shape == theirs.shape
    for name in ("indptr", "indices", "data"):
        one, other = getattr(ours, name), getattr(theirs, name)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes(), name


def compare(texts, **parameters):
    same(rb.TextHasher(**parameters).transform(texts), HashingVectorizer(**parameters).transform(texts))


@given(st.lists(TEXTS, min_size=1, max_size=3), PARAMETERS)
def test_rows_are_those_of_scikit_learn(texts, parameters):
    compare(texts, **parameters)


@given(st.lists(BROKEN, min_size=1, max_size=3), PARAMETERS)
def test_halves_of_characters_are_refused_where_scikit_learn_refuses_them(texts, parameters):
    try:
        expected = HashingVectorizer(**parameters).transform(texts)
    except UnicodeEncodeError as error:
        with pytest.raises(UnicodeEncodeError, match=re.escape(str(error))):
            rb.TextHasher(**parameters).transform(texts)
    else:
        same(rb.TextHasher(**parameters).transform(texts), expected)


SHAPES = ["", " ", "\n\n", "a", "ab", "\u0391Σ Σ\u0391Σ. Σ", "İstanbul DİYARBAKIR", "x" * 300, "ö " * 60, "ab. " * 30]


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("ngram_range", [(1, 2), (3, 5)])
@pytest.mark.parametrize("text", SHAPES)
def test_texts_of_every_shape(text, analyzer, ngram_range):
    compare(["", text, text + "é"], analyzer=analyzer, ngram_range=ngram_range, n_features=500, norm=None)


@pytest.mark.parametrize("count", [24, 25, 512, 513])
@pytest.mark.parametrize("n_features", [1, 100, 2**20, 2**31 - 1])
def test_rows_of_every_length_are_sorted(count, n_features):
    words = [f"w{k * k % 7919}" for k in range(count)]
    compare([" ".join(words)], n_features=n_features)


def test_a_long_run_is_cut_into_windows_of_every_size():
    compare(["ab cd" * 9, "x" * 70, "ö" * 40], analyzer="char", ngram_range=(2, 60), norm=None)


def test_cancelled_columns_stay_as_zeros():
    texts = [" ".join(f"word{k}" for k in range(40))]
    X = rb.TextHasher(n_features=4, norm=None).transform(texts)
    compare(texts, n_features=4, norm=None)
    assert X.nnz == 4
    assert any((rb.TextHasher(n_features=n, norm=None).transform(texts).data == 0).any() for n in range(2, 20))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16])
@pytest.mark.parametrize("norm", [None, "l1", "l2"])
@pytest.mark.parametrize("binary", [False, True])
def test_rows_of_every_kind_of_whole_numbers(dtype, norm, binary):
    texts = ["the cat " * 300 + "the dog", "a bird", "x"]
    compare(texts, dtype=dtype, norm=norm, binary=binary, alternate_sign=False)
    if dtype is bool or np.issubdtype(dtype, np.signedinteger):
        compare(texts, dtype=dtype, norm=norm, binary=binary, n_features=2)


def strip_e(text):
    return text.replace("e", "")


@pytest.mark.parametrize(
    "parameters",
    [
        {"token_pattern": r"(?u)\b\w+\b"},
        {"token_pattern": "[a-z]+"},
        {"token_pattern": r"(\w)\w*", "ngram_range": (1, 3)},
        {"stop_words": ["the", "and"]},
        {"stop_words": "english", "ngram_range": (2, 2)},
        {"strip_accents": "unicode"},
        {"strip_accents": "ascii", "analyzer": "char", "ngram_range": (2, 3)},
        {"preprocessor": strip_e},
        {"preprocessor": strip_e, "analyzer": "char_wb", "ngram_range": (2, 3)},
        {"tokenizer": str.split, "token_pattern": None},
        {"analyzer": str.split},
        {"analyzer": lambda text: [word.encode() for word in text.split()]},
        {"encoding": "latin-1"},
    ],
)
def test_all_other_parameters_mean_the_same(parameters):
    texts = ["The  Élève and the cat", b"bytes are read too", "", "a Ünique tést, and an END"]
    if parameters.get("encoding") == "latin-1":
        texts.append("élève".encode("latin-1"))
    elif callable(parameters.get("analyzer")):
        texts[1] = "words"
    compare(texts, **parameters)


def test_files_and_names_of_files_are_read(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("Füße of the cat".encode())
    compare([str(path)] * 2, input="filename")
    expected = HashingVectorizer(input="file").transform([io.BytesIO(path.read_bytes())])
    same(rb.TextHasher(input="file").transform([io.BytesIO(path.read_bytes())]), expected)


def test_bytes_that_are_not_text_are_refused_or_replaced_as_configured():
    with pytest.raises(UnicodeDecodeError):
        rb.TextHasher().transform([b"ok", b"caf\xe9"])
    compare([b"caf\xe9 noir"], decode_error="replace")


def test_many_blocks_are_one_matrix_and_any_iterable_will_do(monkeypatch):
    texts = [f"text number {k} é" if k % 3 else f"TEXT {k} " * (k % 9) for k in range(60)]
    expected = HashingVectorizer().transform(texts)
    monkeypatch.setattr("rosenblatt.preprocessing.text.blocks.BLOCK_CHARS", 100)
    same(rb.TextHasher().transform(iter(texts)), expected)
    same(rb.TextHasher().transform(np.array(texts)), expected)
    same(rb.TextHasher(names=10**6).transform(tuple(texts)), expected)


@pytest.mark.parametrize("method", ["fit", "transform", "fit_transform"])
def test_a_bare_string_is_refused_with_the_same_words(method):
    with pytest.raises(ValueError, match=r"^Iterable over raw text documents expected, string object received\.$"):
        getattr(rb.TextHasher(), method)("a text")


@pytest.mark.parametrize(
    ("parameters", "texts", "error", "sentence"),
    [
        ({}, [], ValueError, r"Cannot vectorize empty sequence\."),
        ({}, ["a", None], TypeError, "text 1 must be a string or bytes, got None"),
        ({}, [np.nan], ValueError, "np.nan is an invalid document"),
        ({"ngram_range": (0, 2)}, ["a"], ValueError, r"ngram_range must start at 1 or more, got \(0, 2\)"),
        ({"ngram_range": (3, 2)}, ["a"], ValueError, "lower boundary larger"),
        ({"analyzer": "line"}, ["a"], ValueError, "line is not a valid tokenization scheme/analyzer"),
        ({"n_features": 0}, ["a"], ValueError, "n_features must be at least 1, got 0"),
        ({"n_features": 2**31}, ["a"], ValueError, "n_features must be at most 2147483647, got 2147483648"),
        ({"norm": "max"}, ["a"], ValueError, "norm must be 'l1', 'l2' or None, got 'max'"),
        ({"names": -1}, ["a"], ValueError, "names must be at least 0, got -1"),
        (
            {"dtype": np.uint8},
            ["ab"],
            ValueError,
            "dtype must be signed if alternate_sign=True, got <class 'numpy.uint8'>",
        ),
        ({"dtype": ">f8"}, ["ab"], ValueError, "dtype must be bool, float32, float64 or an integer type, got '>f8'"),
        ({"dtype": np.float16}, ["ab"], ValueError, "dtype must be bool, float32, float64 or an integer type, got"),
        ({"dtype": complex}, ["ab"], ValueError, "dtype must be bool, float32, float64 or an integer type, got"),
        ({"analyzer": str.strip}, ["ab"], ValueError, "got a single string"),
        ({"analyzer": lambda text: [1]}, ["ab"], TypeError, "feature names must be strings"),
    ],
)
def test_impossible_settings_are_reported(parameters, texts, error, sentence):
    with pytest.raises(error, match=sentence):
        rb.TextHasher(**parameters).transform(texts)


def test_fit_checks_every_parameter_as_scikit_learn_does():
    for name, value in (("names", -1), ("n_features", 2**31), ("binary", "no"), ("analyzer", "line")):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of TextHasher must be"):
            rb.TextHasher(**{name: value}).fit(["a"])


def test_lower_case_needs_no_context_except_for_the_letters_named():
    _, lows = character_tables(True, False, r"\w")
    letters = [k for k in range(0x110000) if chr(k) not in CONTEXT_DEPENDENT_LETTERS]
    assert [chr(lows[k]) for k in letters] == [chr(k).lower() for k in letters]
    np.testing.assert_array_equal(lows[lows], lows)


@given(st.lists(TEXTS, min_size=1, max_size=3), PARAMETERS, st.sampled_from([3, 10**6]))
def test_names_are_the_first_tokens_of_their_columns(texts, parameters, most):
    hasher = rb.TextHasher(**parameters, names=most)
    same(hasher.transform(texts), HashingVectorizer(**parameters).transform(texts))
    expected = {}
    for text in texts:
        for token, column, _ in hasher.tokens(text):
            expected.setdefault(column, token)
    assert hasher.names_ == dict(list(expected.items())[:most])


def test_names_are_kept_over_calls_and_for_own_tokens():
    hasher = rb.TextHasher(analyzer=str.split, names=3)
    hasher.transform(["one two"])
    hasher.transform(["two three four"])
    assert sorted(hasher.names_.values()) == ["one", "three", "two"]
    hasher.transform(["five"])
    assert len(pickle.loads(pickle.dumps(hasher)).names_) == 3
    assert not hasattr(clone(hasher), "names_")
    hasher.set_params(names=2).transform(["six"])
    assert sorted(hasher.names_.values()) == ["one", "two"]


@pytest.mark.parametrize(
    "change",
    [
        {"n_features": 16},
        {"n_features": 2**21},
        {"analyzer": "char_wb", "ngram_range": (2, 3)},
        {"ngram_range": (2, 2)},
        {"lowercase": False},
        {"strip_accents": "unicode"},
        {"stop_words": ["the"]},
        {"token_pattern": r"\w"},
        {"tokenizer": str.split, "token_pattern": None},
        {"preprocessor": str.upper},
    ],
)
def test_names_are_those_of_the_parameters_as_they_are(change):
    texts = ["The cat, thé CAT on " + " ".join(f"word{k}" for k in range(50))]
    hasher = rb.TextHasher(names=100)
    hasher.transform(texts)
    same(hasher.set_params(**change).transform(texts), HashingVectorizer(**change).transform(texts))
    again = rb.TextHasher(names=100, **change)
    again.transform(texts)
    assert hasher.names_ == again.names_
    hasher.set_params(norm=None, binary=True, alternate_sign=False).transform(["something else"])
    assert again.names_.items() <= hasher.names_.items()


@given(TEXTS, PARAMETERS, st.integers(0, 2**32 - 1))
def test_an_explanation_adds_up_to_the_score(text, parameters, seed):
    hasher = rb.TextHasher(**parameters | {"n_features": 50, "dtype": np.float64})
    weights = np.random.default_rng(seed).normal(size=50)
    parts = hasher.explain(text, weights)
    assert sum(part for _, part in parts) == pytest.approx((hasher.transform([text]) @ weights)[0], abs=1e-9)
    assert {token for token, _ in parts} == {token for token, *_ in hasher.tokens(text)}
    assert [abs(part) for _, part in parts] == sorted((abs(part) for _, part in parts), reverse=True)


def test_a_file_is_explained_and_read_once():
    weights = np.random.default_rng(0).normal(size=50)
    expected = rb.TextHasher(n_features=50).explain("the cat and the dog", weights)
    assert rb.TextHasher(n_features=50, input="file").explain(io.BytesIO(b"the cat and the dog"), weights) == expected
    assert len(expected) == 4


def test_an_explanation_wants_a_weight_for_every_column():
    with pytest.raises(ValueError, match="weights must have n_features=50 numbers, got 3"):
        rb.TextHasher(n_features=50).explain("a text", np.ones(3))


def test_it_works_in_a_pipeline_and_is_cloned_and_pickled():
    texts, y = ["free money now", "meeting at noon", "money for free", "lunch at noon"] * 3, [1, 0, 1, 0] * 3
    hasher = rb.TextHasher(n_features=2**10, ngram_range=(1, 2))
    model = make_pipeline(hasher, Perceptron()).fit(texts, y)
    assert model.score(texts, y) == 1
    for copy in (clone(hasher), pickle.loads(pickle.dumps(hasher))):
        assert copy.get_params() == hasher.get_params()
        same(copy.transform(texts), hasher.transform(texts))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_passes_the_checks_of_scikit_learn_that_its_peer_passes():
    def verdicts(estimator):
        return {result["check_name"]: result["status"] for result in check_estimator(estimator, on_skip=None, on_fail=None)}

    ours, theirs = verdicts(rb.TextHasher()), verdicts(HashingVectorizer())
    assert {name for name, status in theirs.items() if status == "passed"} <= {
        name for name, status in ours.items() if status == "passed"
    }
