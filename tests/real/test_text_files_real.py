"""Readers on real files: scikit-learn's arrays bit for bit, and tables as they are known."""

from __future__ import annotations

import bz2
import gzip
import io
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from datasets import data_file, libsvm, uci
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.delimited import delimited_chunks, read_delimited
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.readers.svmlight import read_svmlight, svmlight_chunks
from rosenblatt.data.table import Data, DataError
from rosenblatt.kernels.compile import COMPILED

SMALL = (
    "a1a",
    "australian",
    "breast-cancer_scale",
    "fourclass",
    "german.numer",
    "heart",
    "heart_scale",
    "svmguide1",
    "svmguide1.t",
)
LARGE = ("a9a", "w8a", "mushrooms", "reuters.tst.bz2")


def table(name: str, **options: Any) -> Data:
    with Source(data_file(name)) as source:
        return read_delimited(source, Options(**options))


@pytest.mark.parametrize(
    "name",
    [
        *SMALL,
        *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE),
        pytest.param("news20.bz2", marks=pytest.mark.thorough),
    ],
)
def test_svmlight(name: str) -> None:
    path = data_file(f"libsvm/{name}")
    X, y = load_svmlight_file(str(path), zero_based=False)
    with Source(path) as source:
        data = read_svmlight(source)
    rows = data.features
    assert rows.shape == X.shape
    assert np.array_equal(rows.values.view(np.int64), X.data.view(np.int64))
    assert np.array_equal(rows.indices, X.indices)
    assert np.array_equal(rows.indptr, X.indptr)
    assert np.array_equal(data.labels, y)


def test_chunks_of_a_compressed_file() -> None:
    X, y = libsvm("a1a")
    packed = gzip.compress(data_file("libsvm/a1a").read_bytes())
    with Source("a1a.gz", stream=io.BytesIO(packed)) as source:
        parts = list(svmlight_chunks(source, size=10_000))
    assert len(parts) > 5
    assert np.array_equal(np.concatenate([part.labels for part in parts]), y)
    assert np.array_equal(np.concatenate([part.features.indices for part in parts]), X.indices)


@pytest.mark.parametrize(
    "name", ["sonar.all-data", "ionosphere.data", "iris.data", "banknote_authentication.csv", "spambase.data"]
)
def test_tables_of_numbers(name: str) -> None:
    if name == "spambase.data" and not COMPILED:
        pytest.skip("it is long enough for the kernel, which takes its time as Python")
    X, y = uci(name)
    data = table(f"uci/{name}")
    assert np.array_equal(np.column_stack(data.features.columns), X)
    assert data.labels.astype(str).tolist() == (y if data.labels.dtype == object else y.astype(float)).astype(str).tolist()


def test_the_label_is_in_the_middle() -> None:
    with pytest.raises(DataError, match="use --label"):
        table("uci/wdbc.data")
    data = table("uci/wdbc.data", label="1", ignore=("0",))
    assert data.features.shape == (569, 30)
    assert sorted(set(data.labels)) == ["B", "M"]


def test_missing_values() -> None:
    with pytest.raises(
        DataError, match=r"breast-cancer-wisconsin\.data, line 24, column 6: the value is missing; use --missing auto"
    ):
        table("uci/breast-cancer-wisconsin.data")
    data = table("uci/breast-cancer-wisconsin.data", missing="mean")
    assert int(np.isnan(data.features.columns[6]).sum()) == 16


@pytest.mark.slow
def test_categories() -> None:
    data = table("uci/adult.data", missing="mean")
    assert data.features.shape == (32_561, 14)
    kinds = "".join("n" if column.dtype == np.float64 else "t" for column in data.features.columns)
    assert kinds == "ntntntttttnnnt"
    assert sum(word is None for word in data.features.columns[1]) == 1836
    assert [(data.labels == label).sum() for label in ("<=50K", ">50K")] == [24_720, 7_841]
    with Source(data_file("uci/adult.data")) as source:
        parts = list(delimited_chunks(source, Options(missing="mean"), 300_000))
    for c, column in enumerate(data.features.columns):
        assert np.array_equal(np.concatenate([part.features.columns[c] for part in parts]), column, equal_nan=kinds[c] == "n")
    assert table("uci/adult.test", missing="mean").n_rows == 16_281


@pytest.mark.slow
def test_text() -> None:
    data = table("text/sms_spam.tsv")
    assert (data.n_rows, data.label_name) == (5_574, "column 0")
    lines = data_file("text/sms_spam.tsv").read_text("utf-8").split("\n")
    assert data.features.columns[0][282] == lines[282].split("\t")[1]  # a quote that opens nothing
    news = table("text/ag_news_test.csv", missing="auto")  # the title in line 1,901 is #NAME?
    assert (news.features.shape, news.label_name, news.features.names) == ((7_600, 2), "Class Index", ("Title", "Description"))


def test_bzip2_digest() -> None:
    path = data_file("libsvm/reuters.tst.bz2")
    with Source(path) as source:
        assert source.read() == bz2.decompress(path.read_bytes())
    assert source.sha256 is not None
