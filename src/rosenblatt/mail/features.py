"""The features of a message: its columns and their names, and the recipe that makes rows of raw mails.

Chosen by measurement: see `benchmarks/mail.py`.

The first bytes of every field are read, in lower case, with single spaces and with letters and signs in their plainest form
(`folded`), so that case, layout and decorative alphabets hide nothing:
  grams   every window of five bytes, which still matches if a word is altered, joined, or of a language without spaces;
          in the body only the half with the smaller hashes, because its grams would outnumber all other features
  words   runs of letters and digits; host names and addresses are one word
  pairs   adjacent words (not in the body, where grams carry the same information)
The values of the other headers repeat exactly: their features are every line, and every word with the name of its header.

A feature is hashed with a seed of its field, so "free" in the subject is not "free" in the body; its column is the lower bits
of the hash. All columns count alike, so a shorter field gives its neighbors more weight: the field lengths are chosen for that.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from ..array_types import IntArray
from ..data.csr import CSRMatrix
from ..data.table import Data, DataError
from ..models.container import Arrays, Meta, Parts
from ..models.model import ModelInput
from ..models.strict_json import require
from ..preprocessing.text.murmur import murmur3_of, murmur3_windows
from .message.message import FIELDS, Message
from .message.parse import parse

KIND = "mail"  # of the recipe in a model file
VERSION = 1  # incremented whenever columns change; filters are then replayed
BITS = 22
GRAM_BYTES = 5  # bytes of a gram
# Bytes of each field that are read.
FIELD_BYTES = dict(zip(FIELDS, (500, 300, 300, 1000, 1000, 2000, 3000, 1000, 500), strict=True))
MAX_SPACE_FACTOR = 8  # up to this many times as many bytes are scanned if most of them are spaces
# `kernels/mail/features.py` repeats the constants below up to BODY_GRAM_HASHES.
HEADERS_FIELD, BODY_FIELD = FIELDS.index("headers"), FIELDS.index("body")
WORD_SEED, LINE_SEED, NAME_SEED = 16, 32, 33  # of the hashes: f for grams of field f, 16 + f for its words
PAIR_MULTIPLIER = 0x9E3779B1  # the hash of a pair is first * PAIR_MULTIPLIER + second
BODY_GRAM_HASHES = 1 << 31  # body grams with hashes below this are features
NUMBA_FROM_BYTES = 1 << 22  # below this size the import of Numba takes longer than it saves
BYTES_PER_BLOCK = 1 << 24  # bytes of text that are processed at once

# A word begins and ends with a letter, a digit, a dollar sign, or any byte that is not ASCII.
WORD = re.compile(rb"[a-z0-9$\x80-\xff](?:[a-z0-9$\x80-\xff.@_'-]*[a-z0-9$\x80-\xff])?")
_FIELD_NAMES = {"headers": "header", "links": "link", "attachments": "attachment"}
_STORED_NAME = re.compile(r'(?P<field>[^:"]+): (?P<gram>~?)"(?P<text>.*)"', re.DOTALL)  # of a feature, in a snapshot
_PART = b"part"  # not a header: the line that `parse.py` adds for each MIME part
_SHAPED = (b"date", b"message-id")  # headers of which only the shape is a feature: see `message/fields.py`
_SIGNS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u2039\u203a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", " - ")
    | dict.fromkeys("\u2022\u00b7\u2027\u25cf\u25aa\u00a1\u00bf\u2028\u2029\u0085", " ")
)


def folded(text: bytes) -> bytes:
    """UTF-8 in lower case, with quotes, dashes and spaces in ASCII, and letters of decorative alphabets as plain letters.

    >>> folded("\u201cÉTÉ\u201d\u2026 \U0001d405\U0001d411\U0001d404\U0001d404 ﬁx\u00a0it".encode()).decode()
    '"été"... free fix it'
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text.decode("utf-8", "ignore")).lower().translate(_SIGNS).encode("utf-8", "ignore")


