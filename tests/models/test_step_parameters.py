"""Parameters and learned values of a Pipeline's steps: whatever scikit-learn fits loads again, and no file states others."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from pipelines_of_steps import FRAME, LABELS, TEXTS, pipelines, with_gaps
from sealed_files import loaded, packed, parts_of
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from trained_models import rows

import rosenblatt as rb

NUMBERS, NAMED = rows(4)[0], pd.DataFrame(rows(4)[0], columns=list("abcde"))
WORDS = FRAME[["color", "shape"]]
UNKNOWN = WORDS.to_numpy(object)
UNKNOWN[::3, 0], UNKNOWN[1::5, 0], UNKNOWN[::4, 1] = None, np.nan, None
pytestmark = pytest.mark.filterwarnings("ignore")

# Each step with settings that scikit-learn accepts, the values of NumPy among them.
SETTINGS = [
    (NUMBERS, StandardScaler(copy=np.bool_(False))),
    (NUMBERS, StandardScaler(with_std=False)),
    (NAMED, MinMaxScaler(feature_range=(np.float64(-2.5), 7), clip=True)),
    (NUMBERS, MaxAbsScaler(copy=False)),
    (NAMED, RobustScaler(quantile_range=(np.int64(5), 60.5), unit_variance=True)),
    (NUMBERS, RobustScaler(with_centering=False, with_scaling=False)),
    (NUMBERS, Normalizer(norm="max")),
    (NUMBERS, Binarizer(threshold=np.float32(0.5))),
    (NUMBERS, PolynomialFeatures(degree=[1, 2], order="F")),
    (NUMBERS, PolynomialFeatures(degree=np.int64(2), include_bias=False)),
    (NAMED, FunctionTransformer(validate=False, kw_args={}, feature_names_out="one-to-one")),
    (NUMBERS, FunctionTransformer(accept_sparse=True, check_inverse=False)),
    (WORDS, OneHotEncoder(categories=[np.array(["blue", "green", "red"]), ("round", "square")], sparse_output=False)),
    (WORDS, OneHotEncoder(dtype="float32", handle_unknown="infrequent_if_exist")),
    (NUMBERS > 0, OneHotEncoder(dtype=np.dtype("int8"))),
    (np.round(NUMBERS), OneHotEncoder(handle_unknown="warn")),
    (WORDS, OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)),
    (WORDS, OrdinalEncoder(categories=[["red", "green", "blue"], ["square", "round"]], dtype=np.int64)),
    (UNKNOWN, OneHotEncoder(drop="first")),
    (UNKNOWN, OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)),
    (pd.DataFrame(UNKNOWN, columns=["color", "shape"]), OneHotEncoder(sparse_output=False)),
    (with_gaps(), SimpleImputer(fill_value=3, keep_empty_features=True)),
    (WORDS.to_numpy(),
     make_pipeline(SimpleImputer(strategy="constant", fill_value="none", missing_values=None), OneHotEncoder())),
    (NUMBERS, SimpleImputer(missing_values=0.0, strategy="median")),
    (np.round(NUMBERS).astype(int), SimpleImputer(missing_values=-1, strategy="most_frequent")),
    (TEXTS, make_pipeline(CountVectorizer(dtype=np.float64), TfidfTransformer(norm="l1", smooth_idf=False, sublinear_tf=True))),
    (TEXTS, CountVectorizer(min_df=0.1, max_df=np.int64(20), max_features=9, ngram_range=(1, 2), strip_accents="unicode")),
    (TEXTS, CountVectorizer(vocabulary={"cat": 1, "dog": np.int64(0)}, lowercase=False, analyzer="word")),
    (TEXTS, CountVectorizer(analyzer="char_wb", ngram_range=(2, 3), stop_words=None, token_pattern=None)),
    (TEXTS, TfidfVectorizer(stop_words=["a", "the"], smooth_idf=False, norm=None)),
    (TEXTS, TfidfVectorizer(stop_words="english", use_idf=False, binary=True, decode_error="ignore", encoding="latin-1")),
    (TEXTS, HashingVectorizer(n_features=np.int64(64), norm="l1", binary=True, dtype=np.float32)),
    (TEXTS, rb.TextHasher(n_features=50, names=1000, stop_words=["cat"], norm=None)),
    (TEXTS, rb.Vocabulary(max_words=7, lowercase=False, norm="l2")),
    (NUMBERS, FeatureUnion([("a", MinMaxScaler())], n_jobs=1, transformer_weights={"a": np.float64(2)}, verbose=False)),
    (NAMED, FeatureUnion([("a", MinMaxScaler()), ("b", "passthrough")], verbose_feature_names_out=False)),
    (NAMED, ColumnTransformer([("a", MinMaxScaler(), ["a", "c"])], transformer_weights={"a": 3, "remainder": 0.5}, verbose=0)),
    (NAMED, ColumnTransformer([("a", MinMaxScaler(), ["e"])], verbose_feature_names_out="{transformer_name}-{feature_name}")),
    (NAMED,
     ColumnTransformer([("a", make_pipeline(StandardScaler(), MaxAbsScaler()), slice("b", "d"))], remainder=Normalizer())),
    (NAMED, make_pipeline(StandardScaler(), MaxAbsScaler(), PolynomialFeatures()).set_output(transform="pandas")),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(SETTINGS)))
def test_what_scikit_learn_fits_comes_back(at, tmp_path):
    X, step = SETTINGS[at]
    y = LABELS if len(X) == len(LABELS) else rows(2)[1] if len(X) == len(rows(2)[1]) else rows(4)[1]
    pipeline = make_pipeline(step, rb.LinearMSE()).fit(copy.copy(X), y)  # with copy=False, a scaler changes its input
    rb.save(pipeline, tmp_path / "a")
    found = rb.load(tmp_path / "a")
    assert np.array_equal(found.decision_function(copy.copy(X)), pipeline.decision_function(copy.copy(X)))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("files"), pipelines()
    for name in ("counts", "hasher", "vocabulary", "union", "frame", "min max", "robust", "polynomial", "gaps", "numbers",
                 "standard", "data frames", "tf-idf", "strings"):  # fmt: skip
        pipeline, X, y = made[name]
        rb.save(pipeline.fit(X, y), folder / name)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OBJECT, ESCAPE = {"dict": [[1, 2]]}, "\x1b]52;c;AAAA\x07"
FIRST = ["steps", 0, 1]


@pytest.mark.parametrize(
    ("name", "path", "value", "words"),
    [
        ("counts", ["parameters", "stop_words"], {"list": [OBJECT]}, "stop_words must be None, 'english' or a list of text"),
        ("hasher", ["parameters", "stop_words"], {"list": [1]}, "stop_words must be"),
        ("counts", ["parameters", "vocabulary"], {"list": [OBJECT]}, "vocabulary must be None, a list of text"),
        ("counts", ["parameters", "vocabulary"], {"dict": [["a", 0.5]]}, "vocabulary must be None, a list of text"),
        ("counts", ["parameters", "ngram_range"], {"tuple": [1, "2"]}, "ngram_range must be two ascending whole numbers"),
        ("counts", ["parameters", "ngram_range"], {"tuple": []}, "ngram_range must be two ascending whole numbers"),
        ("counts", ["parameters", "dtype"], "2,08", "dtype must be a type of numbers"),
        ("counts", ["parameters", "dtype"], {"dtype": "<U99999999"}, "dtype must be a type of numbers"),
        ("hasher", ["parameters", "names"], 1 << 31, "names must be at most 2147483647"),
        ("vocabulary", ["parameters", "binary"], 20, "binary must be True or False"),
        ("counts", ["fitted", "vocabulary_", "dict", 0, 0], 7, "vocabulary_ has the wrong type or shape"),
        ("tf-idf", ["fitted", "vocabulary_", "dict", 1, 0], {"float": "nan"}, "vocabulary_ has the wrong type or shape"),
        ("tf-idf", ["fitted", "vocabulary_", "dict", 1, 0], {"type": "float64"}, "vocabulary_ has the wrong type or shape"),
        ("vocabulary", ["fitted", "vocabulary_", "dict", 1, 0], {"tuple": [1]}, "vocabulary_ has the wrong type or shape"),
        ("counts", ["fitted", "vocabulary_", "dict", 1, 1], True, "vocabulary_ has the wrong type or shape"),
        ("union", ["parameters", "transformer_weights"], {"text": ["U1", ["a"]]}, "transformer_weights must be None or a dict"),
        ("union", ["parameters", "transformer_weights"], {"dict": [["a", "b"]]}, "transformer_weights must be None or a dict"),
        ("union", ["parameters", "verbose"], ESCAPE, "verbose must be True, False or a whole number"),
        ("union", ["parameters", "verbose_feature_names_out"], OBJECT, "verbose_feature_names_out must be"),
        ("frame", ["parameters", "transformer_weights"], {"dict": [["number", OBJECT]]}, "transformer_weights must be"),
        ("frame", ["parameters", "verbose"], ESCAPE, "verbose"),
        ("frame", ["parameters", "verbose_feature_names_out"], "{feature_name:>999999}", "verbose_feature_names_out must be"),
        ("frame", ["parameters", "verbose_feature_names_out"], "{x.__class__}", "verbose_feature_names_out must be"),
        ("frame", ["made", 0, 1, "steps", 0, 1, "fitted", "feature_names_in_", "text", 1, 0], "other",
         "step 'columntransformer__number': its names of features are not those of its columns"),
        ("data frames", ["steps", 1, 1, "fitted", "feature_names_in_", "text", 1, 0], "other", "features of other names"),
        ("min max", ["parameters", "feature_range"], {"tuple": [{"type": "float64"}, "auto"]}, "feature_range must be two"),
        ("min max", ["parameters", "feature_range"], {"tuple": [2, 1]}, "feature_range must be two ascending numbers"),
        ("robust", ["parameters", "quantile_range"], {"tuple": []}, "quantile_range must be two ascending numbers"),
        ("robust", ["parameters", "quantile_range"], {"tuple": [{"float": "nan"}, 90.0]}, "quantile_range must be two"),
        ("gaps", ["parameters", "fill_value"], {"dict": []}, "fill_value must be a number or text"),
        ("gaps", ["parameters", "fill_value"], {"slice": [None, None, None]}, "fill_value must be a number or text"),
        ("gaps", ["parameters", "fill_value"], {"type": "float64"}, "fill_value must be a number or text"),
        ("numbers", ["parameters", "unknown_value"], None, "unknown_value must be a number if"),
        ("strings", ["parameters", "categories"], {"list": [OBJECT, OBJECT]}, "categories must be 'auto' or a list"),
        ("polynomial", ["parameters", "degree"], {"list": [1, "a"]}, "degree must be a whole number of at most 20"),
    ],
)  # fmt: skip
def test_values_that_no_fit_accepts_are_refused_by_name(name, path, value, words, files, monkeypatch):
    meta, arrays = parts_of(files[name])
    inner = meta["steps"]
    for key in [*FIRST, *path][:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(rb.ModelError, match=words) as caught:
        loaded(packed(meta, arrays), monkeypatch)
    assert "step '" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("name", "attribute"), [("standard", "var_"), ("standard", "scale_"), ("tf-idf", "idf")])
def test_learned_numbers_are_not_negative(name, attribute, files, monkeypatch):
    meta, arrays = parts_of(files[name])
    (stored,) = (each for each in arrays if each.endswith(f".{attribute}"))
    arrays = dict(arrays) | {stored: -np.array(arrays[stored])}
    with pytest.raises(rb.ModelError, match=f"{attribute} has the wrong type or shape"):
        loaded(packed(meta, arrays), monkeypatch)


@pytest.mark.parametrize("text", [[None, "a", "b"], ["a", {"float": "nan"}, None], ["a", {"float": "nan"}, {"float": "nan"}]])
def test_categories_that_are_missing_are_the_last(text, files, monkeypatch):
    meta, arrays = parts_of(files["strings"])
    for each in meta["steps"]["steps"][0][1]["fitted"]["categories_"]["list"]:
        each["text"] = ["O", text]
    with pytest.raises(rb.ModelError, match="categories_ has the wrong type or shape"):
        loaded(packed(meta, arrays), monkeypatch)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("one_step", [False, True])
def test_words_of_no_document_may_have_an_infinite_idf(one_step, tmp_path):
    words = {"vocabulary": ["cat", "dog", "unicorn"]}
    steps = (
        [TfidfVectorizer(smooth_idf=False, **words)]
        if one_step
        else [CountVectorizer(**words), TfidfTransformer(smooth_idf=False)]
    )
    texts = ["cat dog", "dog", "cat cat", "dog dog cat"]
    pipeline = make_pipeline(*steps, rb.LinearMSE()).fit(texts, [0, 1, 0, 1])
    assert np.isinf(pipeline[-2].idf_[2])
    rb.save(pipeline, tmp_path / "model")
    back = rb.load(tmp_path / "model")
    np.testing.assert_array_equal(back.decision_function(texts), pipeline.decision_function(texts))
    np.testing.assert_array_equal(back[-2].idf_, pipeline[-2].idf_)
