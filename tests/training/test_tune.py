"""`tune` chooses what an exhaustive search chooses, and its error is that of rows that no search has seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from rosenblatt.estimators.search import Trial, best, candidates_of, coarse_to_fine, smoothed, stratified_folds

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


def test_a_budget_ends_with_a_whole_round_and_tries_the_same_first():
    rows, labels = noise(400, 20)
    grid = {"C": np.logspace(-3, 3, 13).tolist()}
    cut = rb.tune(rb.SoftMargin(), rows, labels, grid=grid, budget=1e-6, outer=3)
    whole = rb.tune(rb.SoftMargin(), rows, labels, grid=grid, outer=0)
    assert len(cut.trials) == 1
    assert cut.left_out == 12
    assert "12 candidates not tried" in str(cut)
    assert all(chosen == cut.parameters for chosen in cut.chosen)
    same = [trial for trial in whole.trials if trial.parameters == cut.trials[0].parameters]
    assert same[0].losses == cut.trials[0].losses


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


@pytest.mark.parametrize("model", [rb.Perceptron(), rb.PassiveAggressive(), rb.AROW(), rb.LinearMSE(), rb.SoftMargin()])
def test_default_grids(model):
    tuned = rb.tune(model, X, Y, outer=0, cv=3)
    assert len(tuned.trials) > 3
    assert tuned.error is None


def test_progress_counts_the_fits():
    seen = []
    with rb.progress_callback(seen.append):
        rb.tune(rb.Perceptron(), X, Y, grid={"keep": ["last", "average"]}, cv=3, outer=2)
    counted = [progress for progress in seen if progress.text]
    assert [progress.passes for progress in counted] == [1, 2, 3, 4, 5, 6] * 3
    assert str(counted[-1]) == "outer fold 2 of 2, fit 6 of 6"


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
        ({"grid": {"scale": ["standart"]}}, "grid\\['scale'\\] may have 'none', 'max' and 'standard', got 'standart'"),
        ({"y": [0] * 149 + [1]}, "the class 1 has a single row"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence):
    given = {"X": X, "y": Y} | change
    with pytest.raises(ValueError, match=sentence):
        rb.tune(rb.SoftMargin(), **given)


def test_estimators_without_a_grid_and_foreign_ones():
    with pytest.raises(ValueError, match="MaxMargin has no parameters that are tuned by default"):
        rb.tune(rb.MaxMargin(), X, Y)
    with pytest.raises(TypeError, match="tune needs an estimator of Rosenblatt"):
        rb.tune(StandardScaler(), X, Y)


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
