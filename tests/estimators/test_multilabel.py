"""An indicator matrix: one binary problem for each label, in every estimator."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.estimators.label_warnings import ConstantLabelWarning, LabelError
from rosenblatt.estimators.multilabel import SeveralLabelsError
from rosenblatt.estimators.svm_base import ZeroPlaneWarning

SETTINGS = {"max-margin": {"inseparable": "soft"}, "nonlinear-mse-batch": {"max_iter": 20}, "nonlinear-mse": {"max_iter": 20}}
STREAMS = ["perceptron", "average", "vote", "margin", "pa-1", "arow", "linear-mse", "nonlinear-mse-online"]


def rows_and_labels(n=60, d=5, labels=4, seed=0):
    """Noisy labels of different frequencies; the first rows have none."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, labels)) + rng.normal(size=(n, labels)) > np.linspace(-0.5, 1.5, labels)).astype(int)
    Y[:2] = 0
    return X, Y


def make(name, **parameters):
    model = ALGORITHMS[name].make(**SETTINGS.get(name, {}))
    known = model.get_params()
    return model.set_params(**{key: value for key, value in ({"random_state": 0} | parameters).items() if key in known})


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::rosenblatt.estimators.svm_base.ZeroPlaneWarning"
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_label_is_the_fit_on_its_column(name, container):
    X, Y = rows_and_labels()
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    models = [make(name, n_jobs=n_jobs).fit(container(X), Y, weights) for n_jobs in (1, 3)]
    for j in range(Y.shape[1]):
        alone = make(name).fit(container(X), Y[:, j], weights)
        for model in models:
            assert np.array_equal(model.estimators_[j].decision_function(container(X)), alone.decision_function(container(X)))
    scores = [model.decision_function(container(X)) for model in models]
    assert scores[0].shape == Y.shape
    assert np.array_equal(*scores)
    assert np.array_equal(models[0].predict(container(X)), (scores[0] > 0).astype(int))
    assert models[0].classes_.tolist() == [0, 1, 2, 3]
    assert models[0].multilabel_


def test_the_planes_are_those_of_one_vs_rest_in_scikit_learn():
    X, Y = rows_and_labels()
    ours = rb.SoftMargin(loss="logistic", tol=1e-12).fit(X, Y)
    theirs = OneVsRestClassifier(LogisticRegression(tol=1e-10, max_iter=1000)).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, [each.coef_[0] for each in theirs.estimators_], atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X))
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, Y) == theirs.score(X, Y)
    assert np.array_equal(OneVsRestClassifier(rb.SoftMargin(loss="logistic", tol=1e-12)).fit(X, Y).predict(X), ours.predict(X))


@pytest.mark.parametrize(
    "as_given",
    [lambda Y: Y.tolist(), list, lambda Y: Y.astype(bool), lambda Y: Y.astype(float), pd.DataFrame, lambda Y: Y.astype(object),
     np.asfortranarray, sp.csr_matrix, sp.csc_array, sp.coo_array],
)  # fmt: skip
def test_every_form_of_the_matrix_gives_the_same_model(as_given):
    X, Y = rows_and_labels()
    model = rb.SoftMargin().fit(X, as_given(Y))
    assert np.array_equal(model.coef_, rb.SoftMargin().fit(X, Y).coef_)
    predicted = model.predict(X)
    assert sp.issparse(predicted) == sp.issparse(as_given(Y))
    assert np.array_equal(predicted.toarray() if sp.issparse(predicted) else predicted, rb.SoftMargin().fit(X, Y).predict(X))


def test_lists_of_labels_by_way_of_scikit_learn():
    X, Y = rows_and_labels()
    names = np.array(["art", "law", "sea", "war"])
    binarizer = MultiLabelBinarizer(sparse_output=True)
    model = rb.Perceptron(random_state=0).fit(X, binarizer.fit_transform([names[row == 1].tolist() for row in Y]))
    found = binarizer.inverse_transform(model.predict(X))
    assert found[5] == tuple(names[rb.Perceptron(random_state=0).fit(X, Y).predict(X)[5] == 1])


def test_names_of_a_data_frame_are_the_labels():
    X, Y = rows_and_labels()
    frame, labels = pd.DataFrame(X, columns=list("vwxyz")), pd.DataFrame(Y, columns=["art", "law", "sea", "war"])
    model = rb.SoftMargin().fit(frame, labels)
    assert model.classes_.tolist() == ["art", "law", "sea", "war"]
    assert model.feature_names_in_.tolist() == list("vwxyz")
    assert "x" in str(model.estimators_[0].explain(frame, row=3))


# --- attributes ----------------------------------------------------------------------------------------------------------


