"""Reading bytes as if they were a file, by the kernels or by the definitions alone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.readers import Options, delimited, svmlight
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.table import Data, DataError

READ = {"svmlight": svmlight.read_svmlight, "csv": delimited.read_delimited}
CHUNKS = {"svmlight": svmlight.svmlight_chunks, "csv": delimited.delimited_chunks}


@contextmanager
def parser(kernel: bool) -> Iterator[None]:
    """Kernels for everything, or for nothing."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (svmlight, delimited):
            patch.setattr(module, "MAX_BYTES_WITHOUT_KERNEL", -1 if kernel else 1 << 60)
        yield


def source_of(content: bytes, name: str = "file.csv") -> Source:
    return Source(name, stream=io.BytesIO(content))


def read(kind: str, content: bytes, kernel: bool, name: str = "file", **options: Any) -> Data:
    with parser(kernel), source_of(content, name) as source:
        return READ[kind](source, Options(**options))


def outcome(kind: str, content: bytes, kernel: bool, **options: Any) -> Any:
    """Everything that comes of reading, so that two ways can be compared: all the arrays' bytes, or the message."""
    try:
        return plain(read(kind, content, kernel, **options))
    except DataError as error:
        return str(error)


def outcome_of_chunks(kind: str, content: bytes, kernel: bool, size: int, **options: Any) -> Any:
    try:
        with parser(kernel), source_of(content, "file") as source:
            return joined([plain(data) for data in CHUNKS[kind](source, Options(**options), size)])
    except DataError as error:
        return str(error)


def plain(data: Data) -> dict[str, Any]:
    """The content as lists that compare bit by bit."""
    features = data.features
    if isinstance(features, CSRMatrix):
        columns: dict[str, Any] = {"width": features.width, "lengths": np.diff(features.indptr).tolist()}
        columns |= {"indices": features.indices.tolist(), "values": features.values.view(np.int64).tolist()}
    else:
        columns = {name: listed(column) for name, column in zip(features.names, features.columns, strict=True)}
    return columns | {"labels": None if data.labels is None else listed(data.labels), "note": data.note}


def listed(column: Any) -> Any:
    if column.dtype == np.float64:
        return column.view(np.int64).tolist()
    assert column.dtype == object
    return column.tolist()


def joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    whole = dict(parts[0])
    for part in parts[1:]:
        for name, found in part.items():
            if name == "width":
                whole[name] = max(whole[name], found)
            elif isinstance(found, list):
                whole[name] = whole[name] + found
    return whole
