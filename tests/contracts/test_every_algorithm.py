"""Contracts of every algorithm in the catalog, with each of its multiclass schemes; `test_logs.py` adds those of logs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from effort import amount
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.studio.menu import knobs_of

pytestmark = pytest.mark.once
N, D = 32, 4  # a power of two: means of small integers are exact
LABELS = np.array(["d", "a", "c", "b"])
# Algorithms of one class differ in parameters only: without --thorough, float32 is compiled for one of them.
FIRST_OF_CLASS = set({algorithm.estimator: name for name, algorithm in reversed(ALGORITHMS.items())}.values())
FITTED = ("coef_", "intercept_", "variances_")


def schemes_of(name: str) -> Iterator[tuple[str, str]]:
    """The algorithm on two classes, and on three with each scheme that it offers."""
    yield name, "binary"
    knob = knobs_of(ALGORITHMS[name]).get("multiclass")
    for scheme in ["default"] if knob is None else [str(choice) for choice, _ in knob.choices]:
        yield name, scheme


CASES = [case for name in ALGORITHMS for case in schemes_of(name)]


def make(name: str, scheme: str, **parameters: Any) -> Any:
    """A short run, repeatable, and precise where there is a minimum to reach."""
    algorithm = ALGORITHMS[name]
    known: dict[str, Any] = {"random_state": 5} if "random_state" in algorithm.options else {}
    if algorithm.logged:
        known["max_iter"] = 1 if algorithm.options["order"] == "mistakes" else 4
    elif "tol" in algorithm.options:
        known["tol"] = 1e-9
    if scheme not in ("binary", "default"):
        known["multiclass"] = scheme
    return algorithm.make(**known | parameters)


def rows_of(name: str, scheme: str, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Small integers for runs with a log, whose scores are then exact. Separable for algorithms that refuse other rows."""
    k = 2 if scheme == "binary" else 3
    rng, codes = np.random.default_rng(k), np.arange(N) % k
    X = rng.integers(-1, 2, (N, D)) if ALGORITHMS[name].logged else rng.normal(size=(N, D)).clip(-1.5, 1.5)
    X[np.arange(N), codes] += 4 if "inseparable" in ALGORITHMS[name].options else 1
    return X.astype(dtype), LABELS[codes]


@cache
def fitted(name: str, scheme: str) -> Any:
    """A model that no test may change."""
    return make(name, scheme).fit(*rows_of(name, scheme))


def assert_same_bits(one: Any, other: Any, X: Any) -> None:
    for attribute in FITTED:
        assert hasattr(one, attribute) == hasattr(other, attribute)
        if hasattr(one, attribute):
            assert np.array_equal(getattr(one, attribute), getattr(other, attribute)), attribute
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    assert (one.n_iter_, one.stop_.reason, one.stop_.heads) == (other.n_iter_, other.stop_.reason, other.stop_.heads)
    if getattr(one, "log_", None) is not None:
        columns, others = one.log_.to_dict(), other.log_.to_dict()
        assert all(np.array_equal(columns[name], others[name]) for name in columns)
        assert np.array_equal(one.log_.durations, other.log_.durations)
        assert (one.log_.passes, one.n_updates_) == (other.log_.passes, other.n_updates_)


def assert_close(one: Any, other: Any, X: Any, tolerance: float = 1e-4) -> None:
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=tolerance, atol=tolerance)


every = pytest.mark.parametrize(("name", "scheme"), CASES)


@every
def test_it_learns_more_than_the_largest_class(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    assert fitted(name, scheme).score(X, y) > max(np.unique(y, return_counts=True)[1]) / N + 0.1


@every
def test_attributes_have_the_same_shapes_for_all_algorithms(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    model, k = fitted(name, scheme), len(set(y))
    assert model.classes_.tolist() == sorted(set(y))
    assert model.n_features_in_ == D
    assert isinstance(model.n_iter_, int)
    assert model.decision_function(X).shape == ((N,) if k == 2 else (N, k))
    if hasattr(model, "coef_"):  # votes have no single plane
        assert model.coef_.shape == (1 if k == 2 else 3, D)  # three classes have three pairs
        assert model.intercept_.shape == (len(model.coef_),)


@every
def test_predictions_are_those_of_the_scores(name: str, scheme: str) -> None:
    """A positive score is the second of two classes; of several, the first with the highest score is predicted."""
    X, _ = rows_of(name, scheme)
    model = fitted(name, scheme)
    X = np.vstack([X, np.zeros(D)])
    scores = model.decision_function(X)
    codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    assert model.predict(X).tolist() == model.classes_[codes].tolist()


@every
def test_all_containers_and_number_types_give_the_same_plane(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    model, tolerance = fitted(name, scheme), 1e-4 if ALGORITHMS[name].logged else 2e-3
    for rows in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X), X.tolist()):
        assert_close(make(name, scheme).fit(rows, y), model, X, tolerance)
    single = X.astype(np.float32)
    for rows in amount([single] if name in FIRST_OF_CLASS else [], [single, sp.csr_array(single)]):
        assert_close(make(name, scheme).fit(rows, y), model, X, 1e-3)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), model.decision_function(X), rtol=1e-9, atol=1e-9)