class FeatureName(NamedTuple):
    """The name of a feature; as text `body: "free"`, with ~ before the quotes of a gram.

    >>> str(FeatureName("body", "free")), str(FeatureName("body", "free ", is_gram=True))
    ('body: "free"', 'body: ~"free "')
    """

    field: str
    text: str  # between the first and the last quote
    is_gram: bool = False

    def __str__(self) -> str:
        return f'{self.field}: {"~" if self.is_gram else ""}"{self.text}"'

    @classmethod
    def from_stored(cls, name: str) -> FeatureName | None:
        """The name in a snapshot, None for any other text. Model files store names as text, so this one is parsed.

        >>> FeatureName.from_stored('body: ~"free "'), FeatureName.from_stored("column 7")
        (FeatureName(field='body', text='free ', is_gram=True), None)
        """
        found = _STORED_NAME.fullmatch(name)
        return None if found is None else cls(found["field"], found["text"], bool(found["gram"]))


class Kind(NamedTuple):
    """Features of one kind in one field: their hashes, and the tokens that their names are made of on demand."""

    field: str
    hashes: IntArray
    tokens: Sequence[bytes] | bytes  # bytes: the text that grams are windows of
    places: IntArray | tuple[int, ...] = ()  # where grams begin
    firsts: Sequence[bytes] = ()  # the first words of pairs

    def name(self, at: int) -> FeatureName:
        """The name of a feature."""
        field = _FIELD_NAMES.get(self.field, self.field)
        if isinstance(self.tokens, bytes):
            start = self.places[at]
            return FeatureName(field, readable(self.tokens[start : start + GRAM_BYTES]), is_gram=True)
        token = readable(self.tokens[at])
        if not self.firsts:
            return FeatureName(field, token)
        if self.firsts[at] == _PART:
            return FeatureName("part", token)
        first = readable(self.firsts[at])
        if self.field == "headers":
            return FeatureName(field, f'{first}" {"like" if self.firsts[at] in _SHAPED else "has"} "{token}')
        return FeatureName(field, f"{first} {token}")


def columns_of(message: Message, bits: int = BITS) -> IntArray:
    """The columns of the features of a message: uint32, sorted and distinct.

    >>> columns_of(Message(subject=b"Free"), bits=8).tolist()  # " free", "free " and the word
    [1, 95, 208]
    """
    if "numba" in sys.modules:
        return columns_of_many([message], bits)[1]
    return _columns(message, bits)


def columns_of_many(messages: Sequence[Message], bits: int = BITS) -> tuple[IntArray, IntArray]:
    """(indptr, columns): message i has columns[indptr[i]:indptr[i + 1]]."""
    if "numba" not in sys.modules and sum(sum(map(len, message)) for message in messages) < NUMBA_FROM_BYTES:
        found = [_columns(message, bits) for message in messages]
        indptr = np.zeros(len(messages) + 1, np.int64)
        np.cumsum([len(each) for each in found], out=indptr[1:])
        return indptr, np.concatenate([np.zeros(0, np.uint32), *found])
    return _compiled(messages, bits)


def named_columns(message: Message, bits: int = BITS, wanted: IntArray | None = None) -> dict[int, FeatureName]:
    """The columns of a message with their names; the first of several features in one column.

    wanted : return only these columns, in ascending order: naming all of them takes ten times as long as computing them.

    >>> sorted(map(str, named_columns(Message(subject=b"Free"), bits=8).values()))
    ['subject: "free"', 'subject: ~" free"', 'subject: ~"free "']
    """
    mask, names = np.uint32((1 << bits) - 1), dict[int, FeatureName]()
    # Words come before grams: if both share a column, the word is easier to read.
    for kind in sorted(kinds_of(message), key=lambda kind: isinstance(kind.tokens, bytes)):
        columns = kind.hashes & mask
        places = range(len(columns)) if wanted is None else _positions_of(columns, wanted).tolist()
        for at in places:
            column = int(columns[at])
            if column not in names:
                names[column] = kind.name(at)
    return names


def _positions_of(columns: IntArray, wanted: IntArray) -> IntArray:
    """Positions in `columns` of the wanted ones."""
    if not len(wanted):
        return np.zeros(0, np.intp)
    return np.flatnonzero(wanted[np.minimum(np.searchsorted(wanted, columns), len(wanted) - 1)] == columns)


def readable(text: bytes) -> str:
    """Printable text; incomplete characters at the ends are dropped unless nothing else is left."""
    shown = text[:100].decode("utf-8", "ignore")
    shown = shown if shown.strip() or text.isascii() else text[:100].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)


