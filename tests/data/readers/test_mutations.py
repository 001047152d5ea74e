"""Damaged files of every format are read or refused with a DataError of one line."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from effort import amount
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import DataError

pytestmark = pytest.mark.once
ROWS = [(i % 7 + 0.5, f"n{i % 3}", 3 * i, "ab"[i % 2]) for i in range(30)]
CSV = b"x,name,k,label\n" + "".join(f'{x},"{name}",{k},{label}\n' for x, name, k, label in ROWS).encode()
PIECES = [b"9" * 20, b"1e400", b'"', b",", b"\n", b"\0", b"\xff", b":", b"{", b"2147483648:1", b"02163", b"\xff\xff\xff\x7f"]


def archive() -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, X=np.arange(60.0).reshape(20, 3), y=np.arange(20) % 2)
    return stream.getvalue()


def arrow_file(kind: str) -> bytes:
    columns = dict(zip(("x", "name", "k", "label"), map(list, zip(*ROWS, strict=True)), strict=True))
    table, stream = pa.table(columns), io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, stream)
    else:
        with pa.ipc.new_file(stream, table.schema) as file:
            file.write_table(table)
    return stream.getvalue()


FILES = {
    "csv": CSV,
    "svmlight": "".join(f"{i % 2} 1:{x} {i + 2}:{k}\n" for i, (x, _, k, _) in enumerate(ROWS)).encode(),
    "jsonl": "".join(json.dumps({"x": x, "k": k, "label": label}) + "\n" for x, _, k, label in ROWS).encode(),
    "npz": archive(),
    "idx": b"\0\0\x08\x02\0\0\0\x14\0\0\0\x03" + bytes(range(60)),
    "parquet": arrow_file("parquet"),
    "arrow": arrow_file("arrow"),
    "csv.gz": gzip.compress(CSV),
    "csv.bz2": bz2.compress(CSV),
    "csv.xz": lzma.compress(CSV),
}


def mutated(content: bytes, rng: random.Random) -> bytes:
    found = bytearray(content)
    for _ in range(rng.choice((1, 2, 5))):
        at, kind = rng.randrange(len(found)), rng.randrange(4)
        if kind == 0:
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            found[at:at] = rng.choice(PIECES)
        elif kind == 2:
            del found[at : at + rng.randrange(1, 9)]
        else:
            found[at:at] = found[at : at + 40]
        found = found or bytearray(b"x")
    return bytes(found)


@pytest.mark.parametrize("ending", list(FILES))
def test_damage_is_a_data_error(tmp_path: Path, ending: str) -> None:
    rng, path = random.Random(0), tmp_path / f"rows.{ending}"
    for number in range(amount(60, 5000)):
        path.write_bytes(mutated(FILES[ending], rng))
        options = Options(format=ending.split(".")[0], as_written=number % 3 == 0, max_memory=200 << 20)
        try:
            _ = read(path, options) if number % 2 else list(chunks(path, options, 64))
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017
