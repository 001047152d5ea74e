"""Estimators of several labels a row in model files."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from forged_files import check, forged
from sealed_files import packed, parts_of
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from effort import amount
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.models.files import load_model

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::rosenblatt.estimators.svm_base.ZeroPlaneWarning",
    "ignore::rosenblatt.estimators.label_warnings.ConstantLabelWarning",
)
SETTINGS = {"max-margin": {"inseparable": "soft"}, "nonlinear-mse-batch": {"max_iter": 20}}


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(50, 3)) > 0.5).astype(int)
    return X, np.column_stack([Y, np.zeros(50, int), np.ones(50, int)])


def there_and_back(model, tmp_path):
    rb.save(model, tmp_path / "m.safetensors")
    return rb.load(tmp_path / "m.safetensors")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_comes_back_as_it_was(name, tmp_path):
    X, Y = data()
    model = ALGORITHMS[name].make(**SETTINGS.get(name, {})).fit(X, sp.csr_array(Y) if name == "vote" else Y)
    again = there_and_back(model, tmp_path)
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert sp.issparse(again.predict(X)) == (name == "vote")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert (again.stop_, again.n_iter_, vars(again).get("n_updates_")) == (
        model.stop_,
        model.n_iter_,
        vars(model).get("n_updates_"),
    )
    assert [head.stop_ for head in again.estimators_] == [head.stop_ for head in model.estimators_]


def test_names_probabilities_and_the_digest_of_the_data_come_back(tmp_path):
    X, Y = data()
    frame, labels = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(Y, columns=["art", "law", "sea", "none", "all"])
    model = rb.Perceptron(calibrate="sigmoid", random_state=0).fit(frame, labels)
    path = tmp_path / "m.safetensors"
    rb.save(model, path, data=(frame, labels))
    again = rb.load(path)
    assert again.classes_.tolist() == ["art", "law", "sea", "none", "all"]
    assert again.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert parts_of(path.read_bytes())[0]["provenance"]["rows"] == 50


@pytest.mark.parametrize("model", [rb.Perceptron(keep="average"), rb.AROW(), rb.LinearMSE()])
def test_chunks_continue_a_loaded_model(model, tmp_path):
    X, Y = data()
    model.partial_fit(X[:30], Y[:30])
    again = there_and_back(model, tmp_path)
    assert np.array_equal(again.partial_fit(X[30:], Y[30:]).coef_, model.partial_fit(X[30:], Y[30:]).coef_)


def test_pipelines_hold_such_models(tmp_path):
    X, Y = data()
    model = make_pipeline(StandardScaler(), rb.SoftMargin()).fit(X, Y)
    assert np.array_equal(there_and_back(model, tmp_path).decision_function(X), model.decision_function(X))


def test_commands_refuse_such_files(tmp_path):
    X, Y = data()
    rb.save(rb.SoftMargin().fit(X, Y), tmp_path / "m.safetensors")
    with pytest.raises(
        rb.ModelError, match=r"an estimator of several labels a row, which only Python can use: load it with rb.load"
    ):
        load_model(tmp_path / "m.safetensors")


FORGERIES = {
    "no model": lambda meta, arrays: meta.update(heads=[True] * 5) or arrays.clear(),
    "another number": lambda meta, arrays: meta.update(labels=4),
    "names that repeat": lambda meta, arrays: meta.update(labels=["a"] * 5),
    "another kind": lambda meta, arrays: meta["heads"][0].update(kind="AROW"),
    "another width": lambda meta, arrays: meta.update(width=7),
    "a constant with arrays": lambda meta, arrays: meta["heads"].__setitem__(0, True),
    "an array too many": lambda meta, arrays: arrays.update({"head.9.coef": arrays["head.0.coef"]}),
    "a number that is none": lambda meta, arrays: arrays.update({"head.00.coef": arrays["head.0.coef"]}),
    "an array missing": lambda meta, arrays: arrays.pop("head.0.coef"),
    "NaN": lambda meta, arrays: arrays.update({"head.0.coef": arrays["head.0.coef"] * np.nan}),
    "unknown keys": lambda meta, arrays: meta.update(more=1),
    "a parameter": lambda meta, arrays: meta["parameters"].update(C=-1.0),
    "nested labels": lambda meta, arrays: meta["heads"].__setitem__(0, copy.deepcopy(meta)),
    "no text": lambda meta, arrays: meta.update(names=[1, 2, 3, 4]),
    "sparse": lambda meta, arrays: meta.update(sparse=1),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_forged_files_are_refused(forge, tmp_path):
    X, Y = data()
    path = tmp_path / "m.safetensors"
    rb.save(rb.SoftMargin().fit(X, Y), path)
    meta, arrays = parts_of(path.read_bytes())
    forge(meta, arrays)
    path.write_bytes(packed(meta, arrays))
    with pytest.raises(rb.ModelError):
        rb.load(path)


@pytest.mark.slow
def test_whatever_loads_is_usable(tmp_path):
    X, Y = data()
    models = {
        "average": rb.Perceptron(keep="average", max_iter=2),
        "vote": rb.Perceptron(keep="vote", max_iter=2, calibrate="isotonic", random_state=0),
        "soft": rb.SoftMargin(loss="logistic", warm_start=True),
        "squares": rb.LinearMSE(),
        "arow": rb.AROW(early_stopping=True),
        "margin": rb.MaxMargin(inseparable="soft"),
    }
    files = {}
    for name, model in models.items():
        rb.save(model.fit(X, Y), tmp_path / name)
        files[name] = (tmp_path / name).read_bytes(), X
        assert not check(files[name][0], X, tmp_path)
    refused = [check(*forged(files, seed)[1:], tmp_path) for seed in range(amount(120, 3000))]
    assert sum(map(bool, refused)) > len(refused) / 3
