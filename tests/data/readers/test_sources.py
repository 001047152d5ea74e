"""Sources: decompressed as they pass, digested as they lie on the disk, whole lines in bounded memory, and what is wrong."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_files import source_of

from rosenblatt.data.readers import Options, window
from rosenblatt.data.readers.delimited import delimited_chunks
from rosenblatt.data.readers.sources import Source, extension_of
from rosenblatt.data.readers.window import blocks
from rosenblatt.data.table import DataError

TEXT = b"".join(b"%d 1:%d\n" % (k, k * k) for k in range(5000))
COMPRESS: dict[str, Any] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
each = pytest.mark.parametrize("extension", COMPRESS)


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@each
def test_decompressed_by_extension_or_first_bytes_and_digested(extension: str, tmp_path: Path) -> None:
    packed = COMPRESS[extension](TEXT)
    for name in (f"a{extension}", "a", "A" + extension.upper()):
        with Source(written(tmp_path, name, packed)) as source:
            assert source.sha256 is None
            assert source.read() == TEXT
        assert source.sha256 == hashlib.sha256(packed).hexdigest()
        assert source.position == len(packed) == source.size


@each
def test_several_parts_one_after_the_other(extension: str) -> None:
    pack = COMPRESS[extension]
    with source_of(pack(TEXT) + pack(b"") + pack(b"more\n")) as source:
        assert source.read() == TEXT + b"more\n"


@each
def test_cut_off_or_damaged(extension: str, tmp_path: Path) -> None:
    packed = COMPRESS[extension](os.urandom(3000) + TEXT)
    for length in (len(packed) - 1, len(packed) // 2, 20):
        path = written(tmp_path, f"a{extension}", packed[:length])
        with (
            Source(path) as source,
            pytest.raises(DataError, match=f"{path}: the .* file is (truncated|damaged)"),
        ):
            source.read()
    middle = len(packed) // 2
    damaged = packed[:middle] + bytes(255 - b for b in packed[middle : middle + 40]) + packed[middle + 40 :]
    with source_of(damaged) as source, pytest.raises(DataError, match=r"(damaged|truncated)"):
        source.read()


@each
def test_content_that_differs_from_its_extension(extension: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"a.csv{extension}", b"just,text\n")
    with pytest.raises(DataError, match=f"is named {extension}, but is not a"):
        Source(path)
    with pytest.raises(DataError, match=f"is named {extension}, but is empty"):
        Source(written(tmp_path, f"b{extension}", b""))


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(COMPRESS)), st.binary(max_size=40))
def test_junk_after_the_first_bytes(extension: str, junk: bytes) -> None:
    content = COMPRESS[extension](TEXT)[:12] + junk
    with contextlib.suppress(DataError), source_of(content, "junk") as source:
        source.read()


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: file not found"):
        Source(tmp_path / "nowhere")
    (tmp_path / "rows.csv").touch()
    with pytest.raises(DataError, match=r"is a directory, not a file; name a file in it: rows.csv$"):
        Source(tmp_path)
    with pytest.raises(DataError, match="cannot be opened"):
        Source("a\0b")
    with pytest.raises(DataError, match="cannot be opened"):
        Source("a" * 5000)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:  # pragma: no cover
    path = written(tmp_path, "secret", b"1\n")
    path.chmod(0)
    with pytest.raises(DataError, match="permission denied"):
        Source(path)


def test_permission_and_reading_errors_are_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    class Broken(io.BytesIO):
        def readinto(self, room: Any) -> int:
            raise OSError(5, "Input/output error")

    with (
        Source("x", stream=Broken(b"1" * 100)) as source,
        pytest.raises(DataError, match="x: cannot be read: Input/output error"),
    ):
        source.read()
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(DataError, match="x: permission denied"):
        Source("x")


def test_zstandard_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"pip install 'rosenblatt\[data\]'"):
        source_of(COMPRESS[".zst"](TEXT))


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(b"1 1:2\n"))

    monkeypatch.setattr(sys, "stdin", Stdin)
    with Source("-") as source:
        assert (source.name, source.read()) == ("stdin", b"1 1:2\n")
    assert not Stdin.buffer.closed


def test_peek_leaves_bytes_unread() -> None:
    with source_of(b"abcdef") as source:
        assert source.peek(3) == b"abc"
        assert source.peek(2) == b"ab"
        assert source.peek(99) == b"abcdef"
        assert source.read(2) == b"ab"
        assert source.peek(2) == b"cd"
        assert source.read() == b"cdef"


def test_text_may_begin_like_bzip2() -> None:
    with source_of(b"BZhang,1\n") as source:
        assert source.read() == b"BZhang,1\n"


def test_formats() -> None:
    names = ("a.csv", "A.CSV.GZ", "x/y.tsv.zst", "a9a", "a.b/c", "data.tar.parquet", ".csv", "x.gz")
    assert [extension_of(name) for name in names] == ["csv", "csv", "tsv", "", "", "parquet", "", ""]


lines = st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\0", b"").replace(b"\r", b"")), max_size=12).map(b"\n".join)


@settings(deadline=None, max_examples=150)
@given(lines, st.integers(1, 100))
def test_blocks_are_whole_lines_and_all_of_them(content: bytes, size: int) -> None:
    content = b"x" + content  # nothing that looks like a byte order mark
    with source_of(content) as source:
        found = list(blocks(source, size))
    whole = b"".join(block for _, block in found)
    assert whole == content + (b"" if content.endswith(b"\n") else b"\n")
    line = 1  # a line that is longer than a block widens the buffer
    for first, block in found:
        assert first == line
        assert block.endswith(b"\n")
        assert len(block) <= size + 3 or len(block) <= 2 * max(map(len, content.split(b"\n"))) + 3
        line += block.count(b"\n")


def test_wide_characters_without_a_mark() -> None:
    with (
        source_of("1 2:3\n".encode("utf-16-le")) as source,
        pytest.raises(DataError, match=r"line 1: the line contains a NUL byte: .* UTF-16"),
    ):
        list(blocks(source))


def test_byte_order_mark_is_skipped() -> None:
    with source_of(b"\xef\xbb\xbf1 2:3\n") as source:
        assert list(blocks(source)) == [(1, b"1 2:3\n")]


def test_lines_of_old_macs() -> None:
    with source_of(b"1 2:3\r4 5:6\r") as source, pytest.raises(DataError, match="end with CR alone"):
        list(blocks(source))
    with source_of(b"1 2:3\r") as source:
        assert list(blocks(source)) == [(1, b"1 2:3\r\n")]


class Endless(io.RawIOBase):
    """Two lines, and then one that does not end."""

    def __init__(self) -> None:
        self.given = 0

    def readable(self) -> bool:
        return True

    def read(self, n: int = -1) -> bytes:
        return b"1 1:1\n1 1:1\n1 1:1"[:n]

    def readinto(self, room: Any) -> int:
        self.given += len(room)
        room[:] = b"1" * len(room)
        return len(room)


@pytest.mark.parametrize("kind", ["svmlight", "csv"])
def test_a_line_without_end_is_refused_in_bounded_memory(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from reading_files import READ

    monkeypatch.setattr(window, "MAX_LINE_BYTES", 10 << 20)
    stream = Endless()
    tracemalloc.start()
    with (
        Source("endless", stream=stream) as source,
        pytest.raises(DataError, match="endless, line 3: the line is longer than 10 MiB"),
    ):
        READ[kind](source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stream.given < 11 << 20
    assert peak < 50 << 20


@each
def test_what_unpacks_to_very_much_is_refused_in_bounded_memory(extension: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "MAX_LINE_BYTES", 9 << 20)
    packed = COMPRESS[extension](b"1" * (40 << 20))
    tracemalloc.start()
    with source_of(packed) as source, pytest.raises(DataError, match="line 1: the line is longer than 9 MiB"):
        list(blocks(source))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 35 << 20


def test_a_quote_that_is_not_closed_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "MAX_LINE_BYTES", 3 << 20)
    content = b"a,b\n" * 5 + b'a,"b\n' + b"a,b\n" * (1 << 20)
    with (
        source_of(content) as source,
        pytest.raises(DataError, match=r"line 6: a quote is not closed within 3 MiB"),
    ):
        list(delimited_chunks(source, Options(label="0"), 1 << 20))
