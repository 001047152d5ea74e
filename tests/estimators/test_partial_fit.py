"""Streams: however a stream is cut, one pass over it is one cyclic pass of `fit`."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from streams import READINGS, assert_same, chunks, container, feed, stream

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)
SIZES = [1, 7, 40]


def one_pass(keep: str, X: Any, y: Any, estimator: Any = rb.Perceptron, weights: Any = None, **parameters: Any) -> Any:
    return estimator(keep=keep, order="cyclic", max_iter=1, **parameters).fit(X, y, sample_weight=weights)


# --- chunks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("keep", READINGS)
def test_chunks_equal_one_cyclic_pass_of_fit(keep: str, classes: int, multiclass: str, kind: str, size: int) -> None:
    X, y = stream(classes)
    whole = one_pass(keep, container(X, kind, 0), y, multiclass=multiclass)
    model = feed(perceptron(keep=keep, multiclass=multiclass), X, y, size, kind, classes=range(classes))
    assert_same(model, whole, X)


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("size", [1, 7])
def test_chunks_equal_one_pass_of_passive_aggressive(keep: str, variant: str, size: int) -> None:
    X, y = stream()
    whole = one_pass(keep, X, y, rb.PassiveAggressive, variant=variant)
    assert_same(feed(rb.PassiveAggressive(variant=variant, keep=keep), X, y, size, classes=[0, 1, 2]), whole, X)


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("keep", READINGS)
def test_dense_and_sparse_chunks_may_alternate(keep: str, classes: int, multiclass: str, size: int) -> None:
    X, y = stream(classes)
    whole = one_pass(keep, X, y, multiclass=multiclass)
    model = feed(perceptron(keep=keep, multiclass=multiclass), X, y, size, "alternating", classes=range(classes))
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-12)
    assert model.n_updates_ == whole.n_updates_


@pytest.mark.parametrize("keep", READINGS)
def test_sparse_chunks_equal_dense_chunks(keep: str) -> None:
    X, y = stream()
    dense, csr = (feed(perceptron(keep=keep), X, y, 7, kind, classes=[0, 1, 2]) for kind in ("dense", "csr"))
    np.testing.assert_allclose(csr.decision_function(X), dense.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("keep", READINGS)
def test_discovered_classes_equal_announced_ones_if_all_are_in_the_first_chunk(keep: str) -> None:
    X, y = stream()
    y[2] = 2
    found = feed(perceptron(keep=keep), X, y, 7)
    announced = feed(perceptron(keep=keep), X, y, 7, classes=[2, 1, 0])
    assert_same(found, announced, X)


@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("size", [1, 7])
def test_an_announced_class_that_has_not_come_has_a_score_of_its_own(keep: str, size: int) -> None:
    X, y = stream(3)
    model = feed(perceptron(keep=keep, multiclass="joint"), X, y, size, classes=[0, 1, 2, 9])
    assert model.classes_.tolist() == [0, 1, 2, 9]
    assert model.decision_function(X).shape == (40, 4)


@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("size", SIZES)
def test_a_float32_stream_stays_float32_and_equals_fit(keep: str, size: int) -> None:
    X, y = stream()
    X = X.astype(np.float32)
    whole, model = one_pass(keep, X, y), feed(perceptron(keep=keep), X, y, size, classes=[0, 1, 2])
    assert_same(model, whole, X)
    if keep != "vote":
        assert model.coef_.dtype == np.float32


def test_the_first_chunk_decides_the_float_type() -> None:
    X, y = stream(2)
    model = perceptron().partial_fit(X[:20].astype(np.float32), y[:20])
    model.partial_fit(X[20:], y[20:])
    whole = one_pass("last", X.astype(np.float32), y)
    assert_same(model, whole, X.astype(np.float32))
    assert model.coef_.dtype == np.float32


@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_sample_weight_scales_the_steps_of_a_stream(keep: str, multiclass: str) -> None:
    X, y = stream()
    c = 0.25 + np.arange(40) % 4
    whole = one_pass(keep, X, y, weights=c, multiclass=multiclass)
    model = feed(perceptron(keep=keep, multiclass=multiclass), X, y, 7, classes=[0, 1, 2], weights=c)
    assert_same(model, whole, X)
    assert model.n_updates_ > 0
    unweighted = one_pass(keep, X, y, multiclass=multiclass)
    assert not np.array_equal(model.decision_function(X), unweighted.decision_function(X))


@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("size", [1, 7])
def test_rows_of_weight_zero_are_not_visited_in_a_stream(size: int, keep: str) -> None:
    X, y = stream()
    c = (np.arange(40) % 3 > 0).astype(float)
    model = feed(perceptron(keep=keep), X, y, size, classes=[0, 1, 2], weights=c)
    assert_same(model, one_pass(keep, X, y, weights=c), X)
    np.testing.assert_allclose(model.decision_function(X), one_pass(keep, X[c > 0], y[c > 0]).decision_function(X), atol=1e-12)


def test_class_weight_as_a_dict_works_in_a_stream() -> None:
    X, y = stream()
    weight = {0: 2.0, 1: 0.5, 2: 1.0}
    model = feed(perceptron(class_weight=weight), X, y, 7, classes=[0, 1, 2])
    assert_same(model, one_pass("last", X, y, class_weight=weight), X)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_a_step_callable_counts_updates_across_chunks(multiclass: str, size: int) -> None:
    X, y = stream()
    options: dict[str, Any] = {"step": lambda k: 1.0 / k, "multiclass": multiclass}
    model = feed(perceptron(**options), X, y, size, classes=[0, 1, 2])
    assert_same(model, one_pass("last", X, y, **options), X)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("limit", [{"max_updates": 5}, {"w_max": 2.5}])
def test_limits_hold_across_chunks(limit: Any, keep: str, multiclass: str, size: int) -> None:
    X, y = stream()
    unlimited = one_pass(keep, X, y, multiclass=multiclass)
    whole = one_pass(keep, X, y, multiclass=multiclass, **limit)
    assert whole.n_updates_ < unlimited.n_updates_
    model = feed(perceptron(keep=keep, multiclass=multiclass, **limit), X, y, size, classes=[0, 1, 2])
    assert_same(model, whole, X)


@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_give_a_stream_the_same_bits(keep: str, n_jobs: int) -> None:
    X, y = stream()
    one = feed(perceptron(keep=keep, multiclass="ovr"), X, y, 7, classes=[0, 1, 2])
    assert_same(feed(perceptron(keep=keep, multiclass="ovr", n_jobs=n_jobs), X, y, 7, classes=[0, 1, 2]), one, X)


@pytest.mark.parametrize("keep", READINGS)
def test_a_start_of_ones_own_works_in_a_stream(keep: str) -> None:
    X, y = stream(2)
    start = np.arange(5.0)
    model = feed(perceptron(keep=keep, init=start), X, y, 7, classes=[0, 1])
    assert_same(model, one_pass(keep, X, y, init=start), X)


@pytest.mark.parametrize("keep", READINGS)
def test_a_start_of_ones_own_needs_the_classes(keep: str) -> None:
    """A start that belongs to two classes is refused while there is one, and is not dropped in silence."""
    X, y = stream(2)
    model = perceptron(keep=keep, init=np.full(4, 100.0))
    with pytest.raises(ValueError, match=r"init.*classes="):
        feed(model, X, y, 1)
    feed(model, X, y, 1, classes=[0, 1])
    assert_same(model, one_pass(keep, X, y, init=np.full(4, 100.0)), X)


# --- fit and partial_fit together --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_partial_fit_goes_on_where_fit_ended(keep: str, multiclass: str) -> None:
    X, y = stream()
    options: dict[str, Any] = {"multiclass": multiclass, "order": "cyclic", "max_iter": 1}
    model = perceptron(keep=keep, **options).fit(X[:25], y[:25])
    model.partial_fit(X[25:], y[25:])
    assert_same(model, one_pass(keep, X, y, multiclass=multiclass), X)


@pytest.mark.parametrize("keep", READINGS)
def test_partial_fit_of_the_same_rows_is_the_next_pass(keep: str) -> None:
    X, y = stream()
    model = perceptron(keep=keep, order="cyclic", max_iter=2).fit(X, y).partial_fit(X, y)
    whole = perceptron(keep=keep, order="cyclic", max_iter=3).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-12)
    assert model.n_updates_ == whole.n_updates_


@pytest.mark.parametrize("keep", READINGS)
def test_fit_forgets_the_stream_before(keep: str) -> None:
    X, y = stream()
    model = feed(perceptron(keep=keep, random_state=0), X, (y > 0).astype(int), 7)
    assert_same(model.fit(X, y), perceptron(keep=keep, random_state=0).fit(X, y), X)


@pytest.mark.parametrize("keep", READINGS)
def test_a_pickled_stream_goes_on(keep: str) -> None:
    X, y = stream()
    model = feed(perceptron(keep=keep), X[:20], y[:20], 7, classes=[0, 1, 2])
    model = pickle.loads(pickle.dumps(model))
    for part in chunks(20, 5):
        model.partial_fit(X[20:][part], y[20:][part])
    assert_same(model, one_pass(keep, X, y), X)


def test_after_fit_the_classes_are_those_of_fit() -> None:
    X, y = stream(2)
    model = perceptron().fit(X, y)
    with pytest.raises(ValueError, match=r"\[7\].*\[0, 1\]"):
        model.partial_fit(X[:2], [0, 7])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_vote_that_lost_its_first_run_is_refused(n_jobs: int) -> None:
    X, y = stream()
    model = perceptron(multiclass="ovr", log=False, n_jobs=n_jobs).fit(X, y)
    model.set_params(keep="vote")
    with pytest.raises(ValueError, match=r"vote.*log"):
        model.partial_fit(X, y)


def test_a_stream_keeps_only_the_requested_readings() -> None:
    X, y = stream()
    model = feed(perceptron(keep="last"), X, y, 7, classes=[0, 1, 2])
    for keep in ("average", "vote", "pocket"):
        with pytest.raises(ValueError, match=keep):
            model.reading(keep)
    votes = feed(perceptron(keep="vote"), X, y, 7, classes=[0, 1, 2])
    assert_same(votes.reading("last"), model, X)


def test_the_stop_of_a_stream_describes_its_last_chunk() -> None:
    X, y = stream(2)
    model = perceptron().partial_fit(X[:10], y[:10])
    first = model.n_updates_
    model.partial_fit(X[10:], y[10:])
    assert model.stop_.reason == "chunk"
    assert f"30 rows, {model.n_updates_ - first} updates" in model.stop_.sentence


# --- what is refused ---------------------------------------------------------------------------------------------------


def test_labels_that_were_not_announced_are_refused_and_leave_the_model_as_it_was() -> None:
    X, y = stream(2)
    model = perceptron().partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"labels \[5\] that are not in classes \[0, 1\]"):
        model.partial_fit(X[:2], [5, 0])
    np.testing.assert_array_equal(model.coef_, before)
    assert model.classes_.tolist() == [0, 1]
    model.partial_fit(X[:2], [1, 0])


def test_labels_of_the_first_chunk_must_be_announced_too() -> None:
    X, y = stream(3)
    with pytest.raises(ValueError, match=r"\[2\]"):
        perceptron().partial_fit(X, y, classes=[0, 1])


def test_other_classes_on_a_later_call_are_refused() -> None:
    X, y = stream(2)
    model = perceptron().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\].*first call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    model.partial_fit(X, y, classes=[1, 0])


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_another_number_of_features_is_refused(kind: str) -> None:
    X, y = stream(2)
    model = perceptron().partial_fit(container(X, kind, 0), y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"3 features.*4 features"):
        model.partial_fit(container(X[:, :3], kind, 0), y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("parameters", [{"keep": "pocket"}, {"update": "batch"}, {"update": "batch-mean"}])
def test_what_looks_at_all_rows_again_has_no_partial_fit(parameters: Any) -> None:
    model = perceptron(**parameters)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as refused:
        model.partial_fit([[1.0]], [0])
    assert "use fit" in f"{refused.value} {refused.value.__cause__}"
    assert hasattr(perceptron(), "partial_fit")
    assert not hasattr(rb.PassiveAggressive(keep="pocket"), "partial_fit")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"init": "sum"}, "init='sum'"),
        ({"margin": "auto"}, "margin='auto'"),
        ({"class_weight": "balanced"}, "class_weight='balanced'"),
    ],
)
def test_what_needs_all_rows_first_is_refused(parameters: Any, message: str) -> None:
    X, y = stream(2)
    with pytest.raises(ValueError, match=message):
        perceptron(**parameters).partial_fit(X, y)


def test_labels_of_another_kind_are_refused() -> None:
    """Numbers do not become strings behind one's back."""
    X, y = stream(2)
    model = perceptron().partial_fit(X, y)
    with pytest.raises((ValueError, TypeError)):
        model.partial_fit(X[:2], ["a", "b"])
    assert model.classes_.tolist() == [0, 1]


def test_one_announced_class_is_refused() -> None:
    X, y = stream(2)
    with pytest.raises(ValueError, match="classes"):
        perceptron().partial_fit(X, np.zeros_like(y), classes=[0])
