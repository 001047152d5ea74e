"""npz archives: dense and sparse, and that any bytes give rows or one sentence."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from outcome import outcome

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import DataError

X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
y = np.array([1, 0, 1, 0])


def save(folder: Path, **arrays) -> str:
    path = folder / "rows.npz"
    np.savez(path, **arrays)
    return str(path)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool, ">f8", "<u2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense(tmp_path, dtype, order):
    data = read(save(tmp_path, X=np.asarray(X, dtype, order=order), y=y))
    np.testing.assert_array_equal(data.features, X.astype(dtype).astype(float))
    assert data.features.dtype == np.float64
    assert data.features.flags.c_contiguous
    assert data.labels.tolist() == y.tolist()


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("prefix", ["", "X_"])
def test_sparse(tmp_path, make, prefix):
    matrix = make(X)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    kind = {"format": np.array(matrix.format.encode())}
    data = read(save(tmp_path, y=y, **{prefix + name: value for name, value in (parts | kind).items()}))
    np.testing.assert_array_equal(data.features.to_scipy().toarray(), X)
    assert data.features.indices.dtype == np.int32
    assert data.features.indptr.dtype == np.int64


def test_text_labels_and_none(tmp_path):
    assert read(save(tmp_path, X=X, y=np.array(["a", "bé", "a", "c"]))).labels.tolist() == ["a", "bé", "a", "c"]
    assert read(save(tmp_path, X=X, y=np.array([b"a", b"b", b"a", b"c"]))).labels.tolist() == ["a", "b", "a", "c"]
    assert read(save(tmp_path, X=X)).labels is None


@pytest.mark.parametrize("size", [1, 60, 1 << 20])
def test_chunks_are_the_same_rows(tmp_path, size):
    matrix = sp.csr_array(X)
    sparse = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    for arrays in ({"X": X}, {"X": np.asfortranarray(X)}, {"X": X.astype(np.int8)}, {"X": X, "other": X}, sparse):
        parts = list(chunks(save(tmp_path, y=y, **arrays), Options(), size))
        rows = [
            part.features if isinstance(part.features, np.ndarray) else part.features.to_scipy().toarray() for part in parts
        ]
        np.testing.assert_array_equal(np.concatenate(rows), X)
        assert np.concatenate([part.labels for part in parts]).tolist() == y.tolist()


def test_damage_in_chunks_is_a_sentence(tmp_path):
    def rows(**arrays):
        return list(chunks(save(tmp_path, **arrays), Options(), 24))

    holed = X.copy()
    holed[2, 1] = np.nan
    with pytest.raises(DataError, match="row 3, column 1: the value is nan"):
        rows(X=holed, y=y)
    with pytest.raises(DataError, match="X has 4 rows, but y has 3 labels"):
        rows(X=X, y=y[:3])
    path = Path(save(tmp_path, X=X, y=y))
    raw = bytearray(path.read_bytes())
    raw[raw.index(X.tobytes()) + 5] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DataError, match="Bad CRC"):
        list(chunks(path, Options(), 24))


def test_missing_cells(tmp_path):
    holed = X.copy()
    holed[1, 2] = np.nan
    path = save(tmp_path, X=holed, y=y)
    with pytest.raises(DataError, match=r"row 2, column 2: the value is nan"):
        read(path)
    assert np.isnan(read(path, Options(missing="mean")).features[1, 2])
    holed[1, 2] = np.inf
    with pytest.raises(DataError, match=r"row 2, column 2: the value is inf"):
        read(save(tmp_path, X=holed, y=y), Options(missing="mean"))


BAD = {
    "other names": ({"a": X, "b": y}, "the archive must have the arrays X and y"),
    "lengths": ({"X": X, "y": y[:3]}, "X has 4 rows, but y has 3 labels"),
    "one axis": ({"X": X[0], "y": y}, "X must be a matrix of numbers"),
    "text": ({"X": X.astype(str), "y": y}, "X must be a matrix of numbers"),
    "objects": ({"X": X.astype(object), "y": y}, "not numbers or text"),
    "complex": ({"X": X.astype(complex), "y": y}, "not numbers or text"),
    "no rows": ({"X": X[:0], "y": y[:0]}, "the file has no rows"),
    "no columns": ({"X": X[:, :0], "y": y}, "the file has no columns"),
    "labels of two axes": ({"X": X, "y": X}, "y must have one dimension, got 2"),
    "nan label": ({"X": X, "y": y * np.nan}, "row 1: the label is not finite"),
    "twice": ({"X": X, "X_X": X, "y": y}, "two arrays 'X'"),
    "bytes": ({"X": X, "y": np.array([b"\xff"] * 4)}, "labels that are not valid text"),
    "half of a character": ({"X": X, "y": np.array(["\ud800"] * 4)}, "labels that are not valid text"),
    "no characters": ({"X": X, "y": np.full(4, 0x110000, np.uint32).view("<U1")}, "y.npy holds numbers that are no characters"),
    "swapped": ({"X": X, "y": np.full(4, 97, "<u4").view(">U1")}, "y.npy holds numbers that are no characters"),
}
PARTS = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], "shape": [2, 2], "y": [0, 1]}
BAD_SPARSE = {
    "short": ({"indptr": [0, 2]}, "are inconsistent"),
    "descending": ({"indptr": [0, 3, 2]}, "are inconsistent"),
    "outside": ({"indices": [0, 2]}, "are inconsistent"),
    "negative": ({"indices": [0, -1]}, "are inconsistent"),
    "floats": ({"indices": [0.0, 1.0]}, "are inconsistent"),
    "shape": ({"shape": [2]}, "are inconsistent"),
    "huge shape": ({"shape": [2, 2**62]}, "the limit is 2^31 - 1"),
    "twice": ({"indices": [1, 1], "indptr": [0, 2, 2]}, "has a column twice"),
    "format": ({"format": np.array(b"coo")}, "only csr and csc are supported"),
    "format in no characters": ({"format": np.full(1, 0x110000, np.uint32).view("<U1")}, "numbers that are no characters"),
    "nan": ({"data": [np.nan, 1]}, "row 1, column 0: the value is nan"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays(tmp_path, name):
    arrays, sentence = BAD[name]
    with pytest.raises(DataError) as error:
        read(save(tmp_path, **arrays))
    assert sentence in str(error.value)


@pytest.mark.parametrize("name", BAD_SPARSE)
def test_bad_sparse_matrices(tmp_path, name):
    changed, sentence = BAD_SPARSE[name]
    with pytest.raises(DataError) as error:
        read(save(tmp_path, **(PARTS | changed)))
    assert sentence in str(error.value)


def test_a_header_that_promises_too_much(tmp_path):
    """A few bytes that declare a terabyte."""
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, {"descr": "<f8", "fortran_order": False, "shape": (1 << 20, 1 << 17)})
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        archive.writestr("X.npy", raw.getvalue() + bytes(64))
    with pytest.raises(DataError, match="more values than it has"):
        read(str(tmp_path / "rows.npz"))


def test_a_compressed_archive_and_one_from_stdin(tmp_path, monkeypatch):
    raw = Path(save(tmp_path, X=X, y=y)).read_bytes()
    (tmp_path / "rows.npz.gz").write_bytes(gzip.compress(raw))
    np.testing.assert_array_equal(read(tmp_path / "rows.npz.gz").features, X)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    np.testing.assert_array_equal(read("-").features, X)
    with pytest.raises(DataError, match="the compressed file expands to more than 100 bytes, the limit of --max-memory"):
        read(tmp_path / "rows.npz.gz", Options(max_memory=100))


@pytest.mark.parametrize(("header", "sentence"), [
    (b"\x93NUMPY\x09\x00", "unknown version"),
    (b"\x93NUMPY\x01\x00\x10\x00" + b"{'a': 1}".ljust(15) + b"\n", "damaged"),
    (b"\x93NUMPY\x01\x00\xff\xff", "damaged"),
    (b"not an array", "damaged"),
])  # fmt: skip
def test_members_that_are_no_arrays(tmp_path, header, sentence):
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        archive.writestr("X.npy", header)
    for rows in (read, lambda path: list(chunks(path, Options(), 8))):
        with pytest.raises(DataError, match=sentence):
            rows(tmp_path / "rows.npz")


@pytest.mark.parametrize("extra", [-8, 8])
def test_more_or_fewer_values_than_the_header_declares(tmp_path, extra):
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, {"descr": "<f8", "fortran_order": False, "shape": (4, 3)})
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        archive.writestr("X.npy", raw.getvalue() + bytes(96 + extra))
    for rows in (read, lambda path: list(chunks(path, Options(), 8))):
        with pytest.raises(DataError, match="values"):
            rows(tmp_path / "rows.npz")


def test_too_many_members(tmp_path):
    with pytest.raises(DataError, match="100 members; the limit is 64"):
        read(save(tmp_path, **{f"a{i}": y for i in range(100)}))


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, X=np.zeros((1 << 10, 1 << 8)), y=np.zeros(1 << 10))
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match="the rows take more than 1 MiB of memory"):
        read(str(path), Options(max_memory=1 << 20))


def _archive() -> bytes:
    raw = io.BytesIO()
    np.savez(raw, X=X, y=y)
    return raw.getvalue()


WHOLE = _archive()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=4), st.integers(0, len(WHOLE)))
def test_damage_gives_rows_or_a_sentence(tmp_path_factory, changes, length):
    raw = bytearray(WHOLE)
    for at, value in changes:
        raw[at] = value
    raw = raw[:length] if length % 3 == 0 else raw
    outcome(tmp_path_factory.getbasetemp() / "damaged.npz", raw)


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_any_bytes_give_a_sentence(tmp_path_factory, raw):
    assert "junk.npz" in outcome(tmp_path_factory.getbasetemp() / "junk.npz", raw)
