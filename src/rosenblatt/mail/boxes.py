"""Where mails are kept: mbox files, Maildirs, MH folders, folders of files, single files and stdin; a mail at a time.

mbox     a file that begins with "From ". A mail ends before a line that looks like the first line of the next and has a header
         after it: "From " and a date as mail stores write it, after a blank line or complete; or, in a box whose own first line
         has no date, "From " and a word at most, after a blank line. A complete one after a blank line may also begin a mail
         without headers. Content-Length is not believed. Of several mails the "From " lines are left out, and one ">" of
         ">From " is taken back; one that is alone stays as it is, and so gets the verdict that it gets when it is piped
Maildir  a folder with `cur` and `new`: the files in these two. Folders in it are others' business, as one may hold the spam
Folders  all files in them and in their folders, in the order of their names (of their numbers, in MH folders); names that begin
         with "." or "," are not mails, nor are files without a header at their beginning, unless they are called .eml or .txt.
         No folder is read twice, so links may go round
Files    whatever a file holds that is named itself is a mail; compressed ones are unpacked. Only files are opened, and pipes
         that were named and that somebody writes into: no devices or sockets

Of a mail longer than `MAX_MAIL_BYTES` bytes the first are kept; `identity.digest` does not look farther than they go.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..data.readers.sources import Source
from ..data.table import DataError

MAX_MAIL_BYTES = 1 << 22  # bytes kept of one mail
READ_BYTES = 1 << 20
MAX_POSTMARK_BYTES = 1000
PEEK_BYTES = 4096  # bytes at the beginning of a file that tell what it is
IGNORED_PREFIXES = (".", ",")  # how names begin that are no mails: state of mail programs, and what MH has deleted
BEFORE = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*+\r?\n)*+")  # an mbox that an editor or a pipe has touched
_DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +"
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = rb"[0-9]{1,2}:[0-9]{2}"
_ISO = rb"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ] *" + _TIME
_DATE = _DAY + rb"(?:" + _MONTH + rb" +[0-9]{1,2} +" + _TIME + rb"|[0-9]{1,2}[ -]" + _MONTH + rb"[ -])"
_CLOCK = _TIME + rb"(?::[0-9]{2})?(?: +(?:[A-Z]{1,5}|[+-][0-9]{4}))?"
# Day and month in up to three words of any language, then time and year end the line.
_FOREIGN = (
    rb"(?: +[^\s]++){1,3}? +(?:" + _CLOCK + rb" +[0-9]{4}|[0-9]{4},? +" + _CLOCK + rb")(?: +[+-][0-9]{4})?[ \t]*+(?=\r?\n)"
)
_NEXT = rb"(?:[!-9;-~]++:|>From )"  # how headers begin
_COMPLETE = (
    rb"From [^\s]++ +(?:" + _DAY + rb"(?:" + _MONTH + rb" +[0-9]{1,2} +" + _TIME + rb"[^\n]*? [0-9]{4}"
    rb"|[0-9]{1,2}[ -]" + _MONTH + rb"[ -][0-9]{4} +" + _TIME + rb")|" + _ISO + rb")[^\n]{0,40}\n"
)
_DATED = (
    rb"From (?:[^\n]*?" + _DATE + rb"|[^\s]++(?: +" + _ISO + rb"|" + _FOREIGN + rb"))[^\n]*+\n" + _NEXT
    + rb"|" + _COMPLETE + rb"(?:" + _NEXT + rb"|\r?\n|\Z)"
)  # fmt: skip
_UNDATED = rb"|From [ \t]*+%s[ \t]*+\r?\n" + _NEXT
# What ends a mail anywhere; what does after a blank line; what does there, too, in boxes whose own first line has no date, and
# in those of Thunderbird, which once wrote "From - " and a date, and now "From " alone.
FULL = re.compile(_COMPLETE + _NEXT)
DATED = re.compile(_DATED)
UNDATED = re.compile(_DATED + _UNDATED % rb"[^\s]*+")
BARE = re.compile(_DATED + _UNDATED % rb"")
HEADER = re.compile(BEFORE.pattern + rb"[ \t]*+(?:>From |[A-Za-z][\w.-]*+[ \t]*+:)")
KNOWN = re.compile(rb"^(?:return-path|received|from|to|subject|date|message-id|mime-version)[ \t]*+:", re.I | re.M)
KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


class Mail(NamedTuple):
    source: str  # the file, and after a colon which mail of an mbox it is, counted from 1
    raw: bytes


class Mails:
    """The mails of some paths, read while one iterates; `skipped` then has what could not be read, each with the reason.

    >>> found = mails(["no/such/folder"])
    >>> list(found), found.skipped
    ([], [('no/such/folder', 'there is no such file or folder')])
    """

    def __init__(self, paths: Iterable[str | Path], most: int = MAX_MAIL_BYTES, only_mails: bool = False) -> None:
        self.paths, self.most, self.only_mails = [str(path) for path in paths], most, only_mails
        self.skipped: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[Mail]:
        for path in self.paths:
            if path == "-":
                yield from self._read("stdin", _opened("-", None))
            else:
                found, skipped = 0, len(self.skipped)
                for mail in self._walk(path):
                    found += 1
                    yield mail
                if not found and len(self.skipped) == skipped:
                    self._skip(path, "there are no mails in this folder")

    def _walk(self, top: str) -> Iterator[Mail]:
        """The mails of a file or folder. What is still to be read is a list, as folders may be deeper than Python's stack."""
        left, been = [top], set()
        while left:
            path = left.pop()
            try:
                kind = os.stat(path)
                if not stat.S_ISDIR(kind.st_mode):
                    yield from self._file(path, kind.st_mode, path == top)
                    continue
                if (kind.st_dev, kind.st_ino) in been:
                    continue
                been.add((kind.st_dev, kind.st_ino))
                inside = _inside(path)
            except (OSError, ValueError) as error:
                self._skip(path, _reason(error))
                continue
            left += reversed(inside)

    def _file(self, path: str, mode: int, named: bool) -> Iterator[Mail]:
        if not (stat.S_ISREG(mode) or (named and stat.S_ISFIFO(mode))):
            self._skip(path, f"is {KINDS.get(stat.S_IFMT(mode), 'something else')}, not a file")
            return
        # It may have become something else meanwhile, which must not keep us waiting.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(number, "rb", buffering=0) as file:
            if stat.S_IFMT(os.fstat(number).st_mode) != stat.S_IFMT(mode):
                self._skip(path, "is not a file any more")
            elif stat.S_ISREG(mode):
                yield from self._read(printable(path), _opened(path, file), named and not self.only_mails)
            elif (first := file.read(1)) == b"":
                self._skip(path, "is a pipe that nobody writes into")
            else:
                yield from self._read(printable(path), _opened(path, _Pipe(file, first)))

    def _read(self, source: str, stream: Source | DataError, named: bool = True) -> Iterator[Mail]:
        if isinstance(stream, DataError):
            self._skip(source, _reason(stream))
            return
        with stream:
            try:
                head = stream.peek(PEEK_BYTES)
                if not head:
                    self._skip(source, "is empty")
                elif (before := before_mbox(head)) is not None:
                    _first(stream, before)
                    yield from _numbered(source, _split(stream, self.most))
                elif not named and not _is_mail(source, head):
                    self._skip(source, "is not a mail")
                else:
                    yield Mail(source, _first(stream, self.most))
            except (DataError, OSError) as error:
                self._skip(source, _reason(error))

    def _skip(self, path: str, reason: str) -> None:
        self.skipped.append((printable(path), reason))


