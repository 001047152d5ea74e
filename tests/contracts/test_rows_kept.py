"""What a fitted model keeps of the training rows: none in pickles and copies, and no reference that keeps X alive."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS

WIDE = 600  # columns, so that a single row is larger than all the rest of a model
LOGGED = [name for name, algorithm in ALGORITHMS.items() if algorithm.logged]
# The predictions of a vote are sums over the rows that moved the weights. Moments are a square matrix of the columns.
HOLDS_ROWS = {"vote"}
READINGS = ["last", "pocket", "average", "vote"]


def separable_rows(n: int = 12, d: int = 5, k: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.normal(size=(n, d))
    X[np.arange(n), y] += 20.0
    return X, y


def joblib_copy(model: Any) -> Any:
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "joblib": joblib_copy,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


# --- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_fitted_model_does_not_keep_x_alive(name: str, k: int, pack: Any) -> None:
    X, y = separable_rows(k=k)
    rows = pack(X)
    watched = weakref.ref(rows if isinstance(rows, np.ndarray) else rows.data)
    model = ALGORITHMS[name].make(**{"max_iter": 20} if name in LOGGED else {}).fit(rows, y)
    if rows is X:
        X = X.copy()
    del rows
    gc.collect()
    assert watched() is None
    assert (model.predict(X) == y).mean() > 0.5


def test_a_kept_proof_does_not_keep_x_alive() -> None:
    X, y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 2
    watched, model = weakref.ref(X), rb.MaxMargin(inseparable="soft").fit(X, y)
    assert model.proof_[0] is not None
    del X
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - HOLDS_ROWS))
def test_a_copy_is_smaller_than_a_few_rows(name: str, how: str) -> None:
    X, y = separable_rows(40, WIDE)
    model = ALGORITHMS[name].make(**{"max_iter": 3} if name in LOGGED else {}).fit(X, y)
    if name == "linear-mse":
        model._moments = (None, None, None, 0)  # a factor of the rows, which partial_fit continues from
    assert len(pickle.dumps(COPIES[how](model))) < 8 * X[0].nbytes


def test_a_vote_pickles_the_rows_that_it_is_made_of_once() -> None:
    X, y = separable_rows(40, WIDE)
    model = rb.Perceptron(keep="vote", max_iter=2).fit(X, y)
    before = len(pickle.dumps(model))
    model.predict(X)  # sums of rows are computed and kept
    moved = len(np.unique(model.log_.rows)) * X[0].nbytes
    assert len(pickle.dumps(model)) == before < moved + 4 * X[0].nbytes


def test_the_log_keeps_x_alive_on_request() -> None:
    X, y = separable_rows()
    watched, model = weakref.ref(X), rb.Perceptron(log="rows").fit(X, y)
    del X
    gc.collect()
    assert watched() is not None
    assert model.reading("pocket").coef_.shape == model.reading("vote").reading("average").coef_.shape
    assert pickle.loads(pickle.dumps(model)).log_.is_compact


# --- readings while X lives, and after that ----------------------------------------------------------------------------


CONVERTED: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X,
    "fortran": np.asfortranarray,
    "integers": lambda X: X.astype(np.int64),
    "float32": lambda X: X.astype(np.float32),
    "read-only": lambda X: np.broadcast_to(X, X.shape),
    "frame": pd.DataFrame,
    "csr": sp.csr_matrix,
    "csc": sp.csc_array,
    "list": lambda X: X.tolist(),
}


@pytest.mark.parametrize("keep", READINGS)
@pytest.mark.parametrize("kind", CONVERTED)
def test_every_reading_is_there_while_x_lives(kind: str, keep: str) -> None:
    data, y = separable_rows(seed=1)
    X = CONVERTED[kind](np.round(data))
    model = rb.Perceptron(random_state=0, max_iter=3).fit(X, y)
    direct = rb.Perceptron(random_state=0, max_iter=3, keep=keep).fit(X, y)
    np.testing.assert_array_equal(model.reading(keep).decision_function(X), direct.decision_function(X))
    again = pickle.loads(pickle.dumps(model)).reading(keep, X, y)
    np.testing.assert_array_equal(again.decision_function(X), direct.decision_function(X))
    assert model.convergence_[0].holds


@pytest.mark.parametrize("part", [np.s_[:8], np.s_[::-1], np.s_[2:, 1:4], np.s_[::2, ::-1]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_view_is_found_while_its_array_lives(part: Any, order: Any) -> None:
    data, _ = separable_rows(seed=2)
    X = np.array(data, order=order)
    model = rb.Perceptron(random_state=0, max_iter=3).fit(X[part], np.arange(len(X[part])) % 2)
    kept = rb.Perceptron(random_state=0, max_iter=3, log="rows").fit(X[part], np.arange(len(X[part])) % 2)
    np.testing.assert_array_equal(model.reading("average").coef_, kept.reading("average").coef_)
    del X, kept
    gc.collect()
    with pytest.raises(ValueError, match="does not keep"):
        model.reading("average")


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", LOGGED)
def test_readings_without_rows_name_the_remedy_which_works(name: str, how: str) -> None:
    X, y = separable_rows(k=3)
    whole = ALGORITHMS[name].make(random_state=0, max_iter=3).fit(X, y)
    model = COPIES[how](ALGORITHMS[name].make(random_state=0, max_iter=3).fit(X.copy(), y))
    for keep in READINGS:
        expected = whole.reading(keep).decision_function(X)
        if keep not in ("last", model.keep) and not (model.keep == "vote" and keep == "average"):
            with pytest.raises(ValueError, match=r"reading\(keep, X, y\)"):
                model.reading(keep)
        np.testing.assert_array_equal(model.reading(keep, X, y).decision_function(X), expected)
    assert list(model.log_) == list(whole.log_)
    assert [list(run) for run in model.log_.runs()] == [list(run) for run in whole.log_.runs()]
    np.testing.assert_array_equal(model.log_.rivals, whole.log_.rivals)


def test_rows_that_are_given_again_stay_with_the_reading_while_they_live() -> None:
    X, y = separable_rows()
    model = pickle.loads(pickle.dumps(rb.Perceptron(random_state=0).fit(X, y, sample_weight=1.0 + y)))
    attached = model.reading("last", X, y)
    assert attached.convergence_[0].holds
    assert attached.reading("pocket").coef_.shape == (1, 5)
    watched = weakref.ref(X)
    del X
    gc.collect()
    assert watched() is None
    with pytest.raises(ValueError, match=r"weights_at|does not keep"):
        attached.log_.weights_at(1)


def test_rows_in_a_pipeline_are_given_again_after_their_steps() -> None:
    X, y = separable_rows()
    pipeline = make_pipeline(StandardScaler(), rb.Perceptron(random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="does not keep"):
        pipeline[-1].reading("vote")
    assert pipeline[-1].reading("vote", pipeline[:-1].transform(X), y).keep == "vote"


def other_label(X: Any, y: Any) -> tuple[Any, Any]:
    return X, np.where(np.arange(len(y)) == 3, 1 - y, y)


OTHERS: dict[str, tuple[Callable[[Any, Any], tuple[Any, Any]], str]] = {
    "fewer rows": (lambda X, y: (X[:-1], y[:-1]), r"of shape \(12, 5\), got shape \(11, 5\)"),
    "another label": (other_label, "y must be the labels of fit, but 1 label of 12 differ"),
    "another value": (lambda X, y: (X * np.where(np.arange(12) == 1, 1.5, 1.0)[:, None], y), "its values differ"),
    "another order": (lambda X, y: (X[[2, 1, 0, *range(3, 12)]], y), "its values differ"),
    "a new class": (lambda X, y: (X, np.where(y == 0, 7, y)), "6 labels of 12 differ"),
    "another type": (lambda X, y: (X.astype(np.float32), y), "an array of float64, got an array of float32"),
    "another container": (lambda X, y: (sp.csr_array(X), y), "an array of float64, got a sparse matrix of float64"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_rows_are_refused(other: str) -> None:
    change, message = OTHERS[other]
    X, y = separable_rows()
    model = pickle.loads(pickle.dumps(rb.Perceptron(random_state=0).fit(X, y)))
    with pytest.raises(ValueError, match=message):
        model.reading("average", *change(X, y))


def test_x_and_y_come_together_and_a_stream_has_no_rows_to_check() -> None:
    X, y = separable_rows()
    with pytest.raises(ValueError, match="X and y together"):
        rb.Perceptron().fit(X, y).reading("vote", X)
    with pytest.raises(ValueError, match="use fit with log=True, not partial_fit"):
        rb.Perceptron(keep="vote").partial_fit(X, y).reading("average", X, y)


# --- what continues without rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("pack", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_a_fit_whose_rows_are_gone_continues_bit_for_bit(keep: str, pack: Any, how: str) -> None:
    X, y = separable_rows(40, k=3)
    kept = rb.Perceptron(keep=keep, random_state=0, max_iter=2, log="rows").fit(pack(X), y)
    model = COPIES[how](rb.Perceptron(keep=keep, random_state=0, max_iter=2).fit(pack(X), y))
    for one in (kept, model):
        one.partial_fit(pack(X[::-1] + 1.0), y)
    np.testing.assert_array_equal(model.decision_function(X), kept.decision_function(X))


def test_a_reading_whose_rows_are_gone_continues_and_is_saved(tmp_path: Any) -> None:
    X, y = separable_rows(40)
    for keep in ("average", "vote"):
        rows = sp.csr_array(X)
        model = rb.Perceptron(random_state=0, max_iter=2).fit(rows, y).reading(keep)
        expected = model.decision_function(X)
        del rows
        gc.collect()
        rb.save(model, tmp_path / "model.safetensors")
        np.testing.assert_array_equal(rb.load(tmp_path / "model.safetensors").decision_function(X), expected)
        model.partial_fit(sp.csr_array(X), y)
