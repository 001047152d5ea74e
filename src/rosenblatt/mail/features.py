"""The features of a message: which columns it has, and what they are called. Chosen by measurement: see `benchmarks/mail.py`.

Of every field a beginning is read, in lower case and with single spaces, letters and signs in their plainest form (`folded`),
so that case, layout and fancy alphabets hide nothing:
  grams   every stretch of five bytes: it still matches where a word is bent, joined, or of a language without spaces;
          of the body, which would drown the rest, every second one, drawn by its hash
  words   runs of letters and digits; hosts and addresses are one word
  pairs   neighbouring words (not of the body, where grams say as much)
Of the other headers, whose values repeat letter by letter, every line, and every word together with its header's name.

A feature is hashed with a seed of its field, so "free" of the subject is not "free" of the body; its column is the lower bits.
All columns count alike, so the shorter a field is cut, the more its neighbours count: that is what the lengths are for.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..preprocessing.text.murmur import murmur3_of, murmur3_windows
from .message.message import FIELDS, Message

VERSION = 1  # raised whenever columns change: filters are then replayed
BITS = 22
WIDTH = 5  # bytes of a gram
# How much of every field is read, in bytes, in the order of FIELDS.
LENGTHS = dict(zip(FIELDS, (500, 300, 300, 1000, 1000, 2000, 3000, 1000, 500), strict=True))
SPACES = 8  # so many times as much is looked at, for the case that most of it is space
HEADERS, BODY = FIELDS.index("headers"), FIELDS.index("body")
WORDS, LINES, NAMES = 16, 32, 33  # seeds: grams of field f have f, its words 16 + f
PAIR = 0x9E3779B1  # a pair is (first * PAIR + second) of their hashes
MUCH = 1 << 22  # bytes from which on it pays to import Numba
DRAWN = 1 << 31  # grams of the body count whose hashes are below it
BLOCK = 1 << 24  # bytes of text that are worked on at once

# A word begins and ends with a letter, a digit, a sign of money, or any byte that is not ASCII.
WORD = re.compile(rb"[a-z0-9$\x80-\xff](?:[a-z0-9$\x80-\xff.@_'-]*[a-z0-9$\x80-\xff])?")
_CALLED = {"headers": "header", "links": "link", "attachments": "attachment"}
_PART = b"part"  # no header, but what `parse.py` says of a mail's parts among them
_SHAPED = (b"date", b"message-id")  # headers of which only the shape is read: see shapes.py
_SIGNS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u2039\u203a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", " - ")
    | dict.fromkeys("\u2022\u00b7\u2027\u25cf\u25aa\u00a1\u00bf\u2028\u2029\u0085", " ")
)


def folded(text: bytes) -> bytes:
    """UTF-8 in lower case, with quotes, dashes and blanks as ASCII has them, and letters of fancy alphabets as plain ones.

    >>> folded("\u201cÉTÉ\u201d\u2026 \U0001d405\U0001d411\U0001d404\U0001d404 ﬁx\u00a0it".encode()).decode()
    '"été"... free fix it'
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text.decode("utf-8", "ignore")).lower().translate(_SIGNS).encode("utf-8", "ignore")


class Kind(NamedTuple):
    """Features of one kind in one field: their hashes, and what tells their names when somebody asks."""

    field: str
    hashes: Any
    tokens: Sequence[bytes] | bytes  # bytes: grams of them,
    places: Any = ()  # that begin here
    firsts: Sequence[bytes] = ()  # of pairs

    def name(self, at: int) -> str:
        """Such as `body: "free"`; ~ before grams."""
        if self.firsts and self.firsts[at] == _PART:
            return f'part: "{readable(bytes(self.tokens[at]))}"'
        return f"{_CALLED.get(self.field, self.field)}: {self._quoted(at)}"

    def _quoted(self, at: int) -> str:
        if isinstance(self.tokens, bytes):
            start = self.places[at]
            return f'~"{readable(self.tokens[start : start + WIDTH])}"'
        told = readable(self.tokens[at])
        if not self.firsts:
            return f'"{told}"'
        first = readable(self.firsts[at])
        return (
            f'"{first}" {"like" if self.firsts[at] in _SHAPED else "has"} "{told}"'
            if self.field == "headers"
            else f'"{first} {told}"'
        )


def columns_of(message: Message, bits: int = BITS) -> Any:
    """The columns of a message's features, sorted, each once: uint32.

    >>> columns_of(Message(subject=b"Free"), bits=8).tolist()  # " free", "free " and the word
    [1, 95, 208]
    """
    if "numba" in sys.modules:
        return columns_of_many([message], bits)[1]
    return _columns(message, bits)


def columns_of_many(messages: Sequence[Message], bits: int = BITS) -> tuple[Any, Any]:
    """(indptr, columns): those of message i are columns[indptr[i]:indptr[i + 1]]."""
    if "numba" not in sys.modules and sum(sum(map(len, message)) for message in messages) < MUCH:
        found = [_columns(message, bits) for message in messages]
        indptr = np.zeros(len(messages) + 1, np.int64)
        np.cumsum([len(each) for each in found], out=indptr[1:])
        return indptr, np.concatenate([np.zeros(0, np.uint32), *found])
    return _compiled(messages, bits)


