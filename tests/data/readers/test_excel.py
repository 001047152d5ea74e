"""Excel workbooks: a sheet is read as the CSV file that Excel would save."""

from __future__ import annotations

import io
import random
import re
import sys
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from outcome import outcome
from reading_files import plain

from effort import amount
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.notation import NumberForm
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import DataError

HEADER = ["size", "color", "born", "label"]
ROWS: list[list[Any]] = [[i / 4, ("red", "blue")[i % 2], date(2026, 1, 1 + i), "ab"[i // 4]] for i in range(8)]
CSV = ",".join(HEADER) + "\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in ROWS)


def workbook(path: Path, *sheets: list[list[Any]], edit: Callable[[Any], None] = lambda book: None) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, 1):
        sheet = book.create_sheet(f"S{number}")
        for row in rows:
            sheet.append(row)
    edit(book)
    book.save(path)
    return path


def rezipped(raw: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return file.getvalue()


def test_a_sheet_is_read_as_its_csv(tmp_path: Path) -> None:
    path = workbook(tmp_path / "book.xlsx", [HEADER, *ROWS])
    (tmp_path / "rows.csv").write_text(CSV)
    expected = plain(read(tmp_path / "rows.csv"))
    assert plain(read(path)) == expected
    assert sum(chunk.n_rows for chunk in chunks(path)) == 8
    other = path.rename(tmp_path / "rows.csv")  # whatever its name
    assert plain(read(other)) == expected


def test_kinds_of_cells(tmp_path: Path) -> None:
    rows = [
        ["n", "big", "flag", "moment", "day and moment", "text", "label"],
        [1, 2**40, True, time(1, 2, 3), date(2026, 1, 2), ' say "hi",\nyou ', "x"],
        [0.1, 1e-300, False, time(4, 5), datetime(2026, 1, 2, 3, 4), "02163", "y"],
    ]
    data = read(
        workbook(tmp_path / "book.xlsx", rows), Options(as_written=True, label="label", categorical=tuple(rows[0][2:6]))
    )
    cells = {name: column.tolist() for name, column in zip(data.features.names, data.features.columns, strict=True)}
    assert cells == {
        "n": ["1", "0.1"],
        "big": ["1099511627776", "1e-300"],
        "flag": ["TRUE", "FALSE"],
        "moment": ["01:02:03", "04:05:00"],
        "day and moment": ["2026-01-02 00:00:00", "2026-01-02 03:04:00"],
        "text": ['say "hi", you', "02163"],
    }


def test_numbers_are_not_read_in_the_notation_of_text(tmp_path: Path) -> None:
    """3.125 in a workbook is no 3,125 for a model whose training file had decimal commas, or percentages."""
    rows = [["price", "share", "label"], *([3.125 + i, 0.125 * i, "xy"[i % 2]] for i in range(4))]
    path = workbook(tmp_path / "book.xlsx", rows)
    forms = {"price": NumberForm(","), "share": NumberForm(",", percent=True)}
    model = Options(required=("price", "share"), numeric=("price", "share"), forms=forms)
    for options in (model, Options(decimal=","), Options(thousands=".")):
        price, share = read(path, options).features.columns
        assert (price.tolist(), share.tolist()) == ([3.125, 4.125, 5.125, 6.125], [0.125 * i for i in range(4)])
    rows[1][0] = "2,5"  # text, as of a column that was pasted
    assert read(workbook(path, rows), model).features.columns[0].tolist() == [2.5, 4.125, 5.125, 6.125]


def test_the_first_sheet_that_is_not_empty_or_hidden(tmp_path: Path) -> None:
    def hide(book: Any) -> None:
        book["S2"].sheet_state = "hidden"

    path = workbook(tmp_path / "book.xlsx", [], [["x"]], [HEADER, *ROWS], [HEADER, *ROWS[::-1]], edit=hide)
    assert (read(path).note or "").startswith("sheet: S3 (others: 'S1', 'S4'; change with --sheet); label column")
    for chosen in ("S4", "4"):
        found = read(path, Options(sheet=chosen))
        assert found.features.columns[0][0] == 1.75
        assert (found.note or "").startswith("label column: label (by its name; change with --label); header found")
    with pytest.raises(
        DataError, match=r"there is no sheet 'S9'; sheets: 'S1', 'S2', 'S3', 'S4'; use --sheet with a name or a n"
    ):
        read(path, Options(sheet="S9"))
    with pytest.raises(DataError, match="the sheet 'S1' is empty"):
        read(path, Options(sheet="1"))
    with pytest.raises(DataError, match="the workbook has no cells"):
        read(workbook(tmp_path / "book.xlsx", [], []))


def test_titles_empty_columns_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    rows = [[None], [None, "Sales of 2026"], [None], [None, "a", None, "label"]]
    rows += [[None, i, None, "xy"[i % 2]] for i in range(6)]
    rows[6] = [None, "oops", None, "x"]
    path = workbook(tmp_path / "book.xlsx", rows)
    with pytest.raises(DataError, match=r"book.xlsx, sheet S1, line 7, column a: 'oops' is not a number"):
        read(path)
    found = read(path, Options(categorical=("a",)))
    assert (found.features.names, found.n_rows) == (("a",), 6)
    assert (found.note or "").startswith("1 row above the table left out; ")


def test_error_cells_are_missing_and_counted(tmp_path: Path) -> None:
    path = workbook(tmp_path / "book.xlsx", [HEADER, *ROWS[:-1], ["#DIV/0!", "#N/A", *ROWS[-1][2:]]])
    with pytest.raises(DataError, match="line 9, column size: the value is missing"):
        read(path)
    assert "2 error cells, such as #N/A, counted as missing" in (read(path, Options(missing="mean")).note or "")


def test_formulas_count_by_their_stored_values(tmp_path: Path) -> None:
    path = workbook(tmp_path / "book.xlsx", [HEADER, *ROWS[:-1], ["=A2+1", *ROWS[-1][1:]]])
    with pytest.raises(
        DataError, match=r"the formula in cell A9 has no value; open the workbook in Excel or LibreOffice and save"
    ):
        read(path)
    path.write_bytes(rezipped(path.read_bytes(), lambda _, part: re.sub(rb"</f><v\s*/>", b"</f><v>7.5</v>", part)))
    assert read(path).features.columns[0][-1] == 7.5


def test_merged_cells(tmp_path: Path) -> None:
    def merge(book: Any) -> None:
        book["S1"].merge_cells("B4:B6")

    path = workbook(tmp_path / "book.xlsx", [HEADER, *ROWS], edit=merge)
    found = read(path)
    assert found.features.columns[1].tolist() == ["red", "blue", *["red"] * 3, "blue", "red", "blue"]
    assert (found.note or "").startswith("1 group of merged cells filled with the value that it shows; ")
    path = workbook(tmp_path / "book.xlsx", [HEADER, *ROWS], edit=lambda book: book["S1"].merge_cells("A1:B1"))
    with pytest.raises(
        DataError, match=r"line 1: cells A1:B1 of the header are merged; give each column a name of its own in one"
    ):
        read(path)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DataError, match=r"need python-calamine: pip install 'rosenblatt\[excel\]'; or save the sheet as CSV"):
        read(workbook(tmp_path / "book.xlsx", [HEADER, *ROWS]))


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "book.xlsx", [HEADER, *ROWS], edit=lambda book: book["S1"].cell(1_048_576, 16_384, 1))
    with pytest.raises(DataError, match=r"delete what lies far from the table|columns, almost all of them empty"):
        read(path)
    path = workbook(tmp_path / "book.xlsx", [HEADER, *ROWS])
    path.write_bytes(rezipped(path.read_bytes(), lambda name, part: part + b" " * (6 << 20) * ("sheet1" in name)))
    monkeypatch.setattr("rosenblatt.data.readers.limits.MIN_EXPANDED_BYTES", 1 << 20)
    with pytest.raises(DataError, match="expands to more than"):
        read(path)
    merged = b"<mergeCells>" + b'<mergeCell ref="A2:D9"/>' * 50_000 + b"</mergeCells><pageMargins"
    path = workbook(tmp_path / "book.xlsx", [HEADER, *ROWS])
    path.write_bytes(rezipped(path.read_bytes(), lambda _, part: part.replace(b"<pageMargins", merged)))
    with pytest.raises(DataError, match="its merged cells overlap"):
        read(path)


@pytest.mark.once
def test_damage_is_a_data_error(tmp_path: Path) -> None:
    rng, raw = random.Random(0), workbook(tmp_path / "book.xlsx", [HEADER, *ROWS]).read_bytes()
    names = ("sheet1.xml", "workbook.xml", "styles.xml", "sharedStrings.xml", "workbook.xml.rels")

    def damage(name: str, part: bytes) -> bytes:
        found = bytearray(part)
        for _ in range(rng.choice((1, 3)) * name.endswith(names)):
            at = rng.randrange(len(found))
            if rng.random() < 0.5:
                found[at] = rng.choice(b'0<>9A\xff"/')
            else:
                del found[at : at + rng.randrange(1, 30)]
        return bytes(found)

    for number in range(amount(60, 3000)):
        outcome(tmp_path / "book.xlsx", rezipped(raw, damage) if number % 4 else raw[: rng.randrange(1, len(raw))])
