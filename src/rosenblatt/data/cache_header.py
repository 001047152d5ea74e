"""The header of a cache on disk, cache.json: what the files hold, and the checksum of each of their blocks.

docs/cache-files.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Array, IntArray
from ..kernels.checksums import BLOCK_BYTES
from ..reporting.text import count, plural

FORMAT, VERSION = "rosenblatt cache", 3
HEADER_NAME = "cache.json"
MAX_HEADER_BYTES = 1 << 28  # ample even for the names of many columns
# The dtype of each file; the header gives that of the values.
FILE_DTYPES = {"values": "", "indices": "<i4", "indptr": "<i8", "codes": "<i4", "signs": "|i1"}
VALUE_DTYPES = ("float64", "float32")
LABEL_KINDS = "biufU"  # NumPy kinds of labels
CACHE_FILES = {HEADER_NAME, *(f"{name}.bin" for name in FILE_DTYPES)}
CHECKSUM = re.compile(r"[0-9a-f]{32}")
DELETE_ADVICE = "delete the cache and make it again"


class CacheError(ValueError):
    """A cache that cannot be used: one sentence that names it."""

    def __init__(self, path: Path | str, sentence: str) -> None:
        super().__init__(f"{path}: {sentence}")
        self.path, self.sentence = path, sentence


class OutdatedCacheError(CacheError):
    """A cache of an earlier format version, which a writer may replace."""


@dataclass(frozen=True)
class Header:
    """The contents of cache.json."""

    sparse: bool
    dtype: str  # type of the values, float64 or float32
    rows: int
    columns: int
    stored: int  # number of values; for dense rows, rows times columns
    classes: Array  # the labels that occur, sorted
    counts: IntArray  # int64, the number of rows of each class
    checksums: dict[str, tuple[str, ...]]  # of each block of each file, as `in_hexadecimal` writes them
    key: str = ""  # identifies the source file and the options the cache was made with
    notes: dict[str, Any] = field(default_factory=dict)  # further JSON values of the program that wrote the cache

    @property
    def sizes(self) -> dict[str, int]:
        """The files and their sizes in bytes."""
        numbers = {"values": self.stored, "codes": self.rows}
        if self.sparse:
            numbers |= {"indices": self.stored, "indptr": self.rows + 1}
        if len(self.classes) == 2:
            numbers["signs"] = self.rows
        return {name: number * np.dtype(self.dtype_of(name)).itemsize for name, number in numbers.items()}

    def dtype_of(self, name: str) -> str:
        return FILE_DTYPES[name] or ("<f4" if self.dtype == "float32" else "<f8")

    def write(self, path: Path) -> None:
        body = {
            "format": FORMAT, "version": VERSION, "kind": "sparse" if self.sparse else "dense", "dtype": self.dtype,
            "rows": self.rows, "columns": self.columns, "stored": self.stored,
            "labels": self.classes.dtype.str, "classes": self.classes.tolist(), "counts": self.counts.tolist(),
            "checksums": {name: list(blocks) for name, blocks in self.checksums.items()}, "key": self.key, "notes": self.notes,
        }  # fmt: skip
        path.write_text(json.dumps({**body, "digest": _digest(body)}, indent=1) + "\n", encoding="utf-8")


def _digest(body: dict[str, Any]) -> str:
    """SHA-256 of the header as JSON with sorted keys and no spaces."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_header(folder: Path) -> Header:
    """Read the header of a cache; check it, and the sizes of the files against it."""
    try:
        with open(folder / HEADER_NAME, "rb") as file:
            text = file.read(MAX_HEADER_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise CacheError(folder, f"not a cache, or an incomplete one: {HEADER_NAME} is missing") from None
    try:
        body = json.loads(text)
        digest = body.pop("digest")
        known = body["format"] == FORMAT
        version = body["version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CacheError(folder, f"not a cache: {HEADER_NAME} is not a cache header") from None
    if not known:
        raise CacheError(folder, f"not a cache: {HEADER_NAME} is not a cache header")
    if digest != _digest(body):
        raise CacheError(folder, f"the cache is damaged: the digest of {HEADER_NAME} does not match; {DELETE_ADVICE}")
    if version != VERSION:
        outdated = type(version) is int and 0 < version < VERSION
        raise (OutdatedCacheError if outdated else CacheError)(
            folder, f"the cache has format version {version!r}, but this program reads version {VERSION}; {DELETE_ADVICE}"
        )
    header = _from_body(folder, body)
    for name, size in header.sizes.items():
        try:
            found = (folder / f"{name}.bin").stat().st_size
        except FileNotFoundError:
            raise CacheError(folder, f"the cache is damaged: {name}.bin is missing; {DELETE_ADVICE}") from None
        if found != size:
            raise CacheError(
                folder,
                f"the cache is damaged: {name}.bin has {plural(found, 'byte')} instead of {count(size)}; {DELETE_ADVICE}",
            )
    return header


def _from_body(folder: Path, body: dict[str, Any]) -> Header:
    try:
        classes = np.array(body["classes"], np.dtype(body["labels"]))
        counts = np.array(body["counts"], np.int64)
        header = Header(
            {"sparse": True, "dense": False}[body["kind"]], body["dtype"], body["rows"], body["columns"], body["stored"],
            classes, counts, {name: tuple(blocks) for name, blocks in body["checksums"].items()}, body["key"], body["notes"],
        )  # fmt: skip
        numbers = (header.rows, header.columns, header.stored)
        valid = (
            all(type(number) is int and number >= 0 for number in numbers)
            and header.dtype in VALUE_DTYPES
            and (header.sparse or header.stored == header.rows * header.columns)
            and classes.ndim == counts.ndim == 1
            and classes.dtype.kind in LABEL_KINDS
            and len(classes) == len(counts)
            and classes.tolist() == sorted(set(classes.tolist()))
            and int(counts.sum()) == header.rows
            and bool((counts > 0).all())
            and isinstance(header.key, str)
            and isinstance(header.notes, dict)
            and max(numbers) < 2**62
            and {name: len(blocks) for name, blocks in header.checksums.items()} == _block_counts(header.sizes)
            and all(CHECKSUM.fullmatch(checksum) for blocks in header.checksums.values() for checksum in blocks)
        )
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, SyntaxError):  # np.dtype("2,08") is a SyntaxError
        valid = False
    if not valid:
        raise CacheError(folder, f"the cache is damaged: the entries of {HEADER_NAME} contradict each other; {DELETE_ADVICE}")
    return header


def in_hexadecimal(checksums: IntArray) -> tuple[str, ...]:
    """The checksums of blocks as text: the sum of the words and the chained products, 16 digits each."""
    return tuple(f"{total:016x}{chained:016x}" for total, chained in checksums.tolist())


def _block_counts(sizes: dict[str, int]) -> dict[str, int]:
    """The number of blocks of each file."""
    return {name: -(-size // BLOCK_BYTES) for name, size in sizes.items()}


def bytes_per_row(header: Header) -> int:
    """The average size of a row on disk, rounded up."""
    return max(1, math.ceil(sum(header.sizes.values()) / max(1, header.rows)))
