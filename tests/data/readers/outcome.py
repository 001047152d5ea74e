"""Rows, or the message of a DataError; any other exception fails the test."""

from __future__ import annotations

from pathlib import Path

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import read
from rosenblatt.data.table import Data, DataError


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
