"""The head of a cache: what its files hold. docs/cache-files.md describes the format."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FORMAT, VERSION = "rosenblatt cache", 1
NAME = "cache.json"
LONGEST = 1 << 28  # bytes of a header: the names of many columns are long, but not that long
# The type of each file's numbers; values have the type that the header names.
FILES = {"values": "", "indices": "<i4", "indptr": "<i8", "codes": "<i4", "signs": "|i1"}
FLOATS = ("float64", "float32")
LABELS = "biufU"  # kinds of labels


class CacheError(ValueError):
    """A cache that cannot be used, in one sentence that names it."""

    def __init__(self, path: Path | str, sentence: str) -> None:
        super().__init__(f"{path}: {sentence}")
        self.path, self.sentence = path, sentence


@dataclass(frozen=True)
class Header:
    sparse: bool
    dtype: str  # of the values, float64 or float32
    rows: int
    columns: int
    stored: int  # values; of dense rows, rows times columns
    classes: Any  # the labels that occur, sorted
    counts: Any  # int64, how many rows have each
    key: str = ""  # what the cache was made from and how, in the maker's words
    notes: dict[str, Any] = field(default_factory=dict)  # what else the maker wants to know again

    @property
    def sizes(self) -> dict[str, int]:
        """The files and their sizes in bytes."""
        numbers = {"values": self.stored, "codes": self.rows}
        if self.sparse:
            numbers |= {"indices": self.stored, "indptr": self.rows + 1}
        if len(self.classes) == 2:
            numbers["signs"] = self.rows
        return {name: many * np.dtype(self.type_of(name)).itemsize for name, many in numbers.items()}

    def type_of(self, name: str) -> str:
        return FILES[name] or ("<f4" if self.dtype == "float32" else "<f8")

    def write(self, path: Path) -> None:
        body = {
            "format": FORMAT, "version": VERSION, "kind": "sparse" if self.sparse else "dense", "dtype": self.dtype,
            "rows": self.rows, "columns": self.columns, "stored": self.stored,
            "labels": self.classes.dtype.str, "classes": self.classes.tolist(), "counts": self.counts.tolist(),
            "key": self.key, "notes": self.notes,
        }  # fmt: skip
        path.write_text(json.dumps({**body, "digest": _digest(body)}, indent=1) + "\n", encoding="utf-8")


def _digest(body: dict[str, Any]) -> str:
    """Of the head as JSON with sorted keys and no spaces."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_header(folder: Path) -> Header:
    """The head of a cache, checked by itself and against the sizes of the files."""
    try:
        with open(folder / NAME, "rb") as file:
            text = file.read(LONGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise CacheError(folder, f"this is not a cache, or not a complete one: it has no {NAME}") from None
    try:
        body = json.loads(text)
        digest = body.pop("digest")
        known = body["format"] == FORMAT
        version = body["version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CacheError(folder, f"this is not a cache: its {NAME} is not the head of one") from None
    if not known:
        raise CacheError(folder, f"this is not a cache: its {NAME} is not the head of one")
    if digest != _digest(body):
        raise CacheError(folder, f"the cache is damaged: the digest of {NAME} is not that of what it says; delete it")
    if version != VERSION:
        raise CacheError(folder, f"the cache has version {version!r} of the format and this program reads {VERSION}; delete it")
    header = _from_body(folder, body)
    for name, size in header.sizes.items():
        try:
            found = (folder / f"{name}.bin").stat().st_size
        except FileNotFoundError:
            raise CacheError(folder, f"the cache is damaged: {name}.bin is missing; delete it") from None
        if found != size:
            raise CacheError(folder, f"the cache is damaged: {name}.bin has {found:,} bytes, not {size:,}; delete it")
    return header


def _from_body(folder: Path, body: dict[str, Any]) -> Header:
    try:
        classes = np.array(body["classes"], np.dtype(body["labels"]))
        counts = np.array(body["counts"], np.int64)
        header = Header(
            {"sparse": True, "dense": False}[body["kind"]], body["dtype"], body["rows"], body["columns"], body["stored"],
            classes, counts, body["key"], body["notes"],
        )  # fmt: skip
        numbers = (header.rows, header.columns, header.stored)
        fine = (
            all(type(number) is int and number >= 0 for number in numbers)
            and header.dtype in FLOATS
            and (header.sparse or header.stored == header.rows * header.columns)
            and classes.ndim == counts.ndim == 1
            and classes.dtype.kind in LABELS
            and len(classes) == len(counts)
            and classes.tolist() == sorted(set(classes.tolist()))
            and int(counts.sum()) == header.rows
            and bool((counts > 0).all())
            and isinstance(header.key, str)
            and isinstance(header.notes, dict)
            and max(numbers) < 2**62
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise CacheError(folder, f"the cache is damaged: what its {NAME} says does not fit together; delete it")
    return header


def bytes_per_row(header: Header) -> int:
    return max(1, math.ceil(sum(header.sizes.values()) / max(1, header.rows)))
