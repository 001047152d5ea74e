"""Writers: what they write reads back as it was, to the last bit."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reading_files import read

from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.writers import write_csv, write_svmlight

finite = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5).map(float)


def svmlight(X: Any, labels: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    write_svmlight(stream, X, labels, **options)
    return stream.getvalue()


def table(*args: Any) -> bytes:
    stream = io.BytesIO()
    write_csv(stream, *args)
    return stream.getvalue()


@settings(deadline=None, max_examples=60)
@given(arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=finite), st.booleans())
def test_svmlight_comes_back(X: Any, zero_based: bool) -> None:
    labels = np.arange(len(X)) - 1.5
    content = svmlight(X, labels, zero_based=zero_based)
    data = read("svmlight", content, kernel=False, zero_based=zero_based, columns=X.shape[1])
    assert data.labels.tolist() == labels.tolist()
    assert (data.features.to_scipy().toarray() + 0.0 == X + 0.0).all()
    assert svmlight(sp.csr_array(X), labels, zero_based=zero_based) == content
    assert svmlight(data.features, labels, zero_based=zero_based) == content


def test_svmlight_as_it_looks() -> None:
    sparse = CSRMatrix(np.array([1.0, -0.0, 0.1, 1e300]), np.array([0, 4, 1, 2], np.int32), np.array([0, 2, 2, 4]), 5)
    assert svmlight(sparse, [1, -1, 2.5]) == b"1 1:1 5:-0\n-1\n2.5 2:0.1 3:1e+300\n"
    assert svmlight(np.eye(2, dtype=np.float32), np.array(["1", "-1"], object)) == b"1 1:1\n-1 2:1\n"
    with pytest.raises(
        ValueError, match="labels of an svmlight file must be numbers: could not convert string to float: 'ham'"
    ):
        svmlight(np.eye(1), ["ham"])


def test_many_rows_in_blocks() -> None:
    X = np.arange(20_000.0).reshape(10_000, 2) / 7
    data = read("svmlight", svmlight(X, np.zeros(10_000)), kernel=False)
    assert (data.features.to_scipy().toarray() == X).all()


words = st.text(max_size=8).filter(lambda s: "\0" not in s and "\r" not in s) | st.sampled_from([" x ", 'a"b', "a,b", "a\nb"])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(finite, words, st.sampled_from(["yes", "no"])), min_size=1, max_size=6))
def test_csv_comes_back(rows: list[tuple[float, str, str]]) -> None:
    numbers, texts, labels = (list(column) for column in zip(*rows, strict=True))
    columns = np.array(numbers), np.array(texts, object)
    content = table(("n", "t"), columns, np.array(labels, object), "kind, of")
    data = read("csv", content, False, label="kind, of", header=True, text=("t",), categorical=("kind, of",))
    assert data.features.columns[0].view(np.int64).tolist() == columns[0].view(np.int64).tolist()
    assert data.features.columns[1].tolist() == texts
    assert data.labels.tolist() == labels


def test_csv_as_it_looks() -> None:
    columns = (np.array([1.0, np.nan]), np.array(["x", None], object), np.array([3, 4]))
    assert table(("a", "b", "c"), columns, np.array([0.5, 2]), "y") == b"a,b,c,y\n1,x,3,0.5\n,,4,2\n"
    assert table(("a", "b"), np.eye(2)) == b"a,b\n1,0\n0,1\n"
    assert table(("a",), [np.array([np.nan, 1])]) == b'a\n""\n1\n'
    with pytest.raises(ValueError, match="names must have 2 entries, one per column, got 1"):
        table(("a",), np.eye(2))
