"""Texts as blocks of bytes for the kernels, reusable buffers, and CSR matrices from the counts of blocks."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ...array_types import Array, IntArray
from ...data.readers.window import grow_array, grown_size
from ...kernels.text.grams import CHARS, CHARS_IN_WORDS, WORDS, GramBuffers, GramRules, StopWords
from ...kernels.text.hashing import BINS, RowBuffers, normalize_rows
from .words import DEFAULT_WORDS, WordPattern, stop_word_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

# A text, bytes to decode, the name of a file, an open file, or tokens for an analyzer function.
Document: TypeAlias = str | bytes | os.PathLike[str] | IO[str] | IO[bytes] | Sequence[str]
BLOCK_CHARS = 1 << 18  # characters of a block; a longer text is a block of its own
FIRST_TEXTS, MAX_TEXTS = 256, 2048  # texts taken from the iterable at a time: at first, and at most
ANALYZERS = {"word": WORDS, "char": CHARS, "char_wb": CHARS_IN_WORDS}
PADDING = bytes(4)  # kernels read up to three bytes beyond the text
MAX_INT32 = 2**31 - 1
# Letters whose lower case is not one character or depends on the context: texts with them are lowered by `str.lower`.
CONTEXT_DEPENDENT_LETTERS = "İΣ"


# --- Character tables, as defined by this Python's `re` and `str`


@lru_cache(maxsize=16)
def character_tables(lowercase: bool, ascii_only: bool, of_words: str) -> tuple[IntArray, IntArray]:
    """For every character, 1 (word character), 2 (blank) or 0; and its lower case or, without `lowercase`, itself.

    of_words : the regular expression of one character of a word.
    """
    characters = "".join(map(chr, range(128 if ascii_only else sys.maxunicode + 1)))
    kinds = np.zeros(len(characters), np.uint8)
    for kind, one in ((2, r"\s"), (1, of_words)):  # a character of words may be blank, too
        for run in re.finditer(f"{one}+", characters):
            kinds[run.start() : run.end()] = kind
    if not lowercase:
        return kinds, np.arange(len(characters), dtype=np.uint32)
    lowered = characters.translate(dict.fromkeys(map(ord, CONTEXT_DEPENDENT_LETTERS), "?")).lower()
    return kinds, np.frombuffer(lowered.encode("utf-32-le", "surrogatepass"), np.uint32)


def is_special(text: str) -> bool:
    """Whether the table cannot convert this text to lower case."""
    return any(letter in text for letter in CONTEXT_DEPENDENT_LETTERS)


# --- Blocks of texts


class Block(NamedTuple):
    """Texts or tokens in UTF-8, text[bounds[t]:bounds[t + 1]]."""

    text: Array
    bounds: Array
    ascii_only: bool

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.bounds).astype(np.int64)


def join_pieces(pieces: list[bytes]) -> Block:
    """A block of these texts or tokens."""
    text = np.frombuffer(b"".join([*pieces, PADDING]), np.uint8)
    return Block(text, make_bounds(map(len, pieces), len(pieces)), False)


def join_ascii(tokens: list[str]) -> Block | None:
    """A block of ASCII tokens, encoded together, which takes a tenth of the time; None if others are among them."""
    try:
        text = "".join([*tokens, PADDING.decode()])
    except TypeError:  # bytes
        return None
    if not text.isascii():
        return None
    return Block(np.frombuffer(text.encode("ascii"), np.uint8), make_bounds(map(len, tokens), len(tokens)), True)


def make_bounds(lengths: Iterable[int], count: int) -> Array:
    """The bounds of consecutive pieces of these lengths."""
    bounds = np.zeros(count + 1, np.uintp)
    np.cumsum(np.fromiter(lengths, np.uintp, count), out=bounds[1:])
    return bounds


def split_blocks(
    documents: Iterable[Document], decode: Callable[[Document], object], always: bool = False
) -> Iterator[list[str]]:
    """Documents as texts, in lists of about BLOCK_CHARS characters; strings are decoded only with `always`."""
    ahead, count, place = iter(documents), FIRST_TEXTS, 0
    while given := list(islice(ahead, count)):
        if always or set(map(type, given)) != {str}:
            some = [_text(document, decode, always, place + k) for k, document in enumerate(given)]
        else:
            some = cast("list[str]", given)
        place += len(some)
        size = sum(map(len, some))
        yield from [some] if size <= 2 * BLOCK_CHARS else _parts(some)
        count = max(1, min(MAX_TEXTS, 4 * count, BLOCK_CHARS * len(some) // (size + 1)))


def _text(document: Document, decode: Callable[[Document], object], always: bool, place: int) -> str:
    text = document if type(document) is str and not always else decode(document)
    if not isinstance(text, str):
        raise TypeError(f"text {place} must be a string or bytes, got {document!r:.80}")
    return text


def _parts(texts: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for text in texts:
        if part and size + len(text) > BLOCK_CHARS:
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    yield part


@dataclass(frozen=True)
class GramCutter:
    """Splits texts into the same grams as scikit-learn's vectorizers."""

    analyzer: str  # "word", "char" or "char_wb"
    low: int
    high: int
    lowercase: bool
    reject: Callable[[str], None]  # called for texts that UTF-8 cannot encode; may raise
    words: WordPattern = DEFAULT_WORDS
    stop_words: StopWords = field(default_factory=lambda: stop_word_table(()))

    def encode(self, texts: list[str]) -> Block:
        """Texts as a block; those that the character table cannot convert are in lower case."""
        text = "".join([*texts, PADDING.decode()])
        if text.isascii():
            raw = np.frombuffer(text.encode("ascii"), np.uint8)
            return Block(raw, make_bounds(map(len, texts), len(texts)), True)
        if self.lowercase and is_special(text):
            texts = [text.lower() if is_special(text) else text for text in texts]
        try:
            return join_pieces([text.encode() for text in texts])
        except UnicodeEncodeError:
            return join_pieces([self._encoded(text) for text in texts])

    def _encoded(self, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError:
            if self.analyzer != "word" or self.words.of_words != DEFAULT_WORDS.of_words:  # surrogates are not word characters
                self.reject(text)
            return text.encode("utf-8", "surrogatepass")

    def rules(self, block: Block) -> GramRules:
        """The rules for the kernels."""
        longest = int(block.lengths.max()) + 2
        high = np.uintp(max(self.low, min(self.high, longest)))
        tables = character_tables(self.lowercase, block.ascii_only, self.words.of_words)
        shortest = np.uintp(self.words.shortest)
        return GramRules(ANALYZERS[self.analyzer], np.uintp(self.low), high, *tables, shortest, self.stop_words)

    def max_grams(self, lengths: IntArray | np.int64) -> IntArray:
        """An upper bound of the number of grams in texts of these lengths in bytes."""
        units = {"word": (lengths + 1) // (self.words.shortest + 1) + 1, "char": lengths, "char_wb": 2 * lengths + 2}[
            self.analyzer
        ]
        grams: IntArray = units * np.maximum(1, np.minimum(self.high, units + 2) - self.low + 1)
        return grams

    def max_gram_bytes(self, lengths: IntArray | np.int64) -> IntArray:
        """An upper bound of the total size of these grams in bytes."""
        high = np.minimum(self.high, lengths + 2)
        low = np.minimum(self.low, high)
        size: IntArray = (3 * lengths + 16) * ((low + high) * (high - low + 1) // 2)
        return size


class Buffers:
    """Arrays reused for every block, and reallocated when a block needs larger ones."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def array(self, name: str, size: int, dtype: npt.DTypeLike) -> Array:
        """A buffer of at least this size."""
        found = self._arrays.get(name)
        if found is None or len(found) < size:
            found = self._arrays[name] = np.empty(max(1, size), dtype)
        return found

    def grams(self, cutter: GramCutter, longest: int) -> GramBuffers:
        """Buffers for a text of at most `longest` bytes."""
        grams = int(cutter.max_grams(np.int64(longest)))
        return GramBuffers(
            self.array("clean", 3 * longest + 16, np.uint8),
            self.array("starts", 2 * longest + 4, np.uintp),
            self.array("froms", grams, np.uintp),
            self.array("tos", grams, np.uintp),
        )

    def rows(self, rows: int, size: int, longest: int) -> RowBuffers:
        """Buffers for `rows` rows of `size` values in total and at most `longest` grams each."""
        indptr = self.array("indptr", rows + 1, np.uintp)[: rows + 1]
        indptr[0] = 0
        indices, counts = self.array("indices", size, np.int32), self.array("counts", size, np.int32)
        keys, spare = self.array("keys", longest, np.uint32), self.array("spare", longest, np.uint32)
        return RowBuffers(indices, counts, indptr, keys, spare, self.array("bins", BINS, np.uint32))


# --- CSR matrices from counts


class ValueRules(NamedTuple):
    """How the counts of a row become its values."""

    binary: bool
    norm: str | None
    dtype: npt.DTypeLike

    def values(self, counts: Array, indptr: Array) -> Array:
        """The values of rows with these counts."""
        wanted = np.dtype(self.dtype)
        if wanted.kind not in "biuf" or wanted.itemsize not in (1, 2, 4, 8) or wanted == np.float16 or not wanted.isnative:
            raise ValueError(f"dtype must be bool, float32, float64 or an integer type, got {self.dtype!r}")
        ones = self.binary or wanted.kind == "b"
        values = np.ones(len(counts), wanted) if ones else counts.astype(wanted)
        if self.norm is not None and wanted.kind != "f":  # as in scikit-learn
            values = values.astype(np.float64)
        if self.norm is not None:
            normalize_rows(values, indptr, self.norm == "l2")
        return values


def stack_rows(blocks: Iterable[tuple[Array, Array, Array]], columns: int) -> csr_array | csr_matrix:
    """One SciPy matrix from blocks of (indices, values, indptr), of the class configured in scikit-learn."""
    from scipy.sparse import csr_array, csr_matrix
    from sklearn import get_config

    indices: IntArray = np.empty(0, np.int32)
    values: Array | None = None
    ends, size = [np.zeros(1, np.int64)], 0
    for block_indices, block_values, indptr in blocks:
        values = np.empty(0, block_values.dtype) if values is None else values
        end = size + len(block_indices)
        if end > len(indices):
            allocated = grown_size(end, len(indices), 1.0)
            indices, values = grow_array(indices, allocated), grow_array(values, allocated)
        indices[size:end], values[size:end] = block_indices, block_values
        ends.append(indptr[1:].astype(np.int64) + size)
        size = end
    if values is None:
        raise ValueError("Cannot vectorize empty sequence.")
    indices.resize(size, refcheck=False)
    values.resize(size, refcheck=False)
    index_type = np.int32 if size <= MAX_INT32 else np.int64
    kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
    indptr = np.concatenate(ends).astype(index_type, copy=False)
    X = kind((values, indices.astype(index_type, copy=False), indptr), shape=(len(indptr) - 1, columns))
    X.has_canonical_format = True
    return X
