"""Estimators inside scikit-learn's searches, ensembles, thresholds and multi-label tools."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, recall_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


@pytest.fixture
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :6], y[:200]


def logistic(**parameters):
    return rb.SoftMargin(loss="logistic", **parameters)


PROBABLE = {
    "logistic": logistic(),
    "calibrated perceptron": rb.Perceptron(keep="average", calibrate="sigmoid", max_iter=10, random_state=0),
    "calibrated least squares": rb.LinearMSE(calibrate="temperature"),
}


@pytest.mark.parametrize("model", PROBABLE.values(), ids=PROBABLE)
def test_scores_of_probabilities(model, iris):
    for scoring in ("roc_auc_ovr", "roc_auc_ovo", "neg_log_loss"):
        scores = cross_val_score(make_pipeline(StandardScaler(), model), *iris, cv=3, scoring=scoring)
        assert np.isfinite(scores).all()
    assert cross_val_score(make_pipeline(StandardScaler(), model), *iris, cv=3, scoring="roc_auc_ovr").mean() > 0.85


def test_searches_find_the_best_of_their_grid(iris):
    grid = {"softmargin__C": [1e-4, 1.0], "softmargin__loss": ["hinge", "logistic"]}
    pipeline = make_pipeline(StandardScaler(), rb.SoftMargin())
    whole = GridSearchCV(pipeline, grid, cv=3, n_jobs=1).fit(*iris)
    halving = HalvingGridSearchCV(pipeline, grid, cv=3, min_resources=36, random_state=0).fit(*iris)
    assert whole.best_params_["softmargin__C"] == halving.best_params_["softmargin__C"] == 1.0
    assert whole.best_score_ > 0.9


def test_soft_votes_are_the_mean_of_the_probabilities(iris):
    X, y = iris
    vote = VotingClassifier([("ours", logistic()), ("theirs", LogisticRegression(max_iter=1000))], voting="soft").fit(X, y)
    mean = (logistic().fit(X, y).predict_proba(X) + LogisticRegression(max_iter=1000).fit(X, y).predict_proba(X)) / 2
    np.testing.assert_allclose(vote.predict_proba(X), mean, atol=1e-12)


def test_ensembles_of_our_models(iris):
    X, y = iris
    scaled = StandardScaler().fit_transform(X)
    stack = StackingClassifier([("a", rb.Perceptron(random_state=0, max_iter=10)), ("b", logistic())], rb.SoftMargin(), cv=3)
    bag = BaggingClassifier(rb.AROW(), n_estimators=5, random_state=0)
    for ensemble in (stack, bag, OneVsOneClassifier(rb.Perceptron(random_state=0)), OneVsRestClassifier(logistic())):
        assert ensemble.fit(scaled, y).score(scaled, y) > 0.85


def test_calibration_of_scikit_learn(cancer):
    X, y = cancer
    for method in ("sigmoid", "isotonic", "temperature"):
        found = CalibratedClassifierCV(make_pipeline(StandardScaler(), rb.LinearMSE()), method=method, cv=3).fit(X, y)
        assert found.predict_proba(X).shape == (200, 2)
        assert found.score(X, y) > 0.85


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_thresholds_of_scikit_learn(method, cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), logistic())
    tuned = TunedThresholdClassifierCV(pipeline, scoring="recall", response_method=method, cv=3).fit(X, y)
    assert recall_score(y, tuned.predict(X)) > recall_score(y, clone(pipeline).fit(X, y).predict(X))
    fixed = FixedThresholdClassifier(pipeline, threshold=tuned.best_threshold_, response_method=method).fit(X, y)
    assert np.array_equal(fixed.predict(X), tuned.predict(X))


def test_weights_are_routed_to_the_models(iris):
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = logistic().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = cross_validate(
            model, X, y, cv=3, params={"sample_weight": weights}, return_estimator=True, return_indices=True
        )
        for fitted, rows in zip(routed["estimator"], routed["indices"]["train"], strict=True):
            assert np.array_equal(fitted.coef_, logistic().fit(X[rows], y[rows], weights[rows]).coef_)
        piped = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clone(model)).fit(
            X, y, sample_weight=weights
        )
        assert np.array_equal(piped[-1].coef_, logistic().fit(StandardScaler().fit_transform(X), y, weights).coef_)


def test_data_frames_pass_through_a_pipeline_with_set_output(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), rb.SoftMargin()).set_output(transform="pandas").fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == list("abcd")
    assert pipeline.score(frame, y) > 0.9


# --- several labels a row ------------------------------------------------------------------------------------------------


def test_tools_for_several_labels():
    X, Y = make_multilabel_classification(120, 10, n_classes=3, random_state=0)
    X = StandardScaler().fit_transform(X)
    ours = logistic().fit(X, Y)
    assert np.array_equal(OneVsRestClassifier(logistic()).fit(X, Y).predict(X), ours.predict(X))
    assert np.array_equal(MultiOutputClassifier(logistic()).fit(X, Y).predict(X), ours.predict(X))
    assert ClassifierChain(logistic()).fit(X, Y).predict(X).shape == Y.shape
    search = GridSearchCV(logistic(), {"C": [1e-3, 1.0]}, scoring="f1_micro", cv=3).fit(X, Y)
    assert search.best_params_ == {"C": 1.0}
    assert cross_val_score(logistic(), X, Y, scoring="roc_auc_ovr", cv=3).mean() > 0.7
    assert (
        f1_score(Y, make_pipeline(StandardScaler(), rb.Perceptron(keep="average")).fit(X, Y).predict(X), average="micro") > 0.7
    )
