"""`Model`: a fitted classifier without scikit-learn scores as the estimator did, and keeps its provenance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from trained_models import assert_same, rows, there_and_back, trained

import rosenblatt as rb
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.models.files import load_model
from rosenblatt.models.state import model_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a model.safetensors"


def test_a_model_comes_back_as_a_model(path):
    estimator = trained("average", 4)
    model = model_of(estimator, names=list("abcde"), provenance={"source": "a.csv", "command": ["train", "a.csv"]})
    loaded = there_and_back(model, path)
    assert isinstance(loaded, rb.Model)
    X, _ = rows(4)
    assert np.array_equal(loaded.scores(X), estimator.decision_function(X))
    assert np.array_equal(loaded.predict(X), estimator.predict(X))
    assert list(loaded.feature_names) == list("abcde")
    assert loaded.provenance["source"] == "a.csv"
    assert (loaded.kind, loaded.n_iter, loaded.n_updates) == ("Perceptron", estimator.n_iter_, estimator.n_updates_)
    assert loaded.stop == estimator.stop_
    assert loaded.parameters == estimator.get_params()
    assert_same(estimator, loaded.estimator(), X)


def test_a_model_for_prediction_only_is_small(path):
    estimator = trained("average", 4)
    rb.save(estimator, path)
    whole = path.stat().st_size
    loaded = there_and_back(model_of(estimator, running=False), path)
    assert path.stat().st_size < whole
    assert np.array_equal(loaded.predict(rows(4)[0]), estimator.predict(rows(4)[0]))
    with pytest.raises(ValueError, match="saved for prediction only"):
        loaded.estimator()


def test_every_file_loads_as_a_model(path):
    for name in ("perceptron", "vote", "soft-margin"):
        estimator = trained(name, 4)
        rb.save(estimator, path)
        assert np.array_equal(load_model(path).scores(rows(4)[0]), estimator.decision_function(rows(4)[0]))


def test_provenance_has_versions_time_and_the_digest_of_the_data(path):
    X, y = rows(2)
    model = rb.Perceptron().fit(X, y)
    rb.save(model, path, data=(X, y))
    found = load_model(path).provenance
    assert found["rosenblatt"] == rb.__version__
    assert found["numpy"] == np.__version__
    assert found["saved"].endswith("Z")
    assert (found["rows"], found["columns"]) == X.shape
    assert found["data_sha256"] == rb.certify(X, y).about.sha256
    rb.save(model, path, data=(sp.csr_array(X), y))
    assert load_model(path).provenance["data_sha256"] == found["data_sha256"]


@pytest.mark.parametrize("name", ["perceptron", "average", "pa-2", "linear-mse", "soft-margin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 4])
def test_sparse_rows_are_scored_as_scipy_scores_them(name, dtype, k, path, monkeypatch):
    """Without SciPy, in blocks, to the bit."""
    monkeypatch.setattr("rosenblatt.data.csr.VALUES_PER_PRODUCT", 7)
    estimator = trained(name, k, dtype=dtype)
    rb.save(estimator, path)
    X = sp.random_array((50, 5), density=0.6, rng=np.random.default_rng(1), format="csr")
    X.data[:] = np.random.default_rng(2).normal(size=len(X.data)) * 10.0 ** np.random.default_rng(3).integers(
        -9, 9, len(X.data)
    )
    own = CSRMatrix(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), 5)
    model = load_model(path)
    scores = estimator.decision_function(X)
    assert np.array_equal(model.scores(own), scores[:, None] if k == 2 else scores)
    assert np.array_equal(model.predict(own), estimator.predict(X))


def test_sparse_rows_may_be_narrower_than_the_model(path):
    """A file of sparse rows does not state its number of columns."""
    model = model_of(trained("average", 4))
    narrow = CSRMatrix(np.array([2.0, -1.0]), np.array([0, 2], np.int32), np.array([0, 1, 2]), 3)
    wide = np.array([[2.0, 0, 0, 0, 0], [0, 0, -1.0, 0, 0]])
    np.testing.assert_allclose(model.scores(narrow), model.scores(wide), rtol=1e-14)
    with pytest.raises(ValueError, match="X has 6 columns"):
        model.scores(CSRMatrix(np.ones(1), np.full(1, 5, np.int32), np.array([0, 1]), 6))


def test_sparse_rows_that_overflow_keep_their_sign(path):
    X, y = rows(2)
    estimator = rb.Perceptron().fit(X * 1e150, y)
    rb.save(estimator, path)
    huge = sp.csr_array(X * 1e200)
    own = CSRMatrix(huge.data, huge.indices.astype(np.int32), huge.indptr.astype(np.int64), 5)
    assert np.array_equal(load_model(path).predict(own), estimator.predict(huge))
    assert np.isfinite(load_model(path).scores(own)).all()


def test_rows_that_cannot_be_scored_are_refused():
    model = model_of(trained("perceptron"))
    for X, words in (
        (np.zeros((2, 4)), "X has 4 columns, but the model was trained on 5"),
        (np.zeros(5), "must have rows and columns"),
        (np.full((2, 5), np.nan), "contains NaN or infinity"),
        (CSRMatrix(np.array([np.inf]), np.zeros(1, np.int32), np.array([0, 1]), 5), "contains NaN or infinity"),
    ):
        with pytest.raises(ValueError, match=words):
            model.predict(X)


def test_a_recipe_goes_with_the_model(path, monkeypatch):
    class Halves:
        feature_names = ("a", "b", "c", "d", "e")
        width = 5

        def __init__(self, factors):
            self.factors = factors

        def rows(self, X):
            return np.asarray(X) * self.factors

        def to_parts(self):
            return {"what": "halves"}, {"factors": self.factors}

        @classmethod
        def from_parts(cls, meta, arrays):
            return cls(arrays["factors"])

    from rosenblatt.models import files

    monkeypatch.setattr("rosenblatt.preprocessing.recipe.Recipe", Halves)

    estimator = trained("average")
    model = model_of(estimator, recipe=Halves(np.full(5, 0.5)))
    X, _ = rows(2)
    assert np.array_equal(model.scores(X)[:, 0], estimator.decision_function(X * 0.5))
    meta, arrays = files.to_parts(model, "model")
    assert meta["recipe"] == {"what": "halves"}
    again = files.from_parts(meta, arrays)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.feature_names == ("a", "b", "c", "d", "e")
    monkeypatch.setattr(Halves, "width", 4)
    with pytest.raises(ValueError, match="the recipe makes 4 features, but the weights have 5"):
        files.from_parts(meta, arrays)
