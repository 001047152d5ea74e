"""The container of a model file: arrays and JSON metadata in safetensors, with a SHA-256 over all of it.

The file has the format of the safetensors library: 8 bytes of header length, a JSON header, the arrays. The header's
`__metadata__` has one key, `rosenblatt`, whose text is JSON again and starts with `{"format":5,"sha256":"...`. The digest is
the SHA-256 of the whole file with these 64 digits as zeros, so that a change of any byte is detected; safetensors itself
checks nothing. Size, header and digest are checked before any content is used. docs/model-files.md describes the format.

Loading takes at most 16 MB plus `MAX_GROWTH` times the size of the file. Arrays are views of the bytes that were read, and each
is used once. The header becomes Python objects, of which `MAX_PARTS` limits the number.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..array_types import Array
from ..atomic_file import NotRegularFileError, open_regular
from ..certificates.digit_budget import shared_budget
from ..reporting.text import count
from ..safe_text import printable
from .earlier_formats import upgrade
from .strict_json import MAX_PARTS, NOT_A_MODEL, InvalidContentError, count_parts, header_json, require, strict_json

if TYPE_CHECKING:
    from safetensors import TensorSpec

FORMAT = 6
MAX_FILE_BYTES = 4 << 30
MAX_HEADER_BYTES = 64 << 20
# Largest ratio of the memory that loading takes to the size of the file; see docs/model-files.md.
MAX_GROWTH = 64
MAX_ARRAYS = 100_000
MAX_DIMENSIONS = 3
DTYPES = {
    "F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
    "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip
# Upper estimate of one array's entry in the header.
_ENTRY_BYTES = 400
_VALUES_PER_CHECK = 1 << 20
_FEW_VALUES = 16  # a loop over so few takes less time than a call of NumPy
_NAMED_DTYPES = {word: np.dtype(dtype) for word, dtype in DTYPES.items()}
_KNOWN_DTYPES = frozenset(_NAMED_DTYPES.values())
_ENTRY_KEYS = {"dtype", "shape", "data_offsets"}
_ARRAY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_DIGEST = re.compile(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"')
_ZEROS = b"0" * 64

Meta = dict[str, Any]
Arrays = dict[str, Array]
Parts = tuple[Meta, Arrays]
Result = TypeVar("Result")


class ModelError(ValueError):
    """A model file cannot be used: it is missing, damaged, or not a model file.

    The message is one sentence that names the file and the problem, escaped for a terminal.

    Parameters
    ----------
    source : str
        The path of the file.
    sentence : str
        What is wrong with it.

    Attributes
    ----------
    source : str
        The path of the file.
    sentence : str
        What is wrong with it.

    See Also
    --------
    load : Raises this exception.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> try:
    ...     rb.load("missing.safetensors")
    ... except rb.ModelError as error:
    ...     print(error)
    missing.safetensors: file not found
    """

    def __init__(self, source: str, sentence: str) -> None:
        super().__init__(printable(f"{source}: {sentence}"))
        self.source, self.sentence = source, sentence


# --- writing ---------------------------------------------------------------------------------------------------------------


def pack(meta: Meta, arrays: Arrays) -> list[bytes | bytearray | memoryview]:
    """Return the bytes of a file as a few consecutive buffers; raises `ValueError` for values that a file cannot hold."""
    from safetensors import serialize

    arrays, transposed = _in_c_order(arrays)
    sealed = {"format": FORMAT, "sha256": _ZEROS.decode(), **meta, "transposed": transposed}
    if len(arrays) > MAX_ARRAYS:
        raise ValueError(f"the model is too large to save: it has more than {count(MAX_ARRAYS)} arrays")
    text = json.dumps(sealed, allow_nan=False, separators=(",", ":"))
    if count_parts(text) + 8 * len(arrays) > MAX_PARTS:
        raise ValueError(f"the model is too large to save: names and metadata have more than {count(MAX_PARTS)} parts")
    # The text is escaped once more inside the header, beside the entries of the arrays.
    header_bytes = len(text) + text.count('"') + text.count("\\") + _ENTRY_BYTES * (len(arrays) + 1)
    if header_bytes > MAX_HEADER_BYTES:
        raise ValueError(f"the model is too large to save: names and metadata exceed {MAX_HEADER_BYTES >> 20} MB")
    if sum(array.nbytes for array in arrays.values()) > MAX_FILE_BYTES - MAX_HEADER_BYTES:
        raise ValueError(f"the model is too large to save: its arrays exceed {MAX_FILE_BYTES >> 30} GB")
    raw = serialize({name: _tensor_spec(array) for name, array in arrays.items()}, metadata={"rosenblatt": text})
    found = _DIGEST.search(raw, 8, 8 + _header_length(raw))
    assert found is not None
    first, last = found.span(1)
    digest = _digest(raw, first)
    return [raw[:first], digest.encode(), memoryview(raw)[last:]]


def _in_c_order(arrays: Arrays) -> tuple[Arrays, list[str]]:
    """Make arrays C-contiguous and little-endian. Fortran-ordered matrices are stored transposed and listed, so that loading
    restores their memory order: the last bits of a product depend on it."""
    transposed = sorted(name for name, a in arrays.items() if a.ndim == 2 and a.flags.f_contiguous and not a.flags.c_contiguous)
    stored = {name: a.T if name in transposed else a for name, a in arrays.items()}
    return {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in stored.items()}, transposed


def _tensor_spec(array: Array) -> TensorSpec:
    from safetensors import TensorSpec

    if array.dtype not in _KNOWN_DTYPES:
        raise ValueError(f"a model file cannot hold arrays of type {array.dtype}")
    return TensorSpec(dtype=array.dtype.name, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)


def _digest(raw: bytes | bytearray | memoryview, first: int) -> str:
    """SHA-256 of the file with the 64 digits at `first` as zeros."""
    view, sha256 = memoryview(raw), hashlib.sha256()
    sha256.update(view[:first])
    sha256.update(_ZEROS)
    sha256.update(view[first + len(_ZEROS) :])
    return sha256.hexdigest()


# --- reading ---------------------------------------------------------------------------------------------------------------


@shared_budget()
def read(path: str | os.PathLike[str], parse: Callable[[Meta, Arrays], Result]) -> Result:
    """Return `parse(metadata, arrays)` of a file; every problem becomes a `ModelError`."""
    source = os.fspath(path)
    try:
        raw = _bytes_of(path)
        with _paused_gc():
            return parse(*unpack(raw))
    except FileNotFoundError:
        raise ModelError(source, "file not found") from None
    except NotRegularFileError as error:
        raise ModelError(source, str(error)) from None
    except OSError as error:
        raise ModelError(source, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except InvalidContentError as error:
        raise ModelError(source, str(error)) from None
    except RecursionError:
        raise ModelError(source, f"{NOT_A_MODEL}: the header is nested too deeply") from None
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, ImportError, MemoryError) as error:
        why = " ".join(str(error).split())
        raise ModelError(source, f"inconsistent contents ({type(error).__name__}: {why:.200})") from None


@contextmanager
def _paused_gc() -> Iterator[None]:
    """Turn the cyclic garbage collector off. It would search the many small objects of a header again and again, for nothing:
    half the time of loading a file of 100,000 arrays."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _bytes_of(path: str | os.PathLike[str]) -> memoryview:
    """Read a file into memory. It is not mapped: truncating a mapped file would crash the process."""
    too_large = f"the file exceeds {MAX_FILE_BYTES >> 30} GB, the limit for model files"
    if os.fspath(path) == "-":
        piped = b"" if sys.stdin is None else sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        require(piped, "standard input is empty")
        require(len(piped) <= MAX_FILE_BYTES, too_large)
        return memoryview(bytearray(piped))
    require(b"\0" not in os.fsencode(path), "not a valid file name")
    with open(path, "rb", buffering=0, opener=open_regular) as file:
        status = os.fstat(file.fileno())
        require(status.st_size > 0, "the file is empty")
        require(status.st_size <= MAX_FILE_BYTES, too_large)
        raw, filled = np.empty(status.st_size, np.uint8).data, 0  # not zeroed first, unlike a bytearray
        while filled < len(raw) and (more := file.readinto(raw[filled:])):
            filled += more
        require(filled == len(raw), "the file was truncated while it was read")
    return raw


