"""Rows, or the one sentence that says why not; any other exception fails the test."""

from __future__ import annotations

from pathlib import Path

from rosenblatt.readers.data import Data, DataError
from rosenblatt.readers.options import Options
from rosenblatt.readers.read import read


def outcome(path: Path, raw: bytes, options: Options | None = None) -> Data | str:
    path.write_bytes(raw)
    try:
        data = read(path, options)
    except DataError as error:
        sentence = str(error)
        assert "\n" not in sentence
        assert len(sentence) < 1000
        return sentence
    assert data.n_rows > 0
    return data
