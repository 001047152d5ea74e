"""`calibrate`: probabilities of every estimator, honest ones, the same on any number of threads, and what it refuses."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.estimators.calibration import calibration_folds
from rosenblatt.probabilities.fits import fit_map
from rosenblatt.probabilities.maps import CALIBRATIONS

SETTINGS: dict[str, dict[str, Any]] = {"max-margin": {"inseparable": "soft"}, "nonlinear-mse-batch": {"max_iter": 30}}
FAST = "linear-mse"
kinds = pytest.mark.parametrize("kind", CALIBRATIONS)


def make(name: str, **parameters: Any) -> Any:
    seed = {"random_state": 3} if "random_state" in ALGORITHMS[name].options else {}
    return ALGORITHMS[name].make(**(SETTINGS.get(name, {}) | seed | parameters))


def rows(n: int = 150, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(4)[y], y


def known(n: int, seed: int, d: int = 2, slope: float = 1.0) -> tuple[Any, Any, Any]:
    """Rows, labels, and the probabilities that the labels were drawn with."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    p = expit(slope * (2.0 * X[:, 0] - X[:, 1]) - 0.5)
    return X, (rng.random(n) < p).astype(int), p


def log_loss(p: Any, y: Any) -> float:
    return -float(np.log(p[np.arange(len(y)), y]).mean())


# --- what it gives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_probabilities_and_the_planes_of_before(name: str, classes: int) -> None:
    X, y = rows(60, classes)
    labels = np.array(["no", "yes", "maybe"], object)[y]
    model, plain = make(name, calibrate="sigmoid").fit(X, labels), make(name).fit(X, labels)
    found = model.predict_proba(X)
    assert found.shape == (60, classes)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), found)
    assert log_loss(found, np.searchsorted(model.classes_, labels)) < np.log(classes)
    assert np.array_equal(model.decision_function(X), plain.decision_function(X))
    assert np.array_equal(model.predict(X), plain.predict(X))


@kinds
@pytest.mark.parametrize("name", ["average", "vote", "soft-margin", FAST])
def test_threads_give_the_same_bits(name: str, kind: str) -> None:
    X, y = rows(90, 3)
    each = [{"n_jobs": jobs} if "n_jobs" in ALGORITHMS[name].options else {} for jobs in (1, 3)]
    one, three = (make(name, calibrate=kind, **jobs).fit(X, y).predict_proba(X) for jobs in each)
    assert np.array_equal(one, three)


def test_calibrated_probabilities_are_those_of_the_rows_within_sampling_noise() -> None:
    """The mean probability in each tenth of the rows is the share of class 1 among fresh rows there, and the true one."""
    X, y, _ = known(4000, seed=0)
    fresh, labels, p = known(40_000, seed=1)
    for name in ("soft-margin", "average", "linear-mse"):
        for kind in CALIBRATIONS:
            found = make(name, calibrate=kind).fit(X, y).predict_proba(fresh)[:, 1]
            places = np.array_split(np.argsort(found, kind="stable"), 10)
            gaps = [abs(found[place].mean() - labels[place].mean()) for place in places]
            noise = [np.sqrt((p[place] * (1 - p[place])).mean() * (1 / len(place) + 10 / len(y))) for place in places]
            assert (np.array(gaps) < 4 * np.array(noise)).all(), (name, kind, gaps)
            assert np.mean(gaps) < 0.02  # the expected calibration error
            assert np.abs(found - p).mean() < 0.03


@kinds
@pytest.mark.parametrize("scheme", ["ovo", "crammer_singer"])
def test_probabilities_of_several_classes_are_near_the_true_ones(scheme: str, kind: str) -> None:
    """Also those of pairs that vote, whose whole votes alone would be off by 0.1."""
    planes = np.random.default_rng(0).normal(size=(4, 3))

    def draw(n: int, seed: int) -> tuple[Any, Any, Any]:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 4))
        chances = softmax(X @ planes, axis=1)
        return X, (rng.random(n)[:, None] > chances[:, :2].cumsum(axis=1)).sum(axis=1), chances

    (X, y, _), (fresh, labels, true) = draw(1500, 1), draw(10_000, 2)
    model = rb.SoftMargin(multiclass=scheme, calibrate=kind, random_state=0)  # type: ignore[arg-type]
    found = model.fit(X, y).predict_proba(fresh)
    assert np.abs(found - true).mean() < 0.06
    brier = ((found - np.eye(3)[labels]) ** 2).sum(axis=1).mean()
    peer = CalibratedClassifierCV(rb.SoftMargin(multiclass=scheme, random_state=0), method=kind, ensemble=False)  # type: ignore[arg-type]
    votes = ((peer.fit(X, y).predict_proba(fresh) - np.eye(3)[labels]) ** 2).sum(axis=1).mean()
    assert brier < votes + (0.002 if scheme != "ovo" else -0.003)


