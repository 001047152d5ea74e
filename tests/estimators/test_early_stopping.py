"""Early stopping: the fit ends when the error on held-out rows stops falling, and equals a shorter fit on the other rows."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rosenblatt as rb
from rosenblatt.estimators.early_stopping import stratified_share

SEED = 3
KEEPS = ("last", "average", "vote", "pocket")
MODELS = {
    **{keep: rb.Perceptron(keep=keep, max_iter=12) for keep in KEEPS},
    **{f"batch {keep}": rb.Perceptron(keep=keep, update="batch", max_iter=12) for keep in KEEPS},
    "mistakes": rb.Perceptron(order="mistakes", keep="average", max_iter=12),
    "survivals": rb.Perceptron(keep="vote", vote_count="survivals", order="cyclic", max_iter=12),
    "random": rb.Perceptron(order="random"),
    "max_updates": rb.Perceptron(max_updates=170, n_iter_no_change=50),
    "w_max": rb.Perceptron(w_max=8.0, keep="average", n_iter_no_change=50),
    "falling step": rb.Perceptron(step=lambda k: k**-0.5, n_iter_no_change=2),
    "passive-aggressive": rb.PassiveAggressive(),
    "AROW": rb.AROW(),
    "nonlinear": rb.NonlinearMSE(solver="online", keep="average", max_iter=12),
    "nonlinear batch": rb.NonlinearMSE(solver="batch", max_iter=12),
}


def noisy(k, n=120, d=4):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(n, d))
    return X, np.argmax(X[:, :k] + rng.normal(size=(n, k)), axis=1)


def held_rows(y, weights=None, fraction=0.1):
    used = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    return used[stratified_share(y[used], np.unique(y), fraction, SEED)]


def shorter_fits(model, X, y, weights, held, passes):
    """Fits of 1, 2, ... passes in which the held-out rows have weight 0."""
    rest = np.ones(len(y)) if weights is None else weights.copy()
    rest[held] = 0.0
    for limit in passes:
        yield clone(model).set_params(early_stopping=False, max_iter=limit).fit(X, y, rest)


def stopped(model, X, y, weights=None, **parameters):
    return clone(model).set_params(random_state=SEED, early_stopping=True, **parameters).fit(X, y, weights)


def same_scores(model, other, X):
    """Whether the scores have the same bits; averages of sparse rows are summed in another order in a fit of a fixed length."""
    if sp.issparse(X) and getattr(model, "keep", "") == "average":
        return np.allclose(model.decision_function(X), other.decision_function(X), rtol=1e-12, atol=1e-12)
    return np.array_equal(model.decision_function(X), other.decision_function(X))


# Every reading on every kind of rows, and each other model with two classes and with several.
CASES = [(keep, k, container) for keep in KEEPS for k, container in ((2, sp.csr_array), (3, np.asarray))]
CASES += [(name, k, container) for name in MODELS for k, container in ((2, np.asarray), (3, sp.csr_array))]


@pytest.mark.parametrize(("name", "k", "container"), [each for each in CASES if each[1] == 2 or "nonlinear" not in each[0]])
def test_the_model_is_a_fit_of_its_best_pass_without_the_held_out_rows(name, k, container):
    X, y = noisy(k)
    weights = np.random.default_rng(0).integers(0, 3, len(y)) if container is sp.csr_array else None
    rows = container(X)
    model = stopped(MODELS[name], rows, y, weights)
    held = held_rows(y, weights)
    (errors,) = model.validation_errors_
    (best,) = shorter_fits(model, rows, y, weights, held, [model.n_iter_])
    assert same_scores(model, best, rows)
    assert model.n_updates_ == best.n_updates_
    log, other = getattr(model, "log_", None), getattr(best, "log_", None)
    if log is not None:
        assert (log.rows.tolist(), log.passes) == (other.rows.tolist(), other.passes)
        assert log.durations.tolist() == other.durations.tolist()
        assert not np.isin(log.rows, held).any()
    counted = np.ones(len(held)) if weights is None else weights[held]
    for error, shorter in zip(errors, shorter_fits(model, rows, y, weights, held, range(1, len(errors) + 1)), strict=True):
        wrong = shorter.predict(rows[held]) != y[held]
        assert error == pytest.approx((counted * wrong).sum() / counted.sum(), abs=1e-12)
    lost = len(errors) - (errors.argmin() + 1) >= model.n_iter_no_change
    if lost or errors[-1] > errors.min():
        assert model.n_iter_ == errors.argmin() + 1
        assert model.stop_.reason == "validation"
    else:
        assert model.n_iter_ == len(errors)
        assert model.stop_.reason != "validation"


@pytest.mark.parametrize("name", ["last", "average", "passive-aggressive", "AROW", "nonlinear"])
def test_class_weights_count_on_held_out_rows_as_weights_of_rows_do(name):
    X, y = noisy(2)
    by_class = stopped(MODELS[name], X, y, class_weight={0: 9.0, 1: 0.5})
    by_row = stopped(MODELS[name], X, y, np.where(y == 0, 9.0, 0.5))
    assert np.array_equal(by_class.validation_errors_[0], by_row.validation_errors_[0])
    assert by_class.n_iter_ == by_row.n_iter_
    assert not np.array_equal(by_class.validation_errors_[0], stopped(MODELS[name], X, y).validation_errors_[0])


@pytest.mark.parametrize("name", [*KEEPS, "batch last", "max_updates", "w_max", "passive-aggressive", "AROW", "nonlinear"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_one_against_the_rest_has_the_best_pass_of_each_class(name, container):
    X, y = noisy(4)
    rows, held = container(X), held_rows(y)
    model = MODELS[name] if name == "nonlinear" else clone(MODELS[name]).set_params(multiclass="ovr")
    one, two = stopped(model, rows, y), stopped(model, rows, y, n_jobs=2)
    assert np.array_equal(one.decision_function(rows), two.decision_function(rows))
    assert [each.tolist() for each in one.validation_errors_] == [each.tolist() for each in two.validation_errors_]
    assert len(one.validation_errors_) == 4
    passes = []
    for label, errors in enumerate(one.validation_errors_):
        alone = clone(one).set_params(multiclass="joint") if "multiclass" in one.get_params() else one
        fits = list(shorter_fits(alone, rows, y == label, None, held, range(1, len(errors) + 1)))
        wrong = [float(np.mean(fit.predict(rows[held]) != (y == label)[held])) for fit in fits]
        assert errors == pytest.approx(wrong, abs=1e-12)
        cut_back = errors[-1] > errors.min() or len(errors) - errors.argmin() - 1 >= one.n_iter_no_change
        passes.append(errors.argmin() + 1 if cut_back else len(errors))
        kept = fits[passes[-1] - 1]
        assert np.allclose(one.decision_function(rows)[:, label], kept.decision_function(rows), rtol=1e-12, atol=1e-12)
        if getattr(one, "log_", None) is not None:
            assert one.log_.runs()[label].rows.tolist() == kept.log_.rows.tolist()
    assert one.n_iter_ == max(passes)
    if getattr(one, "log_", None) is not None:
        assert one.log_.passes == two.log_.passes
        assert len(one.log_.passes) == one.n_iter_
        assert one.n_updates_ == sum(run.n_updates for run in one.log_.runs())


def test_the_stop_names_the_rows_the_pass_and_the_error():
    X, y = noisy(2)
    model = stopped(rb.Perceptron(), X, y)
    errors = model.validation_errors_[0]
    assert str(model.stop_) == (
        f"stopped after {len(errors)} passes: the error on 12 held-out rows was smallest after pass {model.n_iter_} "
        f"({100 * errors.min():.1f} %), whose weights are kept"
    )
    assert len(errors) == model.n_iter_ + 5


def test_rows_that_are_separated_at_the_last_pass_stay_separated():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 5)
    model = stopped(rb.Perceptron(order="cyclic"), X, X[:, 0] > 0)
    assert model.stop_.separated
    assert model.score(X, X[:, 0] > 0) == 1.0


def test_a_share_of_each_class_is_held_out_and_never_all_of_it():
    codes = np.repeat([0, 1, 2, 3], [100, 40, 3, 2])
    for seed in range(5):
        rows = stratified_share(codes, np.arange(4), 0.1, seed)
        assert np.bincount(codes[rows]).tolist() == [10, 4, 1, 1]
    assert np.bincount(codes[stratified_share(codes, np.arange(4), 0.99, 0)]).tolist() == [99, 39, 2, 1]
    assert not np.array_equal(stratified_share(codes, np.arange(4), 0.1, 0), stratified_share(codes, np.arange(4), 0.1, 1))


@pytest.mark.parametrize("name", ["last", "average", "vote", "pocket", "batch average", "AROW", "nonlinear"])
def test_files_pickles_and_a_warm_start_continue_from_the_best_pass(name, tmp_path):
    X, y = noisy(2 if name == "nonlinear" else 3)
    model = stopped(MODELS[name], X, y)
    rb.save(model, tmp_path / "model")
    loaded = rb.load(tmp_path / "model")
    assert loaded.stop_ == model.stop_
    assert loaded.get_params() == model.get_params()
    assert [each.tolist() for each in loaded.validation_errors_] == [each.tolist() for each in model.validation_errors_]
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.decision_function(X), model.decision_function(X))
    plain = {"warm_start": True, "early_stopping": False, "max_iter": 1}
    (best,) = shorter_fits(model, X, y, None, held_rows(y), [model.n_iter_])
    continued = [clone(each).set_params(**plain) for each in (model, loaded, best)]
    for new, old in zip(continued, (model, loaded, best), strict=True):
        new.__dict__.update({key: value for key, value in vars(old).items() if key not in new.get_params()})
        new.fit(X, y)
        assert not hasattr(new, "validation_errors_")
    assert len({each.decision_function(X).tobytes() for each in continued}) == 1


def test_readings_of_the_run_are_those_of_its_best_pass():
    X, y = noisy(3)
    model = stopped(rb.Perceptron(keep="last", order="cyclic"), X, y)
    (best,) = shorter_fits(model, X, y, None, held_rows(y), [model.n_iter_])
    for keep in KEEPS:
        assert np.array_equal(model.reading(keep).decision_function(X), best.reading(keep).decision_function(X))
        assert np.array_equal(model.reading(keep, X, y).decision_function(X), best.reading(keep).decision_function(X))


def test_convergence_is_measured_on_the_rows_that_were_used():
    X, y = noisy(2)
    model = stopped(rb.Perceptron(order="cyclic"), X, y)
    (best,) = shorter_fits(model, X, y, None, held_rows(y), [model.n_iter_])
    one, other = model.convergence_[0], best.convergence_[0]
    assert one.radius == other.radius
    assert np.array_equal(one.norms_squared, other.norms_squared)


def test_a_fit_without_a_limit_on_passes_ends():
    X, y = noisy(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = stopped(rb.Perceptron(), X, y, max_iter=None)
    assert model.stop_.reason == "validation"


def test_the_held_out_rows_do_not_move_the_weights():
    X, y = noisy(2)
    other = X.copy()
    other[held_rows(y)] *= -100.0
    model, changed = (stopped(rb.Perceptron(), rows, y, max_iter=1) for rows in (X, other))
    assert np.array_equal(model.coef_, changed.coef_)
    assert model.validation_errors_[0] != changed.validation_errors_[0]


@pytest.mark.parametrize("estimator", [rb.Perceptron, rb.PassiveAggressive, rb.AROW, rb.NonlinearMSE])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"validation_fraction": 0.0}, "validation_fraction must be greater than 0 and less than 1, got 0.0"),
        ({"validation_fraction": 1}, "validation_fraction must be greater than 0 and less than 1, got 1"),
        ({"validation_fraction": float("nan")}, "validation_fraction must be greater than 0 and less than 1, got nan"),
        ({"validation_fraction": "a"}, "validation_fraction must be a number, got 'a'"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be at least 1, got 0"),
        ({"n_iter_no_change": 2.5}, "n_iter_no_change must be a whole number, got 2.5"),
        ({"early_stopping": "yes"}, "early_stopping must be True or False, got 'yes'"),
    ],
)
def test_bad_parameters_are_named(estimator, parameters, message):
    with pytest.raises((ValueError, TypeError)) as error:
        estimator(**parameters).fit(*noisy(2))
    assert str(error.value) == message


def test_combinations_that_make_no_sense_are_refused():
    X, y = noisy(2)
    rare = np.where(np.arange(len(y)) == 7, 2, y)
    for call, message in [
        (
            lambda: stopped(rb.Perceptron(certify=True), X, y),
            "certify=True runs until the rows are separated or a proof is found",
        ),
        (lambda: stopped(rb.NonlinearMSE(), X, y), "solver='minimum' makes no passes that early_stopping=True could end"),
        (lambda: rb.Perceptron(early_stopping=True).partial_fit(X, y), "partial_fit visits each row once, but early_stopping"),
        (lambda: rb.AROW(early_stopping=True).partial_fit(X, y), "partial_fit visits each row once, but early_stopping"),
        (lambda: stopped(rb.Perceptron(), X, rare), "class 2 has 1 row, but early_stopping=True holds out at least one"),
        (
            lambda: stopped(rb.Perceptron(), X, np.arange(len(X)) % 2, np.isin(np.arange(len(X)), [0, 1, 3]) * 1.0),
            "class 0 has 1 row with a weight above 0, but early_stopping=True holds out at least one",
        ),
    ]:
        with pytest.raises((ValueError, AttributeError), match=message):
            call()


def test_a_class_whose_rows_all_have_weight_0_is_left_out():
    X, y = noisy(3)
    model = stopped(rb.Perceptron(), X, y, (y != 2).astype(float))
    assert set(model.predict(X)) <= {0, 1, 2}
    assert not np.isin(model.log_.rows, np.flatnonzero(y == 2)).any()
