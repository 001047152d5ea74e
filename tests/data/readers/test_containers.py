"""Zip archives: the one file of rows is read, and anything else is answered in a sentence that says what to do."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from outcome import outcome
from reading_files import plain

from effort import amount
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, digest, open_source, read
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.table import DataError

CSV = b"a,b,label\n" + b"".join(b"%d,%d,%s\n" % (i, i % 3, b"xy"[i % 2 : i % 2 + 1]) for i in range(12))
JSONL = b"".join(b'{"a": %d, "b": %d, "label": "%s"}\n' % (i, i % 3, b"xy"[i % 2 : i % 2 + 1]) for i in range(12))


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    "members",
    [
        {"rows.csv": CSV},
        {"deep/er/rows.csv": CSV, "__MACOSX/._rows.csv": b"junk", "deep/.DS_Store": b"junk"},
        {"README.txt": b"about", "rows.data": CSV, "rows.names": b"about", "Index": b"about"},
        {"rows.csv.gz": gzip.compress(CSV)},
        {"rows.jsonl": JSONL},
        {"a9a": CSV},
    ],
)
@pytest.mark.parametrize("name", ["rows.zip", "rows.csv", "rows"])
def test_the_file_of_rows_is_read(tmp_path: Path, members: dict[str, bytes], name: str) -> None:
    (tmp_path / "plain.csv").write_bytes(CSV)
    path = tmp_path / name
    path.write_bytes(zipped(members))
    expected = plain(read(tmp_path / "plain.csv")) | {"note": None}
    with open_source(path) as source:
        found = read(source)
        assert plain(found) | {"note": None} == expected
        found = digest(source)
        assert found.file == hashlib.sha256(path.read_bytes()).hexdigest()
        assert found.contents in {hashlib.sha256(each).hexdigest() for each in (CSV, JSONL)}
    with Source("-", io.BytesIO(path.read_bytes())) as pipe:
        assert plain(read(pipe)) | {"note": None} == expected
    assert sum(chunk.n_rows for chunk in chunks(path, Options(), 20)) == 12


def test_the_note_and_the_messages_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.zip"
    path.write_bytes(zipped({"about.pdf": b"%PDF", "rows.csv": CSV}))
    assert (read(path).note or "").startswith("'rows.csv' read; the archive has 1 more, none of rows; label column: label")
    path.write_bytes(zipped({"rows.csv": CSV + b"1,2\n"}))
    with pytest.raises(DataError, match=r"rows.zip, rows.csv, line 14: the row has 2 cells instead of 3"):
        read(path)


def test_of_several_files_one_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "rows.zip"
    path.write_bytes(zipped({"set/train.csv": CSV, "set/test.csv": CSV[:40] + b"\n", "notes.txt": b"about"}))
    with pytest.raises(
        DataError, match=r"has 2 files; choose one, such as --sheet 'set/train.csv' \(files: set/train.csv, set/t"
    ):
        read(path)
    for chosen in ("set/train.csv", "train.csv", "1"):
        assert read(path, Options(sheet=chosen)).n_rows == 12
    with pytest.raises(
        DataError, match=r"there is no file 'rows.csv'; files: 'set/train.csv', .*; use --sheet with a name or a n"
    ):
        read(path, Options(sheet="rows.csv"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (zipped({}), "the zip archive is empty"),
        (
            zipped({"rows.zip": zipped({"rows.csv": CSV})}),
            "rows.zip: the file is a zip archive within another; unpack it first",
        ),
        (zipped({"rows.csv": CSV})[:-40], "the zip archive is damaged or truncated: .*; copy or download it again"),
        (zipped({"page.csv": b"<html>no</html>"}), "page.csv: the file is an HTML page"),
        (zipped({"rows.csv": b""}), "rows.csv: the file has no rows"),
        (zipped({f"{i}.csv": b"" for i in range(10_001)}), "the zip archive has 10,001 members; the limit is 10,000"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "rows.zip"
    path.write_bytes(content)
    for reading in (read, lambda path: list(chunks(path))):
        with pytest.raises(DataError, match=sentence):
            reading(path)


def test_an_encrypted_file(tmp_path: Path) -> None:
    content = bytearray(zipped({"rows.csv": CSV}))
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", content, content.index(magic) + flags, 1)
    path = tmp_path / "rows.zip"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"'rows.csv' in the zip archive is encrypted; unpack it with its password first"):
        read(path)


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.zip"
    path.write_bytes(zipped({"rows.csv": b"a,label\n" + b"0,x\n" * (1 << 20)}))
    with pytest.raises(
        DataError, match="the compressed file expands to more than 1 MiB, the limit of --max-memory; if it is meant"
    ):
        read(path, Options(max_memory=1 << 20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.data.readers.limits.MIN_EXPANDED_BYTES", 1 << 20)
        with pytest.raises(DataError, match="over 200 times its size; if it is meant to, raise --max-memory"):
            read(path)


@pytest.mark.once
def test_damage_is_a_data_error(tmp_path: Path) -> None:
    rng, raw = random.Random(0), zipped({"rows.csv": CSV * 3, "about.txt": b"about"})
    for _ in range(amount(150, 5000)):
        found = bytearray(raw)
        for _ in range(rng.choice((1, 3))):
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
        result = outcome(tmp_path / "rows.zip", bytes(found[: rng.choice((len(found), rng.randrange(len(found)))) or 1]))
        assert isinstance(result, str) or np.isfinite(result.features.columns[0]).all()
