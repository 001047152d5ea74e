"""Parquet and Arrow: every type is read or refused by name, and chunks are the same rows."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from outcome import outcome

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import DataError

TABLE = pa.table(
    {
        "whole": pa.array([1, 2, 3], pa.int32()),
        "float": pa.array([0.5, 1.5, -2.5], pa.float32()),
        "money": pa.array([decimal.Decimal("1.25"), decimal.Decimal("-3.50"), decimal.Decimal("0")], pa.decimal128(10, 2)),
        "flag": pa.array([True, False, True]),
        "word": pa.array(["a", "b", "é"]),
        "coded": pa.array(["x", "y", "x"]).dictionary_encode(),
        "target": pa.array(["yes", "no", "yes"]).dictionary_encode(),
    }
)


def write_parquet(table, path):
    pyarrow.parquet.write_table(table, path, row_group_size=2)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


WRITERS = {
    "rows.parquet": write_parquet,
    "rows.feather": lambda table, path: pyarrow.feather.write_feather(table, str(path), chunksize=2),
    "rows.arrow": write_stream,
}


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    def writer(table):
        WRITERS[request.param](table, tmp_path / request.param)
        return str(tmp_path / request.param)

    return writer


def test_types(write):
    data = read(write(TABLE))
    assert data.label_name == "target"
    assert data.labels.tolist() == ["yes", "no", "yes"]
    assert data.features.names == tuple(TABLE.column_names[:-1])
    assert [column.tolist() for column in data.features.columns] == [
        [1, 2, 3], [0.5, 1.5, -2.5], [1.25, -3.5, 0], [1, 0, 1], ["a", "b", "é"], ["x", "y", "x"],
    ]  # fmt: skip
    assert all(column.dtype in (np.float64, object) for column in data.features.columns)


@pytest.mark.parametrize("size", [1, 200, 1 << 20])
def test_chunks_are_the_same_rows(write, size):
    path = write(TABLE)
    parts, whole = list(chunks(path, Options(), size)), read(path)
    for j, column in enumerate(whole.features.columns):
        assert np.concatenate([part.features.columns[j] for part in parts]).tolist() == column.tolist()
    assert np.concatenate([part.labels for part in parts]).tolist() == whole.labels.tolist()


def test_given_names_and_ignored_columns(write):
    data = read(write(TABLE), Options(label="flag", ignore=("whole", "-1"), categorical=("money",)))
    assert data.labels.tolist() == ["true", "false", "true"]
    assert data.features.names == ("float", "money", "word", "coded")
    assert data.features.columns[1].tolist() == ["1.25", "-3.50", "0.00"]


def test_nulls_and_nan_are_missing(write):
    table = pa.table({"a": [1.0, None, float("nan")], "b": ["x", "y", None], "empty": pa.nulls(3), "y": [0, 1, 1]})
    path = write(table)
    with pytest.raises(DataError, match=r"row 2, column a: the value is missing"):
        read(path)
    a, b, empty = read(path, Options(missing="mean")).features.columns
    assert np.isnan(a).tolist() == [False, True, True]
    assert b.tolist() == ["x", "y", None]
    assert np.isnan(empty).all()


REFUSED = {
    "date": pa.array([datetime.date(2020, 1, 1)]),
    "timestamp": pa.array([datetime.datetime(2020, 1, 1)]),
    "list": pa.array([[1, 2]]),
    "struct": pa.array([{"a": 1}]),
    "binary": pa.array([b"raw"]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_types_are_refused_by_name(write, kind):
    path = write(pa.table({"good": [1.0], "odd": REFUSED[kind], "label": [1]}))
    with pytest.raises(DataError, match=rf"column odd: values of type {kind}.* cannot be features"):
        read(path)
    assert read(path, Options(ignore=("odd",))).features.names == ("good",)


def test_bad_columns(write):
    with pytest.raises(DataError, match=r"row 2, column a: the number is infinite"):
        read(write(pa.table({"a": [1.0, float("inf")], "y": [0, 1]})))
    with pytest.raises(DataError, match=r"row 1, column y: the label is missing"):
        read(write(pa.table({"a": [1.0, 2.0], "y": [None, 1]})))
    with pytest.raises(DataError, match="the file has no rows"):
        read(write(pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})))
    with pytest.raises(DataError, match="no column 'lable' of labels"):
        read(write(TABLE), Options(label="lable"))


def test_labels_are_looked_for_among_columns_of_any_type(write):
    dates = pa.array([datetime.date(2020, 1, day) for day in (1, 2, 3)])
    path = write(pa.table({"kind": ["a", "b", "a"], "size": [0.5, 1.0, 2.0], "when": dates}))
    assert read(path, Options(ignore=("size", "when"), label="kind", required=("size",))).labels.tolist() == ["a", "b", "a"]
    with pytest.raises(DataError, match="column when: values of type date32"):
        read(path)
    many = pa.table({"a": np.arange(3000) / 3, "b": np.arange(3000) % 2})
    assert read(write(many)).label_name == "b"


def test_prediction(write):
    data = read(write(TABLE.drop_columns(["target"])), Options(required=("word", "whole"), label="target"))
    assert data.features.names == ("word", "whole")
    assert data.labels is None


@pytest.mark.parametrize("name", ["junk.parquet", "junk.arrow"])
@pytest.mark.parametrize("raw", [b"", b"PAR1", b"ARROW1\0\0", b"PAR1" + bytes(100) + b"PAR1", b"hello\n" * 50])
def test_junk(tmp_path, name, raw):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError) as error:
        read(str(tmp_path / name))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", WRITERS)
def test_damage_gives_rows_or_a_sentence(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](TABLE.select(["whole", "word", "target"]), path)
    raw, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(raw)
        for at in rng.integers(0, len(raw), 3):
            damaged[at] = rng.integers(256)
        outcome(path, damaged[: rng.integers(1, len(raw))] if rng.random() < 0.3 else damaged)


def test_without_pyarrow(tmp_path, monkeypatch):
    import builtins

    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    original = builtins.__import__

    def absent(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(DataError, match=r"need pyarrow: pip install 'rosenblatt\[data\]'"):
        read(str(tmp_path / "rows.parquet"))
