"""Average, pocket and vote agree exactly with their definitions, for every kind of run."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from oracles import (
    History,
    argmax_batch,
    argmax_perceptron,
    augment,
    average,
    batch,
    cyclic,
    noisy,
    one_vs_rest,
    passive_aggressive,
    perceptron,
    pocket,
    separable,
    vote,
)

CONTAINERS = {"dense": np.asarray, "csr": sp.csr_array}
X2, Y2 = noisy(40, 3, 2, seed=1)
X3, Y3 = noisy(45, 3, 3, seed=2)
SIGNS, REST = 2 * Y2 - 1, [np.where(Y3 == h, 1, -1) for h in range(3)]  # noqa: SIM300
T2, T3 = noisy(25, 3, 2, seed=8)[0], noisy(25, 3, 3, seed=9)[0]


def planes(model):
    return np.column_stack([model.intercept_, model.coef_])


def history_of_mistakes(model, X, y):
    """The run according to its log: runs on mistakes draw rows at random."""
    w, run = np.zeros(X.shape[1] + 1), History([np.zeros(X.shape[1] + 1)])
    for i in model.log_.rows:
        w = w + y[i] * augment(X)[i]
        run.move(w, i)
        run.visits += 1
    run.visits += model.stop_.separated  # the look that found nothing
    return run


# name: (estimator, data, test rows, the oracle's runs, the labels of each run)
RUNS = {
    "online": lambda: (
        rb.Perceptron(order="cyclic", max_iter=4),
        (X2, Y2, T2),
        [perceptron(augment(X2), SIGNS, cyclic(40, 4))],
        [SIGNS],
    ),
    "margin": lambda: (
        rb.Perceptron(order="cyclic", max_iter=4, margin=4.0),
        (X2, Y2, T2),
        [perceptron(augment(X2), SIGNS, cyclic(40, 4), margin=4.0)],
        [SIGNS],
    ),
    "a start of its own": lambda: (
        rb.Perceptron(order="cyclic", max_iter=4, init=[1.0, 2.0, 0.0, -3.0]),
        (X2, Y2, T2),
        [perceptron(augment(X2), SIGNS, cyclic(40, 4), w0=[1.0, 2.0, 0.0, -3.0])],
        [SIGNS],
    ),
    "batch": lambda: (
        rb.Perceptron(update="batch", max_iter=9),
        (X2, Y2, T2),
        [batch(augment(X2), SIGNS, 9)],
        [SIGNS],
    ),
    "joint": lambda: (
        rb.Perceptron(order="cyclic", max_iter=4),
        (X3, Y3, T3),
        [argmax_perceptron(augment(X3), Y3, 3, cyclic(45, 4))],
        [Y3],
    ),
    "argmax batch": lambda: (
        rb.Perceptron(update="batch", max_iter=9),
        (X3, Y3, T3),
        [argmax_batch(augment(X3), Y3, 3, 9)],
        [Y3],
    ),
    "one-vs-rest": lambda: (
        rb.Perceptron(multiclass="ovr", order="cyclic", max_iter=4),
        (X3, Y3, T3),
        one_vs_rest(perceptron, augment(X3), Y3, 3, cyclic(45, 4)),
        REST,
    ),
    "one-vs-rest batch": lambda: (
        rb.Perceptron(multiclass="ovr", update="batch", max_iter=9),
        (X3, Y3, T3),
        one_vs_rest(batch, augment(X3), Y3, 3, 9),
        REST,
    ),
}


@pytest.fixture(params=RUNS)
def case(request):
    return RUNS[request.param]()


@pytest.fixture(params=CONTAINERS)
def pack(request):
    return CONTAINERS[request.param]


# --- the definitions ---------------------------------------------------------------------------------------------------


def test_the_average_is_the_mean_of_the_weights_after_each_row(case, pack):
    model, (X, y, _), runs, _ = case
    model.set_params(keep="average").fit(pack(X), y)
    np.testing.assert_allclose(planes(model), np.vstack([average(run) for run in runs]), rtol=1e-11, atol=1e-12)


def test_the_average_needs_no_log(case, pack):
    model, (X, y, _), *_ = case
    with_log = planes(model.set_params(keep="average").fit(pack(X), y))
    model.set_params(log=False).fit(pack(X), y)
    assert model.log_ is None
    np.testing.assert_allclose(planes(model), with_log, rtol=1e-12, atol=1e-12)


def test_the_pocket_has_the_fewest_errors_of_all_hypotheses_and_is_the_first_of_equals(case, pack):
    model, (X, y, _), runs, labels = case
    model.set_params(keep="pocket").fit(pack(X), y)
    best = [pocket(run, augment(X), mine) for run, mine in zip(runs, labels, strict=True)]
    assert np.array_equal(planes(model), np.vstack([w for w, *_ in best]))
    errors = [count for _, count, _ in best]
    assert model.pocket_errors_.tolist() == errors


def test_the_pocket_does_not_depend_on_how_hypotheses_and_rows_are_cut_into_blocks(case, pack, monkeypatch):
    model, (X, y, _), *_ = case
    model.set_params(keep="pocket").fit(pack(X), y)
    for hypotheses, rows in [(1, 17), (5, 10**6), (64, 9)]:
        monkeypatch.setattr("rosenblatt.online.pocket.HYPOTHESES_PER_BLOCK", hypotheses)
        monkeypatch.setattr("rosenblatt.online.pocket.ROWS_PER_BLOCK", rows)
        again = model.reading("pocket")
        assert np.array_equal(planes(again), planes(model))
        assert np.array_equal(again.pocket_errors_, model.pocket_errors_)


@pytest.mark.parametrize("vote_count", ["lifetime", "survivals"])
def test_votes_are_counted_hypothesis_by_hypothesis(case, pack, vote_count):
    model, (X, y, T), runs, _ = case
    model.set_params(keep="vote", vote_count=vote_count)
    if vote_count == "survivals" and model._way == "batch":
        with pytest.raises(ValueError, match="vote_count must be 'lifetime' with batch updates"):
            model.fit(pack(X), y)
        return
    model.fit(pack(X), y)
    shares = np.column_stack([vote(run, augment(T), vote_count) for run in runs])
    scores = model.decision_function(pack(T))
    np.testing.assert_allclose(scores, shares[:, 0] if shares.shape[1] == 1 else shares, atol=1e-14)
    chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    assert np.array_equal(model.predict(pack(T)), model.classes_[chosen])


def test_votes_do_not_depend_on_how_rows_are_cut_into_blocks(case, monkeypatch):
    model, (X, y, _), *_ = case
    model.set_params(keep="vote").fit(X, y)
    many = np.vstack([X] * 3)
    whole = model.decision_function(many)
    monkeypatch.setattr("rosenblatt.online.readings.PRODUCTS_PER_BLOCK", 1)
    assert np.array_equal(model.decision_function(many), whole)


def test_every_reading_comes_from_the_same_run(case):
    model, (X, y, T), *_ = case
    model.fit(X, y)
    for keep in ("last", "average", "pocket", "vote"):
        fitted = type(model)(**{**model.get_params(), "keep": keep}).fit(X, y)
        other = model.reading(keep)
        assert other.keep == keep
        assert np.array_equal(other.decision_function(T), fitted.decision_function(T))
        assert other.n_updates_ == model.n_updates_
        assert hasattr(other, "coef_") == (keep != "vote")
        assert hasattr(other, "pocket_errors_") == (keep == "pocket")
    assert model.keep == "last"


def test_readings_of_readings_are_readings_of_the_run():
    model = rb.Perceptron(order="cyclic").fit(X2, Y2)
    there_and_back = model.reading("vote").reading("pocket").reading("last")
    assert np.array_equal(there_and_back.coef_, model.coef_)
    assert list(there_and_back.log_) == list(model.log_)
    assert not there_and_back.log_.is_compact


# --- particular runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separates", [False, True])
def test_readings_of_a_mistakes_only_run(separates):
    X, y = separable(20, 3, 0.2, seed=0)[:2] if separates else (X2, SIGNS)
    model = rb.Perceptron(order="mistakes", max_iter=1, random_state=0).fit(X, y)
    assert model.stop_.separated == separates
    run = history_of_mistakes(model, X, y)
    np.testing.assert_allclose(planes(model.reading("average"))[0], average(run), rtol=1e-11, atol=1e-12)
    best, errors, _ = pocket(run, augment(X), y)
    found = model.reading("pocket")
    np.testing.assert_allclose(planes(found)[0], best, rtol=1e-12, atol=1e-12)
    assert found.pocket_errors_ == errors
    np.testing.assert_allclose(model.reading("vote").decision_function(T2), vote(run, augment(T2)), atol=1e-14)


@pytest.mark.parametrize("update", ["batch", "batch-mean"])
def test_readings_of_a_batch_run_that_separates_count_the_last_look(update):
    X, y, _ = separable(20, 3, 0.2, seed=0)
    model = rb.Perceptron(update=update, max_iter=500).fit(X, y)
    run = batch(augment(X), y, 500, mean=update == "batch-mean")
    assert run.separated
    np.testing.assert_allclose(planes(model.reading("average"))[0], average(run), rtol=1e-10)
    np.testing.assert_allclose(model.reading("vote").decision_function(T2), vote(run, augment(T2)), atol=1e-14)
    assert model.reading("pocket").pocket_errors_ == 0


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_readings_of_a_passive_aggressive_run(variant):
    model = rb.PassiveAggressive(C=0.1, variant=variant, order="cyclic", max_iter=3).fit(X2, Y2)
    run = passive_aggressive(augment(X2), SIGNS, cyclic(40, 3), variant=variant, C=0.1)
    np.testing.assert_allclose(planes(model.reading("average"))[0], average(run), rtol=1e-9)
    rng = np.random.default_rng(0)
    T = rng.normal(size=(30, 3))  # no row on a plane
    np.testing.assert_allclose(model.reading("vote").decision_function(T), vote(run, augment(T)), atol=1e-14)


def test_an_average_of_a_run_that_was_cut_is_over_the_rows_it_visited():
    model = rb.Perceptron(keep="average", order="cyclic", max_updates=11).fit(X2, Y2)
    run = perceptron(augment(X2), SIGNS, cyclic(40, 4))
    run.visits = run.times[10] + 1
    run.hypotheses, run.times = run.hypotheses[:12], run.times[:11]
    np.testing.assert_allclose(planes(model)[0], average(run), rtol=1e-12)
    np.testing.assert_allclose(model.reading("vote").decision_function(T2), vote(run, augment(T2)), atol=1e-14)


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_averages_where_rows_moved_the_weights_many_times(multiclass, log):
    """More updates than rows times classes: the log is summed row by row first."""
    X, y = X3[:6], np.array([0, 1, 2, 0, 1, 2])
    model = rb.Perceptron(keep="average", multiclass=multiclass, order="cyclic", max_iter=60, log=log).fit(X, y)
    if multiclass == "joint":
        runs = [argmax_perceptron(augment(X), y, 3, cyclic(6, 60))]
    else:
        runs = one_vs_rest(perceptron, augment(X), y, 3, cyclic(6, 60))
    np.testing.assert_allclose(planes(model), np.vstack([average(run) for run in runs]), rtol=1e-10, atol=1e-12)


def test_a_pocket_counts_rows_by_their_weight():
    c = np.random.default_rng(0).integers(1, 9, 40).astype(float)
    model = rb.Perceptron(keep="pocket", order="cyclic", max_iter=4).fit(X2, Y2, sample_weight=c)
    run = perceptron(augment(X2), SIGNS, cyclic(40, 4), c=c)
    best, errors, _ = pocket(run, augment(X2), SIGNS, c)
    assert np.array_equal(planes(model)[0], best)
    assert model.pocket_errors_ == errors


@pytest.mark.once
@pytest.mark.parametrize("multiclass", ["joint", pytest.param("ovr", marks=pytest.mark.thorough)])
def test_the_pocket_of_rounded_scores_and_weights_does_not_depend_on_threads(multiclass, monkeypatch):
    """Tenths are not exact in binary, so rows on a plane and sums of weights round one way or another: always the same one."""
    monkeypatch.setattr("rosenblatt.online.pocket.HYPOTHESES_PER_BLOCK", 8)
    monkeypatch.setattr("rosenblatt.online.pocket.ROWS_PER_BLOCK", 3)
    for seed in range(4, 8):
        X, codes = noisy(60, 3, 3, seed)
        c = np.random.default_rng(seed).integers(1, 10, 60) / 10
        options = {"multiclass": multiclass, "max_iter": 4, "step": 0.1, "random_state": seed}
        one, *others = (
            rb.Perceptron(keep="pocket", n_jobs=n_jobs, **options).fit(X / 10, codes, sample_weight=c)
            for n_jobs in (1, 2, 3, 5)
        )
        for other in others:
            assert np.array_equal(planes(other), planes(one))
            assert np.array_equal(other.pocket_errors_, one.pocket_errors_)


def test_the_pocket_is_never_worse_than_the_last():
    """By the pocket's own count, in which a row on the plane is wrong."""
    for seed in range(5):
        X, codes = noisy(40, 3, 2, seed)
        model = rb.Perceptron(random_state=seed, max_iter=3).fit(X, codes)
        last = ((2 * codes - 1) * model.decision_function(X) <= 0).sum()
        assert model.reading("pocket").pocket_errors_ <= last


