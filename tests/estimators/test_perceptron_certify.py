"""Perceptrons that run until they separate the rows, or until it is proved that nothing does."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt.proofs import run_proofs
from rosenblatt.reporting.text import short

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "cyclic": {"order": "cyclic"},
    "random": {"order": "random"},
    "mistakes": {"order": "mistakes"},
    "batch": {"update": "batch"},
    "batch-mean": {"update": "batch-mean"},
    "margin": {"margin": 1.0, "step": 0.5},
    "no intercept": {"fit_intercept": False},
    "small constant": {"intercept_scaling": 0.5},
    "ovr of two": {"multiclass": "ovr"},
    "average": {"keep": "average"},
    "vote": {"keep": "vote"},
    "pocket": {"keep": "pocket"},
    "no log": {"log": False},
}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("name", KINDS)
def test_setosa_is_separated_and_proved_separable(name: str, container: Any) -> None:
    X, y = container(IRIS), NAMES == "setosa"
    model = rb.Perceptron(**KINDS[name], certify=True, random_state=0).fit(X, y)
    assert model.stop_.separated
    assert isinstance(model.certificate_[0], rb.Separable)
    assert model.stop_.certificate is model.certificate_[0]
    assert rb.verify(model.certificate_[0], X, y)
    assert model.certificate_[0].about.intercept == (name != "no intercept")
    if name not in ("batch", "batch-mean", "margin", "small constant"):
        assert model.n_updates_ <= model.certificate_[0].mistake_bound.upper


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("name", KINDS)
def test_versicolor_is_proved_impossible_and_the_run_ends(name: str, container: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_proofs, "SCANS_BEFORE_PROOF", 20)
    X, y = container(IRIS), np.where(NAMES == "versicolor", "yes", "no")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = rb.Perceptron(**{"max_iter": None} | KINDS[name], certify=True, random_state=0).fit(X, y)
    assert model.stop_.reason == "impossible"
    assert "the rows were proved inseparable" in model.stop_.sentence
    assert isinstance(model.certificate_[0], rb.Inseparable)
    assert model.stop_.certificate is model.certificate_[0]
    assert rb.verify(model.certificate_[0], X, y)
    assert model.n_iter_ == (1 if name == "mistakes" else 20)


def test_until_the_proof_the_run_is_that_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_proofs, "SCANS_BEFORE_PROOF", 20)
    y = NAMES == "versicolor"
    for parameters in ({}, {"update": "batch"}, {"multiclass": "ovr"}):
        for labels in (y, NAMES):
            certified = rb.Perceptron(**parameters, certify=True, random_state=0).fit(IRIS, labels)
            plain = rb.Perceptron(**parameters, max_iter=20, random_state=0).fit(IRIS, labels)
            np.testing.assert_array_equal(certified.coef_, plain.coef_)
            np.testing.assert_array_equal(certified.log_.rows, plain.log_.rows)


def test_several_classes_have_one_joint_certificate() -> None:
    model = rb.Perceptron(certify=True, random_state=0).fit(IRIS, NAMES)
    assert model.stop_.reason == "impossible"
    assert "the convex hulls of two classes overlap" in model.stop_.sentence
    assert rb.verify(model.certificate_[0], IRIS, NAMES)
    few = np.array([0, 1, 50, 51, 52, 100, 102, 104])
    apart = rb.Perceptron(certify=True, random_state=0).fit(IRIS[few], NAMES[few])
    assert apart.stop_.separated
    assert rb.verify(apart.certificate_[0], IRIS[few], NAMES[few])
    assert apart.n_updates_ <= apart.certificate_[0].mistake_bound.upper


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("update", ["online", "batch"])
def test_one_vs_rest_has_a_certificate_for_each_class(n_jobs: int, update: str) -> None:
    model = rb.Perceptron(multiclass="ovr", update=update, certify=True, n_jobs=n_jobs, random_state=0).fit(IRIS, NAMES)
    assert model.stop_.heads == ("separated", "impossible", "impossible")
    assert model.stop_.reason == "impossible"
    assert [certificate.verdict for certificate in model.certificate_] == ["separable", "inseparable", "inseparable"]
    for label, certificate in zip(model.classes_, model.certificate_, strict=True):
        assert rb.verify(certificate, IRIS, label == NAMES)
    assert model.stop_.certificate is model.certificate_[1]


def test_passes_that_are_given_are_kept_and_a_proof_comes_at_the_end() -> None:
    y = NAMES == "versicolor"
    model = rb.Perceptron(certify=True, max_iter=3, random_state=0).fit(IRIS, y)
    assert (model.stop_.reason, model.n_iter_) == ("passes", 3)
    assert rb.verify(model.stop_.certificate, IRIS, y)
    assert model.certificate_[0].verdict == "inseparable"
    with pytest.warns(ConvergenceWarning):
        rb.Perceptron(certify=True, max_updates=5, random_state=0).fit(IRIS, y)


def test_a_batch_step_of_nothing_has_its_certificate_too() -> None:
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    model = rb.Perceptron(certify=True, update="batch").fit(X, y)
    assert (model.stop_.reason, model.n_iter_) == ("impossible", 1)
    assert rb.verify(model.stop_.certificate, X, y)


def test_the_proof_is_made_once_and_separable_rows_run_on(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    made = []
    certify = run_proofs.certify
    monkeypatch.setattr(run_proofs, "certify", lambda *rows, **given: made.append(1) or certify(*rows, **given))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 6.0
    y = (X @ [1.0, -2.0] > -5.0).astype(int)
    model = rb.Perceptron(certify=True, random_state=0, verbose=1).fit(X, y)
    assert model.stop_.separated
    assert model.n_iter_ > 100
    assert len(made) == 1
    bound = model.certificate_[0].mistake_bound.upper
    assert model.n_updates_ <= bound
    assert f"the rows were proved separable after pass 100: at most {short(bound, 6)} updates\n" in capsys.readouterr().err


def test_what_rounding_keeps_from_being_separated_ends_at_the_bound() -> None:
    """Products of 1e-200 and 1e-200 are zero in floats: every row looks like a mistake for ever."""
    X, y = np.array([[1.0, 0.2], [-1.0, 0.3], [0.5, 1.0], [-0.2, 0.4]]) * 1e-200, [1, 0, 1, 0]
    with pytest.warns(ConvergenceWarning, match="rounding errors are too large"):
        model = rb.Perceptron(certify=True, fit_intercept=False).fit(X, y)
    assert model.stop_.reason == "rounding"
    assert isinstance(model.certificate_[0], rb.Separable)
    assert model.n_updates_ > model.certificate_[0].mistake_bound.upper


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_rows_of_weight_zero_are_left_out(container: Any) -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [1.5]]), np.array([0, 0, 1, 1, 1])
    X, y = np.vstack([X, [[2.5]]]), np.append(y, 0)
    model = rb.Perceptron(certify=True).fit(container(X), y, [1, 1, 1, 1, 1, 0])
    assert model.stop_.separated
    assert rb.verify(model.certificate_[0], container(X)[:5], y[:5])
    hard = rb.Perceptron(certify=True).fit(container(X), y, [0, 1, 2, 1, 1, 1])
    assert hard.stop_.reason == "impossible"
    assert "row 6 lies on the segment" in hard.stop_.sentence  # by its position among all rows
    assert rb.verify(hard.certificate_[0], container(X)[1:], y[1:])
    assert rb.Perceptron(certify=True).fit(container(X), y, (y == 0).astype(float)).certificate_ == [None]


def test_classes_of_weight_zero_are_left_out() -> None:
    model = rb.Perceptron(certify=True, class_weight={"virginica": 0.0}, random_state=0).fit(IRIS, NAMES)
    assert model.stop_.separated
    assert rb.verify(model.certificate_[0], IRIS[:100], NAMES[:100])


def test_certified_models_are_copied_pickled_and_read_as_others_are() -> None:
    y = NAMES == "setosa"
    model = rb.Perceptron(certify=True, random_state=0).fit(IRIS, y)
    assert model.get_params()["certify"] is True
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "certificate_")
    copied = pickle.loads(pickle.dumps(model))
    assert copied.certificate_ == model.certificate_
    assert copied.stop_ == model.stop_
    assert rb.verify(copied.stop_.certificate, IRIS, y)
    assert model.reading("average").certificate_ is model.certificate_
    assert not hasattr(model.set_params(certify=False).fit(IRIS, y), "certificate_")


def test_without_it_there_is_no_certificate() -> None:
    model = rb.Perceptron(random_state=0).fit(IRIS, NAMES)
    assert model.stop_.certificate is None
    assert not hasattr(model, "certificate_")
    assert "certificate" not in repr(model.stop_)


def test_a_proof_that_is_interrupted_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    model = rb.Perceptron(certify=True, random_state=0).fit(IRIS, NAMES == "setosa")
    before = dict(vars(model))

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_proofs, "certify", interrupted)
    for label in ("setosa", "versicolor"):
        with pytest.raises(KeyboardInterrupt):
            model.fit(IRIS, label == NAMES)
        assert vars(model) == before


def test_bad_input_is_refused_before_the_proof() -> None:
    with pytest.raises(TypeError, match="certify must be True or False, got 'yes'"):
        rb.Perceptron(certify="yes").fit(IRIS, NAMES)
    with pytest.raises(ValueError, match="certify=True needs all rows"):
        rb.Perceptron(certify=True).partial_fit(IRIS, NAMES)
    X = IRIS.copy()
    X[149, 0] = np.nan
    for order in ("random", "cyclic"):
        with pytest.raises(ValueError, match="NaN"):
            rb.Perceptron(certify=True, order=order).fit(X, NAMES)


@pytest.mark.parametrize(("limits", "warned"), [({}, True), ({"max_updates": 2000}, False), ({"max_iter": 1000}, False)])
def test_a_long_run_without_a_limit_is_announced(monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], warned: bool) -> None:
    monkeypatch.setattr(run_proofs, "MANY_UPDATES", 100_000.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = rb.Perceptron(certify=True, order="cyclic", **limits).fit([[1.0], [1.01]], [0, 1])
    assert model.stop_.reason == "separated"
    sentences = [str(each.message) for each in caught]
    text = "at most 162,418 updates; the run may take very long: scale the columns, or limit it by max_updates"
    assert sentences == ([f"the rows were proved separable after pass 100: {text}"] if warned else [])
