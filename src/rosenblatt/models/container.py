"""One safetensors file with arrays and JSON metadata, and a SHA-256 over all of it.

The file is what the safetensors library writes: 8 bytes of header length, a JSON header, the arrays. The header's
`__metadata__` has one name, `rosenblatt`, whose text is JSON again and begins `{"format":2,"sha256":"...`. The digest is that
of the whole file with these 64 digits as zeros, so that no byte can change unseen; safetensors itself checks none. Nothing of
a file is believed before its size, its header and its digest are in order; docs/model-files.md has the format in full.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .format_1 import upgrade

FORMAT = 2
MOST_BYTES = 4 << 30  # of a file
MOST_HEADER = 64 << 20  # of its header: names, metadata
MOST_TENSORS = 100_000
DTYPES = {
    "F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
    "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip
_WORDS = {np.dtype(dtype): word for word, dtype in DTYPES.items()}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_SEAL = re.compile(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"')
_ZEROS = b"0" * 64
_STRETCH = 1 << 20  # numbers looked at together

Parts = tuple[dict[str, Any], dict[str, Any]]


class ModelError(ValueError):
    """A model file that cannot be used, in one sentence that names it."""

    def __init__(self, source: str, sentence: str) -> None:
        super().__init__(f"{source}: {sentence}")
        self.source, self.sentence = source, sentence


class UnfitError(ValueError):
    """What is wrong with the contents of a file, before it is known which file."""


def require(holds: Any, otherwise: str) -> None:
    if not holds:
        raise UnfitError(otherwise)


# --- writing ---------------------------------------------------------------------------------------------------------------


def pack(meta: dict[str, Any], arrays: dict[str, Any]) -> list[Any]:
    """The bytes of a file, as a few buffers that follow each other; a `ValueError` says what no file could hold."""
    from safetensors import serialize

    arrays, transposed = _in_rows(arrays)
    sealed = {"format": FORMAT, "sha256": _ZEROS.decode(), **meta, "transposed": transposed}
    text = json.dumps(sealed, allow_nan=False, separators=(",", ":"))
    header = (
        len(text) + text.count('"') + text.count("\\") + 400 * (len(arrays) + 1)
    )  # in JSON once more, with the arrays' entries
    if header > MOST_HEADER:
        raise ValueError(f"a model file has room for {MOST_HEADER >> 20} MB of names and metadata, and this model has more")
    if sum(array.nbytes for array in arrays.values()) > MOST_BYTES - MOST_HEADER:
        raise ValueError(f"a model file has {MOST_BYTES >> 30} GB at most, and this model has more")
    raw = serialize({name: _described(array) for name, array in arrays.items()}, metadata={"rosenblatt": text})
    found = _SEAL.search(raw, 8, 8 + _header_length(raw))
    assert found is not None
    first, last = found.span(1)
    digest = _digest(raw, first)
    return [raw[:first], digest.encode(), memoryview(raw)[last:]]


def _in_rows(arrays: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Arrays in C order, little-endian, and the names of those that are stored the other way round to stay in their own order:
    a product's bits depend on it."""
    transposed = sorted(name for name, a in arrays.items() if a.ndim == 2 and a.flags.f_contiguous and not a.flags.c_contiguous)
    stored = {name: a.T if name in transposed else a for name, a in arrays.items()}
    return {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in stored.items()}, transposed


def _described(array: Any) -> Any:
    from safetensors import TensorSpec

    if array.dtype not in _WORDS:
        raise ValueError(f"an array of {array.dtype} is nothing that a model file holds")
    return TensorSpec(dtype=array.dtype.name, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)


def _digest(raw: Any, first: int) -> str:
    view, seal = memoryview(raw), hashlib.sha256()
    seal.update(view[:first])
    seal.update(_ZEROS)
    seal.update(view[first + len(_ZEROS) :])
    return seal.hexdigest()


# --- reading ---------------------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], parse: Callable[[dict[str, Any], dict[str, Any]], Any]) -> Any:
    """What `parse` makes of a file's metadata and arrays; everything that can be wrong is a `ModelError`."""
    source = os.fspath(path)
    try:
        raw = _bytes_of(path)
        return parse(*unpack(raw))
    except OSError as error:
        raise ModelError(source, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnfitError as wrong:
        raise ModelError(source, str(wrong)) from None
    except RecursionError:
        raise ModelError(source, "is nested too deeply to be a model") from None
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, ImportError, MemoryError) as wrong:
        why = " ".join(str(wrong).split())
        raise ModelError(source, f"holds parts that do not fit together ({type(wrong).__name__}: {why:.200})") from None


def _bytes_of(path: str | os.PathLike[str]) -> memoryview:
    """A file's bytes in memory of our own: one that shrinks while it is mapped would end the process."""
    if os.fspath(path) == "-":
        piped = b"" if sys.stdin is None else sys.stdin.buffer.read(MOST_BYTES + 1)
        require(piped, "is empty, not a model")
        require(len(piped) <= MOST_BYTES, f"has more than {MOST_BYTES >> 30} GB, which no model has")
        return memoryview(bytearray(piped))
    require(b"\0" not in os.fsencode(path), "is no name of a file")
    with Path(path).open("rb", buffering=0) as file:
        about = os.fstat(file.fileno())
        require(stat.S_ISREG(about.st_mode), "is not a file but a directory or a device")
        require(about.st_size > 0, "is an empty file, not a model")
        require(about.st_size <= MOST_BYTES, f"has more than {MOST_BYTES >> 30} GB, which no model has")
        raw, filled = np.empty(about.st_size, np.uint8).data, 0  # memory that nobody fills with zeros first
        while filled < len(raw) and (more := file.readinto(raw[filled:])):
            filled += more
        require(filled == len(raw), "was cut off while it was read")
    return raw


