"""`rb.AROW` as an estimator: streams, orders, threads, classes that come late, and what it refuses."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from inputs import containers, good, refusal

import rosenblatt as rb
from rosenblatt.progress import progress_callback


def same(one: Any, other: Any) -> None:
    for name in ("coef_", "intercept_", "variances_", "classes_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.n_updates_ == other.n_updates_


multiclass = pytest.mark.parametrize("multiclass", ["ovr", "joint"])
classes = pytest.mark.parametrize("k", [2, 4])


@containers
@classes
@multiclass
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(60,), (1, 59), (7, 20, 33), (30, 30)])
def test_a_stream_is_one_cyclic_pass_however_it_is_cut(container, k, multiclass, dtype, sizes):
    X, y = good(k, 60)
    X, model, at = X.astype(dtype), rb.AROW(multiclass=multiclass), 0
    for size in sizes:
        model.partial_fit(container(X[at : at + size]), y[at : at + size], classes=np.arange(k))
        at += size
    whole = rb.AROW(multiclass=multiclass, order="cyclic", max_iter=1).fit(container(X), y)
    same(model, whole)
    assert model.stop_.reason == "chunk"


@multiclass
def test_chunks_may_be_dense_or_sparse_in_turn(multiclass):
    X, y = good(4, 60)
    X = np.round(X * 4) / 4
    model = rb.AROW(multiclass=multiclass)
    for part, pack in ((slice(0, 20), np.asarray), (slice(20, 45), sp.csr_array), (slice(45, 60), np.asarray)):
        model.partial_fit(pack(X[part]), y[part], classes=np.arange(4))
    whole = rb.AROW(multiclass=multiclass, order="cyclic", max_iter=1).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


def test_a_late_class_of_one_against_the_rest_is_as_if_it_had_been_known():
    """The two heads of earlier classes are as if there had been three from the start; only the new head has missed rows."""
    X, y = good(2, 40)
    late = rb.AROW(multiclass="ovr").partial_fit(X, y)
    known = rb.AROW(multiclass="ovr").partial_fit(X, y, classes=[0, 1, 2])
    more, labels = good(3, 9)
    late.partial_fit(more, labels)
    known.partial_fit(more, labels)
    np.testing.assert_allclose(late.coef_[:2], known.coef_[:2], rtol=1e-12)
    np.testing.assert_allclose(late.variances_[:2], known.variances_[:2], rtol=1e-12)
    assert (late.variances_[2] > known.variances_[2]).all()


def test_a_late_class_among_heads_against_each_other_keeps_the_scores_of_the_others():
    X, y = good(2, 40)
    model = rb.AROW(multiclass="joint").partial_fit(X, y)
    before = model.decision_function(X)
    model.partial_fit(X[:1], [2], sample_weight=[0.0])
    after = model.decision_function(X)
    np.testing.assert_allclose(after[:, 1] - after[:, 0], before, rtol=1e-12)
    assert not after[:, 2].any()
    assert model.partial_fit(*good(3, 9)).classes_.tolist() == [0, 1, 2]


def test_one_class_alone_waits_for_another():
    X, y = good(2, 40)
    model = rb.AROW().partial_fit(X[:3], [1, 1, 1])
    assert "only one class has been seen so far" in model.stop_.sentence
    assert model.predict(X[:2]).tolist() == [1, 1]
    assert model.partial_fit(X, y).classes_.tolist() == [0, 1]
    same(model, rb.AROW(order="cyclic", max_iter=1).fit(X, y))


@containers
@multiclass
@pytest.mark.parametrize("order", ["cyclic", "permuted", "random"])
def test_neither_threads_nor_runs_change_a_bit(container, multiclass, order):
    X, y = good(4, 60)
    alone = rb.AROW(multiclass=multiclass, order=order, random_state=3).fit(container(X), y)
    for n_jobs in (1, 2, 3):
        other = rb.AROW(multiclass=multiclass, order=order, random_state=3, n_jobs=n_jobs).fit(container(X), y)
        same(alone, other)
        assert (alone.stop_, alone.n_iter_) == (other.stop_, other.n_iter_)


@multiclass
def test_a_warm_start_goes_on_from_weights_and_variances(multiclass):
    X, y = good(3, 60)
    warm = rb.AROW(multiclass=multiclass, order="cyclic", max_iter=1, warm_start=True).fit(X, y).fit(X, y)
    cold = rb.AROW(multiclass=multiclass, order="cyclic", max_iter=2).fit(X, y)
    assert np.array_equal(warm.coef_, cold.coef_)
    assert np.array_equal(warm.variances_, cold.variances_)
    assert warm.n_updates_ < cold.n_updates_  # those of this fit
    with pytest.raises(ValueError, match=r"warm_start continues a run on classes \[0, 1, 2\] and 3 features, got classes"):
        warm.fit(X[:, :2], y)


@containers
@multiclass
def test_rows_of_weight_zero_are_as_good_as_absent_and_weights_of_one_change_nothing(container, multiclass):
    X, y = good(3, 60)
    c = np.arange(60) % 4 > 0
    make = rb.AROW(multiclass=multiclass, order="cyclic").fit
    weighted = make(container(X), y, sample_weight=c.astype(float))
    same(weighted, rb.AROW(multiclass=multiclass, order="cyclic").fit(container(X[c]), y[c]))
    plain = rb.AROW(multiclass=multiclass, order="cyclic").fit(container(X), y)
    same(plain, rb.AROW(multiclass=multiclass, order="cyclic").fit(container(X), y, sample_weight=np.ones(60)))
    halved = rb.AROW(r=0.5, multiclass=multiclass, order="cyclic").fit(container(X), y)
    same(halved, rb.AROW(multiclass=multiclass, order="cyclic").fit(container(X), y, sample_weight=np.full(60, 2.0)))


def test_class_weights_are_row_weights():
    X, y = good(2, 40)
    by_class = rb.AROW(order="cyclic", class_weight={0: 3.0}).fit(X, y)
    same(by_class, rb.AROW(order="cyclic").fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0)))


@pytest.mark.parametrize("weight", [1e-6, 0.5, 1.0, 3.0, 1e6])
def test_a_weight_divides_r_and_takes_a_row_to_its_margin_at_most(weight):
    X, r = np.array([[3.0, 4.0]]), 0.5
    model = rb.AROW(r=r, fit_intercept=False).partial_fit(X, [1], classes=[0, 1], sample_weight=[weight])
    assert model.decision_function(X)[0] == pytest.approx(25.0 / (25.0 + r / weight))


def test_where_rows_are_long_weights_under_one_for_the_others_do_what_weights_over_one_cannot():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 40)) * 10.0, random.integers(0, 2, 200)
    errors = {
        name: int(rb.AROW(max_iter=1, random_state=0, class_weight=weights).fit(X, y).predict(X).sum())
        for name, weights in (("none", None), ("over", {1: 1e6}), ("under", {0: 1e-6}))
    }
    assert abs(errors["over"] - errors["none"]) < 10 < errors["under"] - errors["none"]


def test_a_row_of_zeros_moves_nothing_and_is_never_taken_for_separated():
    X, y = np.array([[0.0, 0.0], [5.0, 0.0], [-5.0, 0.0]]), [1, 1, 0]
    model = rb.AROW(fit_intercept=False, order="cyclic", max_iter=50).fit(X, y)
    assert model.stop_.reason == "passes"
    assert model.variances_[0, 1] == 1.0
    assert np.isfinite(model.coef_).all()


@containers
@classes
@multiclass
@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(1e100, "f8"), (1e150, "f8"), (1e200, "f8"), (1.7e308, "f8"), (1e-300, "f8"), (3e38, "f4"), (1e-38, "f4")],
)
def test_huge_and_tiny_rows_end_in_finite_weights_or_a_clear_error(container, k, multiclass, scale, dtype):
    rng = np.random.default_rng(0)
    X = (rng.uniform(0.3, 1.0, (24, 3)) * rng.choice([-1.0, 1.0], (24, 3)) * scale).astype(dtype)
    model = rb.AROW(multiclass=multiclass, random_state=0)
    words = refusal(lambda: model.fit(container(X), np.arange(24) % k))
    if words:
        assert "exceed the range of float64: X has values up to" in words
        assert scale >= 1e150
    else:
        assert np.isfinite(model.coef_).all()
        assert (model.variances_ >= 0).all()
        assert len(model.predict(container(X))) == 24


@containers
@pytest.mark.parametrize("options", [{}, {"order": "random"}, {"multiclass": "joint"}])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_nan_and_infinity_are_refused_and_leave_no_trace(container, options, value, word):
    X, y = good(3)
    model = rb.AROW(**options).fit(X, y)
    before = model.coef_.copy()
    X[5, 1] = value
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=f"X contains {word}"):
            call(container(X), y)
        assert np.array_equal(model.coef_, before)
    with pytest.raises(ValueError, match=f"X contains {word}"):
        model.fit(container(X), y, sample_weight=np.arange(30) != 5)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"r": 0.0}, ValueError, "r must be greater than 0 and finite, got 0.0"),
        ({"r": "1"}, TypeError, "r must be a number, got '1'"),
        ({"r": np.inf}, ValueError, "r must be greater than 0 and finite, got inf"),
        ({"r": 10**400}, ValueError, "r must be at most 1.8e308, got a larger number"),
        ({"r": 10**5000}, ValueError, "r must be at most"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
        ({"max_iter": None}, TypeError, "max_iter must be a whole number, got None"),
        ({"max_iter": "many"}, ValueError, "max_iter must be 'auto' or a whole number, got 'many'"),
        ({"order": "mistakes"}, ValueError, "order must be one of 'cyclic', 'permuted', 'random', got 'mistakes'"),
        ({"multiclass": "ovo"}, ValueError, "multiclass must be one of 'joint', 'ovr', got 'ovo'"),
        ({"intercept_scaling": -1}, ValueError, "intercept_scaling must be greater than 0"),
        ({"fit_intercept": "yes"}, TypeError, "fit_intercept must be True or False"),
        ({"class_weight": "even"}, ValueError, "class_weight must be 'balanced'"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None or a whole number other than 0"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(options, kind, words):
    with pytest.raises(kind, match=words):
        rb.AROW(**options).fit(*good())


def test_what_a_stream_cannot_do_is_refused():
    X, y = good()
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows before the first"):
        rb.AROW(class_weight="balanced").partial_fit(X, y)
    with pytest.raises(ValueError, match="needs at least two classes"):
        rb.AROW().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="multiclass='ovr' cannot change"):
        rb.AROW().partial_fit(*good(3)).set_params(multiclass="ovr").partial_fit(*good(3))
    with pytest.raises(ValueError, match="that are not in classes"):
        rb.AROW().partial_fit(X, y, classes=[0, 1]).partial_fit(X, y + 1)


def test_the_callback_is_called_after_every_pass(capsys):
    reported: list[Any] = []
    with progress_callback(reported.append):
        model = rb.AROW(max_iter=3, verbose=1, random_state=0).fit(*good())
    assert [progress.passes for progress in reported] == [1, 2, 3]
    assert reported[-1].updates == model.n_updates_
    assert capsys.readouterr().err.count("updates") == 3


def test_an_interrupted_fit_leaves_the_model_as_it_was():
    X, y = good(3)
    model = rb.AROW(multiclass="ovr", random_state=0).fit(X, y)
    before = dict(vars(model))

    def stop(progress: Any) -> None:
        raise KeyboardInterrupt

    for n_jobs in (1, 2):
        model.n_jobs = n_jobs
        with pytest.raises(KeyboardInterrupt), progress_callback(stop):
            model.fit(X, y)
        assert vars(model) == {**before, "n_jobs": n_jobs}


@multiclass
def test_long_indices_give_the_same_bits_and_rows_stay_as_they_are(multiclass):
    X, y = good(4, 60)
    short, long = sp.csr_array(X), sp.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    one, other = (rb.AROW(multiclass=multiclass, random_state=0).fit(rows, y) for rows in (short, long))
    same(one, other)
    assert np.array_equal(short.toarray(), X)


def test_what_is_fitted_is_the_models_own():
    """Neither the caller's arrays nor the attributes a caller may write to are what partial_fit goes on from."""
    X, y = good(2, 40)
    one, other = rb.AROW().partial_fit(X, y), rb.AROW().partial_fit(X, y)
    one.coef_[:] = 7.0
    one.variances_[:] = 7.0
    one.intercept_[:] = 7.0
    same(one.partial_fit(X, y), other.partial_fit(X, y))
    same(one, pickle.loads(pickle.dumps(one)))