def test_a_pocket_that_ties_at_the_start_keeps_the_start():
    """From a separating start nothing moves: w_0 has no errors and is kept; from zero every row is wrong."""
    X, y, u = separable(20, 2, 0.1, seed=3)
    model = rb.Perceptron(keep="pocket", init=u, max_iter=2).fit(X, y)
    assert np.array_equal(planes(model)[0], u)
    assert model.pocket_errors_ == 0
    start = rb.Perceptron(keep="pocket", order="cyclic", max_updates=1).fit([[1.0], [1.0]], [0, 1])
    assert start.pocket_errors_ == 1


def test_a_vote_of_zero_hypotheses_is_for_the_smaller_label():
    """The hypothesis w_0 = 0 lives for the rows before the first update: here none; a start off zero may live longer."""
    model = rb.Perceptron(keep="vote", init=[0.0, 1.0], order="cyclic", max_iter=1).fit([[1.0], [2.0], [-1.0]], [1, 1, 0])
    assert model.n_updates_ == 0
    assert model.decision_function([[0.0], [3.0]]).tolist() == [-1.0, 1.0]
    assert model.predict([[0.0], [3.0]]).tolist() == [0, 1]


def test_survivals_leave_out_the_row_a_hypothesis_was_born_on():
    """Every visit updates, so no hypothesis survives a row: there are no votes."""
    X, y = [[1.0], [-1.0]], [0, 1]
    with pytest.raises(ValueError, match="no hypothesis survived a row"):
        rb.Perceptron(keep="vote", vote_count="survivals", order="cyclic", max_iter=1).fit(X, y)
    lifetime = rb.Perceptron(keep="vote", order="cyclic", max_iter=1).fit(X, y)
    assert lifetime.decision_function(X).any()