def unpack(raw: bytearray | memoryview) -> Parts:
    """The metadata and the arrays, which are views of `raw`."""
    require(len(raw) >= 8, "is too short to be a model")
    length = _header_length(raw)
    require(2 <= length <= min(MOST_HEADER, len(raw) - 8), "is not a model, or was cut off: its header has no right length")
    header = strict_json(bytes(raw[8 : 8 + length]), "header")
    require(isinstance(header, dict), "is not a model: its header is no object")
    meta = header.pop("__metadata__", None)
    require(isinstance(meta, dict) and set(meta) == {"rosenblatt"}, "is not a model that Rosenblatt wrote")
    text = meta["rosenblatt"]
    require(isinstance(text, str), "is not a model that Rosenblatt wrote")
    version = re.match(r'\{"format":([0-9]{1,9}),', text)
    require(version is not None, "is damaged: its metadata do not begin with their format")
    assert version is not None
    require(int(version[1]) <= FORMAT, f"was written by a newer Rosenblatt, in format {version[1]}, or is damaged")
    require(int(version[1]) >= 1, f"is damaged: there is no format {version[1]}")
    _check_seal(raw, length)
    told = strict_json(text, "metadata")
    require(isinstance(told, dict), "is damaged: its metadata are no object")
    arrays = _arrays(header, raw, 8 + length)
    for name in told.pop("transposed"):
        require(arrays[name].ndim == 2, f"says that {name} is transposed, which is not a matrix")
        arrays[name] = arrays[name].T
    del told["format"], told["sha256"]
    if int(version[1]) == 1:
        upgrade(told, arrays)
    return told, arrays


def _header_length(raw: Any) -> int:
    return int.from_bytes(raw[:8], "little")


def _check_seal(raw: bytearray | memoryview, length: int) -> None:
    found = _SEAL.search(raw, 8, 8 + length)
    require(found is not None, "is damaged: it has no SHA-256")
    assert found is not None
    require(_digest(raw, found.start(1)) == bytes(found[1]).decode(), "is damaged: its SHA-256 is not that of its contents")


def _arrays(header: dict[str, Any], raw: bytearray | memoryview, base: int) -> dict[str, Any]:
    """Every array, after its entry was checked; together they fill the file to its end."""
    require(len(header) <= MOST_TENSORS, f"has more than {MOST_TENSORS} arrays")
    places = [(*_entry(name, entry), name) for name, entry in header.items()]
    arrays, reached = {}, 0
    for first, last, dtype, shape, name in sorted(places, key=lambda place: (place[0], place[1], place[-1])):
        require(first == reached, f"is damaged: array {name} does not begin where the one before ends")
        require((base + first) % dtype.itemsize == 0, f"has an array {name} that is not aligned")
        require(base + last <= len(raw), f"was cut off: array {name} goes beyond its end")
        arrays[name] = (
            np.frombuffer(raw, dtype, prod(shape), base + first).reshape(shape) if last > first else np.zeros(shape, dtype)
        )
        if dtype == np.bool_:
            require((arrays[name].view(np.uint8) <= 1).all(), f"has an array {name} of other values than true and false")
        reached = last
    require(base + reached == len(raw), "is damaged: there is something after its last array")
    return arrays


def _entry(name: str, entry: Any) -> tuple[int, int, Any, tuple[int, ...]]:
    require(_NAME.fullmatch(name), "is damaged: an array has an impossible name")
    require(
        isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"},
        f"is damaged: array {name} is not described",
    )
    word, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    require(isinstance(word, str) and word in DTYPES, f"has an array {name} of a type that no model has")
    for numbers, most in ((shape, 3), (offsets, 2)):
        require(
            isinstance(numbers, list)
            and len(numbers) <= most
            and all(type(n) is int and 0 <= n <= MOST_BYTES for n in numbers),
            f"is damaged: array {name} has impossible sizes",
        )
    require(len(offsets) == 2, f"is damaged: array {name} has impossible sizes")
    dtype = np.dtype(DTYPES[word])
    require(
        prod(shape) * dtype.itemsize == offsets[1] - offsets[0], f"is damaged: array {name} has another size than its shape"
    )
    return offsets[0], offsets[1], dtype, tuple(shape)


def all_finite(array: Any) -> bool:
    flat = array.ravel(order="K")  # a view of any array without gaps
    return all(bool(np.isfinite(flat[start : start + _STRETCH]).all()) for start in range(0, flat.size, _STRETCH))


def strict_json(raw: Any, what: str) -> Any:
    """JSON without names that are there twice, NaN or infinity."""
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise UnfitError(f"is not a model, or damaged: its {what} is not text") from None
    except json.JSONDecodeError:
        raise UnfitError(f"is not a model, or damaged: its {what} is not JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    told = dict(pairs)
    require(len(told) == len(pairs), "is damaged: its header has a name twice")
    return told


def _no_constant(text: str) -> Any:
    raise UnfitError(f"is damaged: {text} is no number")
