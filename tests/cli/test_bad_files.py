"""A bad file is one line on standard error with its name, line and column; exit code 2; no file is written."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import resource
import subprocess
import sys

import numpy as np
import pytest

from commands import rosenblatt
from effort import amount

GOOD = b"1 1:0.5 3:1\n-1 2:1\n1 1:2\n-1 3:4\n"
TABLE = b"a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n"

BAD = {
    "empty.svm": (b"", ["empty"]),
    "blank.csv": (b"\n\n", []),
    "zero.svm": (b"1 1:1\n-1 0:3\n", ["line 2, character 4", "zero-based"]),
    "descending.svm": (b"1 1:1\n-1 3:1 2:1\n", ["line 2, character 8"]),
    "twice.svm": (b"1 1:1\n-1 2:1 2:1\n", ["line 2, character 8"]),
    "huge_index.svm": (b"1 1:1\n-1 4294967296:1\n", ["line 2, character 4"]),
    "nan.svm": (b"1 1:1\n-1 1:nan\n", ["line 2, character 4"]),
    "overflow.svm": (b"1 1:1\n-1 1:1e400\n", ["line 2, character 4"]),
    "word.svm": (b"1 1:1\n-1 1:abc\n", ["line 2, character 4", "abc"]),
    "no_value.svm": (b"1 1:1\n-1 1:\n", ["line 2"]),
    "label.svm": (b"1 1:1\nspam 1:2\n", ["line 2, character 1", "spam"]),
    "ragged.csv": (b"a,b,label\n1,2,x\n3,4\n5,6,y\n", ["line 3", "2"]),
    "words.csv": (b"a,b,label\n1,2,x\n3,oops,y\n5,6,x\n7,8,y\n", ["line 3", "b", "oops"]),
    "overflow.csv": (b"a,b,label\n1,2,x\n3,1e400,y\n5,6,x\n", ["line 3", "b"]),
    "quote.csv": (b'a,b,label\n1,"2,x\n3,4,y\n', ["line 2"]),
    "odd.csv": (TABLE.decode().encode("utf-16") + b"x", ["line 6", "not utf-16", "--encoding"]),
    "junk.csv": (bytes(range(256)) * 20, ["the file is binary, not text"]),
    "junk.svm": (np.random.default_rng(0).bytes(2000), []),
    "junk.npz": (b"PK\x03\x04" + bytes(200), []),
    "junk.parquet": (b"PAR1" + bytes(100), []),
    "junk.arrow": (b"ARROW1" + bytes(100), []),
    "junk.svm.gz": (b"\x1f\x8b" + bytes(50), []),
    "junk.svm.zst": (b"\x28\xb5\x2f\xfd" + bytes(50), []),
    "cut.svm.gz": (gzip.compress(GOOD * 100)[:-20], ["truncated"]),
    "cut.svm.bz2": (bz2.compress(GOOD * 100)[:-20], ["truncated"]),
    "cut.svm.xz": (lzma.compress(GOOD * 100)[:-20], ["truncated"]),
    "broken.jsonl": (b'{"a": 1, "label": 0}\n{"a": 1, "lab\n', ["line 2"]),
    "one_class.svm": (b"1 1:1\n1 1:2\n", ["at least two classes are needed"]),
    "only_names.csv": (b"a,b,label\n", ["the file has a header but no rows"]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD))
def test_bad_file_is_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    content, expected = BAD[name]
    (tmp_path / name).write_bytes(content)
    for more in ((), ("--stream",)):
        found = rosenblatt("train", name, *more)
        assert found.code == 2, found
        assert found.out == ""
        assert found.err.startswith("rosenblatt: ")
        assert found.err.count("\n") == 1
        assert name in found.err
        for piece in expected:
            assert piece in found.err, found.err
        assert [path.name for path in tmp_path.iterdir()] == [name]


ODD = {
    "crlf.svm": GOOD.replace(b"\n", b"\r\n"),
    "no_end.svm": GOOD.rstrip(b"\n"),
    "bom.svm": b"\xef\xbb\xbf" + GOOD,
    "crlf.csv": TABLE.replace(b"\n", b"\r\n"),
    "no_end.csv": TABLE.rstrip(b"\n"),
    "bom.csv": b"\xef\xbb\xbf" + TABLE,
    "utf16.csv": TABLE.decode().encode("utf-16-le"),
    "packed.svm.gz": gzip.compress(GOOD),
    "packed.csv.xz": lzma.compress(TABLE),
}


@pytest.mark.parametrize("name", list(ODD))
def test_unusual_but_valid_files(tmp_path, name):
    plain = tmp_path / ("plain.svm" if ".svm" in name else "plain.csv")
    plain.write_bytes(GOOD if ".svm" in name else TABLE)
    (tmp_path / name).write_bytes(ODD[name])
    result = [
        rosenblatt("train", path, "--holdout", 0, "-o", tmp_path / "m", "--json").json for path in (plain, tmp_path / name)
    ]
    assert result[0]["training"] == result[1]["training"]
    assert result[0]["updates"] == result[1]["updates"]


def test_missing_files_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path, word in (("absent.svm", "file not found"), (".", "folder")):
        found = rosenblatt("train", path)
        assert found.code == 2
        assert word in found.err or "directory" in found.err, found.err
        assert found.err.count("\n") == 1


def test_label_column_that_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(TABLE)
    found = rosenblatt("train", "t.csv", "--label", "color")
    assert found.code == 2
    assert "'color'" in found.err
    assert "a, b, label" in found.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["long.csv", *(pytest.param(f"long.{end}", marks=pytest.mark.thorough) for end in ("svm", "jsonl"))]
)
def test_a_very_long_line_is_refused_in_little_memory(tmp_path, name):
    path = tmp_path / name
    with path.open("wb") as file:  # a hole: no disk is used
        file.write({"svm": b"1 1:", "csv": b"a,b\n1,", "jsonl": b'{"a": "'}[name.split(".")[1]])
        for _ in range(amount(100, 1024)):  # megabytes
            file.write(b"1" * (1 << 20))
    status = tmp_path / "status"
    code = (
        "import atexit, pathlib, sys\n"
        f"atexit.register(lambda: pathlib.Path({str(status)!r}).write_text(pathlib.Path('/proc/self/status').read_text()))\n"
        "from rosenblatt.cli import main; main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "train", str(path), "-o", str(tmp_path / "m")], capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)),
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "line" in done.stderr
    peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())  # of this process alone
    assert peak is not None
    assert int(peak[1]) < 800_000
    path.unlink()


@pytest.mark.parametrize("command", [["show"], ["predict", "rows.csv"], ["evaluate", "rows.csv"], ["export", "--json"]])
def test_a_pipe_in_place_of_a_model_does_not_wait(command, tmp_path, monkeypatch):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes here")
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    found = rosenblatt(command[0], "pipe", *command[1:])
    assert found.code == 2
    assert "pipe: not a regular file but a directory, a pipe, a socket or a device" in found.err
