"""Classes that come later in a stream than others: they start from zero, in every reading."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from streams import READINGS, assert_same, chunks, feed, stream

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)
LABELS = {"numbers": np.array([5, 3, 9]), "strings": np.array(["m", "b", "zebra"])}


def naive_growing_argmax(P: Any, labels: Any) -> tuple[list[Any], list[dict[Any, Any]]]:
    """The joint perceptron whose classes get zero weights when they first come: the labels, the weights after each row."""
    W: dict[Any, Any] = {}
    after_each_row = []
    for p, label in zip(P, labels, strict=True):
        W.setdefault(label, np.zeros(P.shape[1]))
        rivals = [other for other in sorted(W) if other != label]
        if rivals:
            z = max(rivals, key=lambda other: W[other] @ p)
            if W[label] @ p - W[z] @ p <= 0.0:
                W = {**W, label: W[label] + p, z: W[z] - p}
        after_each_row.append(dict(W))
    return sorted(W), after_each_row


def growing_stream(kind: str) -> tuple[Any, Any]:
    """Rows of one class, then of two, then of three; labels in no order."""
    X, _ = stream(3, n=42)
    rng = np.random.default_rng(1)
    codes = np.concatenate([np.zeros(4, int), rng.integers(0, 2, 17), rng.integers(0, 3, 21)])
    return X, LABELS[kind][codes]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", ["dense", "csr", "alternating"])
def test_new_classes_start_from_zero_when_they_come(kind: str, labels: str) -> None:
    X, y = growing_stream(labels)
    P = np.column_stack([np.ones(len(X)), X])
    classes, hypotheses = naive_growing_argmax(P, y)
    model = feed(perceptron(), X, y, 1, kind)
    assert model.classes_.tolist() == classes
    W = np.stack([hypotheses[-1][label] for label in classes])
    np.testing.assert_allclose(np.column_stack([model.intercept_, model.coef_]), W, atol=1e-9)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("size", [1, 4, 7])
def test_every_reading_takes_new_classes(size: int, keep: str, multiclass: str, labels: str) -> None:
    X, y = growing_stream(labels)
    model = perceptron(keep=keep, multiclass=multiclass)
    for part in chunks(len(y), size):
        model.partial_fit(X[part], y[part])
        assert model.classes_.tolist() == sorted(set(y[: part.stop]))
        assert set(model.predict(X)) <= set(model.classes_)
    scores = model.decision_function(X)
    assert scores.shape == (42, 3)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("keep", READINGS)
def test_sparse_growing_streams_equal_dense_ones(keep: str, multiclass: str) -> None:
    X, y = growing_stream("strings")
    dense, csr, mixed = (
        feed(perceptron(keep=keep, multiclass=multiclass), X, y, 7, kind) for kind in ("dense", "csr", "alternating")
    )
    np.testing.assert_allclose(csr.decision_function(X), dense.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(mixed.decision_function(X), dense.decision_function(X), atol=1e-12)


def test_average_of_a_growing_stream_is_the_mean_of_its_weights() -> None:
    X, y = growing_stream("numbers")
    classes, hypotheses = naive_growing_argmax(np.column_stack([np.ones(len(X)), X]), y)
    zero = np.zeros(5)
    mean = [np.mean([W.get(label, zero) for W in hypotheses], axis=0) for label in classes]
    model = feed(perceptron(keep="average"), X, y, 1)
    np.testing.assert_allclose(np.column_stack([model.intercept_, model.coef_]), mean, atol=1e-9)


def test_the_vote_of_a_growing_stream_uses_every_hypothesis() -> None:
    X, y = growing_stream("numbers")
    P = np.column_stack([np.ones(len(X)), X])
    classes, hypotheses = naive_growing_argmax(P, y)
    votes = np.zeros((len(X), 3))
    for W in hypotheses:
        scores = np.stack([P @ W[label] if label in W else np.zeros(len(P)) for label in classes])
        votes[np.arange(len(P)), scores.argmax(axis=0)] += 1
    model = feed(perceptron(keep="vote"), X, y, 1)
    np.testing.assert_allclose(model.decision_function(X), votes / len(hypotheses), atol=1e-12)


def test_one_class_so_far_predicts_that_class() -> None:
    X, _ = stream()
    model = perceptron().partial_fit(X, np.full(40, "only"))
    assert model.classes_.tolist() == ["only"]
    assert set(model.predict(X)) == {"only"}
    assert model.n_updates_ == 0
    assert model.stop_.reason == "chunk"


def test_two_classes_row_by_row_equal_the_binary_run_from_the_second_class_on() -> None:
    X, y = stream(2)
    assert y[0] != y[1]
    assert_same(feed(perceptron(), X, y, 1), feed(perceptron(), X[1:], y[1:], 40, classes=[0, 1]), X)


@pytest.mark.parametrize("keep", READINGS)
def test_rows_before_the_second_class_count_as_visited(keep: str) -> None:
    """Rows of the only class so far are no use, but time goes by: an average is over all rows."""
    X, y = stream(2)
    y = np.concatenate([np.zeros(6, int), y])
    X = np.concatenate([X[:6], X])
    model = feed(perceptron(keep=keep), X, y, 3)
    late = feed(perceptron(keep=keep), X[6:], y[6:], 3)
    assert model.n_updates_ == late.n_updates_
    if keep == "last":
        np.testing.assert_array_equal(model.coef_, late.coef_)
    if keep == "average":
        np.testing.assert_allclose(model.coef_ * 46, late.coef_ * 40, atol=1e-10)