@pytest.mark.parametrize("options", [{}, {"multiclass": "ovr"}, {"multiclass": "ovr", "n_jobs": 2}], ids=str)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_that_meet_few_of_many_columns_give_the_same_bits(monkeypatch, options, k, dtype):
    random = np.random.default_rng(0)
    X, y = sp.random_array((60, 5000), density=0.0004, format="csr", rng=random), random.integers(k, size=60)
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    assert (np.diff(X.indptr) == 0).any()

    def trained():
        model = rb.AROW(random_state=0, **options).fit(X, y)
        for i in range(len(y)):
            model.partial_fit(X[[i]], y[[i]])
        return model

    few = trained()
    monkeypatch.setattr("rosenblatt.online.second_order.COLUMNS_PER_NONZERO", np.inf)
    same(few, trained())


@pytest.mark.once
@pytest.mark.parametrize("order", ["cyclic", "permuted"])
def test_rows_are_not_copied(order):
    X, y = np.random.default_rng(0).normal(size=(20_000, 50)).astype(np.float32), np.arange(20_000) % 2
    model = rb.AROW(order=order, max_iter=2).fit(X[:50], y[:50])
    for rows in (X, sp.csr_matrix(X)):
        size = X.nbytes if rows is X else rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
        tracemalloc.start()
        model.fit(rows, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.15 * size