def named_columns(message: Message, bits: int = BITS, wanted: Any = None) -> dict[int, str]:
    """Every column of a message with what it stands for, such as `body: "free"`; the first of several that share a column.

    wanted : only these, in ascending order: naming all of them takes ten times as long as finding them.

    >>> sorted(named_columns(Message(subject=b"Free"), bits=8).values())
    ['subject: "free"', 'subject: ~" free"', 'subject: ~"free "']
    """
    mask, names = np.uint32((1 << bits) - 1), dict[int, str]()
    # Words before the grams they hold: where two share a column, the word is what a person reads.
    for kind in sorted(kinds_of(message), key=lambda kind: isinstance(kind.tokens, bytes)):
        columns = kind.hashes & mask
        places = range(len(columns)) if wanted is None else _found(columns, wanted).tolist()
        for at in places:
            column = int(columns[at])
            if column not in names:
                names[column] = kind.name(at)
    return names


def _found(columns: Any, wanted: Any) -> Any:
    """Where those stand that are among the wanted."""
    if not len(wanted):
        return np.zeros(0, np.intp)
    return np.flatnonzero(wanted[np.minimum(np.searchsorted(wanted, columns), len(wanted) - 1)] == columns)


def readable(text: bytes) -> str:
    """As it may be shown; of letters of which it has a piece only what is whole, if anything is."""
    told = text[:100].decode("utf-8", "ignore")
    told = told if told.strip() or text.isascii() else text[:100].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in told)


# --- the definition -------------------------------------------------------------------------------------------------------


def _columns(message: Message, bits: int) -> Any:
    every = [kind.hashes for kind in kinds_of(message)]
    columns = np.sort(np.concatenate([np.zeros(0, np.uint32), *every]) & np.uint32((1 << bits) - 1))
    return columns[np.diff(columns, prepend=columns[:1] + np.uint32(1)) != 0]  # np.unique imports much


def kinds_of(message: Message) -> Iterator[Kind]:
    for f, (field, text) in enumerate(zip(FIELDS, message, strict=True)):
        if not text:
            continue
        if f == HEADERS:
            yield from _of_headers(folded(text[: LENGTHS[field]])[: LENGTHS[field]])
            continue
        room = LENGTHS[field]
        plain = b" ".join(folded(text[: SPACES * room]).split())[:room]
        words = WORD.findall(plain)
        hashes = murmur3_of(words, WORDS + f)
        yield Kind(field, hashes, words)
        if f != BODY:
            yield Kind(field, _pair(hashes[:-1], hashes[1:]), words[1:], firsts=words[:-1])
        plain = b" " + plain + b" "
        grams = murmur3_windows(np.frombuffer(plain, np.uint8), WIDTH, f)
        places = np.flatnonzero(grams < DRAWN) if f == BODY else np.arange(len(grams))
        yield Kind(field, grams[places], plain, places)


def _of_headers(text: bytes) -> Iterator[Kind]:
    lines = [line for line in text.split(b"\n") if line]
    yield Kind("headers", murmur3_of(lines, LINES), lines)
    names, words, held = [], [], []
    for line in lines:
        name, _, value = line.partition(b": ")
        found = WORD.findall(value)
        names.append(name)
        words += found
        held += [len(found)]
    first, of_each = np.repeat(murmur3_of(names, NAMES), held), [n for n, k in zip(names, held, strict=True) for _ in range(k)]
    yield Kind("headers", _pair(first, murmur3_of(words, WORDS + HEADERS)), words, firsts=of_each)


def _pair(first: Any, second: Any) -> Any:
    return first * np.uint32(PAIR) + second


# --- the same, compiled ---------------------------------------------------------------------------------------------------


def _compiled(messages: Sequence[Message], bits: int) -> tuple[Any, Any]:
    from ..kernels.mail.features import message_columns

    room = np.array(list(LENGTHS.values()), np.int64)
    looked = (SPACES * room).tolist()
    looked[HEADERS] = int(room[HEADERS])
    plain, counts = np.empty(int(room.max()) + 2, np.uint8), np.empty(1 << 11, np.int64)
    found, numbers = [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)]
    for some in _blocks(messages):
        fields = [folded(text[:most]) for message in some for text, most in zip(message, looked, strict=True)]
        for at in range(HEADERS, len(fields), len(FIELDS)):
            fields[at] = fields[at][: LENGTHS["headers"]]  # plain letters may be more bytes than fancy ones
        ends = np.zeros(len(fields) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, fields), np.int64, len(fields)), out=ends[1:])
        # n bytes have fewer than n + 2 grams, half as many words, and as many pairs; lines and their words are fewer.
        most = 2 * np.minimum(np.diff(ends).reshape(-1, len(FIELDS)), room).sum(axis=1) + 4 * len(FIELDS)
        columns, number = np.empty(int(most.sum()), np.uint32), np.empty(len(some), np.int64)
        scratch, text = np.empty((2, int(most.max())), np.uint32), np.frombuffer(b"".join(fields), np.uint8)
        used = message_columns(text, ends, room, bits, plain, scratch, counts, columns, number)
        found.append(columns[:used])
        numbers.append(number)
    indptr = np.zeros(len(messages) + 1, np.int64)
    np.cumsum(np.concatenate(numbers), out=indptr[1:])
    return indptr, np.concatenate(found)


def _blocks(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Messages of BLOCK bytes or one more, so that their text is not held twice as a whole."""
    start, size = 0, 0
    for stop, message in enumerate(messages, 1):
        size += sum(map(len, message))
        if size >= BLOCK or stop == len(messages):
            yield messages[start:stop]
            start, size = stop, 0
