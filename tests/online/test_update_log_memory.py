"""What the log holds: entries and no rows, which it refers to and which must not change under it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from short_runs import RUNS, fitted, noisy_rows

import rosenblatt as rb

# --- memory ------------------------------------------------------------------------------------------------------------


def bytes_held(log: Any) -> int:
    """What the entries of the log take; an array of equal numbers has stride 0 and holds one."""
    arrays = (array for part in log._record.parts for array in part if isinstance(array, np.ndarray))
    return sum(array.itemsize if array.strides == (0,) else array.nbytes for array in arrays)


@pytest.mark.parametrize("name", ["binary", "joint", "ovr"])
def test_memory_is_proportional_to_updates_not_to_rows_or_features(name: str) -> None:
    options = {key: value for key, value in RUNS[name].items() if key != "classes"}
    k = RUNS[name]["classes"]
    rng = np.random.default_rng(0)
    for n, d, T in [(200, 3, 5), (200, 60, 5), (400, 3, 40)]:
        model = rb.Perceptron(max_updates=T, max_iter=1, random_state=0, **options).fit(
            rng.normal(size=(n, d)), np.arange(n) % k
        )
        assert len(model.log_) >= T
        assert bytes_held(model.log_) <= 24 * len(model.log_) + 8 * len(model.log_._record.parts)


def test_equal_steps_are_held_as_one_number() -> None:
    log = fitted(2, step=0.25).log_
    assert log.steps.strides == (0,)
    assert set(log.steps) == {0.25}


def test_different_steps_are_held_one_by_one() -> None:
    log = fitted(2, step=lambda k: 1.0 / k).log_
    np.testing.assert_allclose(log.steps, 1.0 / np.arange(1, len(log) + 1))


def test_the_log_refers_to_the_rows_and_copies_none() -> None:
    X, y = noisy_rows(2)
    assert np.shares_memory(rb.Perceptron(max_iter=3).fit(X, y).log_._record.problem.rows.values, X)
    S = sp.csr_array(X)
    assert np.shares_memory(rb.Perceptron(max_iter=3).fit(S, y).log_._record.problem.rows.values, S.data)


@pytest.mark.parametrize("keep", ["last", "average", "pocket", "vote"])
def test_log_false_drops_the_log_and_changes_no_prediction(keep: str) -> None:
    X, y = noisy_rows(2)
    with_log = rb.Perceptron(keep=keep, max_iter=3, random_state=0).fit(X, y)
    without = rb.Perceptron(keep=keep, max_iter=3, random_state=0, log=False).fit(X, y)
    assert without.log_ is None
    assert not any(isinstance(value, rb.UpdateLog) for value in vars(without._run).values())
    assert without._run.logs == ()
    np.testing.assert_array_equal(without.predict(X), with_log.predict(X))
    np.testing.assert_allclose(without.decision_function(X), with_log.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("keep", ["average", "pocket", "vote"])
def test_readings_that_need_the_dropped_log_raise(keep: str) -> None:
    model = fitted(2, log=False)
    with pytest.raises(ValueError, match=rf"{keep}.*log=True"):
        model.reading(keep)


# --- rows that change under the log ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["binary", "binary-batch", "joint", "ovr"])
@pytest.mark.parametrize("change", [2.0, np.nan])
def test_reading_notices_that_the_rows_were_changed(name: str, change: float) -> None:
    options = {key: value for key, value in RUNS[name].items() if key != "classes"}
    X, y = noisy_rows(RUNS[name]["classes"])
    model = rb.Perceptron(max_iter=2, random_state=0, **options).fit(X, y)
    predicted = model.predict(X.copy())
    original = X.copy()
    X[model.log_.rows[0]] *= change
    with pytest.raises(ValueError, match="X or coef_ was changed after fit"):
        model.reading("average")
    np.testing.assert_array_equal(model.predict(original), predicted)


def test_reading_notices_changed_values_of_a_csr_matrix() -> None:
    X, y = noisy_rows(2)
    S = sp.csr_array(X)
    model = rb.Perceptron(max_iter=3, random_state=0).fit(S, y)
    S.data[:] += 1.0
    with pytest.raises(ValueError, match="X or coef_ was changed after fit"):
        model.reading("vote")


def test_rows_put_back_as_they_were_are_fine_again() -> None:
    X, y = noisy_rows(2)
    model = rb.Perceptron(max_iter=3, random_state=0).fit(X, y)
    X *= 2.0
    with pytest.raises(ValueError, match="changed"):
        model.reading("vote")
    X /= 2.0
    assert model.reading("vote").predict(X).shape == y.shape
