"""`tune` chooses what an exhaustive search chooses, and its error is that of rows that no search has seen."""

from __future__ import annotations

import time
import warnings
from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import rosenblatt as rb
from effort import in_time
from rosenblatt.catalog import ESTIMATORS
from rosenblatt.estimators.candidates import candidates_of, coarse_to_fine
from rosenblatt.estimators.search import stratified_folds
from rosenblatt.estimators.trials import Trial, best, describe, smoothed

X, Y = load_iris(return_X_y=True)
COSTS = [0.01, 0.1, 1.0, 10.0]


def noise(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.arange(n) % 2


def test_losses_are_those_of_independent_fits_on_the_same_folds():
    tuned = rb.tune(rb.SoftMargin(loss="squared_hinge", tol=1e-9), X, Y, grid={"C": COSTS}, outer=0)
    for trial in tuned.trials:
        model = rb.SoftMargin(loss="squared_hinge", tol=1e-9, C=trial.parameters["C"])
        expected = 1.0 - cross_val_score(model, X, Y, cv=stratified_folds(Y, 5, 0))
        np.testing.assert_allclose(trial.losses, expected, atol=1e-12)


def test_the_chosen_model_is_the_direct_fit_bit_for_bit():
    tuned = rb.tune(rb.SoftMargin(), X, Y, grid={"C": COSTS}, outer=0)
    direct = rb.SoftMargin(**tuned.parameters).fit(X, Y)
    assert np.array_equal(tuned.estimator.coef_, direct.coef_)
    assert not tuned.estimator.warm_start


def test_threads_and_repetition_change_nothing():
    first, second = (rb.tune(rb.SoftMargin(), X, Y, grid={"C": COSTS}, outer=3, n_jobs=jobs) for jobs in (1, 3))
    assert [trial.losses for trial in first.trials] == [trial.losses for trial in second.trials]
    assert (first.parameters, first.error, first.chosen) == (second.parameters, second.error, second.chosen)


def test_the_error_on_labels_without_pattern_is_that_of_guessing():
    """The best of many candidates looks better than chance; the estimate of the procedure does not."""
    errors, winners = [], []
    for seed in range(8):
        rows, labels = noise(seed=seed)
        tuned = rb.tune(rb.SoftMargin(), rows, labels, grid={"C": [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]}, outer=4, cv=4)
        errors.append(tuned.error)
        winners.append(min(trial.loss for trial in tuned.trials))
    assert np.mean(winners) < 0.47
    assert 0.46 < np.mean(errors) < 0.58


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when somebody looks: the same in every run."""
    ticks = count(0.0, 1.0)
    fake = SimpleNamespace(perf_counter=lambda: next(ticks))
    for module in ("rosenblatt.estimators.search", "rosenblatt.training.tune"):
        monkeypatch.setattr(f"{module}.time", fake)


def test_a_budget_ends_after_some_candidates_and_tries_the_same_first(clock):
    rows, labels = noise(400, 20)
    grid = {"loss": ["logistic", "hinge"], "C": np.logspace(-3, 3, 13).tolist()}
    whole = rb.tune(rb.SoftMargin(), rows, labels, grid=grid, outer=0, n_jobs=1)
    losses = {describe(trial.parameters): trial.losses for trial in whole.trials}
    sizes = []
    for budget in (100.0, 300.0):
        cut = rb.tune(rb.SoftMargin(), rows, labels, grid=grid, budget=budget, outer=0, n_jobs=1)
        sizes.append(len(cut.trials))
        assert f"{26 - len(cut.trials)} candidates not tried, because the budget was used up" in str(cut)
        assert all(losses[describe(trial.parameters)] == trial.losses for trial in cut.trials)
        assert len({trial.parameters["loss"] for trial in cut.trials}) == 2  # coarse to fine: both losses first
    assert 2 <= sizes[0] < sizes[1] < 26


def test_outer_folds_try_as_many_candidates_as_the_search_did(clock):
    rows, labels = noise(400, 20)
    grid = {"C": np.logspace(-3, 3, 13).tolist()}
    cut = rb.tune(rb.SoftMargin(), rows, labels, grid=grid, budget=600.0, outer=3, n_jobs=1)
    assert 1 <= len(cut.trials) < 13
    tried = [trial.parameters for trial in cut.trials]
    assert len(cut.chosen) in range(4)
    assert all(chosen in tried for chosen in cut.chosen)
    assert (cut.error is None) == (not cut.chosen)


def test_without_time_for_a_candidate_nothing_is_tuned_and_nothing_estimated():
    tuned = rb.tune(rb.SoftMargin(), X, Y, grid={"C": [100.0, 0.01, 10.0], "loss": ["hinge", "logistic"]}, budget=1e-9)
    assert tuned.parameters == {"C": 10.0, "loss": "hinge"}
    assert (tuned.trials, tuned.error, tuned.chosen, tuned.left_out) == ([], None, [], 6)
    assert "error      not estimated, because the budget was used up" in str(tuned)
    assert tuned.estimator.score(X, Y) > 0.9


@pytest.mark.slow
def test_a_budget_is_held_on_a_large_table():
    """The fits that are under way at the end are given up, however long they take."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40_000, 100))
    labels = rng.integers(0, 5, len(rows))
    rb.SoftMargin(loss="logistic").fit(rows[:500], labels[:500])  # compiles
    started = time.perf_counter()
    rb.SoftMargin(loss="logistic").fit(rows, labels)
    fit = time.perf_counter() - started
    tuned = rb.tune(rb.SoftMargin(), rows, labels, grid={"loss": ["logistic"], "C": [0.01, 1.0, 1e4]}, budget=1.0)
    in_time(tuned.seconds, 1.0 + 3 * fit + 1.0)


def test_single_rows_of_a_class_are_never_tested_within_outer_folds():
    """A class of two rows has one row in the training part of some outer folds: the search there does without it."""
    rows, labels = noise(40)
    labels = np.append(labels, [7, 7])
    more = np.append(rows, [[9.0] * 5, [8.0] * 5], axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # those of the last fit alone are raised
        tuned = rb.tune(rb.SoftMargin(loss="logistic"), more, labels, grid={"C": COSTS}, cv=3, outer=3)
    assert len(tuned.chosen) == 3
    with pytest.raises(ValueError, match="the class 7 has a single row"):
        rb.tune(rb.SoftMargin(), rows, np.append(labels[:39], 7), grid={"C": COSTS})


def test_scale_and_degree_make_a_pipeline_fitted_within_each_fold():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(120, 2)) * [1.0, 1000.0]
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)  # not linear, but of degree 2
    grid = {"degree": [1, 2], "scale": ["none", "standard"], "C": [1.0]}
    tuned = rb.tune(rb.SoftMargin(), rows, labels, grid=grid, outer=3)
    assert tuned.parameters["degree"] == 2
    assert tuned.error < 0.2
    assert tuned.estimator.score(rows, labels) > 0.9


