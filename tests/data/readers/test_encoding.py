"""Text in other encodings is read as the same text in UTF-8, by its byte order mark, its bytes or as told."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_files import source_of

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.encoding import detect_encoding
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.readers.window import blocks
from rosenblatt.data.table import DataError

TABLE = "größe,stadt,label\n1,Köln,a\n2,Zürich-West €,b\n3,Orléans,a\n4,Köln,b\n"
NOTE = "not UTF-8, read as {}; change it with --encoding"
GUESSED = ("windows-1252", "utf-16-le", "utf-16-be")  # without a byte order mark


def written(folder: Path, content: bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("encoding", "given"),
    [
        ("utf-16", None),
        ("utf-32", None),
        ("utf-8-sig", None),
        ("windows-1252", None),
        ("utf-16-le", None),
        ("utf-16-be", None),
        ("utf-16-le", "utf-16-le"),
    ],
)
def test_the_same_table_in_any_encoding(tmp_path: Path, encoding: str, given: str | None) -> None:
    plain = read(written(tmp_path, TABLE.encode()))
    path = written(tmp_path, TABLE.encode(encoding))
    for data in (read(path, Options(encoding=given)), next(iter(chunks(path, Options(encoding=given), 1 << 20)))):
        assert data.features.names == plain.features.names == ("größe", "stadt")
        assert [column.tolist() for column in data.features.columns] == [column.tolist() for column in plain.features.columns]
        assert data.labels.tolist() == plain.labels.tolist()
        guessed = given is None and encoding in GUESSED
        assert data.note == (f"{plain.note}; {NOTE.format(encoding)}" if guessed else plain.note)


def test_bytes_that_windows_1252_does_not_define_are_those_of_latin_1(tmp_path: Path) -> None:
    assert read(written(tmp_path, b"a,label\n\x81\xe9,x\nb,y\n"), Options(label="label")).features.columns[0][0] == "\x81é"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_any_number_of_bytes_at_a_time(encoding: str) -> None:
    text = "zeile 1:ä\n" * 1000
    with source_of(text.encode(encoding)) as source:
        source.peek(5)
        source.recode(encoding)
        assert b"".join(block for _, block in blocks(source, 100)) == text.encode()


def test_damaged_text_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a,label\n1,x\n2,y\n".encode("utf-16") + b"\0")
    with pytest.raises(
        DataError, match=r"table.csv, line 4: the text is not utf-16: truncated data; use --encoding with the right one"
    ):
        read(path)
    with pytest.raises(ValueError, match="unknown encoding 'base64'; examples are utf-8, windows-1252"):
        Options(encoding="base64")


def test_binary_is_no_text() -> None:
    assert detect_encoding(bytes(range(256))) is None
    assert detect_encoding(b"\x01\xff") is None
    assert detect_encoding("ä".encode()[:1]) is None