# --- the definition -------------------------------------------------------------------------------------------------------


def _columns(message: Message, bits: int) -> IntArray:
    hashes = [kind.hashes for kind in kinds_of(message)]
    columns = np.sort(np.concatenate([np.zeros(0, np.uint32), *hashes]) & np.uint32((1 << bits) - 1))
    distinct: IntArray = columns[np.diff(columns, prepend=columns[:1] + np.uint32(1)) != 0]  # np.unique has slow imports
    return distinct


def kinds_of(message: Message) -> Iterator[Kind]:
    """The features of a message, kind by kind."""
    for f, (field, text) in enumerate(zip(FIELDS, message, strict=True)):
        if not text:
            continue
        if f == HEADERS_FIELD:
            yield from _of_headers(folded(text[: FIELD_BYTES[field]])[: FIELD_BYTES[field]])
            continue
        room = FIELD_BYTES[field]
        plain = b" ".join(folded(text[: MAX_SPACE_FACTOR * room]).split())[:room]
        words = WORD.findall(plain)
        hashes = murmur3_of(words, WORD_SEED + f)
        yield Kind(field, hashes, words)
        if f != BODY_FIELD:
            yield Kind(field, _pair(hashes[:-1], hashes[1:]), words[1:], firsts=words[:-1])
        plain = b" " + plain + b" "
        grams = murmur3_windows(np.frombuffer(plain, np.uint8), GRAM_BYTES, f)
        places = np.flatnonzero(grams < BODY_GRAM_HASHES) if f == BODY_FIELD else np.arange(len(grams))
        yield Kind(field, grams[places], plain, places)


def _of_headers(text: bytes) -> Iterator[Kind]:
    lines = [line for line in text.split(b"\n") if line]
    yield Kind("headers", murmur3_of(lines, LINE_SEED), lines)
    names, words, held = [], [], []
    for line in lines:
        name, _, value = line.partition(b": ")
        found = WORD.findall(value)
        names.append(name)
        words += found
        held += [len(found)]
    first, of_each = (
        np.repeat(murmur3_of(names, NAME_SEED), held),
        [n for n, k in zip(names, held, strict=True) for _ in range(k)],
    )
    yield Kind("headers", _pair(first, murmur3_of(words, WORD_SEED + HEADERS_FIELD)), words, firsts=of_each)


def _pair(first: IntArray, second: IntArray) -> IntArray:
    return first * np.uint32(PAIR_MULTIPLIER) + second


# --- the same, compiled ---------------------------------------------------------------------------------------------------


def _compiled(messages: Sequence[Message], bits: int) -> tuple[IntArray, IntArray]:
    from ..kernels.mail.features import message_columns

    field_bytes = np.array(list(FIELD_BYTES.values()), np.int64)
    looked = (MAX_SPACE_FACTOR * field_bytes).tolist()
    looked[HEADERS_FIELD] = int(field_bytes[HEADERS_FIELD])
    plain, counts = np.empty(int(field_bytes.max()) + 2, np.uint8), np.empty(1 << 11, np.int64)
    found, sizes = [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)]
    for some in _blocks(messages):
        fields = [folded(text[:most]) for message in some for text, most in zip(message, looked, strict=True)]
        for at in range(HEADERS_FIELD, len(fields), len(FIELDS)):
            fields[at] = fields[at][: FIELD_BYTES["headers"]]  # folding may make a text longer
        ends = np.zeros(len(fields) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, fields), np.int64, len(fields)), out=ends[1:])
        # n bytes have fewer than n + 2 grams, n/2 words and n/2 pairs; there are fewer header lines and words.
        most = 2 * np.minimum(np.diff(ends).reshape(-1, len(FIELDS)), field_bytes).sum(axis=1) + 4 * len(FIELDS)
        columns, n_columns = np.empty(int(most.sum()), np.uint32), np.empty(len(some), np.int64)
        scratch, text = np.empty((2, int(most.max())), np.uint32), np.frombuffer(b"".join(fields), np.uint8)
        used = message_columns(text, ends, field_bytes, bits, plain, scratch, counts, columns, n_columns)
        found.append(columns[:used])
        sizes.append(n_columns)
    indptr = np.zeros(len(messages) + 1, np.int64)
    np.cumsum(np.concatenate(sizes), out=indptr[1:])
    return indptr, np.concatenate(found)