def unpack(raw: bytearray | memoryview) -> Parts:
    """Return the metadata and the arrays of a file; the arrays are views of `raw`."""
    require(len(raw) >= 8, f"{NOT_A_MODEL}: it is shorter than 8 bytes")
    length = _header_length(raw)
    require(2 <= length <= min(MAX_HEADER_BYTES, len(raw) - 8), f"{NOT_A_MODEL}: the header length is invalid")
    text = _utf8(bytes(raw[8 : 8 + length]))
    require(count_parts(text) <= MAX_PARTS, f"the header has more than {count(MAX_PARTS)} parts")
    header = header_json(text)
    require(isinstance(header, dict), f"{NOT_A_MODEL}: the header is not a JSON object")
    metadata = header.pop("__metadata__", None)
    ours = isinstance(metadata, dict) and set(metadata) == {"rosenblatt"} and isinstance(metadata["rosenblatt"], str)
    require(ours, f"{NOT_A_MODEL}: it has no Rosenblatt metadata")
    text = metadata["rosenblatt"]
    version = _format_version(text)
    _check_digest(raw, length)
    meta = strict_json(text, "metadata")
    require(isinstance(meta, dict), "damaged: the metadata are not a JSON object")
    arrays = _arrays(header, raw, 8 + length)
    _transpose(arrays, meta.pop("transposed"))
    del meta["format"], meta["sha256"]
    if version < FORMAT:
        upgrade(version, meta, arrays)
    return meta, arrays


