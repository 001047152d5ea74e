"""Fitted Pipelines of all transformers that a model file holds, with rows to predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
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

TEXTS = ["the cat sat", "a dog sat down", "the hat of the cat", "dogs and cats", "a perceptron learns", "it learns the hat"] * 4
FRAME = pd.DataFrame(
    {
        "size": np.arange(24) % 7 + 0.5,
        "color": [("red", "blue", "green")[n % 3] for n in range(24)],
        "shape": [("round", "square")[n % 5 % 2] for n in range(24)],
        "note": TEXTS,
    }
)
LABELS = np.array(["no", "yes", "maybe"])[np.arange(24) % 3]


def with_gaps() -> Any:
    X, _ = rows(2)
    X = X.copy()
    X[::7, 1] = np.nan
    return X


def pipelines() -> dict[str, tuple[Pipeline, Any, Any]]:
    """Unfitted Pipelines with their rows and labels."""
    X, y = rows(4)
    last = {"random_state": 0, "max_iter": 3}
    numeric = {
        "standard": [StandardScaler()],
        "standard without mean": [StandardScaler(with_mean=False), "passthrough"],
        "standard without both": [StandardScaler(with_mean=False, with_std=False)],
        "min max": [MinMaxScaler(feature_range=(-1, 2), clip=True)],
        "max abs": [MaxAbsScaler()],
        "robust": [RobustScaler(quantile_range=(10.0, 90.0)), Normalizer(norm="l1")],
        "polynomial": [PolynomialFeatures(degree=3, interaction_only=True, include_bias=False), Binarizer(threshold=0.3)],
        "degrees": [PolynomialFeatures(degree=(2, 3))],
        "function": [FunctionTransformer(), TfidfTransformer(use_idf=False)],
        "nested": [make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), MaxAbsScaler())), Normalizer()],
        "union": [FeatureUnion([("a", StandardScaler()), ("b", "passthrough"), ("c", "drop")], transformer_weights={"a": 2.0})],
        "columns by number": [
            ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", "drop", slice(3, 4))], remainder="passthrough")
        ],
        "columns by mask": [ColumnTransformer([("a", MinMaxScaler(), np.array([True, False, True, True, False]))], n_jobs=1)],
    }
    found = {name: (make_pipeline(*steps, rb.Perceptron(keep="average", **last)), X, y) for name, steps in numeric.items()}
    texts = {
        "hasher": [rb.TextHasher(n_features=64, names=20)],
        "vocabulary": [rb.Vocabulary(ngram_range=(1, 2), min_count=2, dtype=np.float32)],
        "characters": [rb.Vocabulary(analyzer="char", ngram_range=(1, 3))],
        "hashing": [HashingVectorizer(n_features=32, stop_words="english", alternate_sign=False)],
        "counts": [CountVectorizer(binary=True, token_pattern=r"(?u)\b\w+\b", stop_words=["cat"]), TfidfTransformer()],
        "tf-idf": [TfidfVectorizer(sublinear_tf=True, max_features=8, dtype=np.float32)],
        "tf": [TfidfVectorizer(use_idf=False, norm=None, vocabulary=["cat", "dog"])],
        "union of texts": [make_union(CountVectorizer(), rb.TextHasher(n_features=16))],
    }
    for name, steps in texts.items():
        found[name] = make_pipeline(*steps, rb.PassiveAggressive(random_state=0)), TEXTS, LABELS
    mixed = ColumnTransformer(
        [
            ("number", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["size"]),
            ("color", OneHotEncoder(handle_unknown="ignore", drop="if_binary"), ["color", "shape"]),
            ("note", rb.Vocabulary(), "note"),
        ],
        sparse_threshold=1.0,
    )
    found["frame"] = make_pipeline(mixed, rb.SoftMargin(multiclass="ovo")), FRAME, LABELS
    codes = ColumnTransformer([("c", OrdinalEncoder(dtype=np.float32), ["color", "shape"])], remainder=MaxAbsScaler())
    found["frame of codes"] = make_pipeline(codes, rb.AROW(random_state=0)), FRAME.drop(columns="note"), LABELS
    words = [SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first", sparse_output=False, dtype=np.float32)]
    found["categories"] = make_pipeline(*words, rb.LinearMSE()), FRAME[["color", "shape"]].to_numpy(), LABELS
    strings = FRAME[["color", "shape"]].to_numpy().astype(str)
    given = OneHotEncoder(categories=[["blue", "green", "red"], ["round", "square"]])
    found["strings"] = make_pipeline(given, rb.LinearMSE()), strings, LABELS
    numbers = OrdinalEncoder(encoded_missing_value=-1, handle_unknown="use_encoded_value", unknown_value=-2)
    found["numbers"] = make_pipeline(numbers, rb.LinearMSE()), np.round(with_gaps()), rows(2)[1]
    named = make_pipeline(StandardScaler(), PolynomialFeatures(2)).set_output(transform="pandas")
    found["data frames"] = make_pipeline(named, rb.LinearMSE()), pd.DataFrame(X, columns=list("abcde")), y
    frame = FRAME.drop(columns="note")
    encoded = make_pipeline(OneHotEncoder(sparse_output=False), OrdinalEncoder())
    framed = ColumnTransformer([("n", StandardScaler(), ["size"]), ("c", encoded, ["color", "shape"])], remainder="drop")
    found["data frames of columns"] = make_pipeline(framed, MinMaxScaler(), rb.LinearMSE()), frame, LABELS
    both = make_union(StandardScaler(), MinMaxScaler())
    found["data frames of a union"] = make_pipeline(both, rb.LinearMSE()), pd.DataFrame(X, columns=list("abcde")), y
    for name in ("data frames of columns", "data frames of a union"):
        found[name][0].set_output(transform="pandas")
    for name, step in {
        "constant": SimpleImputer(strategy="constant", fill_value=2),
        "constant by default": SimpleImputer(strategy="constant", keep_empty_features=True),
    }.items():
        empty = np.column_stack([with_gaps(), np.full(len(X), np.nan)])
        found[name] = make_pipeline(step, StandardScaler(), rb.LinearMSE()), empty, rows(2)[1]
    words_with_gap = np.column_stack([FRAME[["color", "shape"]].to_numpy(object), np.full(len(FRAME), np.nan, object)])
    frequent = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(), rb.LinearMSE())
    found["column without words"] = frequent, words_with_gap, LABELS
    found["gaps"] = make_pipeline(SimpleImputer(), rb.MaxMargin(inseparable="soft")), with_gaps(), rows(2)[1]
    found["vote"] = make_pipeline(StandardScaler(), rb.Perceptron(keep="vote", **last)), X, y
    found["transformers only"] = make_pipeline(StandardScaler(), Normalizer()), X, y
    return found
