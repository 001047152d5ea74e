"""Files of other programs are refused with what they are and what to do, by any name, compressed or piped."""

from __future__ import annotations

import gzip
import io
import pickle
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.foreign import check_not_foreign
from rosenblatt.data.readers.read import read
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.table import DataError

CSV = b"a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n"
SPREADSHEET = b"application/vnd.oasis.opendocument.spreadsheet"


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return file.getvalue()


def tarred() -> bytes:
    file, member = io.BytesIO(), tarfile.TarInfo("rows.csv")
    member.size = len(CSV)
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(member, io.BytesIO(CSV))
    return file.getvalue()


def database(path: Path) -> bytes:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE rows (a)")
    connection.close()
    return path.read_bytes()


def array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.eye(3))
    return file.getvalue()


FILES = {
    "book.xlsb": (zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.bin": b"x"}), "a binary Excel workbook (.xlsb); save"),
    "text.docx": (zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"}), "an Office document without sheets"),
    "sheet.ods": (zipped({"mimetype": SPREADSHEET, "content.xml": b"<x/>"}), "an OpenDocument file; save its sheet as CSV"),
    "book.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an old Excel workbook (.xls), or one with a password"),
    "paper.pdf": (b"%PDF-1.4\n%\xe2\xe3\n" + bytes(50), "a PDF document; export the table as CSV first"),
    "photo.csv": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "an image (PNG); name the file of the rows"),
    "photo.jpg": (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "an image (JPEG); name the file of the rows"),
    "photo": (b"RIFF\x10\0\0\0WEBPVP8 ", "an image (WebP); name the file of the rows"),
    "page.html": (b"\n<!-- a --><!DOCTYPE html>\n<html>404</html>\n", "an HTML page, perhaps of an error or a login; download"),
    "page.csv": (b"\xef\xbb\xbf<HTML>\n<body>\n", "an HTML page, perhaps of an error or a login; download the data"),
    "page.parquet": (b"<html>\n", "an HTML page"),
    "rows.xml": (b'<?xml version="1.0"?>\n<rows/>\n', "an XML document; export the table as CSV first"),
    "rows.pkl": (pickle.dumps({"a": [1]}), "a pickle, which is not read because it may run programs; save"),
    "rows.npy": (array(), "a single NumPy array; save rows and labels with numpy.savez(FILE, X=X, y=y) first"),
    "rows.tar.gz": (gzip.compress(tarred()), "a tar archive; unpack it first"),
    "iris.arff": (b"% Iris\n\n@RELATION iris\n@ATTRIBUTE a NUMERIC\n", "an ARFF file of Weka; save it as CSV first"),
    "m.safetensors": (b"\x40\0\0\0\0\0\0\0" + b'{"w":{}}' + bytes(60), "a model or another safetensors file, not rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_named_with_the_remedy(tmp_path: Path, name: str) -> None:
    content, sentence = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    for source in (path, Source("-", io.BytesIO(content))):
        with pytest.raises(DataError) as error:
            read(source)
        assert f": the file is {sentence}" in str(error.value)


def test_a_database(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the file is an SQLite database; export the table as CSV first"):
        check_not_foreign("rows.db", database(tmp_path / "rows.db"))


@pytest.mark.parametrize(
    "content",
    [b"<b>,label\n1,x\n2,y\n3,x\n4,y\n", b"@relations,label\n1,x\n2,y\n3,x\n4,y\n", b"7zip,label\n1,x\n2,y\n3,x\n4,y\n"],
)
def test_rows_that_begin_alike_are_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    assert read(path).n_rows == 4


def test_a_format_that_is_given_is_not_doubted(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"<html>,x\n<body>,y\n<html>,x\n<body>,y\n")
    assert read(path, Options(format="csv")).n_rows == 4


def test_an_archive_with_something_other_than_an_array(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    path.write_bytes(zipped({"X.npy": b"junk" * 100}))
    with pytest.raises(DataError, match=r"the file is damaged or not an .npz archive: X.npy is not an array of NumPy$"):
        read(path)


@pytest.mark.parametrize("head", [b"<!-- a -->" * 6500, b"<!--" * 16_000, b"\n" * 65_536, b"%\n" * 32_000, b"[ " * 32_000])
def test_recognition_takes_linear_time(head: bytes) -> None:
    check_not_foreign("rows.csv", head)
