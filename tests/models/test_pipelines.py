"""scikit-learn Pipelines come back from a model file as they were; other steps are refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from pipelines_of_steps import FRAME, LABELS, TEXTS, pipelines
from sealed_files import loaded, packed, parts_of
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from trained_models import rows

import rosenblatt as rb
from rosenblatt.models.transformers import TRANSFORMERS

PIPELINES = pipelines()
pytestmark = pytest.mark.filterwarnings("ignore:Skipping features without any observed values")


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: (pipeline.fit(X, y), X) for name, (pipeline, X, y) in PIPELINES.items()}


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def parameters(pipeline):
    """The parameters of all steps, as text; arrays and steps have no useful equality."""
    return {name: repr(value) for name, value in pipeline.get_params().items()}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_comes_back_as_it_was(name, fitted, tmp_path):
    pipeline, X = fitted[name]
    rb.save(pipeline, tmp_path / "a")
    found = rb.load(tmp_path / "a")
    assert type(found) is Pipeline
    one, other = pipeline[:-1].transform(X), found[:-1].transform(X)
    assert type(one) is type(other)
    assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
    assert np.array_equal(dense(one), dense(other), equal_nan=True)
    assert parameters(pipeline) == parameters(found)
    if name == "transformers only":
        return
    assert np.array_equal(pipeline.decision_function(X), found.decision_function(X))
    assert np.array_equal(pipeline.predict(X), found.predict(X))
    assert pipeline.predict(X).dtype == found.predict(X).dtype
    rb.save(found, tmp_path / "b")
    (meta, arrays), (again, others) = (parts_of((tmp_path / each).read_bytes()) for each in "ab")
    del meta["provenance"], again["provenance"]
    assert meta == again
    assert arrays.keys() == others.keys()
    assert all(np.array_equal(arrays[each], others[each], equal_nan=arrays[each].dtype.kind == "f") for each in arrays)


@pytest.mark.parametrize("name", PIPELINES)
def test_names_and_clones_of_a_loaded_pipeline_agree(name, fitted, tmp_path):
    pipeline, _ = fitted[name]
    rb.save(pipeline, tmp_path / "a")
    found = rb.load(tmp_path / "a")
    assert getattr(found, "n_features_in_", None) == getattr(pipeline, "n_features_in_", None)
    try:
        names = pipeline[:-1].get_feature_names_out()
    except AttributeError:
        with pytest.raises(AttributeError):
            found[:-1].get_feature_names_out()
    else:
        assert found[:-1].get_feature_names_out().tolist() == names.tolist()
    assert parameters(clone(found)) == parameters(clone(pipeline))
    assert repr(found) == repr(pipeline)


@pytest.mark.parametrize("name", ["frame", "tf-idf", "polynomial", "vote"])
def test_a_clone_of_a_loaded_pipeline_fits_to_the_same_bits(name, fitted, tmp_path):
    _, X, y = PIPELINES[name]
    rb.save(fitted[name][0], tmp_path / "a")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = clone(rb.load(tmp_path / "a")).fit(X, y)
    assert np.array_equal(again.decision_function(X), fitted[name][0].decision_function(X))


def test_every_transformer_is_tried(fitted):
    seen = repr([pipeline for pipeline, _ in fitted.values()]).replace("\n", "")
    names = {type(each).__name__ for pipeline, _ in fitted.values() for each in pipeline.get_params().values()}
    assert set(TRANSFORMERS) <= names, seen[:100]


def unsavable():
    X, y = rows(2)
    words = FRAME[["color"]].to_numpy()
    last = rb.LinearMSE()
    with sklearn.config_context(enable_metadata_routing=True):
        routed = StandardScaler().set_fit_request(sample_weight=False)
    columns = ColumnTransformer([("a", StandardScaler(), make_column_selector(dtype_include="number"))])
    nameless = ColumnTransformer([("a", FunctionTransformer(), ["a", "b"])]).set_output(transform="pandas")
    named = pd.DataFrame(X, columns=list("abcde"))
    return {
        "pca": (make_pipeline(StandardScaler(), PCA(2), last), X, y, "the step 'pca': its class PCA is none of the classes"),
        "foreign": (make_pipeline(LogisticRegression()), X, y, "LogisticRegression is none of the classes .* holds$"),
        "function": (make_pipeline(FunctionTransformer(np.abs), last), X, y, "FunctionTransformer cannot be saved: func"),
        "rare": (make_pipeline(OneHotEncoder(min_frequency=2), last), words, LABELS, "infrequent categories cannot be stored"),
        "analyzer": (make_pipeline(CountVectorizer(analyzer=str.split), last), TEXTS, LABELS, "analyzer is a function"),
        "pattern": (make_pipeline(CountVectorizer(token_pattern=r"(\w+)+x?"), last), TEXTS, LABELS, "token_pattern is not"),
        "selector": (make_pipeline(columns, last), pd.DataFrame(X), y, "by a function: pass their names or positions"),
        "request": (make_pipeline(routed, last), X, y, "has the attribute _metadata_request"),
        "nameless": (make_pipeline(nameless, last), named, y, "has the attribute _transformers_"),
        "memory": (Pipeline([("a", last)], memory="somewhere"), X, y, "this Pipeline: it has memory"),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", unsavable())
def test_other_steps_are_refused_by_name(name, tmp_path):
    pipeline, X, y, words = unsavable()[name]
    if name == "memory":
        pipeline.set_params(memory=str(tmp_path / "memory"))
    pipeline.fit(X, y)
    with pytest.raises(TypeError, match=words) as caught:
        rb.save(pipeline, tmp_path / "a")
    assert str(caught.value).startswith("rb.save cannot hold th")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a").exists()


def test_what_would_not_load_is_not_saved(tmp_path):
    pipeline = make_pipeline(StandardScaler(), rb.LinearMSE()).fit(*rows(2))
    pipeline[0].n_features_in_, pipeline[0].mean_ = 4, np.zeros(4)
    pipeline[0].var_ = pipeline[0].scale_ = np.ones(4)
    with pytest.raises(TypeError, match=r"rb.load would refuse it: step '': a step takes another number of features"):
        rb.save(pipeline, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_columns_of_every_kind_come_back(tmp_path):
    X, y = rows(2)
    frame = pd.DataFrame(X, columns=list("abcde"))
    last = rb.LinearMSE()
    for columns in ("a", "b", ["c", "a"], ("b", "d"), slice("b", "d"), slice(1, 3), [-1, 0], (0, 2), [True] + [False] * 4,
                    np.array([1, 2]), np.array(["a", "e"]), np.array(["a", "e"], object), [], 3,
                    frame.columns[1:3], pd.Index([0, 4]), frame.dtypes == "float64"):  # fmt: skip
        scalar = isinstance(columns, str | int)
        step = FunctionTransformer(feature_names_out="one-to-one") if not scalar else "passthrough"
        if scalar:
            columns = [columns]
        pipeline = make_pipeline(ColumnTransformer([("a", step, columns)], remainder="passthrough"), last).fit(frame, y)
        rb.save(pipeline, tmp_path / "a")
        found = rb.load(tmp_path / "a")
        assert np.array_equal(found.decision_function(frame), pipeline.decision_function(frame))
        assert found[:-1].get_feature_names_out().tolist() == pipeline[:-1].get_feature_names_out().tolist()
        with pytest.raises(ValueError, match=r"columns are missing|not a column|feature names"):
            found.predict(frame.drop(columns="a"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["frame", "data frames of columns", "data frames of a union", "constant"])
def test_a_loaded_pipeline_is_fitted_as_before(name, fitted, tmp_path):
    """The steps that are cloned for a fit choose the same containers, too."""
    pipeline, X = fitted[name]
    rb.save(pipeline, tmp_path / "a")
    found = rb.load(tmp_path / "a")
    before = pipeline.decision_function(X)
    assert np.array_equal(clone(found).fit(X, PIPELINES[name][2]).decision_function(X), before)
    assert np.array_equal(found.fit(X, PIPELINES[name][2]).decision_function(X), before)


def test_an_unfitted_pipeline_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"step 'standardscaler' \(StandardScaler\) is not fitted yet"):
        rb.save(make_pipeline(StandardScaler(), rb.LinearMSE()), tmp_path / "a")
    with pytest.raises(ValueError, match="not fitted yet"):
        rb.save(make_pipeline(StandardScaler().fit([[1.0], [2.0]]), rb.LinearMSE()), tmp_path / "a")


@pytest.fixture
def parts(fitted, tmp_path):
    def get(name):
        rb.save(fitted[name][0], tmp_path / "a")
        meta, arrays = parts_of((tmp_path / "a").read_bytes())
        return meta, dict(arrays)

    return get


@pytest.mark.parametrize(
    ("name", "path", "value", "words"),
    [
        ("standard", ["steps", 0, 1, "class"], "Popen", "unknown class 'Popen'"),
        ("standard", ["class"], "StandardScaler", "is invalid"),
        ("standard", ["steps", 0, 1, "parameters", "copy"], "yes", "copy"),
        ("standard", ["steps", 0, 1, "parameters", "__class__"], 1, "StandardScaler has an unknown parameter"),
        ("standard", ["steps", 0, 1, "fitted", "transform"], 1, "missing or unknown attributes"),
        ("standard", ["steps", 0, 1, "fitted", "n_features_in_"], 4, "has the wrong type or shape"),
        ("standard", ["steps", 0, 1, "fitted", "n_features_in_"], -4, "number of features is invalid"),
        ("standard", ["steps", 0, 1, "fitted", "mean_"], "zero", "mean_ has the wrong type or shape"),
        ("standard", ["steps", 1, 1, "model", "parameters", "max_iter"], -5, "max_iter must be at least 1"),
        ("standard", ["steps", 1, 1, "place"], 7, "the weights are missing"),
        ("polynomial", ["steps", 0, 1, "parameters", "degree"], 10**6, "degree must be a whole number of at most 20"),
        ("polynomial", ["steps", 0, 1, "fitted", "n_features_in_"], 10**6, "makes more than 10,000,000 features"),
        ("hashing", ["steps", 0, 1, "parameters", "input"], "filename", "input must be 'content'"),
        ("hashing", ["steps", 0, 1, "parameters", "ngram_range"], {"tuple": [1, 10**6]}, "ngram_range must be"),
        ("hasher", ["steps", 0, 1, "parameters", "n_features"], 1 << 40, "n_features"),
        ("counts", ["steps", 0, 1, "parameters", "token_pattern"], "(a+)+b", "token_pattern is not one run"),
        ("counts", ["steps", 0, 1, "parameters", "encoding"], "zlib", "encoding must be one of"),
        ("counts", ["steps", 0, 1, "fitted", "vocabulary_", "dict", 0, 1], 5, "vocabulary_ has the wrong type or shape"),
        ("frame", ["steps", 0, 1, "indices", 0, 1, 0], 99, "columns are invalid"),
        ("frame", ["steps", 0, 1, "fitted", "n_features_in_"], 10**9, "names of features are invalid"),
        ("columns by number", ["steps", 0, 1, "fitted", "n_features_in_"], 10**9, "columns are invalid"),
        ("data frames", ["steps", 0, 1, "steps", 0, 1, "fitted", "output"], "csv", "output is invalid"),
        ("data frames of a union", ["steps", 0, 1, "output"], "csv", "output is invalid"),
        ("constant", ["steps", 0, 1, "fitted", "statistics_", "numbers", 0], "2", "an array of numbers is invalid"),
        ("constant", ["steps", 0, 1, "fitted", "statistics_", "numbers", 0], True, "an array of numbers is invalid"),
        ("frame", ["steps", 0, 1, "steps", 0, 2], {"numbers": [0]}, "columns are invalid"),
        ("frame", ["steps", 0, 1, "outputs", 0, 1], -1, "outputs are invalid"),
        ("frame", ["steps", 0, 1, "parameters", "n_jobs"], 10**6, "n_jobs must be a whole number other than 0 and at most 256"),
        ("frame", ["steps", 0, 1, "made", 0, 0], "other", "fitted steps are invalid|KeyError"),
        ("strings", ["steps", 0, 1, "fitted", "categories_", "list", 0, "text", 0], "U99999", "takes too much memory"),
        ("gaps", ["steps", 0, 1, "fitted", "_fit_dtype"], {"dtype": "2,08"}, "unknown dtype"),
        ("union", ["steps", 0, 1, "steps", 0, 1], "execute", "is invalid"),
    ],
)
def test_forged_steps_are_refused(name, path, value, words, parts, monkeypatch):
    meta, arrays = parts(name)
    inner = meta["steps"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(rb.ModelError, match=words):
        loaded(packed(meta, arrays), monkeypatch)


def test_a_pipeline_that_contains_itself_often_is_refused(parts, monkeypatch):
    meta, arrays = parts("standard")
    for _ in range(12):
        meta["steps"] = {"class": "Pipeline", "parameters": {}, "steps": [["a", meta["steps"]]]}
    with pytest.raises(rb.ModelError, match="nested too deeply"):
        loaded(packed(meta, arrays), monkeypatch)


def test_another_version_of_scikit_learn_loads_what_is_public(parts, monkeypatch):
    for name in ("standard", "hashing", "counts", "vocabulary", "max abs"):
        meta, arrays = parts(name)
        meta["sklearn"] = "0.1"
        loaded(packed(meta, arrays), monkeypatch)
    meta, arrays = parts("frame")
    meta["sklearn"] = "0.1"
    words = rf"step '.*' \(.*\) cannot be loaded: it was saved with scikit-learn 0.1, and {sklearn.__version__} is installed"
    with pytest.raises(rb.ModelError, match=words):
        loaded(packed(meta, arrays), monkeypatch)


def test_commands_refuse_a_pipeline_in_one_sentence(fitted, tmp_path):
    rb.save(fitted["standard"][0], tmp_path / "a")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    for command in (["show", "a"], ["predict", "a", "rows.csv"], ["evaluate", "a", "rows.csv"], ["export", "a", "--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "rosenblatt", *command], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode != 0
        assert done.stderr.strip().endswith("a: a scikit-learn Pipeline, which only Python can use: load it with rb.load")


def test_no_array_has_two_uses(parts, monkeypatch):
    meta, arrays = parts("standard")
    fitted = meta["steps"]["steps"][0][1]["fitted"]
    fitted["var_"] = fitted["mean_"]
    with pytest.raises(rb.ModelError, match="missing array, or to one that is in use"):
        loaded(packed(meta, arrays), monkeypatch)
    meta, arrays = parts("standard")
    arrays["step.9.more"] = np.zeros(3)
    with pytest.raises(rb.ModelError, match="a Pipeline has an unknown array"):
        loaded(packed(meta, arrays), monkeypatch)
    assert json.dumps(meta)