@kinds
def test_held_out_scores_promise_less_than_training_scores(kind: str) -> None:
    """With as many columns as rows, nearly all training rows are right, but fresh rows are not."""
    X, y, _ = known(120, seed=2, d=80)
    fresh, labels, _ = known(5000, seed=3, d=80)
    model = rb.SoftMargin(calibrate=kind, random_state=0).fit(X, y)
    on_training = fit_map(kind, model.decision_function(X)[:, None], y, 2)
    biased = np.clip(on_training.probabilities(model.decision_function(fresh)[:, None]), 1e-3, 1)
    honest = np.clip(model.predict_proba(fresh), 1e-3, 1)
    assert log_loss(honest, labels) < log_loss(biased, labels) - 0.2
    promised = honest.max(axis=1).mean()
    assert promised - model.score(fresh, labels) < 0.1 < biased.max(axis=1).mean() - model.score(fresh, labels)


def test_scores_of_any_size_give_the_same_probabilities() -> None:
    """A step twice as long doubles the weights of a perceptron, not its confidence."""
    X, y = rows()
    one = rb.Perceptron(keep="average", calibrate="sigmoid", random_state=0).fit(X, y).predict_proba(X)
    large = rb.Perceptron(keep="average", calibrate="sigmoid", random_state=0, step=1024.0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(one, large, rtol=1e-9)


def test_folds_whose_weights_have_another_length_do_not_count_more() -> None:
    """On such rows, the minimum of the saturating loss has weights of length 2 in one fold and 300 in another."""
    from sklearn.datasets import make_classification

    X, y = make_classification(600, 10, flip_y=0.1, random_state=0)
    model = rb.NonlinearMSE(calibrate="sigmoid").fit(X[:400], y[:400])
    assert log_loss(model.predict_proba(X[400:]), y[400:]) < 0.4  # 0.67 without bringing scores to one size


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array, np.ndarray.tolist, pd.DataFrame])
def test_all_containers_of_rows_give_the_same(container: Any) -> None:
    X, y = rows(60)
    wanted = rb.LinearMSE(calibrate="sigmoid").fit(X, y).predict_proba(X)
    rows_ = container(X) if container is not pd.DataFrame else pd.DataFrame(X, columns=list("abcd"))
    found = rb.LinearMSE(calibrate="sigmoid").fit(rows_, list(map(str, y))).predict_proba(rows_)
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_rows_of_weight_zero_have_no_influence_and_weights_do() -> None:
    X, y = rows(80)
    weight = np.random.default_rng(0).integers(0, 3, 80).astype(float)
    with_zeros = rb.LinearMSE(calibrate="sigmoid").fit(X, y, weight)
    without = rb.LinearMSE(calibrate="sigmoid").fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    np.testing.assert_allclose(with_zeros.predict_proba(X), without.predict_proba(X), rtol=1e-6)
    unweighted = rb.LinearMSE(calibrate="sigmoid").fit(X, y)
    assert not np.allclose(with_zeros.predict_proba(X), unweighted.predict_proba(X), atol=1e-3)


def test_class_weight_moves_the_plane_and_not_the_probabilities() -> None:
    X, y, p = known(3000, seed=4)
    model = rb.LinearMSE(calibrate="sigmoid", class_weight={0: 1.0, 1: 20.0}).fit(X, y)
    assert model.predict(X).mean() > 0.8 > p.mean() + 0.3
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)


def test_pickles_and_copies_keep_the_map() -> None:
    X, y = rows()
    model = rb.Perceptron(calibrate="isotonic", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(model.reading("average").predict_proba(X).shape, (len(X), 2))


def test_progress_names_the_folds_and_an_error_of_the_callback_ends_the_fit() -> None:
    X, y = rows()
    seen: list[str] = []
    with rb.progress_callback(lambda progress: seen.append(str(progress))):
        rb.Perceptron(calibrate="sigmoid", random_state=0, max_iter=3).fit(X, y)
    assert any(line.startswith("calibration, fold 2 of 5: pass 3") for line in seen)

    def stop(progress: rb.Progress) -> None:
        if "fold 3" in progress.text:
            raise KeyboardInterrupt

    model = rb.Perceptron(calibrate="sigmoid", random_state=0)
    with rb.progress_callback(stop), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


# --- what it refuses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_without_calibration_the_error_says_how(name: str) -> None:
    model = make(name)
    if model._native_map is not None:
        return
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
        with pytest.raises(
            AttributeError, match=r"no probabilities: fit it with calibrate='sigmoid' \(on the command line --cal"
        ):
            getattr(model, method)


def test_other_values_are_refused() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="calibrate must be 'sigmoid', 'isotonic', 'temperature' or None, got 'platt'"):
        rb.LinearMSE(calibrate="platt").fit(X, y)  # type: ignore[arg-type]


