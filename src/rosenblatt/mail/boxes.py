"""Mailboxes: mbox files, Maildirs, MH folders, folders of files, single files and standard input, read one mail at a time.

mbox     A file that begins with "From ". A mail ends before a line that looks like the first line of the next one and is
         followed by a header: "From " and a date in the format of mail stores, after a blank line or complete; or, in a file
         whose first line has no date, "From " and at most one word, after a blank line. A complete line after a blank line may
         also begin a mail without headers. Content-Length is ignored. If there are several mails, their "From " lines are
         removed, and ">From " becomes "From "; a single mail stays unchanged, and gets the same verdict as from a pipe.
Maildir  A folder with `cur` and `new`: the files in these two. Other folders in it are not read, since one may contain spam.
Folders  All files in them and in their subfolders, by name (by number in MH folders). Names that begin with "." or "," are
         skipped, and so are files without a known header among their first lines, unless they end with .eml. No folder is read
         twice, so that links may form cycles. If the label of the mails is given, mailboxes in a folder whose names announce
         another kind of mail are skipped (`folder_names.py`).
Files    A file that is named explicitly is a mail, with any content; compressed files are decompressed. Pipes are read if
         they are named and have a writer; devices and sockets are not opened.

Of a longer mail the first `MAX_MAIL_BYTES` bytes are kept; `identity.digest` uses fewer.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..data.readers.sources import Source
from ..data.table import DataError
from ..safe_text import printable
from .folder_names import CONTENTS, MAILDIR_PARTS, contradicts

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_MAIL_BYTES = 1 << 22
READ_BYTES = 1 << 20
MAX_POSTMARK_BYTES = 1000
PEEK_BYTES = 4096  # bytes at the beginning of a file by which its format is recognized
IGNORED_PREFIXES = (".", ",")  # prefixes of files that are not mails: state of mail programs, mails deleted by MH
SPACE_BEFORE_MBOX = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*+\r?\n)*+")  # white space before an mbox that was edited or piped
_DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +"
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = rb"[0-9]{1,2}:[0-9]{2}"
_ISO = rb"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ] *" + _TIME
_DATE = _DAY + rb"(?:" + _MONTH + rb" +[0-9]{1,2} +" + _TIME + rb"|[0-9]{1,2}[ -]" + _MONTH + rb"[ -])"
_CLOCK = _TIME + rb"(?::[0-9]{2})?(?: +(?:[A-Z]{1,5}|[+-][0-9]{4}))?"
# Day and month in up to three words of any language, followed by time and year at the end of the line.
_FOREIGN = (
    rb"(?: +[^\s]++){1,3}? +(?:" + _CLOCK + rb" +[0-9]{4}|[0-9]{4},? +" + _CLOCK + rb")(?: +[+-][0-9]{4})?[ \t]*+(?=\r?\n)"
)
_NEXT = rb"(?:[!-9;-~]++:|>From )"  # the beginning of a header
_COMPLETE = (
    rb"From [^\s]++ +(?:" + _DAY + rb"(?:" + _MONTH + rb" +[0-9]{1,2} +" + _TIME + rb"[^\n]*? [0-9]{4}"
    rb"|[0-9]{1,2}[ -]" + _MONTH + rb"[ -][0-9]{4} +" + _TIME + rb")|" + _ISO + rb")[^\n]{0,40}\n"
)
_DATED = (
    rb"From (?:[^\n]*?" + _DATE + rb"|[^\s]++(?: +" + _ISO + rb"|" + _FOREIGN + rb"))[^\n]*+\n" + _NEXT
    + rb"|" + _COMPLETE + rb"(?:" + _NEXT + rb"|\r?\n|\Z)"
)  # fmt: skip
_UNDATED = rb"|From [ \t]*+%s[ \t]*+\r?\n" + _NEXT
# Lines that begin a mail: anywhere; after a blank line; after a blank line in files whose own first line has no date; and the
# same in files of Thunderbird, which used to write "From - " and a date, and now writes "From " alone.
FULL = re.compile(_COMPLETE + _NEXT)
DATED = re.compile(_DATED)
UNDATED = re.compile(_DATED + _UNDATED % rb"[^\s]*+")
BARE = re.compile(_DATED + _UNDATED % rb"")
HEADER_LINE = re.compile(rb"[ \t]|>?From |[A-Za-z][\w.-]*+[ \t]*+:")
BLANK_LINE = re.compile(rb"\r?\n[ \t]*+\r?\n")
KNOWN_HEADER = re.compile(
    rb"[ \t]*+(?:return-path|delivered-to|envelope-to|received|from|to|cc|bcc|subject|date|sender|reply-to|message-id"
    rb"|in-reply-to|references|mime-version|content-type|user-agent|dkim-signature|(?:x|list|resent|arc)-[\w-]++)[ \t]*+:",
    re.I,
)
MIN_STRANGERS, STRANGERS_PER_MAIL = 10, 10  # a folder with more files than that beside each mail is not a mailbox
KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


class Mail(NamedTuple):
    """A raw mail and its source."""

    source: str  # the file; for an mbox also a colon and the number of the mail, from 1
    raw: bytes


class Sparse(NamedTuple):
    """A folder with hardly any mail."""

    path: str
    mails: int
    others: int  # files that are not mails


class Mails:
    """The mails of some paths, read during iteration; `skipped` then has the paths that were not read, with the reasons.

    >>> found = mails(["no/such/folder"])
    >>> list(found), found.skipped
    ([], [('no/such/folder', 'file or folder not found')])
    """

    def __init__(
        self,
        paths: Iterable[str | Path],
        max_bytes: int = MAX_MAIL_BYTES,
        only_mails: bool = False,
        spam: bool | None = None,
    ) -> None:
        self.paths, self.max_bytes, self.only_mails, self.spam = [str(path) for path in paths], max_bytes, only_mails, spam
        self.skipped: list[tuple[str, str]] = []
        self.sparse: list[Sparse] = []  # folders with hardly any mail
        self._n_strangers = 0  # files that are not mails

    def __iter__(self) -> Iterator[Mail]:
        for path in self.paths:
            if path == "-":
                yield from self._read("stdin", _opened("-", None), piped=True)
            else:
                found, skipped, strangers = 0, len(self.skipped), self._n_strangers
                for mail in self._walk(path):
                    found += 1
                    yield mail
                if not found and len(self.skipped) == skipped:
                    self._skip(path, "the folder has no mails")
                strangers = self._n_strangers - strangers
                if strangers >= MIN_STRANGERS and STRANGERS_PER_MAIL * found < strangers:
                    self.sparse.append(Sparse(printable(path), found, strangers))

    def _walk(self, top: str) -> Iterator[Mail]:
        """The mails of a file or folder, without recursion, since folders may be nested more deeply than Python's stack."""
        left, visited = [top], set()
        while left:
            path = left.pop()
            try:
                kind = os.stat(path)
                if not stat.S_ISDIR(kind.st_mode):
                    yield from self._file(path, kind.st_mode, path == top)
                    continue
                if (kind.st_dev, kind.st_ino) in visited:
                    continue
                visited.add((kind.st_dev, kind.st_ino))
                inside = self._expected(_inside(path))
            except (OSError, ValueError) as error:
                self._skip(path, _reason(error))
                continue
            left += reversed(inside)

    def _expected(self, paths: list[str]) -> list[str]:
        """The paths whose names do not contradict the label of the mails."""
        if self.spam is None:
            return paths
        kinds = {path: contradicts(path, self.spam) for path in paths}
        for path, kind in kinds.items():
            if kind is not None:
                self._skip(path, f"its name announces {CONTENTS[kind]}; to learn it, name it itself")
        return [path for path in paths if kinds.get(path) is None]

    def _file(self, path: str, mode: int, named: bool) -> Iterator[Mail]:
        if not (stat.S_ISREG(mode) or (named and stat.S_ISFIFO(mode))):
            self._skip(path, f"is {KINDS.get(stat.S_IFMT(mode), 'something else')}, not a file")
            return
        # Without blocking: the file may have been replaced by a pipe in the meantime.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(number, "rb", buffering=0) as file:
            if stat.S_IFMT(os.fstat(number).st_mode) != stat.S_IFMT(mode):
                self._skip(path, "is no longer a file")
            elif stat.S_ISREG(mode):
                yield from self._read(printable(path), _opened(path, file), named)
            elif (first := file.read(1)) == b"":
                self._skip(path, "is a pipe without a writer")
            else:
                yield from self._read(printable(path), _opened(path, _Pipe(file, first)), piped=True)

    def _read(self, source: str, stream: Source | DataError, named: bool = True, piped: bool = False) -> Iterator[Mail]:
        if isinstance(stream, DataError):
            self._skip(source, _reason(stream))
            return
        with stream:
            try:
                head = stream.peek(PEEK_BYTES)
                before = before_mbox(head)
                expected = piped or (named and not self.only_mails) or is_mail(source, head, named)
                if not head:
                    self._skip(source, "is empty")
                elif before is not None and (expected or UNDATED.match(head, before)):
                    _first(stream, before)
                    yield from _numbered(source, _split(stream, self.max_bytes))
                elif not expected:
                    self._n_strangers += 1
                    self._skip(source, "not a mail")
                else:
                    yield Mail(source, _first(stream, self.max_bytes))
            except (DataError, OSError) as error:
                self._skip(source, _reason(error))

    def _skip(self, path: str, reason: str) -> None:
        self.skipped.append((printable(path), reason))


