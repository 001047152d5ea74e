"""Strings in JSON, Parquet and Arrow mean what they mean in a text file: formatted numbers, dates and missing cells."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_files import plain

from effort import examples
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import Data, DataError

Rows = dict[str, list[Any]]
ENDINGS = ("csv", "jsonl", "json", "parquet", "feather")
TABLE: Rows = {
    "rate": ["45%", "5 %", "NULL", "12,5%", "7%", "-"],
    "price": ["3,5", "1.200,5", "(12)", "80,25", "N/A", "7"],
    "pay": ["$1.200", "$80", "350", "$7", "$8", "?"],
    "sold": ["31.12.2024", "1.1.2025", "2.1.2025", "n.a.", "4.1.2025", "NaT"],
    "paid": ["TRUE", "false", "true", "#N/A", "FALSE", "true"],
    "color": ["red", "?", "-", "blue", "NULL", "red"],
    "sign": ["+", "-", "+", "-", "+", "-"],
    "label": ["a", "b", "a", "b", "a", "b"],
}


def write(folder: Path, ending: str, table: Rows) -> Path:
    path, rows = folder / f"rows.{ending}", [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if ending == "csv":
        text = io.StringIO()
        writer = csv.writer(text, delimiter=";", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
        writer.writerows([list(table), *(row.values() for row in rows)])
        path.write_text(text.getvalue())
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif ending == "json":
        path.write_text(json.dumps(rows))
    elif ending == "parquet":
        pa.parquet.write_table(pa.table(table), path)
    else:
        first, *others = table
        encoded = {first: pa.array(table[first]).dictionary_encode()} | {name: table[name] for name in others}
        pa.feather.write_feather(pa.table(encoded), path)
    return path


def cells(data: Data) -> dict[str, Any]:
    """The columns, with None for missing cells."""
    pairs = zip(data.features.names, data.features.columns, strict=True)
    return {name: [None if cell is None or cell != cell else cell for cell in column.tolist()] for name, column in pairs}


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_reads_the_same_strings(tmp_path: Path, ending: str) -> None:
    path, options = write(tmp_path, ending, TABLE), Options(missing="mean")
    data = read(path, options)
    assert cells(data) == {
        "rate": [0.45, 0.05, None, 0.125, 0.07, None],
        "price": [3.5, 1200.5, -12.0, 80.25, None, 7.0],
        "pay": [1200.0, 80.0, 350.0, 7.0, 8.0, None],
        "sold": [20088.0, 20089.0, 20090.0, None, 20092.0, None],
        "paid": [1.0, 0.0, 1.0, None, 0.0, 1.0],
        "color": ["red", None, None, "blue", None, "red"],
        "sign": ["+", "-", "+", "-", "+", "-"],
    }
    assert data.dates == {"sold": "date"}
    assert data.forms["rate"].to_json() == {
        "kind": "number", "decimal": ",", "thousands": "", "percent": True, "currency": "", "truth": False,
    }  # fmt: skip
    for word in ("decimal comma, %, 45 % = 0.45: 'rate'", "(12) = -12: 'price'", "$: 'pay'", "'sold' (day before month)"):
        assert word in (data.note or "")
    parts = [cells(part) for part in chunks(path, options, 1)]
    assert {name: [cell for part in parts for cell in part[name]] for name in parts[0]} == cells(data)
    written = cells(read(path, Options(missing="mean", as_written=True)))
    assert written["price"] == ["3.5", "1200.5", "-12", "80.25", None, "7"]
    assert written["sold"] == ["31.12.2024", "1.1.2025", "2.1.2025", None, "4.1.2025", None]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("trained", ENDINGS)
def test_a_model_of_one_format_reads_the_others(tmp_path: Path, trained: str, ending: str) -> None:
    names = tuple(name for name in TABLE if name != "label")
    model = read(write(tmp_path, trained, TABLE), Options(missing="mean"))
    values = {"color": ("blue", "red"), "sign": ("+", "-")}
    options = Options(
        missing="mean",
        required=names,
        numeric=names[:-2],
        categorical=names[-2:],
        forms=model.forms,
        values=values,
        label="label",
    )
    one = {name: column[1:2] for name, column in TABLE.items()}
    found = read(write(tmp_path, ending, one), options)
    assert cells(found) == {name: column[1:2] for name, column in cells(model).items()}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_numbers_with_a_type_need_no_form(tmp_path: Path, ending: str) -> None:
    model = read(write(tmp_path, "csv", TABLE), Options(missing="mean"))
    options = Options(missing="mean", required=("rate", "price"), numeric=("rate", "price"), forms=model.forms)
    typed = write(tmp_path, ending, {"rate": [0.45, None], "price": [1200.5, 3.0]})
    assert cells(read(typed, options)) == {"rate": [0.45, None], "price": [1200.5, 3.0]}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_whole_numbers_in_text_are_codes(tmp_path: Path, ending: str) -> None:
    table = {"zip": ["02139", "10115", "N/A", "8001"], "size": ["1.5", "2", "", "4"], "label": ["a", "b", "a", "b"]}
    data = read(write(tmp_path, ending, table), Options(missing="mean"))
    assert cells(data) == {"zip": ["02139", "10115", None, "8001"], "size": [1.5, 2.0, None, 4.0]}
    assert "whole numbers in text, read as categories: 'zip' (write quantities as numbers, not as text)" in (data.note or "")


def test_words_for_missing_cells_among_numbers_of_json(tmp_path: Path) -> None:
    path = write(tmp_path, "jsonl", {"size": ["N/A", 2.5, "?", float("nan")], "label": ["a", "b", "a", "b"]})
    assert cells(read(path, Options(missing="mean"))) == {"size": [None, 2.5, None, None]}
    with pytest.raises(DataError, match="line 1, column size: the value is missing; use --missing auto"):
        read(path)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (["45%", "5%", "7%", "0.5"], "column x: '0.5' is not a number like the others of the column (%, 45 % = 0.45); leave"),
        (["3,5", "2,5", "4,5", "1.5"], "column x: '1.5' is not a number like the others of the column (decimal comma); leave"),
        (["1.5", "2.5", "3.5", "x"], "column x: 'x' is not a number; leave the cell empty"),
        (["1.5", "2.5", "3.5", "1e400"], "column x: '1e400' is not finite; leave the cell empty"),
        (
            ["1/2/2024", "3/4/2024", "5/13/2024", "13/13/2024"],
            "column x: '13/13/2024' is not a date, but",
        ),
    ],
)
def test_a_string_that_disagrees_is_named(tmp_path: Path, ending: str, column: list[str], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        read(write(tmp_path, ending, {"x": column, "label": ["a", "b", "a", "b"]}), Options(missing="mean"))
    assert ("line 4, " if ending == "jsonl" else "row 4, ") + sentence in str(error.value)
    assert "use --categorical 'x' or --ignore 'x'" in str(error.value)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("word", ["", "?", "N/A", "NULL", " nan "])
def test_words_for_missing_labels(tmp_path: Path, ending: str, word: str) -> None:
    path = write(tmp_path, ending, {"x": [1.5, 2.5, 3.5, 4.5], "label": ["a", "b", "a", word]})
    with pytest.raises(DataError, match="4, column label: the label is missing"):
        read(path, Options(missing="mean"))


def test_declared_columns_keep_their_strings(tmp_path: Path) -> None:
    table = {"note": ["N/A", "-", "3,5", ""], "rate": ["45%", "5%", "-", "7%"], "label": ["a", "b", "a", "b"]}
    for ending in ("jsonl", "parquet"):
        data = read(write(tmp_path, ending, table), Options(missing="mean", text=("note",), categorical=("rate",)))
        assert cells(data) == {"note": ["N/A", "-", "3,5", ""], "rate": ["45%", "5%", None, "7%"]}


def test_digits_that_floats_do_not_hold_are_known(tmp_path: Path) -> None:
    path = write(tmp_path, "jsonl", {"x": ["9.007.199.254.740.993", "3,5"], "label": ["a", "b"]})
    assert read(path).losses == {"x": "9007199254740993"}


POOL = ["45%", "5 %", "3,5", "1.5", "12", "02139", "1.200,5", "$3", "(4)", "31.12.2024", "1/2/2024", "14:05", "true", "FALSE"]
ODD = [*POOL, "", "?", "-", "N/A", "x", "nan", "1e400", " 7 ", "\xa0", "\u2028", "+"]


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(st.tuples(st.sampled_from(POOL), st.sampled_from(ODD)), min_size=2, max_size=8), st.integers(1, 80))
def test_any_strings_give_rows_or_a_sentence(tmp_path_factory: Any, rows: list[tuple[str, str]], size: int) -> None:
    """In chunks as in memory, and in Parquet as in JSON lines."""
    table = {"a": [a for a, _ in rows], "b": [b for _, b in rows], "label": [str(k % 2) for k in range(len(rows))]}
    found = []
    for ending in ("jsonl", "parquet"):
        path, options = write(tmp_path_factory.getbasetemp(), ending, table), Options(missing="mean", label="label")
        try:
            data = read(path, options)
        except DataError as error:
            found.append(str(error).partition(", column ")[2])
            with pytest.raises(DataError):
                list(chunks(path, options, size))
            continue
        found.append(str(plain(data) | {"note": data.note}))
        parts = list(chunks(path, options, size))
        for at, column in enumerate(data.features.columns):
            joined = np.concatenate([part.features.columns[at] for part in parts])
            np.testing.assert_array_equal(joined, column)
    assert found[0] == found[1]
    assert "\n" not in found[0]