def test_attributes_have_one_entry_for_each_label():
    X, Y = rows_and_labels()
    model = rb.SoftMargin().fit(X, Y)
    assert model.coef_.shape == (4, 5)
    for name in ("intercept_", "gap_", "dual_gap_", "objective_", "margin_"):
        assert getattr(model, name).shape == (4,)
    assert len(model.support_) == len(model.multipliers_) == len(model.solver_) == len(model.estimators_) == 4
    assert model.canonical_.shape == model.slack_.shape == (4, len(X))
    assert model.stop_.reason == "tolerance"
    assert len(model.stop_.heads) == 4
    learner = rb.Perceptron(max_iter=3, keep="pocket").fit(X, Y)
    assert (
        learner.n_updates_ == sum(log.n_updates for log in learner.log_) == sum(each.n_updates_ for each in learner.estimators_)
    )
    assert learner.n_iter_ == 3
    assert rb.SoftMarginCV(Cs=2, cv=2).fit(X, Y).C_.shape == (4,)
    assert rb.LinearMSE().fit(X, Y).mse_.shape == (4,)


def test_probabilities_are_those_of_each_label():
    X, Y = rows_and_labels()
    with pytest.raises(AttributeError, match="calibrate='sigmoid'"):
        rb.Perceptron().fit(X, Y).predict_proba(X)
    model = rb.Perceptron(calibrate="sigmoid", random_state=0).fit(X, Y)
    for j in range(4):
        alone = rb.Perceptron(calibrate="sigmoid", random_state=0).fit(X, Y[:, j])
        np.testing.assert_allclose(model.predict_proba(X)[:, j], alone.predict_proba(X)[:, 1], rtol=1e-12)


def test_other_readings_of_the_runs():
    X, Y = rows_and_labels()
    model = rb.Perceptron(random_state=0).fit(X, Y)
    average = rb.Perceptron(keep="average", random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.reading("average").coef_, average.coef_, rtol=1e-12)
    vote = model.reading("vote", X, Y)
    assert vote.decision_function(X).shape == Y.shape
    assert np.array_equal(vote.predict(X), rb.Perceptron(keep="vote", random_state=0).fit(X, Y).predict(X))
    assert model.keep == "last"


def test_copies_and_pickles_predict_the_same_bits():
    X, Y = rows_and_labels()
    model = rb.Perceptron(keep="vote", random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


# --- constant labels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [rb.SoftMargin(loss="logistic"), rb.Perceptron(calibrate="sigmoid"), rb.AROW(calibrate="isotonic")]
)
def test_a_constant_label_is_predicted_so_and_named(model):
    X, Y = rows_and_labels()
    Y = pd.DataFrame(np.column_stack([Y, np.zeros(60, int), np.ones(60, int)]), columns=[*"abcd", "never", "always"])
    with pytest.warns(
        ConstantLabelWarning, match="^all rows have label 'always', predicted for every row; no row has label 'never'"
    ):
        model.fit(X, Y)
    assert not model.predict(X)[:, 4].any()
    assert model.predict(X)[:, 5].all()
    assert np.array_equal(model.predict_proba(X)[:, 4:], np.tile([0.0, 1.0], (60, 1)))
    assert model.coef_.shape == (6, 5)
    assert not model.coef_[4:].any()


def test_rows_without_weight_do_not_make_a_label_vary():
    X, Y = rows_and_labels()
    weights = np.where(Y[:, 2], 0.0, 1.0)
    with pytest.warns(ConstantLabelWarning, match="no row has label 2"):
        model = rb.SoftMargin().fit(X, Y, weights)
    assert not model.predict(X)[:, 2].any()