# --- what a reading needs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["pocket", "vote"])
def test_log_false_drops_the_log_once_the_reading_is_taken(keep):
    kept = rb.Perceptron(keep=keep, random_state=0).fit(X2, Y2)
    dropped = rb.Perceptron(keep=keep, random_state=0, log=False).fit(X2, Y2)
    assert dropped.log_ is None
    assert np.array_equal(dropped.predict(T2), kept.predict(T2))
    with pytest.raises(ValueError, match="log"):
        dropped.reading("average")


@pytest.mark.parametrize("keep", ["average", "pocket", "vote"])
def test_a_run_without_a_log_has_no_other_readings(keep):
    model = rb.Perceptron(log=False, random_state=0).fit(X2, Y2)
    with pytest.raises(ValueError, match="log=True"):
        model.reading(keep)


def test_a_pickled_model_takes_its_rows_again():
    model = rb.Perceptron(random_state=0).fit(X2, Y2)
    loaded = pickle.loads(pickle.dumps(model))
    for keep in ("last", "pocket", "average", "vote"):
        assert np.array_equal(loaded.reading(keep, X2, Y2).decision_function(T2), model.reading(keep).decision_function(T2))
        if keep != "last":
            with pytest.raises(ValueError, match=r"call reading\(keep, X, y\) with the X and y of fit"):
                loaded.reading(keep)


def test_a_pickled_model_whose_log_keeps_rows_has_every_reading_but_the_pocket():
    model = rb.Perceptron(random_state=0, log="rows").fit(X2, Y2)
    loaded = pickle.loads(pickle.dumps(model))
    for keep in ("last", "average", "vote"):
        assert np.array_equal(loaded.reading(keep).decision_function(T2), model.reading(keep).decision_function(T2))
    with pytest.raises(ValueError, match=r"call reading\(keep, X, y\)"):
        loaded.reading("pocket")
    assert np.array_equal(loaded.reading("pocket", X2, Y2).coef_, model.reading("pocket").coef_)


def test_a_reading_after_the_rows_changed_is_refused():
    X = X2.copy()
    model = rb.Perceptron(random_state=0).fit(X, Y2)
    X[model.log_.rows[0]] += 1.0
    with pytest.raises(ValueError, match="X or coef_ was changed"):
        model.reading("average")


def test_an_unknown_reading_is_refused():
    with pytest.raises(ValueError, match="'median'"):
        rb.Perceptron().fit(X2, Y2).reading("median")
