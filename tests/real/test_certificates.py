"""Real data sets: a verdict for each, with its proof, checked; and the figures that are known of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import rosenblatt as rb
from datasets import libsvm, mnist, uci
from effort import amount, in_time

# name: (verdict, rows of the clash at most, or the geometric and augmented margins)
SMALL: dict[str, tuple[Any, ...]] = {
    "heart_scale": ("inseparable", 15),
    "breast-cancer_scale": ("inseparable", 12),
    "australian": ("inseparable", 16),
    "german.numer": ("inseparable", 26),
    "fourclass": ("inseparable", 4),
    "mushrooms": ("separable", 0.25695804848, 0.25693862731),
    "spambase.data": ("inseparable", 2),
    "sonar.all-data": ("separable", 0.00108045313530, 0.00107931338694),
    "ionosphere.data": ("inseparable", 36),
    "banknote_authentication.csv": ("inseparable", 6),
}


def load(name: str) -> tuple[Any, Any]:
    return uci(name) if "." in name and name != "german.numer" else libsvm(name)


def proved(X: Any, y: Any, expected: tuple[Any, ...]) -> Any:
    certificate = rb.certify(X, y)
    assert certificate.verdict == expected[0]
    assert rb.verify(certificate, X, y)
    if isinstance(certificate, rb.Inseparable):
        assert len(certificate.clash) <= min(expected[1], X.shape[1] + 2)
        assert sum(certificate.weights) == 1
    else:
        for margin, value in zip((certificate.geometric, certificate.augmented), expected[1:], strict=True):
            assert margin.gap <= 1e-9
            assert margin.lower == pytest.approx(value, rel=1e-9)
            assert margin.lower <= margin.upper
    return certificate


@pytest.mark.parametrize("name", SMALL)
def test_small_sets(name: str, tmp_path: Path) -> None:
    X, y = load(name)
    certificate = proved(X, y, SMALL[name])
    rb.save_certificate(certificate, tmp_path / "certificate.json")
    assert rb.load_certificate(tmp_path / "certificate.json") == certificate


def test_iris_every_pair_and_all_three() -> None:
    X, y = uci("iris.data")
    kinds = np.unique(y)
    pairs = {
        (0, 1): ("separable", 0.817555769289, 0.749117332082),
        (0, 2): ("separable", 1.566774587711, 1.288669660228),
        (1, 2): ("inseparable", 6),
    }
    for (i, j), expected in pairs.items():
        chosen = (y == kinds[i]) | (y == kinds[j])
        proved(X[chosen], y[chosen], expected)
    joint = rb.certify(X, y)
    assert isinstance(joint, rb.Inseparable)
    assert set(y[joint.rows]) == {"Iris-versicolor", "Iris-virginica"}


@pytest.mark.slow
def test_several_classes_that_planes_do_separate() -> None:
    for X, y in (load_wine(return_X_y=True), load_digits(return_X_y=True)):
        certificate = rb.certify(X, y)
        assert isinstance(certificate, rb.Separable)
        assert len(certificate.geometric.planes) == len(set(y.tolist()))
        assert max(certificate.geometric.gap, certificate.augmented.gap) <= 1e-9
        assert rb.verify(certificate, X, y)
        model = rb.Perceptron(max_iter=None, order="cyclic").fit(X, y) if certificate.mistake_bound.upper < 1e6 else None
        assert model is None or model.n_updates_ <= certificate.mistake_bound.upper


@pytest.mark.slow
@pytest.mark.thorough
def test_mnist_zeros_and_ones() -> None:
    X, y = mnist()
    chosen = y < 2
    begun = time.perf_counter()
    certificate = proved(np.ascontiguousarray(X[chosen]), y[chosen], ("separable", 0.424519187731, 0.394384921744))
    assert in_time(time.perf_counter() - begun, 60)
    assert certificate.augmented.lower == pytest.approx(0.394385, abs=5e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a9a", "w8a"])
def test_many_rows_of_ones_and_zeros(name: str) -> None:
    X, y = libsvm(name)
    certificate = proved(X, y, ("inseparable", 2))
    i, j = certificate.rows
    assert y[i] != y[j]
    assert (X[[i]] != X[[j]]).nnz == 0


@pytest.mark.slow
def test_pairs_of_newsgroups() -> None:
    X, y = libsvm("news20.bz2")
    verdicts = {}
    for i, j in amount(((1, 2), (16, 19)), ((1, 2), (3, 4), (16, 19))):
        chosen = np.flatnonzero((y == i) | (y == j))
        certificate = rb.certify(X[chosen], y[chosen])
        assert rb.verify(certificate, X[chosen], y[chosen])
        verdicts[i, j] = certificate.verdict
    assert verdicts.pop((3, 4), "inseparable") == "inseparable"
    assert verdicts == {(1, 2): "inseparable", (16, 19): "separable"}
