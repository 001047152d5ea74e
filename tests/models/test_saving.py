"""`rb.load` returns what `rb.save` was given: the same bits, and the same state to continue from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as ForeignPerceptron
from sklearn.model_selection import GridSearchCV
from trained_models import assert_same, rows, there_and_back, trained

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.models.state import model_of
from rosenblatt.models.values import Unsaved

STREAMS = {
    "last": rb.Perceptron(),
    "average": rb.Perceptron(keep="average"),
    "average without a log": rb.Perceptron(keep="average", log=False),
    "one against the rest": rb.Perceptron(keep="average", multiclass="ovr"),
    "passive-aggressive": rb.PassiveAggressive(keep="average"),
    "arow": rb.AROW(r=0.3),
    "arow, one against the rest": rb.AROW(multiclass="ovr"),
    "tanh": rb.NonlinearMSE(solver="online"),
    "least squares": rb.LinearMSE(),
    "alpha": rb.LinearMSE(alpha=1.0),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a model.safetensors"


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_comes_back_as_it_was(name, k, pack, path):
    model = trained(name, k, pack)
    assert_same(model, there_and_back(model, path), rows(k)[0])


@pytest.mark.parametrize("name", ["perceptron", "average", "vote", "pocket"])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_float32_comes_back_as_it_was(name, multiclass, path):
    for pack in (np.asarray, sp.csr_array):
        model = trained(name, 4, pack, np.float32, multiclass=multiclass)
        assert_same(model, there_and_back(model, path), rows(4, np.float32)[0])


@pytest.mark.parametrize("name", ["max-margin", "soft-margin"])
def test_pairs_of_classes_come_back(name, path):
    model = trained(name, 4, multiclass="ovo")
    assert_same(model, there_and_back(model, path), rows(4)[0])
    assert len(model.coef_) == 6


def test_all_classes_in_one_problem_come_back(path):
    model = trained("soft-margin", 4, multiclass="crammer_singer")
    assert_same(model, there_and_back(model, path), rows(4)[0])


@pytest.mark.parametrize(
    "labels",
    [
        [3, 7], [1.0, 2.0], [False, True], ["no", "yes"], ["", "a longer label \N{GREEK SMALL LETTER ALPHA}"],
        np.array([3, 250], np.uint8), np.array([-1, 1], np.int8), np.array(["no", "yes"], object), np.array([b"n", b"\xff"]),
        np.array(["a", "b"], "U9"),
    ],
)  # fmt: skip
def test_labels_keep_their_type(labels, path):
    X, _ = rows(2)
    labels = np.asarray(labels)
    model = rb.Perceptron().fit(X, labels[np.arange(len(X)) % 2])
    loaded = there_and_back(model, path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_same(model, loaded, X)


def test_names_of_features_come_back(path):
    pandas = pytest.importorskip("pandas")
    X, y = rows(2)
    frame = pandas.DataFrame(X, columns=["size", "age", 'a "quoted", name', "\u00fc\n", "e"])
    model = rb.Perceptron().fit(frame, y)
    loaded = there_and_back(model, path)
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert np.array_equal(loaded.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"size": "weight"}))


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_goes_on_from_the_file_to_the_bit(name, pack, k, path):
    X, y = rows(k)
    without, saved = (type(STREAMS[name])(**STREAMS[name].get_params()) for _ in range(2))
    for start in range(0, len(y), 16):
        part = slice(start, start + 16)
        without.partial_fit(pack(X[part]), y[part])
        saved.partial_fit(pack(X[part]), y[part])
        saved = there_and_back(saved, path)
        assert_same(without, saved, X)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_partial_fit_goes_on_from_a_saved_fit(name, pack, path):
    X, y = rows(4)
    model = type(STREAMS[name])(**STREAMS[name].get_params()).fit(pack(X[:30]), y[:30])
    loaded = there_and_back(model, path)
    assert_same(model.partial_fit(pack(X[30:]), y[30:]), loaded.partial_fit(pack(X[30:]), y[30:]), X)


def test_a_stream_of_one_class_goes_on(path):
    X, y = rows(2)
    one = y == y[0]
    model = rb.Perceptron(keep="average").partial_fit(X[one], y[one])
    loaded = there_and_back(model, path)
    assert_same(model.partial_fit(X, y), loaded.partial_fit(X, y), X)


@pytest.mark.parametrize("name", ["perceptron", "average", "vote", "pa-1", "nonlinear-mse", "arow"])
def test_a_warm_start_goes_on_from_the_file(name, path):
    X, y = rows(4)
    model = trained(name, 4, warm_start=True, random_state=3)
    loaded = there_and_back(model, path)
    assert_same(model.fit(X, y), loaded.fit(X, y), X)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_soft_margin_warm_start_continues_from_the_file(multiclass, weighted, path):
    X, y = rows(4)
    c = np.random.default_rng(0).random(len(y)) if weighted else None
    options = {"solver": "dual-coordinates", "random_state": 3, "tol": 1e-6}
    model = rb.SoftMargin(C=0.1, multiclass=multiclass, warm_start=True, **options).fit(X, y, c)
    loaded = there_and_back(model, path)
    cold = rb.SoftMargin(C=0.11, multiclass=multiclass, **options).fit(X, y, c)
    assert_same(model.set_params(C=0.11).fit(X, y, c), loaded.set_params(C=0.11).fit(X, y, c), X)
    assert not np.array_equal(loaded.coef_, cold.coef_)  # which started elsewhere


def test_the_log_is_not_saved_and_readings_that_need_it_raise(path):
    loaded = there_and_back(trained("perceptron"), path)
    assert loaded.log_ is None
    for keep in ("pocket", "average", "vote"):
        with pytest.raises(ValueError, match=f"the {keep} of this run needs the log of all its updates"):
            loaded.reading(keep)
    with pytest.raises(ValueError, match="the vote of this run needs the log"):
        there_and_back(trained("vote"), path).partial_fit(*rows(2))


def test_the_average_can_be_read_as_last(path):
    model = trained("average", 4, sp.csr_array)
    loaded = there_and_back(model, path)
    assert np.array_equal(loaded.reading("last").coef_, model.reading("last").coef_)


def test_certificates_come_back(path):
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    model = rb.Perceptron(certify=True).fit(X, y)
    loaded = there_and_back(model, path)
    assert loaded.certificate_ == model.certificate_
    assert loaded.stop_.certificate == model.stop_.certificate
    assert rb.verify(loaded.certificate_[0], X, y)


def test_certificates_of_each_class_come_back(path):
    X, y = [[0.0], [1.0], [2.0], [9.0]], [0, 1, 2, 2]
    model = rb.Perceptron(certify=True, multiclass="ovr").fit(X, y)
    loaded = there_and_back(model, path)
    assert loaded.certificate_ == model.certificate_
    assert len(loaded.certificate_) == 3
    assert loaded.stop_ == model.stop_


@pytest.mark.parametrize("name", ["\ud800", "\0", "\u2028", '"', "\\", "\\u0041", "", "a" * 10_000, "\U0001f332"])
def test_names_of_any_letters_come_back(name, path):
    model = model_of(trained("perceptron"), names=[name, "b", "c", "d", "e"])
    assert there_and_back(model, path).feature_names == (name, "b", "c", "d", "e")


def test_more_names_than_a_file_can_hold_are_refused(path, monkeypatch):
    monkeypatch.setattr("rosenblatt.models.container.MAX_HEADER_BYTES", 9_000)
    rb.save(trained("linear-mse"), path)
    with pytest.raises(ValueError, match="names and metadata exceed"):
        rb.save(model_of(trained("linear-mse"), names=["x" * 2000] * 5), path)
    monkeypatch.setattr("rosenblatt.models.container.MAX_FILE_BYTES", 9_100)
    with pytest.raises(ValueError, match="its arrays exceed 0 GB"):
        rb.save(trained("linear-mse"), path)


def test_parameters_of_all_kinds_come_back(path):
    X, y = rows(2)
    init = np.arange(6.0)
    given = {"class_weight": {"a": 2.0, "d": np.float64(0.5)}, "init": init, "random_state": np.int64(7), "max_updates": 40}
    loaded = there_and_back(rb.Perceptron(**given).fit(X, y), path)
    assert loaded.class_weight == {"a": 2.0, "d": 0.5}
    assert np.array_equal(loaded.init, init)
    assert loaded.random_state == 7
    assert float("inf") == there_and_back(rb.PassiveAggressive(C=float("inf")).fit(X, y), path).C


def test_a_function_is_replaced_by_its_description(path):
    X, y = rows(2)
    model = rb.Perceptron(step=lambda k: 1.0 / k, random_state=np.random.RandomState(0)).fit(X, y)
    loaded = there_and_back(model, path)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert isinstance(loaded.step, Unsaved)
    assert "lambda" in repr(loaded.step)
    with pytest.raises(ValueError, match=r"random_state must be .*an object of type RandomState"):
        loaded.fit(X, y)
    with pytest.raises(ValueError, match=r"the model file does not contain the function .*: set the parameter with set_params"):
        loaded.set_params(random_state=0).fit(X, y)
    loaded.set_params(step=1.0).fit(X, y)


def test_other_objects_cannot_be_saved(path):
    X, y = rows(2)
    for thing, error, words in (
        (ForeignPerceptron().fit(X, y), TypeError, "expects a Rosenblatt estimator, a Pipeline or a Model, got Perceptron"),
        (GridSearchCV(rb.Perceptron(), {}, cv=2).fit(X, y), TypeError, "got GridSearchCV; save its best_estimator_"),
        (object(), TypeError, "got object"),
        (rb.Perceptron(), ValueError, "this Perceptron is not fitted yet"),
    ):
        with pytest.raises(error, match=words):
            rb.save(thing, path)
        assert not path.exists()


def test_a_file_is_the_same_each_time_but_for_the_time(path, monkeypatch):
    monkeypatch.setattr("rosenblatt.models.state.provenance_now", lambda: {"saved": "now"})
    model = trained("vote", 4)
    files = set()
    for _ in range(8):
        rb.save(model, path)
        files.add(path.read_bytes())
    assert len(files) == 1


def test_the_library_safetensors_reads_our_files(path):
    from safetensors.numpy import load_file

    model = trained("average", 4)
    rb.save(model, path)
    assert np.array_equal(load_file(path)["coef"], model.coef_)


def test_the_numbers_of_a_stop_come_back(path):
    stop = there_and_back(rb.Perceptron(order="cyclic", max_iter=3).fit([[0.0], [1.0], [2.0]], [0, 1, 0]), path).stop_
    assert (stop.reason, stop.limit, stop.last_updates, stop.gap) == ("passes", 3, 1, None)
    made = rb.SoftMargin().fit(*rows(3)).stop_
    assert there_and_back(rb.SoftMargin().fit(*rows(3)), path).stop_.gap == made.gap is not None


def test_what_a_file_cannot_hold_is_described_again_and_not_used(path):
    """A generator is not drawn from, and the description of a value stays when the model is saved again."""
    X, y = rows(2)
    generator = np.random.RandomState(3)
    model = rb.Perceptron(step=abs, random_state=generator, init=pd.DataFrame(np.zeros((1, 6)))).fit(X, y)
    before = generator.get_state()[2]
    once = there_and_back(model, path)
    assert generator.get_state()[2] == before
    twice = there_and_back(once, path)
    assert once.get_params() == twice.get_params()
    assert repr(twice.step) == "<not saved: the function abs>"
    assert repr(twice.init) == "<not saved: an object of type DataFrame>"
