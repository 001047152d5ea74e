"""Real files through the front door and into features."""

from __future__ import annotations

import numpy as np
import pytest

import rosenblatt as rb
from datasets import data_file, libsvm, mnist
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.preprocessing.recipe import Recipe


def test_mnist_idx():
    data = read(data_file("mnist/t10k-images-idx3-ubyte.gz"))
    X, y = mnist("t10k")
    np.testing.assert_array_equal(data.features / 255, X)
    np.testing.assert_array_equal(data.labels, y)


@pytest.mark.parametrize("name", ["heart", "dna.scale", "svmguide1", "ijcnn1.trn.bz2"])
def test_svmlight_by_its_first_line(name):
    data = read(data_file(f"libsvm/{name}"))
    X, y = libsvm(name)
    assert (data.features.to_scipy() != X).nnz == 0
    np.testing.assert_array_equal(data.labels, y)


FILES = {
    "uci/adult.data": (Options(missing="mean"), 14, 108, "column 14"),  # with the missing cells of three columns
    "uci/spambase.data": (Options(), 57, 57, "column 57"),
    "uci/wdbc.data": (Options(label="1", ignore=("0",)), 30, 30, "column 1"),
    "uci/breast-cancer-wisconsin.data": (Options(missing="mean"), 10, 10, "column 10"),
    "text/sms_spam.tsv": (Options(), 1, 8713, "column 0"),
    "text/ag_news_test.csv": (Options(missing="auto"), 2, 30326, "Class Index"),
}


@pytest.mark.parametrize("name", FILES)
def test_tables_and_their_features(name):
    options, columns, features, label = FILES[name]
    data = read(data_file(name), options)
    recipe = Recipe.learn([data])
    assert data.features.shape[1] == columns
    assert recipe.width == recipe.rows(data).shape[1] == features
    assert data.label_name == label
    assert Recipe.from_parts(*recipe.to_parts()) == recipe


@pytest.mark.parametrize("name", ["uci/adult.data", "libsvm/a1a", "mnist/t10k-images-idx3-ubyte.gz"])
def test_chunks_learn_the_same_recipe(name):
    options = Options(missing="mean")
    whole, cut = Recipe.learn([read(data_file(name), options)]), Recipe.learn(chunks(data_file(name), options, 1 << 18))
    assert whole == cut


@pytest.mark.parametrize(("name", "options", "accuracy"), [
    ("uci/spambase.data", Options(), 0.88),
    ("libsvm/heart", Options(), 0.8),
    ("uci/adult.data", Options(missing="mean"), 0.84),
    ("text/sms_spam.tsv", Options(), 0.97),
])  # fmt: skip
def test_scaled_features_are_learned_from(name, options, accuracy):
    data = read(data_file(name), options)
    recipe = Recipe.learn([data])
    X, y = recipe.rows(data), np.asarray(data.labels).astype(str)
    X = X.to_scipy() if isinstance(X, CSRMatrix) else X
    order = np.random.default_rng(0).permutation(len(y))
    held, rest = order[: len(y) // 5], order[len(y) // 5 :]
    model = rb.Perceptron(keep="average", random_state=0).fit(X[rest], y[rest])
    assert model.score(X[held], y[held]) > accuracy
