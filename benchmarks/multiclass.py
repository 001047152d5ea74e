"""Schemes of several classes, without any parameter set: test errors, mean ranks, and seconds of fit and prediction.

Every set is split at random, `seeds` times, into rows to train on and rows to test on. On each set the contestants are ranked
by their mean test error; equal errors share a rank. The sets differ in kind: measurements, pixels, word counts, indicator
columns, classes in an order, and mixtures. Those without files are left out. The default was chosen with the help of these
sets: `docs/defaults.md` has its rank on others, which were not used.
"""

from __future__ import annotations

import csv
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine, make_classification
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import rosenblatt as rb

from . import workloads

MAX_TRAINING_ROWS, MAX_TEST_ROWS = 2000, 4000
CONTESTANTS: dict[str, Callable[[], Any]] = {
    "SoftMargin()": lambda: rb.SoftMargin(),
    'SoftMargin("ovr")': lambda: rb.SoftMargin(multiclass="ovr"),
    'SoftMargin("ovo")': lambda: rb.SoftMargin(multiclass="ovo"),
    'SoftMargin("crammer_singer")': lambda: rb.SoftMargin(multiclass="crammer_singer"),
    'SoftMargin("ovr", "squared_hinge")': lambda: rb.SoftMargin(multiclass="ovr", loss="squared_hinge"),
    'SoftMargin("ovo", "squared_hinge")': lambda: rb.SoftMargin(multiclass="ovo", loss="squared_hinge"),
    "LinearSVC()": LinearSVC,
    'SVC("linear")': lambda: SVC(kernel="linear"),
    "LogisticRegression()": LogisticRegression,
}


def measure(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    warnings.simplefilter("ignore")
    ranks: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for name, X, y in list(sets())[: 3 if quick else None]:
        results = {contestant: [_one(make(), X, y, seed) for seed in range(seeds)] for contestant, make in CONTESTANTS.items()}
        errors, fits, predictions = (
            {contestant: statistics.mean(each[i] for each in found) for contestant, found in results.items()} for i in range(3)
        )
        for contestant, rank in zip(errors, rankdata(np.round(list(errors.values()), 9)), strict=True):
            ranks[contestant].append(float(rank))
            yield {
                "set": name,
                "learner": contestant,
                "error": errors[contestant],
                "rank": float(rank),
                "fit": fits[contestant],
                "predict": predictions[contestant],
            }
    for contestant, each in ranks.items():
        yield {"set": f"mean of {len(each)} sets", "learner": contestant, "rank": statistics.mean(each)}


def _one(model: Any, X: Any, y: Any, seed: int) -> tuple[float, float, float]:
    """The test error, and the seconds of a fit and of the prediction of a thousand rows."""
    train = min(MAX_TRAINING_ROWS, int(0.7 * len(y)))
    test = min(MAX_TEST_ROWS, len(y) - train)
    A, B, a, b = train_test_split(X, y, train_size=train, test_size=test, random_state=seed, stratify=y)
    start = time.process_time()
    model.fit(A, a)
    fitted = time.process_time()
    error = float((model.predict(B) != b).mean())
    return error, fitted - start, 1000.0 * (time.process_time() - fitted) / test


def sets() -> Iterator[tuple[str, Any, Any]]:
    """(name, X, y)"""
    yield "iris", *load_iris(return_X_y=True)
    X, y = load_wine(return_X_y=True)
    yield "wine, scaled", StandardScaler().fit_transform(X), y
    X, y = load_digits(return_X_y=True)
    yield "digits", X, y
    X, y = load_diabetes(return_X_y=True)
    yield (
        "diabetes in 5 ordered bins, scaled",
        StandardScaler().fit_transform(X),
        np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8])),
    )
    for classes, seed in ((3, 0), (6, 1), (10, 2)):
        shape = {"n_samples": 3000, "n_features": 30, "n_informative": 10, "n_redundant": 5, "n_clusters_per_class": 2}
        yield f"make_classification, {classes} classes", *make_classification(n_classes=classes, random_state=seed, **shape)
    yield "11 overlapping mixtures, like vowel", *_mixtures(11, 10, 1000, 0)
    yield "20 round clusters in 5 dimensions", *_clusters(20, 5, 3000, 1)
    if not workloads.DATA.is_dir():
        return
    for name in ("letter.scale", "dna.scale", "news20.bz2"):
        X, y = workloads.svmlight(name)
        if name == "news20.bz2":
            yield "news20, tf-idf", TfidfTransformer().fit_transform(X), y
            chosen = y <= 8
            yield "news20, 8 classes, counts", X[chosen], y[chosen]
        else:
            yield name.removesuffix(".scale"), X.toarray(), y
    X, y = workloads.mnist("t10k")
    yield "MNIST", X, y
    yield "MNIST, black and white", (X > 0.5).astype(float), y
    with (workloads.DATA / "text" / "ag_news_test.csv").open(newline="") as file:
        news = [(label, f"{title} {text}") for label, title, text in list(csv.reader(file))[1:]]
    texts = HashingVectorizer(n_features=1 << 16, alternate_sign=False).transform([text for _, text in news])
    yield "AG news, hashed", texts, np.array([label for label, _ in news])
    adult = np.genfromtxt(workloads.DATA / "uci" / "adult.data", delimiter=", ", dtype=str)[:8000]
    for column, label in ((3, "education"), (6, "occupation"), (7, "relationship")):
        yield f"adult: {label}", *_category(adult, column)


def _mixtures(k: int, d: int, n: int, seed: int) -> tuple[Any, Any]:
    """Each class is a mixture of three long Gaussians."""
    rng = np.random.default_rng(seed)
    y, part = rng.integers(0, k, n), rng.integers(0, 3, n)
    centers, axes = 1.5 * rng.standard_normal((k, 3, d)), rng.standard_normal((k, 3, d, d)) / np.sqrt(d)
    X = centers[y, part] + np.einsum("ndj,nj->nd", axes[y, part], rng.standard_normal((n, d)))
    return X, y


def _clusters(k: int, d: int, n: int, seed: int) -> tuple[Any, Any]:
    """Each class is one Gaussian; every class lies amid the others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = 2.0 * rng.standard_normal((k, d))[y] + rng.standard_normal((n, d))
    return X, y


def _category(table: Any, column: int) -> tuple[Any, Any]:
    """The categorical columns as indicators, with one of them as the label; rare labels are left out."""
    names, counts = np.unique(table[:, column], return_counts=True)
    table = table[np.isin(table[:, column], names[(counts >= 50) & (names != "?")])]
    others = [c for c in (1, 3, 5, 6, 7, 8, 9, 13, 14) if c != column]
    return OneHotEncoder(min_frequency=10).fit_transform(table[:, others]), table[:, column]