def _blocks(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Split messages into blocks of about BYTES_PER_BLOCK bytes, so that only one block of text is held twice."""
    start, size = 0, 0
    for stop, message in enumerate(messages, 1):
        size += sum(map(len, message))
        if size >= BYTES_PER_BLOCK or stop == len(messages):
            yield messages[start:stop]
            start, size = stop, 0


# --- raw mails as rows, for a filter that is loaded as a model of the library ---------------------------------------------


class ColumnNames(Sequence[str]):
    """The known names of columns; the others have a number."""

    def __init__(self, width: int, known: dict[int, str]) -> None:
        self.width, self.known = width, known

    def __len__(self) -> int:
        return self.width

    @overload
    def __getitem__(self, j: int) -> str: ...
    @overload
    def __getitem__(self, j: slice) -> list[str]: ...
    def __getitem__(self, j: int | slice) -> str | list[str]:
        if isinstance(j, slice):
            return [self[k] for k in range(*j.indices(self.width))]
        if not -self.width <= j < self.width:
            raise IndexError(f"column must be from {-self.width} to {self.width - 1}, got {j}")
        return self.known.get(int(j) % self.width) or f"column {int(j) % self.width}"


@dataclass(frozen=True)
class MailRecipe:
    """Raw mails as rows: each of the n columns of a mail has the value 1/sqrt(n).

    >>> MailRecipe(bits=10).rows([b"Subject: hello\\n\\nHow are you?"]).shape
    (1, 1024)
    """

    bits: int
    features: int = VERSION
    names: tuple[tuple[int, str], ...] = ()  # names of the heaviest columns

    kind = KIND
    required = None
    number_names: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        return {}

    @property
    def width(self) -> int:
        return 1 << self.bits

    @property
    def feature_names(self) -> ColumnNames:
        return ColumnNames(self.width, dict(self.names))

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"Raw mails: their words and n-grams were hashed into 2^{self.bits} columns.",)

    def rows(self, X: ModelInput) -> CSRMatrix:
        """The rows of raw mails, given as bytes or as text, which is encoded in UTF-8."""
        if isinstance(X, Data):
            raise DataError(X.source, "this model is a mail filter and reads raw mails; use `rosenblatt mail classify`")
        mails: list[object] = [X] if isinstance(X, bytes | str) or not isinstance(X, Iterable) else list(X)
        raws = []
        for mail in mails:
            if not isinstance(mail, bytes | str):
                raise ValueError(f"X must be raw mails, as bytes or text, got {type(mail).__name__}")
            raws.append(mail.encode("utf-8", "surrogateescape") if isinstance(mail, str) else mail)
        columns = [columns_of(parse(raw), self.bits) for raw in raws]
        lengths = np.array([len(each) for each in columns], np.int64)
        values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
        indices = np.concatenate([*columns, np.zeros(0, np.uint32)]).astype(np.int32)
        return CSRMatrix(values, indices, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), self.width)

    def to_parts(self) -> Parts:
        return {"kind": KIND, "bits": self.bits, "features": self.features, "names": [list(pair) for pair in self.names]}, {}

    @classmethod
    def from_parts(cls, meta: Meta, arrays: Arrays) -> MailRecipe:
        bits, version, names = meta["bits"], meta["features"], meta["names"]
        if set(meta) != {"kind", "bits", "features", "names"} or arrays:
            raise ValueError("the recipe of a mail filter has unknown parts")
        if type(bits) is not int or not 1 <= bits <= 30 or type(version) is not int:
            raise ValueError("the recipe of a mail filter has an invalid number of columns")
        this = f"this version of Rosenblatt has {VERSION}"
        require(version == VERSION, f"cannot be used: its features have version {version}, and {this}")
        if not all(type(column) is int and 0 <= column < 1 << bits and type(name) is str for column, name in names):
            raise ValueError("the recipe of a mail filter has invalid names of columns")
        return cls(bits, version, tuple((column, name) for column, name in names))