def test_a_class_with_too_few_rows() -> None:
    X, y = rows()
    y[:] = 0
    y[3] = 1
    with pytest.raises(ValueError, match="class 1 has 1 row, but calibration needs at least 2 of every class: add rows, leave"):
        rb.LinearMSE(calibrate="sigmoid").fit(X, y)
    y[5] = 1
    assert rb.LinearMSE(calibrate="sigmoid").fit(X, y).predict_proba(X).shape == (150, 2)  # two folds
    with pytest.raises(ValueError, match="class 1 has 0 rows"):
        rb.LinearMSE(calibrate="sigmoid").fit(X, y, np.where(y == 1, 0.0, 1.0))


def test_folds_are_as_many_as_the_smallest_class_has_rows_and_spread_each_class() -> None:
    codes = np.repeat([0, 1, 2], [50, 3, 17])
    fold = calibration_folds(codes, np.arange(3), seed=1)
    counts = np.array([np.bincount(fold[codes == code], minlength=3) for code in range(3)])
    assert counts.shape == (3, 3)
    assert (np.ptp(counts, axis=1) <= 1).all()
    assert np.ptp(counts.sum(axis=0)) <= 1
    assert not np.array_equal(fold, calibration_folds(codes, np.arange(3), seed=2))


@pytest.mark.parametrize("model", [rb.Perceptron, rb.PassiveAggressive, rb.AROW, rb.LinearMSE])
def test_chunks_of_a_stream_cannot_be_calibrated(model: Any) -> None:
    X, y = rows()
    assert not hasattr(model(calibrate="sigmoid"), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit has one chunk, but calibrate='sigmoid' needs all rows for its folds"):
        model(calibrate="sigmoid").partial_fit(X, y)
    assert model()._streaming_obstacle() is None
    assert model(calibrate="sigmoid")._streaming_obstacle().parameter == "calibrate"


def test_a_warm_start_of_a_run_is_refused_and_of_a_solver_is_not() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="calibrate='sigmoid' fits copies from the start, which warm_start=True does not"):
        rb.Perceptron(calibrate="sigmoid", warm_start=True).fit(X, y)
    model = rb.SoftMargin(calibrate="sigmoid", warm_start=True, random_state=0).fit(X, y)
    cold = rb.SoftMargin(calibrate="sigmoid", random_state=0).fit(X, y)
    assert np.array_equal(model.predict_proba(X), cold.predict_proba(X))


def test_a_parameter_set_after_the_fit() -> None:
    X, y = rows()
    model = rb.LinearMSE().fit(X, y).set_params(calibrate="sigmoid")
    with pytest.raises(NotFittedError, match="calibrate='sigmoid' was set after the fit: fit the LinearMSE again"):
        model.predict_proba(X)
    with pytest.raises(NotFittedError):
        rb.LinearMSE(calibrate="sigmoid").predict_proba(X)
    model.fit(X, y).set_params(calibrate="isotonic")
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    assert not hasattr(model.set_params(calibrate=None), "predict_proba")
    assert not hasattr(model.fit(X, y), "calibration_")


def test_warnings_of_folds_are_not_repeated() -> None:
    X, y = rows()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rb.SoftMargin(calibrate="sigmoid", max_iter=1, solver="dual-coordinates", tol=1e-12).fit(X, y)
    assert len(caught) == 1


# --- scikit-learn's tools ----------------------------------------------------------------------------------------------


def test_soft_votes_searches_and_scorers_of_scikit_learn() -> None:
    X, y = rows(120, 3)
    members = [("mse", rb.LinearMSE(calibrate="sigmoid")), ("pa", rb.PassiveAggressive(calibrate="isotonic", random_state=0))]
    vote = VotingClassifier(members, voting="soft").fit(X, y)
    np.testing.assert_allclose(vote.predict_proba(X), np.mean([one.predict_proba(X) for one in vote.estimators_], axis=0))
    assert cross_val_score(rb.LinearMSE(calibrate="sigmoid"), X, y, scoring="roc_auc_ovr", cv=3).mean() > 0.8
    piped = make_pipeline(StandardScaler(), rb.LinearMSE(calibrate="sigmoid"))
    search = GridSearchCV(piped, {"linearmse__alpha": [0.0, 1e5]}, scoring="neg_log_loss", cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"linearmse__alpha": 0.0}
    assert search.predict_proba(X).shape == (120, 3)


def test_a_threshold_is_tuned_on_the_probabilities() -> None:
    X, y, _ = known(600, seed=5, slope=2.0)
    rare = y & (np.arange(600) % 4 == 0)
    model = rb.LinearMSE(calibrate="sigmoid")
    tuned = TunedThresholdClassifierCV(model, scoring="f1", response_method="predict_proba", cv=3).fit(X, rare)
    assert 0.0 < tuned.best_threshold_ < 0.5
    assert tuned.predict(X).sum() > clone(model).fit(X, rare).predict(X).sum()
