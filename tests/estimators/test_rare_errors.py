"""Regression tests of rare errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb

RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(40, 3)), np.arange(40) % 3


@pytest.mark.parametrize("keep", ["average", "vote"])
def test_a_stream_after_a_fit_may_overwrite_its_rows(keep):
    buffer, chunk = X.copy(), X[::-1] * 2.0
    model = rb.Perceptron(keep=keep, max_iter=2, random_state=0).fit(buffer, y)
    buffer[:] = chunk
    model.partial_fit(buffer, y)
    kept = rb.Perceptron(keep=keep, max_iter=2, random_state=0).fit(X, y).partial_fit(chunk, y)
    np.testing.assert_array_equal(model.decision_function(X), kept.decision_function(X))


@pytest.mark.parametrize("keep", ["average", "vote"])
def test_a_stream_that_needs_the_rows_of_a_fit_notices_that_they_were_overwritten(keep):
    buffer = X.copy()
    model = rb.Perceptron(max_iter=2).fit(buffer, y).set_params(keep=keep)
    buffer[:] = 1.0
    with pytest.raises(ValueError, match="X or coef_ was changed after fit"):
        model.partial_fit(buffer, y)


def test_class_weights_may_leave_out_classes_and_chunks_may_leave_out_others():
    weights = {0: 2.0, 2: 3.0}
    stream = rb.Perceptron(class_weight=weights).partial_fit(X[:4], [0, 1, 0, 1], classes=[0, 1, 2])
    stream.partial_fit(X[4:], y[4:])
    whole = rb.Perceptron(class_weight=weights, order="cyclic", max_iter=1)
    whole.fit(X, np.concatenate([[0, 1, 0, 1], y[4:]]))
    np.testing.assert_array_equal(stream.coef_, whole.coef_)


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(np.int8, -128, 127), (np.int16, -30000, 30000), (np.int64, -(2**40), 2**40)]
)
def test_labels_may_be_as_far_apart_as_their_type_allows(dtype, low, high):
    labels = np.where(y == 1, high, low).astype(dtype)
    model = rb.Perceptron(max_iter=2).fit(X, labels)
    assert model.classes_.tolist() == [low, high]
    assert model.classes_.dtype == dtype


@pytest.mark.parametrize("keep", ["last", "pocket", "average", "vote"])
def test_the_reading_that_is_held_is_there_without_a_log(keep):
    model = rb.Perceptron(keep=keep, log=False, max_iter=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.reading(keep).predict(X), model.predict(X))


def test_the_warning_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rb.Perceptron(max_iter=None, max_updates=5).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert issubclass(caught[0].category, ConvergenceWarning)


def test_tiny_batch_steps_are_not_taken_for_none():
    model = rb.Perceptron(update="batch", fit_intercept=False, max_iter=5).fit(X * 1e-200, y == 1)
    assert model.stop_.reason == "passes"


def test_the_log_of_many_short_passes_takes_linear_time():
    """Counting the log after every pass must not go through all of it."""
    log = rb.Perceptron(max_iter=300).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]).log_
    assert log.passes[-1] == len(log) == len(log.rows)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 60)])
def test_the_pocket_of_wide_sparse_rows_is_the_pocket_of_dense_ones(weights):
    wide = sp.random(60, 500, density=0.02, random_state=0, format="csr")
    labels = RNG.integers(0, 2, 60)
    sparse, dense = (
        rb.Perceptron(keep="pocket", random_state=0, max_iter=3).fit(rows, labels, sample_weight=weights)
        for rows in (wide, wide.toarray())
    )
    assert sparse.pocket_errors_ == pytest.approx(dense.pocket_errors_)
    np.testing.assert_allclose(sparse.coef_, dense.coef_)


def test_a_bad_step_is_not_blamed_on_x():
    with pytest.raises(ValueError, match="check step"):
        rb.Perceptron(step=1e308).fit(X, y)


def test_an_automatic_margin_that_overflows_is_named():
    with pytest.raises(ValueError, match="margin='auto'"):
        rb.Perceptron(margin="auto").fit(X * 1e200, y)


def test_an_automatic_margin_is_the_mean_squared_length():
    expected = (X**2).sum(axis=1).mean() + 1.0
    models = [rb.Perceptron(margin=b, random_state=0, max_iter=3).fit(X, y) for b in ("auto", expected)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("random_state", ["a", -1, 1.5, 2**32])
def test_a_bad_random_state_is_named(random_state):
    with pytest.raises(ValueError, match=f"random_state must be .* got {random_state!r}"):
        rb.Perceptron(random_state=random_state).fit(X, y)


@pytest.mark.parametrize("random_state", [None, 3, np.int64(3), np.random.RandomState(3)])
def test_every_kind_of_random_state_that_scikit_learn_takes_is_taken(random_state):
    assert rb.Perceptron(random_state=random_state).fit(X, y).n_updates_ > 0


def test_a_bad_verbose_is_named():
    with pytest.raises(TypeError, match=r"verbose must be .* got 'x'"):
        rb.Perceptron(verbose="x").fit(X, y)


@pytest.mark.parametrize(("init", "message"), [([[1.0, 2.0], [3.0]], "rows of one length"), (np.ones(4) * 1j, "real numbers")])
def test_a_start_that_is_no_array_of_numbers_is_refused(init, message):
    with pytest.raises(ValueError, match=f"init must be .*{message}"):
        rb.Perceptron(init=init).fit(X, y)


def test_a_vote_explains_why_it_has_no_plane():
    model = rb.Perceptron(keep="vote").fit(X, y)
    with pytest.raises(AttributeError, match=r"majority of many planes: use reading\('average'\)"):
        _ = model.coef_
    assert not hasattr(model, "intercept_")
    with pytest.raises(AttributeError, match="no attribute 'weights'"):
        _ = model.weights