class _Pipe(io.RawIOBase):
    """A pipe that was opened without waiting, and its first byte: None where none has come yet, but there is one who writes."""

    def __init__(self, file: io.FileIO, first: bytes | None) -> None:
        self.file, self.first = file, first
        os.set_blocking(file.fileno(), True)

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int | None:
        if self.first is None or not len(room):
            return self.file.readinto(room)
        room[:1], self.first = self.first, None
        return 1


def mails(paths: Iterable[str | Path], most: int = MAX_MAIL_BYTES, only_mails: bool = False) -> Mails:
    """The mails of mbox files, Maildirs, folders and files, in order; "-" is stdin. Of each at most `most` bytes are kept.

    only_mails : files that are named themselves are skipped, too, where they are none.
    """
    return Mails(paths, most, only_mails)


def is_several(raw: bytes) -> bool:
    """Whether this is an mbox of more than one mail."""
    before = before_mbox(raw[:PEEK_BYTES])
    return before is not None and len(list(islice(_split(io.BytesIO(raw[before:]), 0), 2))) > 1


def _inside(folder: str) -> list[str]:
    """The files and folders of a folder that may be or hold mails, in order."""
    names = os.listdir(folder)
    if {"cur", "new"} <= set(names) and all(os.path.isdir(os.path.join(folder, name)) for name in ("cur", "new")):
        parts = [os.path.join(folder, part) for part in ("cur", "new")]
        return [os.path.join(part, name) for part in parts for name in sorted(os.listdir(part)) if not name.startswith(".")]
    kept = [name for name in names if not name.startswith(IGNORED_PREFIXES)]
    return [os.path.join(folder, name) for name in sorted(kept, key=_order)]


