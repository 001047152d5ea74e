"""The idx files of MNIST, their labels beside them, and that any bytes give rows or one sentence."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outcome import outcome

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import DataError

PIXELS = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
DIGITS = np.array([3, 1, 4, 1], np.uint8)
CODES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}


def idx(array) -> bytes:
    lengths = b"".join(length.to_bytes(4) for length in array.shape)
    return bytes([0, 0, CODES[array.dtype.name], array.ndim]) + lengths + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture
def images(tmp_path):
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(DIGITS))
    path = tmp_path / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(idx(PIXELS)))
    return path


def test_images_and_labels(images):
    data = read(str(images))
    np.testing.assert_array_equal(data.features, PIXELS.reshape(4, 6))
    assert data.features.dtype == np.float64
    assert data.labels.tolist() == [3, 1, 4, 1]
    assert "t10k-labels-idx1-ubyte" in data.note


@pytest.mark.parametrize("size", [1, 13, 1000])
def test_chunks_are_the_same_rows(images, size):
    parts = list(chunks(str(images), Options(), size))
    np.testing.assert_array_equal(np.concatenate([part.features for part in parts]), PIXELS.reshape(4, 6))
    assert np.concatenate([part.labels for part in parts]).tolist() == [3, 1, 4, 1]


@pytest.mark.parametrize("dtype", CODES)
def test_types(tmp_path, dtype):
    array = (np.arange(6) - (0 if dtype == "uint8" else 3)).astype(dtype).reshape(3, 2)
    (tmp_path / "some.idx").write_bytes(idx(array))
    data = read(str(tmp_path / "some.idx"))
    np.testing.assert_array_equal(data.features, array)
    assert data.labels is None


def test_without_labels(images):
    (images.parent / "t10k-labels-idx1-ubyte").unlink()
    data = read(str(images))
    assert data.labels is None
    assert data.note == "No labels found: t10k-labels-idx1-ubyte is not in the same folder."


BAD = {
    b"": "it is empty",
    b"\0\0\x08": "truncated",
    b"\1\0\x08\1\0\0\0\1a": "not an idx file",
    b"\0\0\x07\1\0\0\0\1a": "not an idx file",
    b"\0\0\x08\0": "not an idx file",
    idx(DIGITS): "the file holds labels, not images",
    idx(PIXELS)[:-1]: "truncated",
    idx(PIXELS) + b"x": "the file is longer than its 4 rows",
    idx(PIXELS[:0]): "the file has no rows",
    b"\0\0\x08\3" + b"\xff" * 12: "too many",
    b"\0\0\x08\xff" + b"\xff" * 1020: "the header announces 255 axes; the limit is 8",
    b"\0\0\x08\x08" + b"\xff" * 32: "too many",
    b"\0\0\x08\2\0\0\0\1\xff\xff\xff\xff": "the limit is",
    idx(np.array([[1.0, np.inf]])): "row 1, column 1: the value is inf",
}


@pytest.mark.parametrize("raw", BAD, ids=range(len(BAD)))
def test_bad_files(tmp_path, raw):
    (tmp_path / "some.idx").write_bytes(raw)
    with pytest.raises(DataError) as error:
        read(str(tmp_path / "some.idx"))
    assert BAD[raw] in str(error.value)


def test_labels_that_do_not_fit(images):
    (images.parent / "t10k-labels-idx1-ubyte").write_bytes(idx(DIGITS[:3]))
    with pytest.raises(DataError, match=r"labels-idx1-ubyte: the labels have shape \(3,\), but there are 4 rows"):
        read(str(images))


def test_a_truncated_gzip(images):
    images.write_bytes(images.read_bytes()[:-12])
    with pytest.raises(DataError, match="truncated"):
        read(str(images))


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=40), st.binary(max_size=30).map(lambda raw: b"\0\0\x08\2" + raw)))
def test_any_bytes_give_rows_or_a_sentence(tmp_path_factory, raw):
    outcome(tmp_path_factory.getbasetemp() / "junk.idx", raw)
