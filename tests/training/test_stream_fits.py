"""Fits from a cache give the same bits as fits in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from caches import cached, contained, noisy
from sklearn.base import clone

import rosenblatt as rb
from effort import amount
from rosenblatt.data import cache as caches_module
from rosenblatt.training.cached_fits import confusion_from_cache, fit_from_cache

KINDS = [("dense", "float64"), ("dense", "float32"), ("csr", "float64"), ("csr", "float32")]
MODELS = {
    "last": rb.Perceptron(order="cyclic", max_iter=4),
    "average": rb.Perceptron(keep="average", order="cyclic", max_iter=4),
    "one-vs-rest": rb.Perceptron(keep="average", order="cyclic", multiclass="ovr", max_iter=4),
    "margin": rb.Perceptron(keep="average", margin="auto", order="cyclic", max_iter=3, step=0.5),
    "no intercept": rb.Perceptron(keep="average", order="cyclic", max_iter=3, fit_intercept=False, w_max=3.0),
    "batch": rb.Perceptron(keep="average", update="batch", order="cyclic", max_iter=5),
    "batch-mean": rb.Perceptron(update="batch-mean", margin=0.5, tol=1e-3, multiclass="ovr", max_iter=5, order="cyclic"),
    "weights": rb.Perceptron(keep="average", order="cyclic", class_weight="balanced", max_iter=3),
    "some weights": rb.Perceptron(keep="average", update="batch-mean", class_weight={1: 2.5}, max_iter=3, order="cyclic"),
    "threads": rb.Perceptron(keep="average", order="cyclic", multiclass="ovr", n_jobs=2, max_iter=3),
    "passive-aggressive": rb.PassiveAggressive(keep="average", order="cyclic", max_iter=3),
    "arow": rb.AROW(multiclass="ovr", order="cyclic", max_iter=3),
    "arow, permuted": rb.AROW(max_iter=3, random_state=3, class_weight="balanced"),
    "permuted": rb.Perceptron(order="permuted", max_iter=3, random_state=3),
    "permuted average": rb.Perceptron(keep="average", order="permuted", max_iter=3, random_state=3, log=False),
    "random": rb.PassiveAggressive(keep="last", order="random", max_iter=3, random_state=3),
    "nonlinear": rb.NonlinearMSE(solver="online", keep="average", order="cyclic", max_iter=3),
    "nonlinear batch": rb.NonlinearMSE(solver="batch-mean", order="cyclic", max_iter=3),
    "least squares": rb.LinearMSE(),
    "weighted squares": rb.LinearMSE(alpha=0.1, class_weight="balanced"),
}
FLOAT32 = ("average", "arow", "least squares")  # further types are further kernels to compile
CASES = [
    (name, classes, kind, dtype)
    for place, name in enumerate(MODELS)
    for classes in (2, 3)
    for kind, dtype in KINDS
    if amount((place + classes + (kind == "csr")) % 2 == 0 and (dtype == "float64" or name in FLOAT32), True)
]


def assert_same_bits(a: Any, b: Any) -> None:
    assert a.coef_.dtype == b.coef_.dtype
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    np.testing.assert_array_equal(a.classes_, b.classes_)
    assert a.classes_.dtype == b.classes_.dtype
    assert a.n_features_in_ == b.n_features_in_
    assert str(a.stop_) == str(b.stop_)
    for name in ("n_iter_", "n_updates_", "mse_", "rank_"):
        assert getattr(a, name, None) == getattr(b, name, None)
    for name in ("loss_", "gradient_norm_"):
        if hasattr(a, name):
            assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-12)
    np.testing.assert_array_equal(getattr(a, "saturated_", 0), getattr(b, "saturated_", 0))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str, str], tuple[Any, Any, Any]]:
    """Rows and their caches."""
    folder, found = tmp_path_factory.mktemp("caches"), {}
    for classes in (2, 3):
        for kind, dtype in KINDS:
            X, y = noisy(classes)
            X = contained(X, kind, dtype)
            found[classes, kind, dtype] = (X, y, cached(folder / f"{classes}-{kind}-{dtype}", X, y))
    return found


@pytest.mark.parametrize(("name", "classes", "kind", "dtype"), CASES)
def test_a_model_from_a_cache_has_the_bits_of_one_from_memory(
    prepared: Any, monkeypatch: pytest.MonkeyPatch, name: str, classes: int, kind: str, dtype: str
) -> None:
    monkeypatch.setattr(caches_module, "BYTES_IN_MEMORY", 1000)
    X, y, cache = prepared[classes, kind, dtype]
    model = clone(MODELS[name]).fit(X, y)
    assert_same_bits(model, fit_from_cache(clone(MODELS[name]), cache))


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("order", ["cyclic", "permuted"])
def test_neither_chunks_nor_stretches_change_a_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, order: str
) -> None:
    X, y = noisy(3)
    X = contained(X, kind, "float64")
    model = rb.Perceptron(keep="average", order=order, max_iter=3, random_state=0, log=False)
    expected = clone(model).fit(X, y)
    for size, stretch in ((1, 1), (7, 300), (1000, 10**9)):
        monkeypatch.setattr(caches_module, "BYTES_IN_MEMORY", stretch)
        assert_same_bits(expected, fit_from_cache(clone(model), cached(tmp_path / "cache", X, y, size)))


@pytest.mark.parametrize("log", [True, False])
def test_sparse_averages_in_cyclic_order_do_not_depend_on_the_log(tmp_path: Path, log: bool) -> None:
    X, y = noisy(2, n=60)
    X = contained(X, "csr", "float64")
    model = rb.Perceptron(keep="average", order="cyclic", max_iter=50, log=log).fit(X, y)
    assert model.n_updates_ > len(y), "rows that moved the weights often could be summed in another order"
    assert_same_bits(model, fit_from_cache(clone(model), cached(tmp_path / "cache", X, y)))


def test_labels_are_those_of_memory(tmp_path: Path) -> None:
    X, y = noisy(3)
    for number, labels in enumerate((["b", "a", "long"], [5, -3, 2], [0.0, 2.0, -3.0], [True, False, True])):
        named = np.array(labels)[y]
        model = rb.Perceptron(order="cyclic", max_iter=2).fit(X, named)
        cache = cached(tmp_path / str(number), X, named)
        assert_same_bits(model, fit_from_cache(rb.Perceptron(order="cyclic", max_iter=2), cache))
        known, counts = confusion_from_cache(model.predict, cache, model.classes_)
        np.testing.assert_array_equal(known, model.classes_)
        expected = [[int(((named == a) & (model.predict(X) == b)).sum()) for b in known] for a in known]
        np.testing.assert_array_equal(counts, expected)


def test_labels_that_the_model_does_not_know_are_counted_as_errors(tmp_path: Path) -> None:
    X, y = noisy(3)
    cache = cached(tmp_path / "cache", X, y)
    known, counts = confusion_from_cache(lambda rows: np.zeros(rows.shape[0], np.int64), cache, [0, 1])
    assert known.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(counts[:, 0], np.bincount(y))
    with pytest.raises(ValueError, match="7 was predicted"):
        confusion_from_cache(lambda rows: np.full(rows.shape[0], 7), cache)


def test_a_warm_start_goes_on(tmp_path: Path) -> None:
    X, y = noisy()
    cache = cached(tmp_path / "cache", X, y)
    model = rb.Perceptron(order="cyclic", max_iter=2, warm_start=True)
    assert_same_bits(clone(model).fit(X, y).fit(X, y), fit_from_cache(fit_from_cache(clone(model), cache), cache))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (rb.Perceptron(keep="pocket"), "keep='pocket'.*use keep='average'"),
        (rb.Perceptron(keep="vote"), "keep='vote'.*use keep='average'"),
        (rb.Perceptron(order="mistakes"), "order='mistakes'.*use order='cyclic'"),
        (rb.Perceptron(certify=True), "certify=True"),
        (rb.Perceptron(init="sum"), "init='sum'.*use init='zeros'"),
        (rb.NonlinearMSE(), "solver='minimum'.*use solver='online' or solver="),
        (rb.MaxMargin(), "MaxMargin.*: use fit$"),
        (rb.SoftMargin(), "SoftMargin.*: use fit$"),
        (rb.Perceptron(class_weight={0: 0.0}), "class_weight gives class 0 no weight"),
        (rb.Perceptron(max_iter=0), "max_iter must be at least 1"),
    ],
)
def test_what_cannot_stream_is_refused_with_what_to_do_instead(tmp_path: Path, model: Any, words: str) -> None:
    X, y = noisy()
    with pytest.raises(ValueError, match=words):
        fit_from_cache(model, cached(tmp_path / "cache", X, y))
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    "model",
    [
        rb.Perceptron(keep="pocket"),
        rb.PassiveAggressive(keep="vote"),
        rb.PassiveAggressive(order="mistakes"),
        rb.Perceptron(certify=True),
        rb.Perceptron(init="sum"),
        rb.NonlinearMSE(),
    ],
)
def test_what_is_offered_instead_can_stream(model: Any) -> None:
    obstacle = model._streaming_obstacle()
    assert getattr(model, obstacle.parameter) == obstacle.value
    for value in obstacle.instead:
        assert clone(model).set_params(**{obstacle.parameter: value})._streaming_obstacle() is None


def test_what_can_stream_is_not_refused() -> None:
    assert [name for name, model in MODELS.items() if model._streaming_obstacle()] == []


def test_least_squares_with_too_many_columns_are_refused(tmp_path: Path) -> None:
    X, y = noisy(n=5)
    with pytest.raises(ValueError, match="5 rows and 6 columns"):
        fit_from_cache(rb.LinearMSE(), cached(tmp_path / "cache", X, y))


def test_one_class_is_refused(tmp_path: Path) -> None:
    X, y = noisy()
    with pytest.raises(ValueError, match="only one class, 1"):
        fit_from_cache(rb.Perceptron(), cached(tmp_path / "cache", X, np.ones_like(y)))


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_weights_out_of_range_raise_the_error_of_a_fit_in_memory(tmp_path: Path, kind: str) -> None:
    X, y = noisy()
    X = contained(X * 1e300, kind, "float64")
    errors = []
    for fit in (lambda model: model.fit(X, y), lambda model: fit_from_cache(model, cached(tmp_path / "cache", X, y))):
        with pytest.raises(ValueError, match="exceed the range") as error:
            fit(rb.Perceptron(order="cyclic", step=1e10, max_iter=2))
        errors.append(str(error.value))
    assert errors[0] == errors[1]