def before_mbox(head: bytes) -> int | None:
    """How many bytes stand before the first "From " line of an mbox; None where this is none."""
    if head.startswith(b"From "):
        return 0
    found = BEFORE.match(head)
    at = found.end() if found is not None else 0
    return at if UNDATED.match(head, at, at + MAX_POSTMARK_BYTES) else None


def _is_mail(name: str, head: bytes) -> bool:
    """Whether a file that nobody named may be a mail: it has a header, or is called a mail or a text and may be one."""
    return bool(HEADER.match(head) or KNOWN.search(head)) or (name.lower().endswith((".eml", ".txt")) and b"\0" not in head)


def _order(name: str) -> tuple[int, int, str]:
    number = name.isascii() and name.isdigit() and len(name) < 19
    return (0, int(name), name) if number else (1, 0, name)


def _opened(path: str, file: Any) -> Source | DataError:
    try:
        return Source(path, file)
    except DataError as error:
        return error


def _first(stream: Any, most: int) -> bytes:
    pieces, size = [], 0
    while size < most and (piece := stream.read(min(READ_BYTES, most - size))):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _numbered(source: str, raws: Iterator[bytes]) -> Iterator[Mail]:
    """Named by their places in an mbox; one that is alone by the file, and left as it is."""
    last, number = next(raws), 1
    for raw in raws:
        yield Mail(f"{source}:{number}", _bare(last))
        last, number = raw, number + 1
    yield Mail(source, last) if number == 1 else Mail(f"{source}:{number}", _bare(last))


def _split(stream: Any, most: int) -> Iterator[bytes]:
    """The mails of an mbox. Of `text` the first `taken` bytes belong to `kept` already: two of them stay to look back at."""
    kept, size, text, taken = bytearray(), 0, _first(stream, MAX_POSTMARK_BYTES), 0
    own = DATED
    if not DATED.match(text) and UNDATED.match(text):
        own = UNDATED
    elif text.startswith(b"From - "):
        own = BARE
    while True:
        more = stream.read(READ_BYTES)
        text, taken = text[max(taken - 2, 0) :] + more, min(taken, 2)
        # A "From " line is judged when all of it is there.
        sure = len(text) - MAX_POSTMARK_BYTES if more else len(text)
        at = taken
        while (at := text.find(b"\nFrom ", at, max(sure, 0) + 5)) >= 0:
            at += 1
            postmark = own if text.endswith((b"\n\n", b"\n\r\n"), 0, at) else FULL
            if not postmark.match(text, at, at + MAX_POSTMARK_BYTES):
                continue
            kept += text[taken : min(at, taken + most - size)] if size < most else b""
            yield bytes(kept)
            kept, size, taken = bytearray(), 0, at
        end = max(taken, sure)
        kept += text[taken : min(end, taken + most - size)] if size < most else b""
        size, taken = size + end - taken, end
        if not more:
            yield bytes(kept)
            return


def _bare(raw: bytes) -> bytes:
    """A mail of an mbox without what the mbox put around and into it."""
    first, _, raw = raw.partition(b"\n")
    ends = b"\r\n" if first.endswith(b"\r") else b"\n"
    if raw.endswith(ends + ends):
        raw = raw[: -len(ends)]
    if b"\n>" not in raw or b">From " not in raw:
        return raw
    first, *quoted = raw.split(b"\n>")
    return b"".join((first, *((b"\n" if line.lstrip(b">").startswith(b"From ") else b"\n>") + line for line in quoted)))


def printable(path: str) -> str:
    r"""A name as it may be shown: whatever is no text or would steer a terminal is escaped as in Python.

    >>> print(printable("ev\x1b[31mil\n.eml"))
    ev\x1b[31mil\n.eml
    """
    with contextlib.suppress(UnicodeEncodeError):  # no file can be called what cannot be encoded
        path = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in path)


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    if isinstance(error, PermissionError):
        return "may not be read: permission is denied"
    if isinstance(error, DataError):
        return error.sentence
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"