@every
def test_the_same_data_and_seed_give_the_same_bits(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    model = fitted(name, scheme)
    assert_same_bits(make(name, scheme).fit(X, y), model, X)
    assert_same_bits(clone(model).fit(X[::-1] * 2, y[::-1]).fit(X, y), model, X)  # a refit forgets
    for n_jobs in (2, 3) if "n_jobs" in model.get_params() else ():
        assert_same_bits(make(name, scheme, n_jobs=n_jobs).fit(X, y), model, X)


@every
def test_the_names_of_classes_do_not_matter(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    numbered = make(name, scheme).fit(X, np.unique(y, return_inverse=True)[1] * 10 - 5)
    assert_same_bits(numbered, fitted(name, scheme), X)


@every
def test_rows_and_labels_are_not_changed(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    for rows in (X, sp.csr_array(X)):
        values = rows if rows is X else rows.data
        values.flags.writeable = False
        y.flags.writeable = False
        model = make(name, scheme)
        assert model.fit(rows, y) is model
        model.predict(rows)


@every
def test_a_pickled_model_predicts_the_same(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    loaded = pickle.loads(pickle.dumps(fitted(name, scheme)))
    assert_same_bits(loaded, fitted(name, scheme), X)
    if ALGORITHMS[name].logged:  # a replay uses the rows, which are given again
        attached = (model.reading(model.keep, X, y) for model in (loaded, fitted(name, scheme)))
        last, also_last = (model.log_.weights_at(model.log_.n_updates) for model in attached)
        assert all(map(np.array_equal, last, also_last))


# --- weights of rows ---------------------------------------------------------------------------------------------------


@every
def test_weights_of_one_change_nothing(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    weighted = make(name, scheme).fit(X, y, sample_weight=np.ones(N))
    if ALGORITHMS[name].logged:
        assert_same_bits(weighted, fitted(name, scheme), X)
    else:
        assert_close(weighted, fitted(name, scheme), X, 1e-9)


@every
def test_rows_of_weight_zero_are_absent(name: str, scheme: str) -> None:
    """In a given order of the rows; a draw from more rows is another draw."""
    X, y = rows_of(name, scheme)
    weights = (np.arange(N) % 4 > 0).astype(float)
    order = {"order": "cyclic"} if ALGORITHMS[name].options.get("order") == "permuted" else {}
    weighted = make(name, scheme, **order).fit(X, y, sample_weight=weights)
    assert_close(weighted, make(name, scheme, **order).fit(X[weights > 0], y[weights > 0]), X)


def is_online(name: str) -> bool:
    """Whether rows are visited one by one: a weight of 3 is then one long step, and a row given thrice is visited thrice."""
    options = ALGORITHMS[name].options
    return options.get("solver" if "solver" in options else "update", "online") == "online" and "order" in options


@pytest.mark.parametrize(("name", "scheme"), [case for case in CASES if not is_online(case[0])])
def test_a_weight_of_three_is_a_row_given_three_times(name: str, scheme: str) -> None:
    X, y = rows_of(name, scheme)
    weights = np.where(np.arange(N) < N // 2, 3, 1)  # 64 rows in all
    weighted, repeated = make(name, scheme), make(name, scheme)
    weighted.fit(X, y, sample_weight=weights)
    repeated.fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_close(weighted, repeated, X, 1e-3)


# --- errors ------------------------------------------------------------------------------------------------------------


WRONG: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "X contains NaN": lambda X, y: (np.where(X[5, 1] == X, np.nan, X), y),
    "X contains infinity": lambda X, y: (sp.csr_array(np.where(X[5, 1] == X, np.inf, X)), y),
    r"0 sample\(s\)": lambda X, y: (X[:0], y[:0]),
    "inconsistent numbers of samples": lambda X, y: (X, y[1:]),
    "class": lambda X, y: (X, np.full(N, "a")),
    "weights?.* zero": lambda X, y: (X, y, np.zeros(N)),
    "weight.*(negative|< 0|>= 0|0 or more)": lambda X, y: (X, y, -np.ones(N)),
    "sample_weight": lambda X, y: (X, y, np.ones(N - 1)),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_wrong_input_is_refused(name: str) -> None:
    for sentence, wrong in WRONG.items():
        with pytest.raises(ValueError, match=f"(?i){sentence}"):
            make(name, "binary").fit(*wrong(*rows_of(name, "binary")))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_predictions_need_a_fit_and_its_columns(name: str) -> None:
    X, _ = rows_of(name, "binary")
    with pytest.raises(NotFittedError):
        make(name, "binary").predict(X)
    for method in (fitted(name, "binary").predict, fitted(name, "binary").decision_function):
        with pytest.raises(ValueError, match="4 features"):
            method(X[:, 1:])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_wrong_parameters_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="no_such"):
        make(name, "binary", no_such=1)
    with pytest.raises(TypeError, match=r"fit_intercept must be True or False, got 'perhaps'"):
        make(name, "binary", fit_intercept="perhaps").fit(*rows_of(name, "binary"))
