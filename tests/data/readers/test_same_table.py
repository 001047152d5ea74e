"""One table in any format is the same rows, whole and in chunks: columns, dates, missing cells and labels."""

from __future__ import annotations

import csv
import datetime
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import Data
from rosenblatt.preprocessing.recipe import Recipe

START = datetime.datetime(2026, 1, 30, 22, 15, 30)
ROWS: list[dict[str, Any]] = [
    {
        "size": None if i == 4 else i / 8 - 1,  # openpyxl writes 16 digits
        "count": 10**9 * i,
        "color": None if i == 5 else ("red", "blue", 'dark "red", big')[i % 3],
        "born": None if i == 6 else (START + datetime.timedelta(days=i)).date(),
        "seen": START + datetime.timedelta(minutes=97 * i),
        "at": datetime.time(i % 24, 30, i),
        "paid": None if i == 7 else i % 3 == 0,
        "label": ("no", "yes")[i % 2],
    }
    for i in range(40)
]
NAMES = list(ROWS[0])


def text(cell: Any) -> Any:
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell


def delimited(delimiter: str = ",") -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerows([NAMES, *([text(cell) for cell in row.values()] for row in ROWS)])
    return file.getvalue().encode()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README", "about")
        archive.writestr("folder/rows.csv", delimited())
    return file.getvalue()


def workbook() -> bytes:
    file, book = io.BytesIO(), openpyxl.Workbook()
    book.active.append(NAMES)
    for row in ROWS:
        book.active.append(list(row.values()))
    book.save(file)
    return file.getvalue()


def arrow(kind: str) -> bytes:
    file, table = io.BytesIO(), pa.Table.from_pylist(ROWS)
    if kind == "parquet":
        pa.parquet.write_table(table, file)
    else:
        pa.feather.write_feather(table.set_column(2, "color", table["color"].dictionary_encode()), file)
    return file.getvalue()


JSON = [{name: text(cell) for name, cell in row.items()} for row in ROWS]
FILES = {
    "rows.tsv": delimited("\t"),
    "rows.tab": delimited("\t"),
    "rows.jsonl": "\n".join(map(json.dumps, JSON)).encode(),
    "rows.json": json.dumps(JSON, indent=2).encode(),
    "rows.parquet": arrow("parquet"),
    "rows.feather": arrow("feather"),
    "rows.xlsx": workbook(),
    "rows.zip": zipped(),
}


def content(data: Data) -> dict[str, Any]:
    columns = {
        name: [None if cell is None or cell != cell else cell for cell in column.tolist()]
        for name, column in zip(data.features.names, data.features.columns, strict=True)
    }
    return {"dates": data.dates, "labels": data.labels.tolist(), "label": data.label_name} | columns


@pytest.mark.parametrize("name", FILES)
def test_the_same_rows_as_of_csv(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.csv").write_bytes(delimited())
    (tmp_path / name).write_bytes(FILES[name])
    options = Options(missing="mean")
    whole, expected = read(tmp_path / name, options), read(tmp_path / "rows.csv", options)
    assert content(whole) == content(expected)
    assert whole.dates == {"born": "date", "seen": "datetime", "at": "time"}
    parts = [content(part) for part in chunks(tmp_path / name, options, 500)]
    for column in NAMES[:-1]:
        assert [cell for part in parts for cell in part[column]] == content(whole)[column]
    rows, same = (Recipe.learn([data]).rows(data) for data in (whole, expected))
    assert np.array_equal(rows.toarray(), same.toarray())


@pytest.mark.parametrize("name", FILES)
def test_dates_can_be_left_out(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    data = read(tmp_path / name, Options(missing="mean", dates="ignore"))
    assert data.features.names == ("size", "count", "color", "paid")
    assert "dates left out: 'born', 'seen', 'at'" in (data.note or "")


@pytest.mark.parametrize("name", FILES)
def test_a_model_reads_each_as_its_training_file(tmp_path: Path, name: str) -> None:
    """A single row decides nothing: the forms of the model's columns do."""
    (tmp_path / "rows.csv").write_bytes(delimited())
    (tmp_path / name).write_bytes(FILES[name])
    trained = read(tmp_path / "rows.csv", Options(missing="mean"))
    numeric = tuple(name for name in trained.features.names if name != "color")
    options = Options(
        missing="mean", required=trained.features.names, numeric=numeric, label="label", forms=dict(trained.forms)
    )
    assert content(read(tmp_path / name, options)) == content(trained)
