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
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"raw"]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_types_are_refused_by_name(write, kind):
    path = write(pa.table({"good": [1.0], "odd": REFUSED[kind], "label": [1]}))
    with pytest.raises(DataError, match=rf"column odd: values of type {kind}.* cannot be features"):
        read(path)
    assert read(path, Options(ignore=("odd",))).features.names == ("good",)


MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 250_000)
BERLIN = datetime.timezone(datetime.timedelta(hours=1))
MOMENTS = {
    "date32": (pa.array([datetime.date(1969, 12, 31)]), "date", -1.0, "1969-12-31"),
    "date64": (pa.array([datetime.date(2026, 1, 2)], pa.date64()), "date", 20455.0, "2026-01-02"),
    "midnight": (pa.array([datetime.datetime(2026, 1, 2)], pa.timestamp("s")), "date", 20455.0, "2026-01-02 00:00:00"),
    "ms": (pa.array([MOMENT], pa.timestamp("ms")), "datetime", 20455 + 11045.25 / 86400, "2026-01-02 03:04:05.250"),
    "ns": (pa.array([MOMENT], pa.timestamp("ns")), "datetime", 20455 + 11045.25 / 86400, "2026-01-02 03:04:05.250000000"),
    "zone": (
        pa.array([MOMENT.replace(tzinfo=BERLIN)], pa.timestamp("us", "UTC")),
        *("datetime", 20455 + 7445.25 / 86400, "2026-01-02 02:04:05.250000Z"),
    ),
    "time32": (pa.array([datetime.time(12)], pa.time32("s")), "time", 0.5, "12:00:00"),
    "time64": (pa.array([datetime.time(6, 0, 0, 500_000)], pa.time64("us")), "time", 21600.5 / 86400, "06:00:00.500000"),
}


@pytest.mark.parametrize("kind", MOMENTS)
def test_dates_and_times_are_days(write, kind):
    column, name, value, text = MOMENTS[kind]
    path = write(pa.table({"when": pa.concat_arrays([column, pa.nulls(1, column.type)]), "label": ["a", "b"]}))
    with pytest.raises(DataError, match="row 2, column when: the value is missing"):
        read(path)
    data = read(path, Options(missing="mean"))
    assert data.dates == {"when": name}
    what = "times, read as fractions of the day" if name == "time" else "dates, read as days since 1970"
    assert data.note == f"label column: label (by its name; change with --label); {what}: 'when'"
    assert data.features.columns[0][0] == value
    assert np.isnan(data.features.columns[0][1])
    for options in (Options(missing="mean", as_written=True), Options(missing="mean", categorical=("when",))):
        assert read(path, options).features.columns[0].tolist() == [text, None]
    with pytest.raises(DataError, match="there is no column besides the label and dates"):
        read(path, Options(missing="mean", dates="ignore"))
    with pytest.raises(DataError, match="column when: the column holds dates, but the model reads numbers"):
        read(path, Options(missing="mean", required=("when",), numeric=("when",)))


def test_durations_are_days(write):
    path = write(pa.table({"took": [datetime.timedelta(hours=36), datetime.timedelta(0)], "label": [0, 1]}))
    assert read(path).features.columns[0].tolist() == [1.5, 0.0]


def test_dates_as_text(write):
    path = write(pa.table({"when": pa.array(["31.12.2025", "1.2.2026", "NA"]).dictionary_encode(), "label": [0, 1, 0]}))
    data = read(path, Options(missing="mean"))
    assert (data.dates, data.features.columns[0][:2].tolist()) == ({"when": "date"}, [20453, 20485])
    assert np.isnan(data.features.columns[0][2])
    path = write(pa.table({"when": ["31.12.2025", "1.2.2026", "soon"], "label": [0, 1, 0]}))
    with pytest.raises(DataError, match=r"row 3, column when: 'soon' is not a date, but the column holds dates \(day b"):
        read(path)


def test_structs_and_lists_are_flat_columns(write):
    structs = [{"x": i / 4, "deep": {"size": [i, i + 1]}} if i % 3 else None for i in range(10)]
    table = pa.table({"s": structs, "n": np.arange(10), "tags": [["a", "b"][: i % 3] for i in range(10)], "y": [0, 1] * 5})
    path = write(table)
    with pytest.raises(DataError, match=r"row 2, column tags: the list has 1 values, but 0 in earlier rows: .* use --ignore"):
        read(path)
    data = read(path, Options(missing="mean", text=("tags",)))
    assert data.features.names == ("s.x", "s.deep.size.0", "s.deep.size.1", "n", "tags")
    assert data.features.columns[2].tolist()[1:3] == [2, 3]
    assert np.isnan(data.features.columns[1]).tolist() == [i % 3 == 0 for i in range(10)]
    assert data.features.columns[4].tolist()[:3] == ["", "a", "a b"]
    parts = list(chunks(path, Options(missing="mean", ignore=("tags",)), 1))
    assert [column for part in parts for column in part.features.columns[3].tolist()] == list(range(10))
    needed = read(path, Options(missing="mean", required=("s.deep.size.1",), numeric=("s.deep.size.1",)))
    assert needed.features.columns[0].tolist()[1] == 2
    with pytest.raises(DataError, match="column s: the value is a list of structs or lists, which has no place in a table"):
        read(write(pa.table({"s": [[{"a": 1}]], "y": [0]})))


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
    assert (read(path).label_name, read(path).dates) == ("kind", {"when": "date"})
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