def test_parameters_of_the_steps_of_a_pipeline():
    model = make_pipeline(StandardScaler(), rb.Perceptron())
    grid = {"standardscaler__with_mean": [True, False], "perceptron__keep": ["last", "average"]}
    tuned = rb.tune(model, X, Y, grid=grid, outer=0)
    assert len(tuned.trials) == 4
    assert set(tuned.parameters) == {"standardscaler__with_mean", "keep"}
    np.testing.assert_array_equal(tuned.estimator.classes_, [0, 1, 2])


def test_sparse_rows_weights_and_scorers():
    weights = np.where(Y == 0, 0.0, 1.0) + 0.5
    sparse = rb.tune(rb.LinearMSE(), csr_matrix(X), Y, outer=2, grid={"alpha": [0.1, 1.0], "scale": ["standard", "max"]})
    weighted = rb.tune(rb.SoftMargin(), X, Y, outer=2, grid={"C": COSTS}, sample_weight=weights, scoring="balanced_accuracy")
    assert sparse.error < 0.4
    assert all(trial.loss < 0 for trial in weighted.trials)
    assert weighted.interval[0] <= weighted.error <= weighted.interval[1]


@pytest.mark.parametrize(
    ("model", "varied"),
    [
        (rb.Perceptron(), {"keep", "margin", "scale", "degree"}),
        (rb.Perceptron(keep="vote"), {"margin", "scale", "degree"}),
        (rb.PassiveAggressive(), {"C", "keep", "scale", "degree"}),
        (rb.AROW(), {"r", "scale", "degree"}),
        (rb.LinearMSE(), {"alpha", "scale", "degree"}),
        (rb.NonlinearMSE(activation="logistic"), {"scale", "degree"}),
        (rb.SoftMargin(C=2.0, penalty="l1"), {"loss", "scale", "degree"}),
        (make_pipeline(StandardScaler(), rb.SoftMargin(loss="hinge", C=3.0)), {"loss"}),
    ],
)
def test_what_is_left_at_its_default_is_varied(model, varied):
    tuned = rb.tune(model, X[::5], Y[::5], outer=0, cv=2)
    assert set(tuned.parameters) == varied
    assert tuned.error is None
    losses = {trial.parameters.get("loss") for trial in tuned.trials}
    assert getattr(model, "penalty", None) != "l1" or losses == {"logistic", "squared_hinge"}  # the hinge does not go with l1


