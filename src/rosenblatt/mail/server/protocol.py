"""The protocol of spamd as text: requests read from lines, answers made of bytes.

Facts: SpamAssassin's spamd/PROTOCOL (versions 1.2 to 1.5), and what spamc 4.0.1 does with answers:
- An error is its first line and nothing else. With an empty line after it `spamc -L` reports success; with a Content-length it
  takes the nothing that follows for the mail, which is lost.
- spamc reads an answer to the end of the stream, so a connection is for one request.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from .limits import BudgetError, Limits, Share

VERSION = "SPAMD/1.5"
WITH_MAIL = ("CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "HEADERS", "PROCESS", "TELL")
COMMANDS = (*WITH_MAIL, "PING", "SKIP")

# Of sysexits.h, and one that spamd adds.
CODES = {
    "EX_OK": 0,
    "EX_DATAERR": 65,
    "EX_UNAVAILABLE": 69,
    "EX_TEMPFAIL": 75,
    "EX_PROTOCOL": 76,
    "EX_TIMEOUT": 79,
}

_FIRST = re.compile(rb"([A-Z_]{1,20}) SPAMC/(\d{1,3})\.(\d{1,3})\s*")
_LENGTH = re.compile(rb"\d{1,18}")


class RequestError(Exception):
    """What is wrong with a request, for its client: the name of an exit code and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence

    def answer(self) -> bytes:
        sentence = " ".join(self.sentence.split())[:200]
        return f"{VERSION} {CODES[self.code]} {self.code}: {sentence}\r\n".encode("utf-8", "replace")


class Tell(NamedTuple):
    """What to do with a mail: learn it as `spam` or ham, or forget it."""

    forget: bool
    spam: bool


class Head(NamedTuple):
    command: str
    length: int | None  # bytes of the mail as it comes; None: all there is
    deflated: bool
    tell: Tell | None


def command_of(line: bytes) -> str:
    """The command of a first line."""
    found = _FIRST.fullmatch(line)
    if found is None:
        raise RequestError("EX_PROTOCOL", "the first line is not a command and SPAMC/1.5")
    command = found[1].decode()
    if command not in COMMANDS:
        raise RequestError("EX_PROTOCOL", f"there is no command {command}")
    return command


def head_of(command: str, lines: Sequence[bytes]) -> Head:
    """What the header lines of a request say; those that nobody knows are passed over, as the protocol asks."""
    values: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name.strip():
            raise RequestError("EX_PROTOCOL", "a header line of the request has no name and colon")
        name, value = name.strip().lower(), value.strip()
        if values.setdefault(name, value) != value:
            raise RequestError("EX_PROTOCOL", "a header of the request is there twice, with two values")
    length = values.get(b"content-length")
    if length is not None and not _LENGTH.fullmatch(length):
        raise RequestError("EX_PROTOCOL", "Content-length is not a whole number")
    packing = values.get(b"compress", b"").lower()
    if packing not in (b"", b"zlib"):
        raise RequestError("EX_PROTOCOL", "Compress may only be zlib")
    tell = _tell(values) if command == "TELL" else None
    return Head(command, None if length is None else int(length), packing == b"zlib", tell)


def _tell(values: dict[bytes, bytes]) -> Tell:
    """Set and Remove name databases; the local one is ours, and reports to others are not made."""
    put, taken = (
        {word.strip().lower() for word in values.get(name, b"").split(b",") if word.strip()} for name in (b"set", b"remove")
    )
    if not (put | taken) <= {b"local", b"remote"}:
        raise RequestError("EX_PROTOCOL", "Set and Remove may only name local and remote")
    if b"local" in put and b"local" in taken:
        raise RequestError("EX_PROTOCOL", "one of Set and Remove may be local, not both")
    if b"local" in put:
        kind = values.get(b"message-class", b"").lower()
        if kind not in (b"spam", b"ham"):
            raise RequestError("EX_PROTOCOL", "Message-class must be spam or ham where Set is local")
        return Tell(forget=False, spam=kind == b"spam")
    if b"local" in taken:
        return Tell(forget=True, spam=False)
    raise RequestError("EX_PROTOCOL", "TELL needs Set: local or Remove: local")


def too_large(most: int) -> RequestError:
    return RequestError("EX_DATAERR", f"the mail is larger than {most:,} bytes")


def too_many() -> RequestError:
    return RequestError("EX_TEMPFAIL", "too many large mails at once; try again")


