"""What is written as JSON lines, npz, Parquet or Arrow is read back to the last bit."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import read
from rosenblatt.data.table import typed_labels
from rosenblatt.data.writers import arrow_table, arrow_writer, write_jsonl, write_npz

NUMBERS = np.array([1.0, -0.0, 0.1, 5e-324, 1.7e308, 2.0**60, np.nan])
WORDS = np.array(["a", "", 'é "quoted"', "line\nbreak", None, "\u2028", "z"], object)


def same(one, other):
    assert one.dtype.kind == other.dtype.kind
    if one.dtype.kind == "f":
        assert one.tobytes() == other.tobytes()
    else:
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("labels", [np.arange(7.0) % 3, np.array(list("abcabca"), object)])
def test_tables(tmp_path, ending, labels):
    path = tmp_path / f"rows.{ending}"
    with path.open("wb") as stream:
        if ending == "jsonl":
            write_jsonl(stream, ("n", "w"), (NUMBERS, WORDS), labels, "class")
        else:
            table = arrow_table(("n", "w"), (NUMBERS, WORDS), labels, "class")
            with arrow_writer(stream, table.schema, ending) as writer:
                writer.write_table(table)
    data = read(path, Options(missing="mean"))
    assert (data.features.names, data.label_name) == (("n", "w"), "class")
    same(data.features.columns[0], NUMBERS)
    same(data.features.columns[1], np.array([word or None for word in WORDS], object))  # empty cells are missing
    assert typed_labels(data.labels).tolist() == typed_labels(labels).tolist()


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_json_keeps_every_bit(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "numbers.jsonl"
    with path.open("wb") as stream:
        write_jsonl(stream, ("a", "b"), np.column_stack([values, values]), np.zeros(len(values)))
    same(read(path).features.columns[1], np.array(values))


@pytest.mark.parametrize("labels", [None, np.array([1.0, 0.0]), np.array(["x", "yy"], object)])
def test_npz(tmp_path, labels):
    X = np.array([[0.1, 0.0, -3.0], [0.0, 0.0, 5e-324]])
    thin = CSRMatrix(np.array([0.1, -3.0, 5e-324]), np.array([0, 2, 2], np.int32), np.array([0, 2, 3]), 3)
    for rows in (X, thin):
        path = tmp_path / "rows.npz"
        with path.open("wb") as stream:
            write_npz(stream, rows, labels)
        data = read(path)
        found = data.features if rows is X else data.features.to_scipy().toarray()
        assert found.tobytes() == X.tobytes()
        assert data.labels is None if labels is None else data.labels.tolist() == labels.tolist()


def test_names_that_do_not_fit():
    with pytest.raises(ValueError, match="names must be 2 distinct strings, one per column, got 1"):
        write_jsonl(io.BytesIO(), ("a", "a"), np.zeros((1, 2)))
