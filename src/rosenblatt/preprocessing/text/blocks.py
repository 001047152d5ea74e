"""Texts, one after the other, as blocks of bytes: what kernels take, and room for what they give."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config

from ...data.readers.sources import enlarged, room_for
from ...kernels.text.grams import CHARS, CHARS_IN_WORDS, WORDS, Cut, Scratch
from ...kernels.text.hashing import BINS, Rows, normalise

# --- Which characters are of words, which are blanks, and what each is in lower case: as this Python's `re` and `str` say.

# Their lower case is not one character, or depends on those around: texts with them are lowered by `str.lower`.
SPECIAL = "İΣ"


@cache
def tables(lowercase: bool, ascii_only: bool) -> tuple[Any, Any]:
    """For every character 1 (of a word), 2 (a blank) or 0; and its lower case, or itself where that is not wanted."""
    every = "".join(map(chr, range(128 if ascii_only else sys.maxunicode + 1)))
    kinds = np.zeros(len(every), np.uint8)
    for kind, pattern in ((1, r"\w+"), (2, r"\s+")):
        for run in re.finditer(pattern, every):
            kinds[run.start() : run.end()] = kind
    if not lowercase:
        return kinds, np.arange(len(every), dtype=np.uint32)
    lowered = every.translate(dict.fromkeys(map(ord, SPECIAL), "?")).lower()
    return kinds, np.frombuffer(lowered.encode("utf-32-le", "surrogatepass"), np.uint32)


def is_special(text: str) -> bool:
    """Whether the table of lower cases cannot lower this text."""
    return any(letter in text for letter in SPECIAL)


# ---

ROOM = 1 << 18  # characters of a block; a longer text is a block of its own
FIRST_TEXTS, MOST_TEXTS = 256, 2048  # taken at once; so many are held at most, however long they are
HOW = {"word": WORDS, "char": CHARS, "char_wb": CHARS_IN_WORDS}
PADDING = bytes(4)  # kernels look up to three bytes further


class Block(NamedTuple):
    """Some texts or tokens in UTF-8, text[bounds[t]:bounds[t + 1]]."""

    text: Any
    bounds: Any
    ascii_only: bool

    @property
    def lengths(self) -> Any:
        return np.diff(self.bounds).astype(np.int64)


def joined(pieces: list[bytes]) -> Block:
    text = np.frombuffer(b"".join([*pieces, PADDING]), np.uint8)
    return Block(text, bounds_of(map(len, pieces), len(pieces)), False)


def bounds_of(lengths: Iterable[int], count: int) -> Any:
    bounds = np.zeros(count + 1, np.uintp)
    np.cumsum(np.fromiter(lengths, np.uintp, count), out=bounds[1:])
    return bounds


def in_blocks(documents: Iterable[Any], decode: Callable[[Any], Any], always: bool = False) -> Iterator[list[str]]:
    """Documents as texts, in lists of about ROOM characters; strings are texts, unless `decode` is always to be asked."""
    ahead, count, place = iter(documents), FIRST_TEXTS, 0
    while some := list(islice(ahead, count)):
        if always or set(map(type, some)) != {str}:
            some = [_text(document, decode, always, place + k) for k, document in enumerate(some)]
        place += len(some)
        size = sum(map(len, some))
        yield from [some] if size <= 2 * ROOM else _parts(some)
        count = max(1, min(MOST_TEXTS, 4 * count, ROOM * len(some) // (size + 1)))


def _text(document: Any, decode: Callable[[Any], Any], always: bool, place: int) -> str:
    text = document if type(document) is str and not always else decode(document)
    if not isinstance(text, str):
        raise TypeError(f"text {place} must be a string or bytes, got {document!r:.80}")
    return text


def _parts(texts: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for text in texts:
        if part and size + len(text) > ROOM:
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    yield part


@dataclass(frozen=True)
class Cutter:
    """Cuts texts into grams: the same that scikit-learn's vectorizers make of them, with `token_pattern` their own."""

    analyzer: str  # "word", "char" or "char_wb"
    low: int
    high: int
    lowercase: bool
    refuse: Callable[[str], None]  # is given texts of characters that UTF-8 has not, and may raise

    def encode(self, texts: list[str]) -> Block:
        """Texts as bytes, in lower case as far as the table of lower cases cannot do it."""
        text = "".join([*texts, PADDING.decode()])
        if text.isascii():
            raw = np.frombuffer(text.encode("ascii"), np.uint8)
            return Block(raw, bounds_of(map(len, texts), len(texts)), True)
        if self.lowercase and is_special(text):
            texts = [text.lower() if is_special(text) else text for text in texts]
        try:
            return joined([text.encode() for text in texts])
        except UnicodeEncodeError:
            return joined([self._encoded(text) for text in texts])

    def _encoded(self, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError:
            if self.analyzer != "word":  # no such character is of a word
                self.refuse(text)
            return text.encode("utf-8", "surrogatepass")

    def cut(self, block: Block) -> Cut:
        longest = int(block.lengths.max()) + 2
        high = np.uintp(max(self.low, min(self.high, longest)))
        return Cut(HOW[self.analyzer], np.uintp(self.low), high, *tables(self.lowercase, block.ascii_only))

    def most_grams(self, lengths: Any) -> Any:
        """How many grams texts of so many bytes have at most."""
        units = {"word": (lengths + 1) // 3 + 1, "char": lengths, "char_wb": 2 * lengths + 2}[self.analyzer]
        return units * np.maximum(1, np.minimum(self.high, units + 2) - self.low + 1)

    def most_bytes(self, lengths: Any) -> Any:
        """How many bytes these grams have together at most."""
        high = np.minimum(self.high, lengths + 2)
        low = np.minimum(self.low, high)
        return (3 * lengths + 16) * ((low + high) * (high - low + 1) // 2)


class Room:
    """Arrays that are used again for every block, and made anew where one needs more."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}

    def array(self, name: str, size: int, dtype: Any) -> Any:
        had = self._arrays.get(name)
        if had is None or len(had) < size:
            had = self._arrays[name] = np.empty(max(1, size), dtype)
        return had

    def scratch(self, cutter: Cutter, longest: int) -> Scratch:
        grams = int(cutter.most_grams(np.int64(longest)))
        return Scratch(
            self.array("clean", 3 * longest + 16, np.uint8),
            self.array("starts", 2 * longest + 4, np.uintp),
            self.array("froms", grams, np.uintp),
            self.array("tos", grams, np.uintp),
        )

    def rows(self, rows: int, size: int, longest: int) -> Rows:
        """Room for `rows` with `size` numbers together, the longest of `longest` before they are counted."""
        indptr = self.array("indptr", rows + 1, np.uintp)[: rows + 1]
        indptr[0] = 0
        indices, counts = self.array("indices", size, np.int32), self.array("counts", size, np.int32)
        keys, spare = self.array("keys", longest, np.uint32), self.array("spare", longest, np.uint32)
        return Rows(indices, counts, indptr, keys, spare, self.array("bins", BINS, np.uint32))


# --- Counts of columns, block by block, become one CSR matrix.

MOST_INT32 = 2**31 - 1


class Values(NamedTuple):
    """What the number of times a column is there becomes."""

    binary: bool
    norm: str | None
    dtype: Any

    def of(self, counts: Any, indptr: Any) -> Any:
        wanted = np.dtype(self.dtype)
        if wanted.kind not in "biuf" or wanted.itemsize not in (1, 2, 4, 8) or wanted == np.float16 or not wanted.isnative:
            raise ValueError(f"dtype must be bool, float32, float64 or whole numbers, got {self.dtype!r}")
        ones = self.binary or wanted.kind == "b"  # as True and True are True
        values = np.ones(len(counts), wanted) if ones else counts.astype(wanted)
        if self.norm is not None and wanted.kind != "f":  # as scikit-learn does
            values = values.astype(np.float64)
        if self.norm is not None:
            normalise(values, indptr, self.norm == "l2")
        return values


def stacked(blocks: Iterable[tuple[Any, Any, Any]], columns: int) -> Any:
    """Blocks of (indices, values, indptr) as one matrix, of the kind that scikit-learn is set to give; it is held once."""
    indices: Any = np.empty(0, np.int32)
    values: Any = None
    ends, size = [np.zeros(1, np.int64)], 0
    for some, its, indptr in blocks:
        values = np.empty(0, its.dtype) if values is None else values
        if size + len(some) > len(indices):
            room = room_for(size + len(some), len(indices), 1.0)
            indices, values = enlarged(indices, room), enlarged(values, room)
        indices[size : size + len(some)], values[size : size + len(some)] = some, its
        ends.append(indptr[1:].astype(np.int64) + size)
        size += len(some)
    if values is None:
        raise ValueError("Cannot vectorize empty sequence.")
    indices.resize(size, refcheck=False)
    values.resize(size, refcheck=False)
    whole = np.int32 if size <= MOST_INT32 else np.int64
    kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
    indptr = np.concatenate(ends).astype(whole, copy=False)
    X = kind((values, indices.astype(whole, copy=False), indptr), shape=(len(indptr) - 1, columns))
    X.has_canonical_format = True
    return X