def answer(headers: Sequence[str], body: bytes | None = None) -> bytes:
    """An answer that is no error; the length of its body goes first."""
    lines = [f"{VERSION} 0 EX_OK", *(() if body is None else (f"Content-length: {len(body)}",)), *headers, "", ""]
    return "\r\n".join(lines).encode() + (body or b"")


PONG = f"{VERSION} 0 PONG\r\n".encode()


# --- What a client sends, taken in under the limits.

READ_BYTES = 64 * 1024


class Inbox:
    """A stream of lines, then a mail; an end of the stream is one of the client's writing side only."""

    def __init__(self, reader: asyncio.StreamReader, limits: Limits) -> None:
        self._reader, self._limits, self._kept = reader, limits, bytearray()
        self.surplus = 0  # bytes after the mail

    @property
    def empty(self) -> bool:
        return not self._kept

    async def line(self) -> bytes | None:
        """The next line without its end, or None where the stream ends within it."""
        while (at := self._kept.find(b"\n")) < 0:
            if len(self._kept) > self._limits.header_bytes:
                raise RequestError("EX_PROTOCOL", "a line of the request is too long")
            if not await self._more():
                return None
        line = bytes(self._kept[:at])
        del self._kept[: at + 1]
        return line.removesuffix(b"\r")

    async def headers(self) -> list[bytes]:
        """Lines up to an empty one."""
        lines: list[bytes] = []
        size = 0
        while line := await self.line():
            lines.append(line)
            size += len(line)
            if len(lines) > self._limits.header_lines or size > self._limits.header_bytes:
                raise RequestError("EX_PROTOCOL", "the request has too many header lines")
        if line is None:
            raise RequestError("EX_PROTOCOL", "the request ends within its header lines")
        return lines

    async def mail(self, head: Head, share: Share) -> bytes:
        """The mail as it came, packed or not."""
        most = self._limits.message_bytes
        if head.length is not None and head.length > most:
            raise too_large(most)
        try:
            if head.length is not None:
                share.hold(head.length)
            while head.length is None or len(self._kept) < head.length:
                if not await self._more():
                    break
                if len(self._kept) > most:
                    raise too_large(most)
                share.hold(len(self._kept))
        except BudgetError:
            raise too_many() from None
        if head.length is not None and len(self._kept) != head.length:
            more = "more" if len(self._kept) > head.length else "fewer"
            raise RequestError("EX_DATAERR", f"there are {more} bytes than Content-length says")
        mail, self._kept = bytes(self._kept), bytearray()
        return mail

    async def rest(self, most: int) -> None:
        """Take in and count what else comes, `most` bytes of it: closing over unread bytes would cut off the answer."""
        while self.surplus <= most and (chunk := await self._reader.read(READ_BYTES)):
            self.surplus += len(chunk)

    async def _more(self) -> bool:
        async with asyncio.timeout(self._limits.idle_seconds):
            chunk = await self._reader.read(READ_BYTES)
        self._kept += chunk
        return bool(chunk)


# --- A mail that came packed by zlib, a few bytes of which may stand for very many.

FIRST_STEP_BYTES = 64 * 1024  # bytes that the first step may make; most mails have no more
InPool = Callable[[Callable[[], bytes]], Awaitable[bytes]]


async def inflated(packed: bytes, most: int, share: Share, in_pool: InPool) -> bytes:
    """The mail, of `most` bytes at most. What a step may make is held before it is made, and a step makes no more than there is
    already, so that nobody holds much more than twice what his mail has; at the end he holds just that."""
    unpacker = zlib.decompressobj()
    parts, size, left = [], 0, packed
    while not unpacker.eof:
        step = min(max(FIRST_STEP_BYTES, size), most + 1 - size)
        try:
            share.hold(len(packed) + size + step)
        except BudgetError:
            raise too_many() from None
        parts.append(await in_pool(partial(_inflated, unpacker, left, step)))
        left, size = unpacker.unconsumed_tail, size + len(parts[-1])
        if size > most:
            raise too_large(most)
        if not parts[-1] and not unpacker.eof:
            raise RequestError("EX_DATAERR", "the packed mail ends early")
    share.keep(size)
    return b"".join(parts)


def _inflated(unpacker: zlib._Decompress, packed: bytes, most: int) -> bytes:
    try:
        return unpacker.decompress(packed, most)
    except zlib.error:
        raise RequestError("EX_DATAERR", "the mail is not packed by zlib") from None
