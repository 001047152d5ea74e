"""`SoftMarginCV` fits the soft margin of the cost with the fewest errors in stratified folds, averaged with its neighbors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import rosenblatt as rb
from rosenblatt.estimators.search import stratified_folds

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_scores_are_those_of_a_grid_search_and_the_fit_is_the_direct_one(loss):
    costs = [0.01, 0.1, 1.0, 10.0]
    found = rb.SoftMarginCV(Cs=costs, loss=loss, tol=1e-8, random_state=3).fit(X, Y)
    folds = stratified_folds(Y, 5, 3)
    grid = GridSearchCV(rb.SoftMargin(loss=loss, tol=1e-8), {"C": costs}, cv=folds).fit(X, Y)
    expected = [[grid.cv_results_[f"split{fold}_test_score"][k] for k in range(4)] for fold in range(5)]
    np.testing.assert_allclose(found.scores_, expected, atol=1e-12)
    direct = rb.SoftMargin(C=found.C_, loss=loss, tol=1e-8, random_state=3).fit(X, Y)
    assert np.array_equal(found.coef_, direct.coef_)
    assert np.array_equal(found.intercept_, direct.intercept_)


def test_errors_are_weighted_by_class_as_the_fit_is():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3))
    y = np.where(rng.random(400) < 1 / (1 + np.exp(2 - rows[:, 0])), "rare", "usual")
    model = rb.SoftMarginCV(Cs=[0.001, 1.0], loss="logistic", class_weight={"rare": 7.0}, tol=1e-8).fit(rows, y)
    for fold, (train, test) in enumerate(stratified_folds(y, 5, 0)):
        for k, cost in enumerate(model.Cs_):
            fitted = rb.SoftMargin(C=cost, loss="logistic", class_weight={"rare": 7.0}, tol=1e-8).fit(rows[train], y[train])
            score = fitted.score(rows[test], y[test], np.where(y[test] == "rare", 7.0, 1.0))
            assert model.scores_[fold, k] == pytest.approx(score, abs=1e-12)


def test_the_path_and_threads():
    one, two = (rb.SoftMarginCV(n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    np.testing.assert_allclose(one.Cs_, np.geomspace(1e-4, 1e4, 10))
    assert np.array_equal(one.scores_, two.scores_)
    assert one.C_ in one.Cs_


def test_in_a_cross_validation_and_in_a_file(tmp_path):
    assert cross_val_score(rb.SoftMarginCV(Cs=[0.1, 1.0, 10.0], loss="logistic"), X, Y, cv=3).mean() > 0.93
    model = rb.SoftMarginCV(Cs=[0.1, 1.0], class_weight="balanced").fit(X, Y, sample_weight=np.linspace(1.0, 2.0, len(Y)))
    rb.save(model, tmp_path / "m.safetensors")
    again = rb.load(tmp_path / "m.safetensors")
    assert again.kind == "SoftMarginCV" if isinstance(again, rb.Model) else again.C_ == model.C_
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"Cs": 0}, "Cs must be at least 1"),
        ({"Cs": [1.0, -1.0]}, "Cs must be"),
        ({"Cs": []}, "Cs must be a whole number or a list of numbers"),
        ({"Cs": "x"}, "Cs must be a whole number or a list of numbers"),
        ({"cv": 1}, "cv must be at least 2"),
    ],
)
def test_bad_parameters(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        rb.SoftMarginCV(**change).fit(X, Y)


def test_a_class_with_one_row():
    with pytest.raises(ValueError, match="the class 2 has a single row"):
        rb.SoftMarginCV().fit(X[:101], Y[:101])


def test_folds_of_scikit_learn_and_of_the_caller():
    splitter = StratifiedKFold(4, shuffle=True, random_state=1)
    one = rb.SoftMarginCV(Cs=[0.1, 1.0, 10.0], cv=splitter).fit(X, Y)
    two = rb.SoftMarginCV(Cs=[0.1, 1.0, 10.0], cv=list(splitter.split(X, Y))).fit(X, Y)
    assert one.scores_.shape == (4, 3)
    assert np.array_equal(one.scores_, two.scores_)
    with pytest.raises(TypeError, match="cv must be a whole number"):
        rb.SoftMarginCV(cv=2.5).fit(X, Y)
