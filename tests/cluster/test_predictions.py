"""Predictions, tests and margins on blocks are those of one machine, for any blocks, engines and containers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cluster_data import noisy_rows
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from rosenblatt.cluster.blocks import BlockError
from rosenblatt.cluster.engine import InProcess
from rosenblatt.data.table import DataError
from rosenblatt.probabilities.measures import ProbabilityTest
from rosenblatt.training.metrics import Confusion

dask = pytest.importorskip("dask")

NAMES = np.array(["a", "b", "c"])


def rows(k: int = 3) -> tuple[Any, Any]:
    X, codes = noisy_rows(157, 6, k)
    return X, NAMES[codes]


def estimators() -> list[Any]:
    X, y = rows()
    return [
        rb.SoftMargin().fit(X, y),
        rb.SoftMargin(loss="logistic").fit(X, y),
        rb.Perceptron(keep="vote", max_iter=5).fit(X, y),
        rb.SoftMargin(multiclass="ovo").fit(X, y),
        make_pipeline(StandardScaler(), rb.LinearMSE()).fit(X, y),
    ]


@pytest.mark.parametrize("number", range(5))
def test_labels_are_those_of_one_machine(number: int) -> None:
    (X, y), model = rows(), estimators()[number]
    known = model.predict(X)
    for block_rows in (1, 40, 1000):
        for engine in (InProcess(1), InProcess(3)):
            found = rb.cluster.predict(model, X, engine, block_rows=block_rows)
            assert isinstance(found, np.ndarray)
            assert found.dtype == known.dtype
            assert_array_equal(found, known)
    assert_array_equal(rb.cluster.predict(model, (X, y), block_rows=50), known)


def test_blocks_may_be_of_any_kind(tmp_path: Path) -> None:
    import dask.array as da
    import dask.dataframe as dd

    X, y = rows()
    model = rb.SoftMargin().fit(X, y)
    path = tmp_path / "m.safetensors"
    rb.save(model, path)
    known = model.predict(X)
    chunks = da.from_array(X, chunks=(50, 4))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    delayed = [dask.delayed(lambda part: part)(X[start : start + 60]) for start in (0, 60, 120)]
    pairs = [dask.delayed(lambda *parts: parts)(X[start : start + 60], y[start : start + 60]) for start in (0, 60, 120)]
    sparse = sp.csr_matrix(X)
    data = (X, sparse, chunks, (chunks, da.from_array(y, chunks=50)), frame, pd.DataFrame(X), delayed, pairs)
    for each in (*data, [X[:100], X[100:100], sparse[100:]]):
        assert_array_equal(rb.cluster.predict(path, each), known)


def test_a_sparse_block_may_lack_the_last_columns() -> None:
    X, y = rows()
    X[100:, 4:] = 0.0
    model = rb.SoftMargin().fit(X, y)
    blocks = [(sp.csr_array(X[:100]), y[:100]), (sp.csr_array(X[100:, :4]), y[100:])]
    assert_array_equal(rb.cluster.predict(model, blocks), model.predict(X))
    assert_allclose(rb.cluster.margin(model, blocks), rb.margin(model, X, y), rtol=1e-12)


@pytest.mark.parametrize("number", range(5))
def test_counts_and_losses_are_those_of_one_machine(number: int) -> None:
    (X, y), model = rows(), estimators()[number]
    codes = np.searchsorted(NAMES, y)
    known = Confusion.of(codes, np.searchsorted(NAMES, model.predict(X)), 3)
    for block_rows in (30, 1000):
        tests = [rb.cluster.evaluate(model, (X, y), InProcess(n), block_rows=block_rows) for n in (1, 3)]
        assert tests[0].probabilities == tests[1].probabilities
        assert_array_equal(tests[0].confusion.counts, known.counts)
        assert_array_equal(tests[0].classes, NAMES)
        assert (tests[0].probabilities is None) == (not hasattr(model, "predict_proba"))
        if tests[0].probabilities is not None:
            test, of_all = tests[0].probabilities.to_dict(), ProbabilityTest.of(model.predict_proba(X), codes).to_dict()
            assert_allclose([test["log_loss"], test["brier"]], [of_all["log_loss"], of_all["brier"]], rtol=1e-13)
            assert [each["rows"] for each in test["reliability"]] == [each["rows"] for each in of_all["reliability"]]


def test_a_diagram_of_two_classes_is_that_of_the_smaller_one() -> None:
    X, codes = noisy_rows(200, 3)
    y = codes == 1
    y[:60] = True  # the first blocks have one class
    model = rb.SoftMargin(loss="logistic").fit(X, y)
    test = rb.cluster.evaluate(model, (X, y), block_rows=30).probabilities
    known = ProbabilityTest.of(model.predict_proba(X), y.astype(int))
    assert test is not None
    assert test.positive == known.positive
    assert_allclose(test.calibration_error, known.calibration_error, rtol=1e-12)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("space", ["augmented", "geometric"])
def test_the_margin_is_that_of_one_machine(k: int, space: Any) -> None:
    X, y = rows(k)
    model = rb.Perceptron(max_iter=20, intercept_scaling=2.0).fit(X, y)
    known = rb.margin(model, X, y, space=space)
    plain = (model.coef_, model.intercept_)
    for each, expected in ((model, known), (plain, rb.margin(plain, X, y, space=space))):
        for block_rows in (20, 1000):
            found = [rb.cluster.margin(each, (X, y), InProcess(n), space=space, block_rows=block_rows) for n in (1, 3)]
            assert found[0] == found[1]
            assert_allclose(found[0], expected, rtol=1e-12)
    piped = make_pipeline(StandardScaler(), rb.LinearMSE()).fit(X, y)
    assert_allclose(rb.cluster.margin(piped, (X, y), block_rows=20), rb.margin(piped, X, y), rtol=1e-12)


def test_labels_are_written_to_one_file_for_each_block(tmp_path: Path) -> None:
    X, y = rows()
    model, folder = rb.SoftMargin().fit(X, y), tmp_path / "labels"
    for block_rows in (20, 60):  # the second call has fewer blocks
        path = rb.cluster.predict(model, X, InProcess(2), to=folder, block_rows=block_rows)
        assert path == folder / "index.json"
        index = json.loads(path.read_text())
        files = [each["file"] for each in index["files"]]
        assert sorted(each.name for each in folder.iterdir()) == [*files, "index.json"]
        assert index["rows"] == len(X)
        labels = "".join((folder / name).read_text() for name in files).splitlines()
        assert labels == model.predict(X).tolist()
    (folder / "notes.txt").write_text("")
    with pytest.raises(ValueError, match=r"holds other files, such as notes\.txt: name a new folder"):
        rb.cluster.predict(model, X, to=folder)
    assert (folder / "index.json").exists()


def test_an_error_leaves_no_index(tmp_path: Path) -> None:
    X, y = rows()
    model = rb.SoftMargin().fit(X, y)
    X[100, 2] = np.nan
    with pytest.raises(BlockError, match="block 6: X contains NaN or infinity"):
        rb.cluster.predict(model, X, to=tmp_path, block_rows=20)
    assert not (tmp_path / "index.json").exists()


def test_errors_name_the_block() -> None:
    X, y = rows()
    model = rb.SoftMargin().fit(X, y)
    with pytest.raises(BlockError, match="block 2: X has 5 columns, but the model was trained on 6"):
        rb.cluster.predict(model, [X, X[:, :5]])
    with pytest.raises(BlockError, match=r"block 1 has no labels: give pairs \(X, y\)"):
        rb.cluster.evaluate(model, X)
    with pytest.raises(BlockError, match=r"block 1 has no labels: give pairs \(X, y\)"):
        rb.cluster.margin(model, X)
    y[-1] = "d"
    with pytest.raises(DataError, match="block 4, row 7: label 'd' is unknown to the model"):
        rb.cluster.evaluate(model, (X, y), block_rows=50)
    with pytest.raises(BlockError, match="block 4: y has labels unknown to the model: 'd'"):
        rb.cluster.margin(model, (X, y), block_rows=50)
    with pytest.raises(TypeError, match="model must be a fitted classifier, a Model or a path, got int"):
        rb.cluster.predict(3, X)
    with pytest.raises(BlockError, match=r"block 1: the block must be rows with two dimensions, or a pair \(X, y\).*got list"):
        rb.cluster.predict(model, X.tolist())
    with pytest.raises(ValueError, match="there are no blocks"):
        rb.cluster.predict(model, [])


def test_tables_in_files_are_read_as_the_model_reads_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue"], 300)
    size = rng.normal(size=300).round(3)
    label = np.where(size + (color == "red") + 0.3 * rng.normal(size=300) > 0.4, "yes", "no")
    table = pd.DataFrame({"color": color, "note": ['two "lines"\nof text'] * 300, "size": size, "label": label})
    paths = [tmp_path / f"part{number}.csv" for number in (1, 2)]
    table[:170].to_csv(paths[0], index=False)
    table[170:].to_csv(paths[1], index=False)
    data = rb.cluster.read([str(path) for path in paths], label="label", block_bytes=1500)
    model = data.model(rb.cluster.fit(rb.SoftMargin(loss="logistic"), data))
    known = np.concatenate([model.predict(path) for path in paths])
    for engine in (InProcess(1), InProcess(3)):
        assert_array_equal(rb.cluster.predict(model, data, engine), known)
    test = rb.cluster.evaluate(model, data)
    assert test.confusion.errors == int((known != label).sum())
    assert test.probabilities is not None
    parts = ((paths[0], label[:170]), (paths[1], label[170:]))
    weights = (model.coef, model.intercept)
    margins = [rb.margin(weights, model.features(path).to_scipy(), labels) for path, labels in parts]
    assert_allclose(rb.cluster.margin(model, data), min(margins), rtol=1e-12)
    unlabeled = tmp_path / "new.csv"
    table.drop(columns="label").to_csv(unlabeled, index=False)
    assert_array_equal(rb.cluster.predict(model, rb.cluster.read(str(unlabeled), block_bytes=1500)), known)
    assert_array_equal(rb.cluster.predict(model.estimator(), data), known)  # the features are those that it was fitted to
    assert rb.cluster.margin(model.estimator(), data) == rb.cluster.margin(model, data)
    with pytest.raises(TypeError, match="files are read by an estimator of Rosenblatt or a Model"):
        rb.cluster.predict(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), data)


def test_matrices_in_files_are_read_by_an_estimator(tmp_path: Path) -> None:
    X, y = rows(2)
    X, y = np.where(X > 0.0, X, 0.0), (y == "b").astype(int)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    model = rb.SoftMargin().fit(X, y)
    data = rb.cluster.read(str(path), block_bytes=2000)
    assert data.n_blocks > 2
    assert_array_equal(rb.cluster.predict(model, data), model.predict(X))
    assert rb.cluster.evaluate(model, data).confusion.errors == int((model.predict(X) != y).sum())
    assert_allclose(rb.cluster.margin(model, data), rb.margin(model, X, y), rtol=1e-12)
