"""Files that would fill the memory are refused in one sentence that names the option; honest files are not."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import rosenblatt
from rosenblatt.data.readers import Options
from rosenblatt.data.readers import limits as module
from rosenblatt.data.readers.columns import Columns
from rosenblatt.data.readers.limits import free_memory
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.table import DataError
from rosenblatt.kernels.compile import COMPILED

pytestmark = pytest.mark.once
LINE = {"csv": b"1,2,a\n", "svmlight": b"1 1:2 3:4\n", "jsonl": b'{"a": 1, "label": "x"}\n', "tsv": b"some words\tb\n"}


class Endless(io.RawIOBase):
    """The same lines without an end, as from a device or a pipe."""

    def __init__(self, line: bytes) -> None:
        self.block = line * (1 + 65536 // len(line))
        self.at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.block[self.at : self.at + len(buffer)]
        self.at = (self.at + len(piece)) % len(self.block)
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize("kind", list(LINE))
def test_endless_streams_stop_at_the_limit(kind: str) -> None:
    words = (
        "stdin: the rows take more than 4 MiB of memory, the limit of --max-memory; train with --stream, or raise --max-memory"
    )
    with Source("-", Endless(LINE[kind])) as source, pytest.raises(DataError) as error:
        read(source, Options(format=kind, label=None if kind == "svmlight" else "-1", max_memory=4 << 20))
    assert str(error.value) == words


@pytest.mark.parametrize("kind", ["npz", "parquet", "idx"])
def test_endless_binary_streams_stop(kind: str) -> None:
    pytest.importorskip("pyarrow")
    headers = {"idx": b"\0\0\x08\x02\x7f\xff\xff\xff\0\0\0\x08", "npz": b"PK\3\4" * 4, "parquet": b"PAR1" * 4}
    with Source("-", Endless(headers[kind])) as source, pytest.raises(DataError, match="take more than 4 MiB of memory"):
        read(source, Options(format=kind, max_memory=4 << 20))


FOREIGN = {"zeros": b"\0", "ones": b"\xff", "text": b"a,b,label\n1,2,x\n", "length alone": b"\0\1\0\0" + bytes(12)}
STARTS = {"npz": "PK", "parquet": "PAR1", "arrow": "ARROW1 or a message of an Arrow stream"}


@pytest.mark.parametrize("begin", list(FOREIGN))
@pytest.mark.parametrize("kind", list(STARTS))
def test_pipes_of_another_format_are_refused_by_their_first_bytes(kind: str, begin: str) -> None:
    words = f"stdin: not {'a' if kind == 'parquet' else 'an'} {kind} file: it does not start with {STARTS[kind]}"
    for reading in (read, lambda source, options: next(chunks(source, options))):
        with Source("-", Endless(FOREIGN[begin])) as source, pytest.raises(DataError) as error:
            reading(source, Options(format=kind, max_memory=4 << 20))
        assert (str(error.value), source.position < 100) == (words, True)
    with Source("-", io.BytesIO()) as source, pytest.raises(DataError, match="the file has no rows: it is empty"):
        read(source, Options(format=kind))
    with Source(f"rows.{kind}.gz", io.BytesIO(gzip.compress(FOREIGN[begin] * 9))) as source, pytest.raises(DataError) as error:
        read(source)
    assert str(error.value) == words.replace("stdin", f"rows.{kind}.gz")


@pytest.mark.parametrize("legacy", [False, True])
def test_streams_of_arrow_are_read_from_pipes(legacy: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    table, sink = pa.table({"a": np.arange(40.0), "label": np.arange(40) % 2}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(use_legacy_format=legacy)) as writer:
        writer.write_table(table)
    with Source("-", io.BytesIO(sink.getvalue())) as source:
        assert read(source, Options(format="arrow")).n_rows == 40


def zstandard(content: bytes) -> bytes:
    compressed: bytes = pytest.importorskip("zstandard").compress(content)
    return compressed


@pytest.mark.parametrize(
    ("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstandard)]
)
def test_compressed_files_expand_200_fold_at_most(
    tmp_path: Path, ending: str, compress: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MIN_EXPANDED_BYTES", 1 << 16)
    path = tmp_path / f"rows.csv.{ending}"
    path.write_bytes(compress(b"x,y,label\n" + b"1,2,a\n3,4,b\n" * 40_000))
    words = r"the compressed file expands to more than .*B, over 200 times its size; if it is meant to, raise --max-memory"
    with pytest.raises(DataError, match=words):
        read(path)
    assert read(path, Options(max_memory=1 << 30)).n_rows == 80_000
    assert sum(chunk.n_rows for chunk in chunks(path)) == 80_000, "a stream holds a chunk only"
    found = rosenblatt("train", path, "-o", tmp_path / "m")
    assert (found.code, found.err.count("\n")) == (2, 1)


def test_arrays_expand_200_fold_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_EXPANDED_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "rows.npz", X=np.zeros((1 << 14, 1 << 5)), y=np.arange(1 << 14) % 2)
    with pytest.raises(DataError, match="the compressed file expands to more than"):
        read(tmp_path / "rows.npz")
    assert read(tmp_path / "rows.npz", Options(max_memory=1 << 30)).n_rows == 1 << 14
    assert sum(chunk.n_rows for chunk in chunks(tmp_path / "rows.npz")) == 1 << 14


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrow stream"])
def test_columnar_files_expand_200_fold_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr(module, "MIN_EXPANDED_BYTES", 1 << 20)
    n = 2_000_000
    table, path = pa.table({"a": np.zeros(n), "label": np.zeros(n, np.int8)}), tmp_path / f"bomb.{kind.split()[0]}"
    if kind == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path, compression="zstd")
    else:
        options, decoded = pa.ipc.IpcWriteOptions(compression="zstd"), []
        make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as file, make(file, table.schema, options=options) as writer:
            writer.write_table(table)
        monkeypatch.setattr("rosenblatt.data.readers.arrow._Arrow._all", lambda self: decoded.append(1) or iter(()))
    with pytest.raises(
        DataError, match=r"expands to more than .*, over 200 times its size; if it is meant to, raise --max-memory"
    ):
        read(path, Options())
    if kind != "parquet":
        assert not decoded, "refused before it is decompressed"
        with pytest.raises(DataError, match="the rows take more than 2 MiB"):
            list(chunks(path, Options(max_memory=2 << 20), 4096))
        return
    assert read(path, Options(max_memory=1 << 30)).n_rows == n


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device of endless zeros")
def test_a_device_without_end_is_refused(tmp_path: Path) -> None:
    for command, output in (("train", [tmp_path / "m"]), ("convert", [tmp_path / "o.csv"]), ("doctor", [])):
        found = rosenblatt(command, "/dev/zero", *output)
        assert (found.code, len(found.err.splitlines())) == (2, 1)
        assert found.err.startswith("rosenblatt: /dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npz", "parquet", "arrow"])
def test_named_pipes_are_read_to_their_end(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table, path, pipe = (
        pa.table({"a": np.arange(40.0), "label": np.arange(40) % 2}),
        tmp_path / f"rows.{kind}",
        tmp_path / "pipe",
    )
    if kind == "npz":
        np.savez(path, X=np.arange(40.0)[:, None], y=np.arange(40) % 2)
    elif kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    else:
        rows = b"a,label\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(40))
        path.write_bytes(rows if kind == "csv" else gzip.compress(rows))
    os.mkfifo(pipe)
    writing = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writing.start()
    assert read(pipe, Options(format=kind.split(".")[0])).n_rows == 40
    writing.join()


def test_json_rows_of_different_keys_are_no_dense_table(tmp_path: Path) -> None:
    rows = (", ".join(f'"k{100 * i + j}": 1' for j in range(100)) for i in range(400))
    (tmp_path / "rows.jsonl").write_text("".join(f'{{{row}, "label": {i % 2}}}\n' for i, row in enumerate(rows)))
    words = r"line 1: as a table of 40,001 keys, the rows take more than 102.8 MB; if they are meant to, raise --max-memory"
    with pytest.raises(DataError, match=words):
        read(tmp_path / "rows.jsonl", Options(missing="mean"))
    with pytest.raises(DataError, match="more than 32 MiB"):
        next(chunks(tmp_path / "rows.jsonl", Options(missing="mean", max_memory=32 << 20)))


def test_honest_compressed_files_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = "".join(f"{a},{b},{a > b}\n" for a, b in rng.integers(0, 2, (20_000, 2)).tolist())
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(rows.encode()))
    assert read(tmp_path / "rows.csv.gz", Options(header=False)).n_rows == 20_000


def test_examples_that_do_not_fit_are_not_made() -> None:
    with pytest.raises(DataError, match="the rows take more than 1 MiB"):
        read("example:blobs?rows=100000", Options(max_memory=1 << 20))


def test_the_default_is_a_share_of_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert free_memory() > 1 << 20
    monkeypatch.setattr(module, "free_memory", lambda: 125 * 10**6)
    words = "take more than 100.0 MB of memory, 80 % of the free memory"
    with Source("-", Endless(LINE["svmlight"])) as source, pytest.raises(DataError, match=words):
        read(source, Options(format="svmlight"))


def test_an_allocation_that_fails_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.csv").write_text("a,label\n1,x\n2,y\n")

    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(Columns, "add_rows", fail)
    with pytest.raises(DataError, match=r"rows\.csv: the rows do not fit into memory; train with --stream"):
        read(tmp_path / "rows.csv")


@pytest.mark.parametrize("cells", [("1", "2"), ("a", "b")])
@pytest.mark.skipif(not COMPILED, reason="kernels that run as Python take too long")
def test_many_columns_take_linear_time(tmp_path: Path, cells: tuple[str, str]) -> None:
    n = 50_000  # quadratic time would be a minute
    header = ",".join([*(f"c{j}" for j in range(n)), "label"])
    lines = [",".join([*itertools.islice(itertools.cycle(row), n), label]) for row, label in ((cells, "x"), (cells[::-1], "y"))]
    (tmp_path / "wide.csv").write_text("\n".join([header, *lines, ""]))
    data = read(tmp_path / "wide.csv")
    assert data.features.shape == (2, n)
    assert data.label_name == "label"


def test_a_large_column_number_is_refused_by_every_command(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1 2147483647:1\n2 1:1\n")
    for command in (
        ["convert", tmp_path / "rows.svm", tmp_path / "o.csv"],
        ["doctor", tmp_path / "rows.svm"],
        ["certify", tmp_path / "rows.svm"],
    ):
        found = rosenblatt(*command)
        assert found.code == 2
        assert "is the largest column number a mistake?" in found.err


@pytest.mark.parametrize(
    ("given", "size"), [("500M", 500 << 20), ("8g", 8 << 30), ("12345", 12345), ("-1", None), ("", None), ("0K", None)]
)
def test_sizes_on_the_command_line(tmp_path: Path, given: str, size: int | None) -> None:
    found = rosenblatt("convert", "example:iris", tmp_path / "o.csv", "--max-memory", given)
    if size is None:
        assert f"{given!r} is not a size such as 500M or 8G" in found.err
    else:
        assert found.code == (0 if size > 32 * 300 else 2)