def _utf8(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidContentError(f"{NOT_A_MODEL}: the header is not UTF-8 text") from None


def _transpose(arrays: Arrays, names: Any) -> None:
    """Restore the memory order of the arrays that were stored transposed."""
    listed = isinstance(names, list) and all(isinstance(name, str) and name in arrays for name in names)
    require(listed and len(set(names)) == len(names), "damaged: the list of transposed arrays is invalid")
    for name in names:
        require(arrays[name].ndim == 2, f"damaged: array {name} is listed as transposed but is not a matrix")
        arrays[name] = arrays[name].T


def _format_version(text: str) -> int:
    found = re.match(r'\{"format":([0-9]{1,9}),', text)
    require(found is not None, "damaged: the metadata do not start with the format version")
    assert found is not None
    version = int(found[1])
    require(version <= FORMAT, f"written by a newer Rosenblatt, in format {version} (this version reads up to {FORMAT})")
    require(version >= 1, f"damaged: format {version} does not exist")
    return version


def starts_as_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins like a model file: with a header length that fits, and a JSON object."""
    with open(path, "rb", opener=open_regular) as file:
        start = file.read(9)
    return len(start) == 9 and 2 <= _header_length(start) <= os.path.getsize(path) - 8 and start.endswith(b"{")


def _header_length(raw: bytes | bytearray | memoryview) -> int:
    return int.from_bytes(raw[:8], "little")


def _check_digest(raw: bytearray | memoryview, length: int) -> None:
    found = _DIGEST.search(raw, 8, 8 + length)
    require(found is not None, "damaged: the SHA-256 is missing")
    assert found is not None
    require(_digest(raw, found.start(1)) == bytes(found[1]).decode(), "damaged: the SHA-256 does not match the contents")


def _arrays(header: dict[str, Any], raw: bytearray | memoryview, base: int) -> Arrays:
    """Check every array's entry and return the arrays; together they must fill the file to its end."""
    require(len(header) <= MAX_ARRAYS, f"damaged: more than {MAX_ARRAYS} arrays")
    places = sorted(_entry(name, entry) for name, entry in header.items())
    arrays, reached = {}, 0
    for first, last, name, word, shape in places:
        dtype = _NAMED_DTYPES[word]
        if first != reached:
            raise InvalidContentError(f"damaged: array {name} does not start at the end of the previous array")
        if (base + first) % dtype.itemsize:
            raise InvalidContentError(f"damaged: array {name} is not aligned")
        if base + last > len(raw):
            raise InvalidContentError(f"truncated: array {name} extends past the end of the file")
        array: Array = np.ndarray(shape, dtype, raw, base + first) if last > first else np.zeros(shape, dtype)
        if word == "BOOL" and not (array.view(np.uint8) <= 1).all():
            raise InvalidContentError(f"damaged: array {name} has values other than true and false")
        arrays[name], reached = array, last
    require(base + reached == len(raw), "damaged: extra bytes after the last array")
    return arrays


def _entry(name: str, entry: Any) -> tuple[int, int, str, str, list[int]]:
    """Check one array's header entry; returns first byte, end, name, type and shape."""
    if not _ARRAY_NAME.fullmatch(name):
        raise InvalidContentError("damaged: invalid array name")
    if type(entry) is not dict or entry.keys() != _ENTRY_KEYS:
        raise InvalidContentError(f"damaged: the description of array {name} is incomplete")
    word, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if type(word) is not str or word not in DTYPES:
        raise InvalidContentError(f"damaged: array {name} has an unsupported type")
    if type(shape) is not list or len(shape) > MAX_DIMENSIONS or type(offsets) is not list or len(offsets) != 2:
        raise InvalidContentError(f"damaged: array {name} has an invalid shape or position")
    n_bytes = _NAMED_DTYPES[word].itemsize
    for number in shape:
        if type(number) is not int or not 0 <= number <= MAX_FILE_BYTES:
            raise InvalidContentError(f"damaged: array {name} has an invalid shape or position")
        n_bytes *= number
    first, last = offsets
    if not type(first) is type(last) is int or first < 0:
        raise InvalidContentError(f"damaged: array {name} has an invalid shape or position")
    if last - first != n_bytes:
        raise InvalidContentError(f"damaged: the size of array {name} does not match its shape")
    return first, last, name, word, shape


def all_finite(array: Array) -> bool:
    """Whether all values are finite, checked block by block to save memory."""
    if array.size <= _FEW_VALUES:
        return all(map(isfinite, array.ravel().tolist()))
    if array.size <= _VALUES_PER_CHECK:
        return bool(np.isfinite(array).all())
    flat = array.ravel(order="K")  # a view unless the array has gaps
    starts = range(0, flat.size, _VALUES_PER_CHECK)
    return all(bool(np.isfinite(flat[start : start + _VALUES_PER_CHECK]).all()) for start in starts)