def test_progress_counts_the_fits():
    seen = []
    with rb.progress_callback(seen.append):
        rb.tune(rb.Perceptron(), X, Y, grid={"keep": ["last", "average"]}, cv=3, outer=2)
    counted = [progress for progress in seen if progress.text]
    assert [progress.passes for progress in counted] == [1, 2, 3, 4, 5, 6] * 3
    assert str(counted[-1]) == "outer fold 2 of 2, fit 6 of 6"


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_the_search_and_leaves_the_estimator_as_it_was(jobs):
    rows, labels = noise(2000, 60)  # fits that are long enough to be given up
    model, seen = rb.SoftMargin(loss="logistic"), []

    def interrupt(progress):
        seen.append(progress)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), rb.progress_callback(interrupt):
        rb.tune(model, rows, labels, grid={"C": np.geomspace(1e-3, 1e3, 30)}, n_jobs=jobs)
    assert [progress.passes for progress in seen] == [1]
    assert not hasattr(model, "coef_")


def test_warm_starts_save_iterations_and_change_no_error():
    """A path costs less than the same fits from the start: each solution is near that of the neighboring cost."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 200)) * (rng.random((300, 200)) < 0.2)
    labels = (rows @ rng.normal(size=200) + rng.normal(size=300) > 0).astype(int)
    counted = {True: 0, False: 0}
    for warm in counted:
        model = rb.SoftMargin(loss="logistic", warm_start=warm, tol=1e-6)
        for cost in np.geomspace(1e-3, 1e3, 25)[coarse_to_fine(25)]:
            counted[warm] += model.set_params(C=cost).fit(rows, labels).n_iter_
    assert counted[True] < 0.8 * counted[False]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_can_be_tuned(name):
    """The rows are separable, as `MaxMargin` needs: candidates that it refuses are never chosen."""
    rows, labels = X[Y != 2][:, 1:3], Y[Y != 2]
    tuned = rb.tune(getattr(rb, name)(), rows, labels, grid={"scale": ["none", "standard"]}, cv=3, outer=2)
    assert tuned.error < 0.1
    assert tuned.estimator.score(rows, labels) > 0.9


def test_candidates_that_find_no_separating_plane_are_not_chosen():
    rows = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    rows, labels = rows[abs(rows.prod(axis=1)) > 0.05], labels[abs(rows.prod(axis=1)) > 0.05]
    tuned = rb.tune(rb.MaxMargin(), rows, labels, grid={"degree": [1, 2]}, cv=3, outer=2)
    assert tuned.parameters == {"degree": 2}
    assert [np.isinf(trial.loss) for trial in tuned.trials] == [True, False]
    with pytest.raises(ValueError, match="separates"):
        rb.tune(rb.MaxMargin(), rows, labels, grid={"degree": [1], "tol": [1e-3, 1e-6]}, cv=3, outer=2)


def test_a_candidate_without_a_fit_is_printed_as_such():
    tuned = rb.tune(rb.MaxMargin(), X, Y == 1, grid={"degree": [1, 2]}, outer=0)
    assert "degree: 1 not fitted, 2 " in str(tuned)
    assert repr(tuned) == "Tuned(degree=2, trials=2)"


def test_refused_combinations_are_left_out_and_named_once():
    grid = {"penalty": ["l1", "l2"], "loss": ["hinge", "squared_hinge"], "C": [0.1, 1.0]}
    tuned = rb.tune(rb.SoftMargin(), X, Y, grid=grid, outer=2)
    tried = {(trial.parameters["penalty"], trial.parameters["loss"]) for trial in tuned.trials}
    assert tried == {("l1", "squared_hinge"), ("l2", "hinge"), ("l2", "squared_hinge")}
    ((reason, number),) = tuned.refused.items()
    assert number == 2
    assert "penalty='l1'" in reason
    assert str(tuned).count(f"2 combinations refused: {reason}") == 1
    with pytest.raises(ValueError, match="loss must be one of"):
        rb.tune(rb.SoftMargin(), X, Y, grid={"loss": ["hinge", "hing"]}, outer=0)
    late = rb.tune(rb.SoftMargin(), X, Y, grid=grid, outer=0, budget=1e-9)
    assert not late.trials
    assert (late.parameters["penalty"], late.parameters["loss"]) != ("l1", "hinge")


def test_folds_may_be_those_of_a_splitter_or_given():
    splitter, grid = StratifiedKFold(3, shuffle=True, random_state=1), {"C": [0.1, 1.0]}
    by_splitter = rb.tune(rb.SoftMargin(), X, Y, grid=grid, cv=splitter, outer=2)
    by_rows = rb.tune(rb.SoftMargin(), X, Y, grid=grid, cv=splitter.split(X, Y), outer=0)
    assert [trial.losses for trial in by_splitter.trials] == [trial.losses for trial in by_rows.trials]
    for trial in by_rows.trials:
        expected = 1.0 - cross_val_score(rb.SoftMargin(C=trial.parameters["C"]), X, Y, cv=splitter)
        np.testing.assert_allclose(trial.losses, expected, atol=0.03)
    with pytest.raises(ValueError, match="cv lists rows"):
        rb.tune(rb.SoftMargin(), X, Y, grid=grid, cv=splitter.split(X, Y))


def test_errors_are_weighted_by_class_unless_the_grid_varies_the_weights():
    rows, labels = noise(200)
    labels = (labels + rows[:, 0] > 1.2).astype(int)
    weight = {0: 1.0, 1: 5.0}
    fixed = rb.tune(rb.LinearMSE(class_weight=weight), rows, labels, grid={"alpha": [0.0]}, outer=0)
    varied = rb.tune(rb.LinearMSE(), rows, labels, grid={"class_weight": [weight]}, outer=0)
    for fold, (train, test) in enumerate(stratified_folds(labels, 5, 0)):
        wrong = rb.LinearMSE(class_weight=weight).fit(rows[train], labels[train]).predict(rows[test]) != labels[test]
        assert varied.trials[0].losses[fold] == pytest.approx(wrong.mean(), abs=1e-12)
        expected = np.average(wrong, weights=np.where(labels[test] == 1, 5.0, 1.0))
        assert fixed.trials[0].losses[fold] == pytest.approx(expected, abs=1e-12)


def test_a_pipeline_may_begin_with_texts_or_a_data_frame():
    texts = [f"{'good fine' if each else 'bad poor'} day {number % 7}" for number in range(40) for each in (0, 1)]
    labels = [each for _ in range(40) for each in ("no", "yes")]
    model = make_pipeline(TfidfVectorizer(), rb.SoftMargin())
    tuned = rb.tune(model, texts, labels, grid={"tfidfvectorizer__sublinear_tf": [False, True], "C": [0.1, 1.0]}, cv=3, outer=2)
    assert tuned.error == 0.0
    assert tuned.estimator.predict(["a good day"]).tolist() == ["yes"]
    frame = pd.DataFrame({"word": [text.split()[0] for text in texts], "number": np.arange(80.0)})
    columns = ColumnTransformer([("words", OneHotEncoder(), ["word"])], remainder=StandardScaler())
    tuned = rb.tune(
        Pipeline([("c", columns), ("svm", rb.SoftMargin())]), frame, labels, grid={"svm__C": [0.1, 1.0]}, cv=3, outer=2
    )
    assert tuned.error == 0.0


def test_a_step_of_a_pipeline_may_be_varied_and_stays_unfitted():
    scaler = StandardScaler()
    model = Pipeline([("scale", None), ("svm", rb.SoftMargin())])
    tuned = rb.tune(model, X, Y, grid={"scale": ["passthrough", scaler]}, cv=3, outer=0)
    assert len(tuned.trials) == 2
    assert not hasattr(scaler, "mean_")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"budget": 0}, "budget must be a positive number of seconds, got 0"),
        ({"budget": float("nan")}, "budget must be a positive number of seconds, got nan"),
        ({"cv": 1}, "cv must be at least 2, got 1"),
        ({"outer": 1}, "outer must be 0 or at least 2, got 1"),
        ({"grid": {"c": [1]}}, "grid has 'c', which is not a parameter of SoftMargin"),
        ({"grid": {"C": 1.0}}, r"grid\['C'\] must be a list of values, got 1.0"),
        ({"grid": {"C": []}}, r"grid\['C'\] must be a list of values"),
        ({"grid": {"C": [0.0]}}, r"grid\['C'\] must be .*, got 0"),
        ({"grid": {}}, "grid has no parameter"),
        ({"grid": {"degree": [0]}}, r"grid\['degree'\] must be at least 1, got 0"),
        ({"grid": {"loss": ["hing"]}}, "loss must be .*, got 'hing'"),
        ({"grid": {"penalty": ["l1"]}}, "penalty='l1' needs loss="),
        ({"budget": -1.0}, "budget must be a positive number of seconds, got -1"),
        ({"grid": {"scale": ["standart"]}}, "grid\\['scale'\\] may have 'none', 'max' and 'standard', got 'standart'"),
        ({"y": [0] * 149 + [1]}, "the class 1 has a single row"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence):
    given = {"X": X, "y": Y} | change
    with pytest.raises(ValueError, match=sentence):
        rb.tune(rb.SoftMargin(), **given)


def test_values_of_another_type_are_one_sentence():
    with pytest.raises(TypeError, match="grid must be None or a dict of parameters to lists of values, got "):
        rb.tune(rb.SoftMargin(), X, Y, grid=[{"C": [1.0]}])
    with pytest.raises(TypeError, match="budget must be None or a positive number of seconds, got '5s'"):
        rb.tune(rb.SoftMargin(), X, Y, budget="5s")
    with pytest.raises(TypeError, match="cv must be a whole number, got '5'"):
        rb.tune(rb.SoftMargin(), X, Y, cv="5")


def test_estimators_without_a_grid_and_foreign_ones():
    with pytest.raises(ValueError, match="MaxMargin has no parameters that are tuned by default"):
        rb.tune(rb.MaxMargin(), csr_matrix(X), Y)
    with pytest.raises(TypeError, match="tune needs an estimator of Rosenblatt"):
        rb.tune(StandardScaler(), X, Y)


def test_distant_costs_are_not_averaged():
    trials = [Trial({"C": cost}, (loss,), 0.0) for cost, loss in ((1e-4, 0.4), (1.0, 0.03), (1e4, 0.04))]
    assert smoothed(trials).tolist() == [0.4, 0.03, 0.04]
    assert best(trials).parameters == {"C": 1.0}


def test_smoothing_prefers_a_plateau_to_a_lucky_point():
    losses = [0.3, 0.05, 0.3, 0.1, 0.1, 0.1]
    trials = [Trial({"C": 10.0**k}, (loss,), 0.0) for k, loss in enumerate(losses)]
    assert best(trials).parameters["C"] == 10.0**4
    assert smoothed(trials)[1] == pytest.approx(0.175)


def test_rounds_go_from_coarse_to_fine():
    candidates = candidates_of({"loss": ["hinge", "squared_hinge"], "C": [1.0, 2.0, 3.0]})
    first = [each.parameters for each in candidates if each.round == 0]
    assert first == [{"loss": "hinge", "C": 2.0}, {"loss": "squared_hinge", "C": 2.0}]
    assert sorted(coarse_to_fine(12).tolist()) == list(range(12))
