"""Every algorithm keeps scikit-learn's contract, and works inside its tools."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.studio.menu import knobs_of

ONLINE = {name: algorithm for name, algorithm in ALGORITHMS.items() if algorithm.logged}

# A batch step adds all rows at once, and a solver sums over them: there a weight of 2 is a row given twice. Online it is not.
ORDER_DEPENDENT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "order-dependent: a weight of 2 makes one long step, "
    "a row given twice is visited twice, at other times, and may trigger one update, two or none"
    for kind in ("dense", "sparse")
}
# Held-out errors are weighted as the fit is, see tests/estimators/test_early_stopping.py. AROW passes the check.
EARLY_STOPPED = {"check_class_weight_classifiers": "two held-out rows have nearly all the weight: an early pass is the best"}
CALIBRATED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "folds of repeated rows are others, and one class has a single row"
    for kind in ("dense", "sparse")
} | {"check_classifiers_train": "predict follows the plane, whose class may not be the most probable one of rows near it"}
ISOTONIC = {"check_classifiers_multilabel_output_format_predict_proba": "an isotonic map has probabilities of exactly 0 and 1"}
# Many checks fit random labels, which no plane separates and a hard margin refuses; a soft margin fits them. Some compare two
# ways to the same minimum, to seven digits.
SETTINGS = {"max-margin": {"inseparable": "soft"}, "nonlinear-mse-batch": {"max_iter": 100}, "soft-margin": {"tol": 1e-10}}


def expected_failures(estimator):
    parameters = estimator.get_params()
    if parameters["calibrate"] is not None:
        expected = {
            name: why for name, why in CALIBRATED.items() if parameters["calibrate"] != "temperature" or "weight" in name
        }
        return expected | (ISOTONIC if parameters["calibrate"] == "isotonic" else {})
    online = "order" in parameters and parameters.get("solver", parameters.get("update", "online")) == "online"
    of_held_out = EARLY_STOPPED if parameters.get("early_stopping") and "r" not in parameters else {}
    return (ORDER_DEPENDENT if online else {}) | of_held_out


def schemes_of(name):
    """The algorithm with each of its multiclass schemes."""
    knob = knobs_of(ALGORITHMS[name]).get("multiclass")
    schemes = [{}] if knob is None else [{"multiclass": choice} for choice, _ in knob.choices]
    return [ALGORITHMS[name].make(**scheme, **SETTINGS.get(name, {})) for scheme in schemes]


# One estimator of each class and scheme; algorithms of one class differ in parameters only.
EVERY = [estimator for name in ALGORITHMS for estimator in schemes_of(name)]
FIRST = list({(type(each), getattr(each, "multiclass", None)): each for each in reversed(EVERY)}.values())
# A temperature never changes which class is the most probable one.
FIRST += [
    rb.SoftMarginCV(Cs=[0.1, 1.0], cv=2, tol=1e-10),
    rb.LinearMSE(calibrate="sigmoid"),
    rb.SoftMargin(calibrate="isotonic"),
    rb.Perceptron(calibrate="temperature"),
]
MORE = [
    rb.Perceptron(keep="vote", multiclass="ovr", max_iter=50),
    rb.PassiveAggressive(max_iter=50),
    rb.Perceptron(early_stopping=True),
    rb.PassiveAggressive(early_stopping=True),
    rb.NonlinearMSE(solver="online", early_stopping=True),
    rb.AROW(early_stopping=True),
    rb.SoftMargin(loss="squared_hinge"),
    rb.SoftMargin(multiclass="ovo", penalize_intercept=True),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rosenblatt.estimators.svm_base.ZeroPlaneWarning")  # random labels
@parametrize_with_checks(FIRST, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::rosenblatt.estimators.svm_base.ZeroPlaneWarning")  # random labels
@parametrize_with_checks([each for each in EVERY if each not in FIRST] + MORE, expected_failed_checks=expected_failures)
def test_scikit_learn_checks_of_other_parameters(estimator, check):
    check(estimator)


@pytest.fixture(params=ONLINE)
def algorithm(request):
    return ONLINE[request.param]


# --- feature maps ------------------------------------------------------------------------------------------------------


def xor():
    X = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    X = X[abs(X).min(axis=1) > 0.15]
    return X, (X.prod(axis=1) > 0).astype(int)


def rings():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, 60), rng.uniform(0.0, 0.8, 60) + 1.2 * y
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


@pytest.mark.parametrize("data", [xor, rings])
@pytest.mark.parametrize("update", ["online", "batch"])
def test_a_feature_map_separates_what_no_line_can(data, update):
    X, y = data()
    perceptron = rb.Perceptron(update=update, max_iter=None, max_updates=5000, random_state=0)
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), perceptron).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model[-1].stop_.separated
    assert rb.Perceptron(keep="pocket", max_iter=10, random_state=0).fit(X, y).score(X, y) < 0.9


@pytest.mark.parametrize("data", [xor, rings])
def test_sparse_feature_maps_work_too(data):
    X, y = data()
    features = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    model = rb.Perceptron(max_iter=None, random_state=0).fit(sp.csr_matrix(features), y)
    assert model.stop_.separated


# --- tools -------------------------------------------------------------------------------------------------------------


def test_clone_and_parameters_round_trip(algorithm):
    model = algorithm.make().set_params(intercept_scaling=2.0, random_state=3)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.set_params(fit_intercept=False).fit_intercept is False


def test_cross_validation_is_better_than_chance(algorithm):
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), algorithm.make(random_state=0, max_iter=3))
    few = np.arange(len(y)) % 3 == 0
    scores = cross_val_score(model, X[few], y[few], cv=StratifiedKFold(3))
    assert scores.shape == (3,)
    assert scores.mean() > 0.6


def test_grid_search_finds_the_best_of_its_grid():
    X, y = rings()
    steps = Pipeline([("map", PolynomialFeatures(include_bias=False)), ("learn", rb.Perceptron(max_iter=100, random_state=0))])
    grid = {"map__degree": [1, 2], "learn__keep": ["last", "average"], "learn__margin": [0.0, 1.0]}
    search = GridSearchCV(steps, grid, cv=3).fit(X, y)
    assert search.best_params_["map__degree"] == 2
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.predict(X).shape == y.shape


@pytest.mark.parametrize("estimator", [rb.Perceptron, rb.PassiveAggressive])
def test_grid_search_with_workers_gives_the_same_scores(estimator):
    """joblib hands the rows to threads as they are."""
    X, y = rings()
    grid = {"keep": ["last", "average", "vote", "pocket"], "intercept_scaling": [0.5, 1.0]}
    alone = GridSearchCV(estimator(random_state=0, max_iter=10), grid, cv=3).fit(X, y)
    with joblib.parallel_backend("threading"):
        shared = GridSearchCV(estimator(random_state=0, max_iter=10), grid, cv=3, n_jobs=2).fit(X, y)
    assert np.array_equal(alone.cv_results_["mean_test_score"], shared.cv_results_["mean_test_score"])


def test_sample_weight_goes_through_a_pipeline(algorithm):
    X, y = rings()
    c = np.random.default_rng(0).uniform(0.05, 0.5, len(y))
    features = PolynomialFeatures(2, include_bias=False)
    direct = algorithm.make(random_state=0, max_iter=3)
    piped = Pipeline([("map", features), ("learn", clone(direct))]).fit(X, y, learn__sample_weight=c)
    direct.fit(features.fit_transform(X), y, sample_weight=c)
    assert np.array_equal(piped.decision_function(X), direct.decision_function(features.transform(X)))
    unweighted = clone(direct).fit(features.transform(X), y)
    assert not np.array_equal(piped[-1].log_.steps[:5], unweighted.log_.steps[:5])


# --- containers --------------------------------------------------------------------------------------------------------


def test_pandas_rows_keep_their_names(algorithm):
    X, y = rings()
    frame = pd.DataFrame(X, columns=["east", "north"])
    labels = pd.Series(np.where(y, "outer", "inner"))
    model = algorithm.make(random_state=0, max_iter=3).fit(frame, labels)
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert set(model.predict(frame)) <= {"inner", "outer"}
    plain = algorithm.make(random_state=0, max_iter=3).fit(X, labels.to_numpy())
    assert model.log_.rows.tolist() == plain.log_.rows.tolist()
    assert model.log_.steps.tolist() == plain.log_.steps.tolist()
    np.testing.assert_allclose(model.decision_function(frame), plain.decision_function(X), atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"east": "west"}))


def test_pandas_integers_booleans_and_categories_are_rows_and_labels():
    frame = pd.DataFrame({"a": [0, 1, 0, 1], "b": [True, True, False, False]})
    model = rb.Perceptron(order="cyclic", max_iter=None).fit(frame, pd.Categorical(["y", "y", "n", "n"]))
    assert model.predict(frame).tolist() == ["y", "y", "n", "n"]


@pytest.mark.parametrize("container", ["dense", "csr"])
def test_read_only_memory_maps_are_used_in_place(algorithm, container, tmp_path):
    X, y = rings()
    rows = X if container == "dense" else sp.csr_array(X)
    joblib.dump((rows, y), tmp_path / "rows")
    mapped, labels = joblib.load(tmp_path / "rows", mmap_mode="r")
    values = mapped if container == "dense" else mapped.data
    assert not values.flags.writeable
    model = algorithm.make(random_state=0, max_iter=3).fit(mapped, labels)
    assert np.shares_memory(model.log_._whole()._record.problem.rows.values, values)
    plain = algorithm.make(random_state=0, max_iter=3).fit(rows, y)
    assert np.array_equal(model.decision_function(mapped), plain.decision_function(rows))


@pytest.mark.slow
def test_workers_of_joblib_fit_on_memory_maps():
    """Rows over max_nbytes come to the worker processes as read-only maps."""
    X, y = rings()
    models = joblib.Parallel(n_jobs=2, max_nbytes=1)(
        joblib.delayed(rb.Perceptron(keep=keep, random_state=0).fit)(X, y) for keep in ("last", "average", "vote", "pocket")
    )
    for model in models:
        here = clone(model).fit(X, y)
        assert np.array_equal(model.decision_function(X), here.decision_function(X))


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_partial_fit_works_on_read_only_chunks(keep):
    X, y = rings()
    X.flags.writeable = False
    model = rb.Perceptron(keep=keep).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    whole = rb.Perceptron(keep=keep, order="cyclic", max_iter=1).fit(X, y)
    assert np.array_equal(model.decision_function(X), whole.decision_function(X))
