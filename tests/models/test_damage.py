"""Damaged model files: each raises a ModelError of one line that names the file."""

from __future__ import annotations

import json
import os
import socket
import struct
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sealed_files import SEAL, loaded, resealed, saved_files

import rosenblatt as rb
from effort import in_time
from rosenblatt.models import container


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return saved_files(tmp_path_factory.mktemp("models"))


def mutant(raw: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """One to three of: a bit flipped, a byte changed, cut, inserted, spliced, another header length, changed metadata, ..."""
    data = bytearray(raw)
    for _ in range(int(rng.integers(1, 4))):
        at, how = int(rng.integers(0, max(1, len(data)))), int(rng.integers(0, 11))
        if not data:
            break
        if how == 0:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif how == 1:
            data[at] = int(rng.integers(0, 256))
        elif how == 2:
            del data[at:]
        elif how == 3:
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif how == 4:
            del data[at : at + int(rng.integers(1, 9))]
        elif how == 5:
            data[at:] = other[int(rng.integers(0, len(other))) :]
        elif how == 6:
            data[:8] = struct.pack("<Q", [0, 1, 7, len(data), 1 << 40, (1 << 64) - 1][int(rng.integers(0, 6))])
        elif how == 7:
            length = int.from_bytes(data[:8], "little")
            data[:8] = struct.pack("<Q", max(0, min(length, 1 << 60) + int(rng.integers(-9, 9))))
        elif how == 8:
            data = bytearray(with_edited_header(bytes(data), rng))
        elif how == 9:
            data += rng.bytes(int(rng.integers(1, 17)))
        else:
            length = int(rng.integers(1, 17))
            data[at : at + length] = bytes(length)
    return bytes(data)


def with_edited_header(raw: bytes, rng: np.random.Generator) -> bytes:
    """Metadata or an array's entry changed, and the header's length made to fit."""
    length = int.from_bytes(raw[:8], "little")
    try:
        header = json.loads(raw[8 : 8 + length])
        meta = json.loads(header["__metadata__"]["rosenblatt"])
        names = [name for name in header if name != "__metadata__"]
        name = str(rng.choice(names))
        how = int(rng.integers(0, 6))
        if how == 0:
            meta[str(rng.choice(sorted(meta)))] = None
            header["__metadata__"]["rosenblatt"] = json.dumps(meta, separators=(",", ":"))
        elif how == 1:
            header[name]["dtype"] = str(rng.choice(["F64", "F32", "I64", "F16", "U8", "X"]))
        elif how == 2:
            header[name]["shape"] = [1, *header[name]["shape"]]
        elif how == 3:
            header[name]["data_offsets"][1] += 8
        elif how == 4:
            header["__metadata__"]["more"] = "1"
        else:
            del header[name]
    except (ValueError, KeyError, TypeError, AttributeError):
        return raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + raw[8 + length :]


def check_mutants(files, count, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    names = list(files)
    refused = 0
    for turn in range(count):
        raw = files[names[turn % len(names)]]
        bad = mutant(raw, files[names[int(rng.integers(0, len(names)))]], rng)
        if bad in files.values():
            continue
        with pytest.raises(rb.ModelError) as caught:
            loaded(bad, monkeypatch)
        sentence = str(caught.value)
        assert sentence.startswith("mutant.safetensors: ")
        assert "\n" not in sentence
        refused += 1
    assert refused > 0.9 * count


def test_two_thousand_mutants_are_refused(files, monkeypatch):
    check_mutants(files, 2_000, monkeypatch, 1)


@pytest.mark.slow
def test_twenty_thousand_mutants_are_refused(files, monkeypatch):
    check_mutants(files, 20_000, monkeypatch, 2)


def test_every_single_bit_counts(files, monkeypatch):
    raw = files["average"]
    for at in range(len(raw)):
        bad = bytearray(raw)
        bad[at] ^= 1 << (at % 8)
        with pytest.raises(rb.ModelError):
            loaded(bytes(bad), monkeypatch)


def test_every_truncation_is_refused(files, monkeypatch):
    raw = files["average"]
    for length in range(len(raw)):
        with pytest.raises(rb.ModelError):
            loaded(raw[:length], monkeypatch)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.booleans())
def test_bytes_of_any_kind_are_refused(monkeypatch, raw, with_length):
    with pytest.raises(rb.ModelError):
        loaded(struct.pack("<Q", len(raw)) + raw if with_length else raw, monkeypatch)


def test_the_message_names_the_path_and_the_problem(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("label,x\n1,2\n")
    (tmp_path / "junk").write_bytes(os.urandom(5000))
    (tmp_path / "loop").symlink_to("loop")
    for name, words in (
        ("missing", "file not found"),
        ("empty", "the file is empty"),
        ("text", r"not a Rosenblatt model file: the header length is invalid"),
        ("junk", "header length is invalid"),
        ("loop", "cannot be read"),
        ("", "cannot be read: is a directory"),
    ):
        with pytest.raises(rb.ModelError, match=words) as caught:
            rb.load(tmp_path / name)
        assert str(tmp_path) in str(caught.value)
    with pytest.raises(rb.ModelError, match="not a valid file name"):
        rb.load("a\0b")
    for device in ("/dev/null", "/dev/zero"):
        with pytest.raises(rb.ModelError, match="not a regular file but a directory, a pipe, a socket or a device"):
            rb.load(device)


def test_pipes_and_sockets_do_not_wait(tmp_path):
    """Opening a pipe to read waits for a writer, which never comes; a file may be replaced by one after it was looked at."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes here")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))
    for name in ("pipe", "link", "socket"):
        with pytest.raises(rb.ModelError, match="not a regular file but a directory, a pipe, a socket or a device"):
            rb.load(tmp_path / name)
    with pytest.MonkeyPatch.context() as patch:
        regular = os.stat(__file__)
        patch.setattr(os, "stat", lambda path: regular)
        with pytest.raises(rb.ModelError, match="not a regular file"):
            rb.load(tmp_path / "pipe")


def test_a_huge_file_is_refused_by_its_size_alone(tmp_path, monkeypatch):
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(container.MAX_FILE_BYTES + 1)  # a hole, not four gigabytes
    started = time.monotonic()
    with pytest.raises(rb.ModelError, match="exceeds 4 GB"):
        rb.load(path)
    assert in_time(time.monotonic() - started, 1.0)
    with path.open("r+b") as file:
        file.truncate(1 << 20)
        file.write(struct.pack("<Q", 1 << 19))
    with pytest.raises(rb.ModelError, match="not JSON"):
        rb.load(path)


def test_the_seal_is_where_it_is_documented(files):
    raw = files["average"]
    assert raw[8:].startswith(rb'{"__metadata__":{"rosenblatt":"{\"format\":6,\"sha256\":\"')
    assert len(SEAL.findall(raw)) == 1
    assert resealed(raw) == raw