# --- continued fits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
def test_chunks_give_one_cyclic_pass(name):
    X, Y = rows_and_labels()
    model = make(name, step=0.1) if "nonlinear" in name else make(name)
    for start in (0, 20, 40):
        model.partial_fit(X[start : start + 20], Y[start : start + 20])
    whole = clone(model).set_params(**({} if name == "linear-mse" else {"order": "cyclic", "max_iter": 1}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole.fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)


def test_a_warm_start_continues_each_label():
    X, Y = rows_and_labels()
    model = rb.Perceptron(order="cyclic", max_iter=2, warm_start=True).fit(X, Y).fit(X, Y)
    whole = rb.Perceptron(order="cyclic", max_iter=4).fit(X, Y)
    assert np.array_equal(model.coef_, whole.coef_)
    with pytest.raises(ValueError, match="warm_start continues a fit on an indicator matrix, but y has one label a row"):
        model.fit(X, Y[:, 0])
    assert np.array_equal(model.coef_, whole.coef_)


def test_a_fit_forgets_the_labels_of_the_one_before():
    X, Y = rows_and_labels()
    model = rb.Perceptron(random_state=0).fit(X, Y).fit(X, Y[:, 0])
    assert not model.multilabel_
    assert np.array_equal(model.coef_, rb.Perceptron(random_state=0).fit(X, Y[:, 0]).coef_)
    assert "validation_errors_" not in vars(model.fit(X, Y))
    assert model.predict(X).shape == Y.shape


# --- weights, warnings, errors -------------------------------------------------------------------------------------------


def test_balanced_weights_are_those_of_each_label():
    X, Y = rows_and_labels(300, labels=3)
    Y[:, 2] &= np.random.default_rng(0).random(300) < 0.2
    plain, balanced = (
        rb.SoftMargin(loss="logistic").fit(X, Y),
        rb.SoftMargin(loss="logistic", class_weight="balanced").fit(X, Y),
    )
    rare = Y[:, 2]
    weights = np.where(rare, 300 / (2 * rare.sum()), 300 / (2 * (300 - rare.sum())))
    alone = rb.SoftMargin(loss="logistic").fit(X, rare, weights)
    assert np.array_equal(balanced.coef_[2], alone.coef_[0])
    assert f1_score(Y, balanced.predict(X), average=None)[2] > f1_score(Y, plain.predict(X), average=None)[2]


def test_one_warning_for_all_labels():
    X, Y = rows_and_labels()
    with pytest.warns(ConvergenceWarning) as found:
        rb.SoftMargin(max_iter=1, solver="dual-coordinates", tol=1e-9, n_jobs=2).fit(X, Y)
    assert [str(each.message).split(":")[:2] for each in found] == [["tol=1e-9 was not reached for 4 of 4 labels", " label 0"]]
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    with pytest.warns(ZeroPlaneWarning, match="1 of 2 planes are zero, and all rows are predicted alike for such a label"):
        rb.SoftMargin().fit(corners, [[0, 0], [1, 0], [1, 1], [0, 1]])


NEEDED = "^Y of several columns must be an indicator matrix of 0 and 1, but "


@pytest.mark.parametrize(
    ("make_Y", "message"),
    [
        (lambda Y: 2 * Y, NEEDED + r"Y\[2, 0\] is 2: MultiLabelBinarizer of sklearn.preprocessing makes one"),
        (lambda Y: 2 * Y - 1, NEEDED + r"Y\[0, 0\] is -1: use Y > 0$"),
        (lambda Y: sp.csr_array(3 * Y), NEEDED + r"Y\[2, 0\] is 3"),
        (lambda Y: np.where(Y, np.nan, 0.0), NEEDED + r"Y\[2, 0\] is nan"),
        (lambda Y: [["a", "b"], ["c"]] * 30, NEEDED + "its rows differ in length"),
        (lambda Y: Y.astype(str), "indicator matrix of 0 and 1, got text"),
        (lambda Y: Y[:50], "^X has 60 rows, but Y has 50$"),
        (lambda Y: 0 * Y, "^SoftMargin needs a label that some rows have and others do not"),
    ],
)
def test_what_is_no_indicator_matrix_is_refused(make_Y, message):
    X, Y = rows_and_labels()
    Y[2, 0] = 1
    with pytest.raises(ValueError, match=message):
        rb.SoftMargin().fit(X, make_Y(Y))


def test_errors_name_the_label():
    X, Y = rows_and_labels()
    labels = pd.DataFrame({"often": Y[:, 0], "once": np.arange(60) == 3})
    with pytest.raises(LabelError, match=r"^label 'once': class 1 has 1 row, but calibration needs at least 2") as found:
        rb.SoftMargin(calibrate="sigmoid").fit(X, labels)
    assert found.value.label == "once"
    with pytest.raises(LabelError, match=r"^label 'often': no plane separates") as found:
        rb.MaxMargin().fit(X, labels)
    assert isinstance(found.value.error, rb.NotSeparable)
    with pytest.raises(ValueError, match=r"^Input X contains NaN"):
        rb.MaxMargin().fit(np.where(X > 1, np.nan, X), labels)


def test_what_takes_one_label_is_refused():
    X, Y = rows_and_labels()
    model = rb.MaxMargin(inseparable="soft").fit(X, Y)
    for use in (lambda: model.explain(X), lambda: model.show(X, Y), lambda: model.support_vectors_, lambda: model.on_margin_):
        with pytest.raises(SeveralLabelsError, match=r"takes a model of one label, but this one has 4: use .*\[j\]"):
            use()
    assert not hasattr(model, "support_vectors_")
    with pytest.raises(ValueError, match=r"^partial_fit continues a fit on one label a row, but y has an indicator matrix"):
        rb.Perceptron().fit(X, Y[:, 0]).partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"^the fit so far is on the labels"):
        rb.Perceptron().fit(X, Y).partial_fit(X, Y[:, :2])


def test_progress_names_the_label_by_its_position():
    X, Y = rows_and_labels()
    seen = []
    with rb.progress_callback(lambda progress: seen.append(progress.heads)):
        rb.Perceptron(max_iter=2, n_jobs=2).fit(X, Y)
    assert set(seen) == {(0,), (1,), (2,), (3,)}
