"""Small files as programs and people leave them: their cells, whole and in chunks, or the sentence that refuses them."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest
from reading_files import joined, plain

from effort import amount
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import Data, DataError

NAN = None  # a missing cell
GREEK = "\u03bb\u03cc\u03b3\u03bf\u03c2"


def utf16(text: str, encoding: str) -> bytes:
    return text.encode(encoding)


def archive(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        for name, content in members.items():
            written.writestr(name.replace("__", "."), content)
    return file.getvalue()


ROWS = b"a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n"
PLAIN = {"a": [1.0, 3.0, 5.0, 7.0], "b": [2.0, 4.0, 6.0, 8.0]}
READ: dict[str, tuple[str, bytes, dict[str, list[Any]]]] = {
    "decimal commas in quotes": ("r.csv", b'a,label\n"1,5",x\n"2,25",y\n', {"a": [1.5, 2.25]}),
    "a quoted header with semicolons": ("r.csv", b'"a";"label"\n1,5;x\n2,25;y\n', {"a": [1.5, 2.25]}),
    "amounts have no three decimals": ("r.csv", b"a;label\nUSD 1,000;x\nUSD 2,500;y\n", {"a": [1000.0, 2500.0]}),
    "amounts with points": ("r.csv", "a|label\n1.000 €|x\n2.500 €|y\n".encode(), {"a": [1000.0, 2500.0]}),
    "one amount without its currency": ("r.csv", b"a,label\n$1.5,x\n2.5,y\n$3,x\n", {"a": [1.5, 2.5, 3.0]}),
    "crowns": ("r.csv", b"a;label\n1 500,00 kr;x\n7 kr;y\n", {"a": [1500.0, 7.0]}),
    "a blank among percentages": ("r.csv", b"a,label\n45%,x\n,y\n5 %,x\n", {"a": [0.45, NAN, 0.05]}),
    "negative percentages in brackets": ("r.csv", b"a,label\n(45%),x\n5%,y\n", {"a": [-0.45, 0.05]}),
    "no-break spaces in Latin-1": (
        "r.csv",
        "a;b;label\n1\xa0500;é;x\n2\xa0000;è;y\n".encode("latin-1"),
        {"a": [1500.0, 2000.0], "b": ["é", "è"]},
    ),
    "thin spaces": ("r.csv", "a;label\n1\u2009500;x\n2\u202f000,5;y\n".encode(), {"a": [1500.0, 2000.5]}),
    "years of two digits": ("r.csv", b"a,label\n31/12/68,x\n1/1/69,y\n", {"a": [36159.0, -365.0]}),
    "time zones": ("r.csv", b"a,label\n2024-01-01T00:00+01:00,x\n2024-01-01 00:00 UTC,y\n", {"a": [19722 + 23 / 24, 19723.0]}),
    "months": ("r.csv", b"a,label\n01/2024,x\nMar 2024,y\n2024-Q2,x\n", {"a": [19723.0, 19783.0, 19814.0]}),
    "German months": ("r.csv", "a,label\n1. März 2024,x\n2. Okt. 2024,y\n".encode(), {"a": [19783.0, 19998.0]}),
    "UTF-16 without a mark": ("r.csv", utf16(ROWS.decode(), "utf-16-be"), PLAIN),
    "UTF-16 in Greek": (
        "r.csv",
        utf16(f"{GREEK},b,label\n1,{GREEK},x\n2,b,y\n", "utf-16-le"),
        {GREEK: [1.0, 2.0], "b": [GREEK, "b"]},
    ),
    "UTF-16 in Chinese": (
        "r.csv",
        utf16("a,b,label\n1,你好,x\n2,世界,y\n", "utf-16-be"),
        {"a": [1.0, 2.0], "b": ["你好", "世界"]},
    ),
    "UTF-8 with two marks": ("r.csv", b"\xef\xbb\xbf\xef\xbb\xbf" + ROWS, PLAIN),
    "CR before some line ends": ("r.csv", ROWS.replace(b"x\n", b"x\r\n"), PLAIN),
    "line breaks in quotes": ("r.csv", b'"a\nb",c,label\n1,"u\nv",x\n2,w,y\n', {"a\nb": [1.0, 2.0], "c": ["u\nv", "w"]}),
    "empty names": (
        "r.csv",
        b",,c,label\n1,2,3,x\n4,5,6,y\n",
        {"column 0": [1.0, 4.0], "column 1": [2.0, 5.0], "c": [3.0, 6.0]},
    ),
    "delimiters at both ends": ("r.csv", b"|a|b|label|\n|1|2|x|\n|3|4|y|\n", {"a": [1.0, 3.0], "b": [2.0, 4.0]}),
    "a line that names the separator": ("r.csv", b"sep=;\r\na;b;label\n1,5;2;x\n2,5;4;y\n", {"a": [1.5, 2.5], "b": [2.0, 4.0]}),
    "hexadecimal digits are words": ("r.csv", b"a,label\n0x1f,x\n0x20,y\n", {"a": ["0x1f", "0x20"]}),
    "true, 1 and 0": ("r.csv", b"a,label\nTRUE,x\n0,y\nfalse,x\n1,y\n", {"a": [1.0, 0.0, 0.0, 1.0]}),
    "yes and no are words": ("r.csv", b"a,b,label\nyes,1,x\nno,2,y\n", {"a": ["yes", "no"], "b": [1.0, 2.0]}),
    "phone numbers are words": (
        "r.csv",
        b"a,label\n030 123 456,x\n(555) 123-4567,y\n",
        {"a": ["030 123 456", "(555) 123-4567"]},
    ),
    "IBANs are words": ("r.csv", b"a,label\nDE89 3704 0044,x\nDE12 5001 0517,y\n", {"a": ["DE89 3704 0044", "DE12 5001 0517"]}),
    "errors of Excel": (
        "r.csv",
        b"a,b,label\n1.5,red,x\n#DIV/0!,#N/A,y\n2.5,blue,x\n",
        {"a": [1.5, NAN, 2.5], "b": ["red", NAN, "blue"]},
    ),
    "words for missing cells": (
        "r.csv",
        b"a,b,label\n1,?,x\nNULL,-,y\n2,u,x\n(null),n.a.,y\n",
        {"a": [1.0, NAN, 2.0, NAN], "b": [NAN, NAN, "u", NAN]},
    ),
    "plus and minus are words": ("r.csv", b"a,b,label\n+,1,x\n-,2,y\n", {"a": ["+", "-"], "b": [1.0, 2.0]}),
    "an array of nested objects": (
        "r.json",
        json.dumps([{"a": {"b": i, "c": [i, 0]}, "label": "xy"[i % 2]} for i in range(4)]).encode(),
        {"a.b": [0.0, 1.0, 2.0, 3.0], "a.c.0": [0.0, 1.0, 2.0, 3.0], "a.c.1": [0.0] * 4},
    ),
    "objects in place of null": (
        "r.jsonl",
        b'{"a": null, "b": 1, "label": "x"}\n{"a": {"c": 2}, "b": 1, "label": "y"}\n',
        {"b": [1.0, 1.0], "a.c": [NAN, 2.0]},
    ),
    "NaN in JSON": ("r.jsonl", b'{"a": NaN, "label": "x"}\n{"a": 2.5, "label": "y"}\n', {"a": [NAN, 2.5]}),
    "words among the numbers of JSON": (
        "r.jsonl",
        b'{"a": "N/A", "label": "x"}\n{"a": 2.5, "label": "y"}\n',
        {"a": [NAN, 2.5]},
    ),
    "a table in a zip archive": ("r.zip", archive(rows__csv=ROWS, about__md=b"hello"), PLAIN),
    "a compressed table in a zip archive": ("r.zip", archive(rows__csv__gz=gzip.compress(ROWS)), PLAIN),
    "a compressed table without the ending": ("r.csv", gzip.compress(ROWS), PLAIN),
    "the header of Orange": ("r.tab", b"a\tb\tlabel\nc\td\td\n\tmeta\tclass\n1,5\tu\tx\n?\tv\ty\n", {"a": [1.5, NAN]}),
    "the short header of Orange": ("r.tab", b"C#a\tD#b\tcD#label\n1\t7\tx\n2\t8\ty\n", {"a": [1.0, 2.0], "b": ["7", "8"]}),
}


def cells(data: Data) -> dict[str, list[Any]]:
    pairs = zip(data.features.names, data.features.columns, strict=True)
    return {name: [None if cell is None or cell != cell else cell for cell in column.tolist()] for name, column in pairs}


@pytest.mark.parametrize("case", READ)
def test_what_is_read(tmp_path: Path, case: str) -> None:
    name, content, wanted = READ[case]
    (tmp_path / name).write_bytes(content)
    options = Options(missing="mean")
    data = read(tmp_path / name, options)
    assert cells(data) == wanted
    assert set(data.labels.tolist()) == {"x", "y"}
    parts = [cells(part) for part in chunks(tmp_path / name, options, 8)]
    assert {column: [cell for part in parts for cell in part[column]] for column in wanted} == cells(data)


REFUSED: dict[str, tuple[str, bytes, str]] = {
    "two notations": (
        "r.csv",
        b"a;label\n1,5;x\n1.5;y\n2,5;x\n",
        "'1.5' is not a number like the others of the column (decimal",
    ),
    "two currencies": (
        "r.csv",
        "a;label\n$1;x\n$2;x\n€3;y\n".encode(),
        "'€3' is not a number like the others of the column ($)",
    ),
    "a percentage without its sign": (
        "r.csv",
        b"a,label\n45%,x\n5%,y\n0.5,x\n",
        "'0.5' is not a number like the others of the column (%, 45",
    ),
    "no such day": (
        "r.csv",
        b"a,label\n2024-02-29,x\n2024-02-30,y\n",
        "'2024-02-30' is not a date, but the column holds dates; leave the cell empty",
    ),
    "a number too large": (
        "r.csv",
        b"a,label\n1,x\n1e400,y\n",
        "'1e400' is not finite; leave the cell empty if its value is missing",
    ),
    "CR alone": (
        "r.csv",
        ROWS.replace(b"\n", b"\r"),
        "the lines end with CR alone, as on old Macs; convert them: tr '\\r' '\\n'",
    ),
    "decimal commas without quotes": (
        "r.csv",
        b"a,label\n1,5,x\n2,5,y\n",
        "; if the rows have decimal commas, quote these numbers",
    ),
    "ragged rows": ("r.csv", b"a,b,label\n1,2,x\n3,y\n5,6,x\n", "line 3: the row has 2 cells instead of 3"),
    "equal names": ("r.csv", b"a,a,label\n1,2,x\n3,4,y\n", "line 1: two columns are named 'a'; rename one"),
    "a header alone": ("r.csv", b"a,b,label\n", "the file has a header but no rows"),
    "one column": ("r.csv", b"label\nx\ny\nx\n", "the lines have one cell; the cells of a row must be separated by"),
    "missing labels": (
        "r.csv",
        b"a,label\n1,x\n2,\n3,y\n",
        "line 3, column label: the label is missing; delete the rows without a label",
    ),
    "words for missing labels": (
        "r.csv",
        b"a,label\n1,mild\n2,None\n3,mild\n",
        "line 3, column label: 'None' stands for a missing label; delete",
    ),
    "a stray NUL": ("r.csv", ROWS + b"9,\0,x\n", "line 6: the line contains a NUL byte: not a text file"),
    "text named as Parquet": ("r.parquet", ROWS, "the file is named .parquet, but is text; use --format csv, or jsonl"),
    "text named as a workbook": (
        "r.xlsx",
        ROWS,
        "the file is named .xlsx, but is not a workbook; if it is text, use --format csv",
    ),
    "two tables": (
        "r.zip",
        archive(a__csv=ROWS, b__csv=ROWS),
        "the zip archive has 2 files; choose one, such as --sheet 'a.csv'",
    ),
    "columns in place of rows": (
        "r.json",
        b'{"a": [1, 2], "label": ["x", "y"]}',
        "the file is one object of columns, not of rows; write one",
    ),
    "columns of pandas": (
        "r.json",
        b'{"a": {"0": 1, "1": 2}, "label": {"0": "x", "1": "y"}}',
        "to_json(FILE, orient='records', lines=True)",
    ),
    "arrays in place of objects": ("r.json", b"[[1, 2], [3, 4]]", "is not an object such as"),
    "infinity in JSON": (
        "r.jsonl",
        b'{"a": Infinity, "label": "x"}\n',
        "Infinity is not a number; write null if the value is missing",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tmp_path: Path, case: str) -> None:
    name, content, sentence = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    for use in (read, lambda *given: list(chunks(*given, 8))):
        with pytest.raises(DataError) as error:
            use(tmp_path / name, Options(missing="mean"))
        assert sentence in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("a|label\n1.000 €|x\n2.500 €|y\n", "1.234 in 'a' was read as 1234; change it with --decimal ."),
        ("a;label\n1,000;x\n2,500;y\n", "1,234 in 'a' was read as 1.234; change it with --decimal ."),
        ("a|label\n1,000|x\n2,500|y\n", "1,234 in 'a' was read as 1234; change it with --decimal ,"),
    ],
)
def test_the_note_shows_what_was_chosen(tmp_path: Path, content: str, note: str) -> None:
    (tmp_path / "r.csv").write_text(content, encoding="utf-8")
    assert (read(tmp_path / "r.csv").note or "").endswith(note)


def test_advice_after_the_advice_of_a_decimal_mark(tmp_path: Path) -> None:
    """The other mark was tried, and does not fit either."""
    (tmp_path / "r.csv").write_text("a;label\n1,5;x\n1.5;y\n1.5;x\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 2, column a: '1,5' is not a number.*; use --decimal , if it is one"):
        read(tmp_path / "r.csv")
    with pytest.raises(DataError, match=r"line 2, column a: '1,5' is not a number.*; write all cells of the column alike"):
        read(tmp_path / "r.csv", Options(decimal=","))


PIECES = [
    b"9" * 20,
    b"1e400",
    b'"',
    b",",
    b";",
    b"\n",
    b"\0",
    b"\xff",
    b"sep=;\n",
    b"1,200",
    b"45%",
    b"N/A",
    b"2024-Q1",
    b"\r",
    b"[",
    b"NaN",
]


@pytest.mark.parametrize("case", READ)
def test_damaged_ones_are_read_or_refused_in_chunks_as_whole(tmp_path: Path, case: str) -> None:
    name, content, _ = READ[case]
    rng, path, options = random.Random(case), tmp_path / name, Options(missing="mean")
    for _ in range(amount(5, 300)):
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 2, 4))):
            at, size = rng.randrange(len(damaged) + 1), rng.choice((0, 1, 3))
            damaged[at : at + size] = rng.choice(PIECES)
        path.write_bytes(damaged)
        try:
            whole = read(path, options)
        except DataError:
            with pytest.raises(DataError):
                list(chunks(path, options, 8))
            continue
        parts = [plain(part) for part in chunks(path, options, 8)]
        found = {key: value for key, value in joined(parts).items() if key != "note"}
        assert found == {key: value for key, value in plain(whole).items() if key != "note"}