class _Stream(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class _Pipe(io.RawIOBase):
    """A pipe that was opened without blocking, and its first byte; None if it has a writer but no byte yet."""

    def __init__(self, file: io.FileIO, first: bytes | None) -> None:
        self.file, self.first = file, first
        os.set_blocking(file.fileno(), True)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        target = memoryview(buffer)
        if self.first is None or not len(target):
            return self.file.readinto(target)
        target[:1], self.first = self.first, None
        return 1


def mails(
    paths: Iterable[str | Path], max_bytes: int = MAX_MAIL_BYTES, only_mails: bool = False, spam: bool | None = None
) -> Mails:
    """The mails of mbox files, Maildirs, folders and files, in order; "-" is standard input.

    max_bytes : bytes that are kept of each mail.
    only_mails : skip also explicitly named files that do not look like mails; pipes are read with any content.
    spam : the label of the mails, if it is known.
    """
    return Mails(paths, max_bytes, only_mails, spam)


def is_several(raw: bytes) -> bool:
    """Whether this is an mbox of more than one mail."""
    before = before_mbox(raw[:PEEK_BYTES])
    return before is not None and len(list(islice(_split(io.BytesIO(raw[before:]), 0), 2))) > 1


def _inside(folder: str) -> list[str]:
    """The files and folders in a folder that may be or contain mails, in order."""
    names = os.listdir(folder)
    if set(MAILDIR_PARTS) <= set(names) and all(os.path.isdir(os.path.join(folder, name)) for name in MAILDIR_PARTS):
        parts = [os.path.join(folder, part) for part in MAILDIR_PARTS]
        return [os.path.join(part, name) for part in parts for name in sorted(os.listdir(part)) if not name.startswith(".")]
    kept = [name for name in names if not name.startswith(IGNORED_PREFIXES)]
    return [os.path.join(folder, name) for name in sorted(kept, key=_order)]


def before_mbox(head: bytes) -> int | None:
    """The number of bytes before the first "From " line of an mbox; None if this is not an mbox."""
    if head.startswith(b"From "):
        return 0
    found = SPACE_BEFORE_MBOX.match(head)
    at = found.end() if found is not None else 0
    return at if UNDATED.match(head, at, at + MAX_POSTMARK_BYTES) else None


def is_mail(name: str, head: bytes, named: bool) -> bool:
    """Whether a file with these first bytes looks like a mail: by its header, or by its name.

    Most of its lines up to the first blank one are headers, and one of them is a header of mail. A file that was named
    explicitly may also be a text.
    """
    if name.lower().endswith((".eml", ".txt") if named else ".eml") and b"\0" not in head:
        return True
    before = SPACE_BEFORE_MBOX.match(head)
    lines = BLANK_LINE.split(head[before.end() if before else 0 :], maxsplit=1)[0].splitlines()
    n_headers = sum(HEADER_LINE.match(line) is not None for line in lines)
    return 2 * n_headers >= len(lines) and any(KNOWN_HEADER.match(line) for line in lines)


def _order(name: str) -> tuple[int, int, str]:
    number = name.isascii() and name.isdigit() and len(name) < 19
    return (0, int(name), name) if number else (1, 0, name)


def _opened(path: str, file: io.RawIOBase | None) -> Source | DataError:
    try:
        return Source(path, file)
    except DataError as error:
        return error


def _first(stream: _Stream, max_bytes: int) -> bytes:
    pieces, size = [], 0
    while size < max_bytes and (piece := stream.read(min(READ_BYTES, max_bytes - size))):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _numbered(source: str, raws: Iterator[bytes]) -> Iterator[Mail]:
    """Number the mails of an mbox; a single one has the name of the file and stays unchanged."""
    last, number = next(raws), 1
    for raw in raws:
        yield Mail(f"{source}:{number}", _bare(last))
        last, number = raw, number + 1
    yield Mail(source, last) if number == 1 else Mail(f"{source}:{number}", _bare(last))


def _split(stream: _Stream, max_bytes: int) -> Iterator[bytes]:
    """The mails of an mbox. The first `taken` bytes of `text` are in `kept` already; two of them stay for the look-behind."""
    kept, size, text, taken = bytearray(), 0, _first(stream, MAX_POSTMARK_BYTES), 0
    own = DATED
    if not DATED.match(text) and UNDATED.match(text):
        own = UNDATED
    elif text.startswith(b"From - "):
        own = BARE
    while True:
        more = stream.read(READ_BYTES)
        text, taken = text[max(taken - 2, 0) :] + more, min(taken, 2)
        # A "From " line is examined when it is complete.
        sure = len(text) - MAX_POSTMARK_BYTES if more else len(text)
        at = taken
        while (at := text.find(b"\nFrom ", at, max(sure, 0) + 5)) >= 0:
            at += 1
            postmark = own if text.endswith((b"\n\n", b"\n\r\n"), 0, at) else FULL
            if not postmark.match(text, at, at + MAX_POSTMARK_BYTES):
                continue
            kept += text[taken : min(at, taken + max_bytes - size)] if size < max_bytes else b""
            yield bytes(kept)
            kept, size, taken = bytearray(), 0, at
        end = max(taken, sure)
        kept += text[taken : min(end, taken + max_bytes - size)] if size < max_bytes else b""
        size, taken = size + end - taken, end
        if not more:
            yield bytes(kept)
            return


def _bare(raw: bytes) -> bytes:
    """A mail of an mbox without the "From " line and the quoting that the mbox added."""
    first, _, raw = raw.partition(b"\n")
    ends = b"\r\n" if first.endswith(b"\r") else b"\n"
    if raw.endswith(ends + ends):
        raw = raw[: -len(ends)]
    if b"\n>" not in raw or b">From " not in raw:
        return raw
    first, *quoted = raw.split(b"\n>")
    return b"".join((first, *((b"\n" if line.lstrip(b">").startswith(b"From ") else b"\n>") + line for line in quoted)))


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "file or folder not found"
    if isinstance(error, PermissionError):
        return "cannot be read: permission is denied"
    if isinstance(error, DataError):
        return error.sentence
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"
