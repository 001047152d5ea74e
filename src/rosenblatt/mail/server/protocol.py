"""The spamd protocol: parsing of requests, formatting of answers, and reading from a connection within limits.

Facts: SpamAssassin's spamd/PROTOCOL (versions 1.2 to 1.5), and what spamc 4.0.1 does with answers:
- An error is its first line and nothing else. If an empty line follows, `spamc -L` reports success; if a Content-length does,
  spamc replaces the mail by the empty body, and the mail is lost.
- spamc reads an answer to the end of the stream, so that a connection serves one request.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import zlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from ...reporting.text import plural
from .limits import BudgetError, Limits, Share

VERSION = "SPAMD/1.5"
COMMANDS_WITH_MAIL = ("CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "HEADERS", "PROCESS", "TELL")
COMMANDS = (*COMMANDS_WITH_MAIL, "PING", "SKIP")

# From sysexits.h, and one that spamd adds.
CODES = {
    "EX_OK": 0,
    "EX_DATAERR": 65,
    "EX_UNAVAILABLE": 69,
    "EX_TEMPFAIL": 75,
    "EX_PROTOCOL": 76,
    "EX_TIMEOUT": 79,
}

_REQUEST_LINE = re.compile(rb"([A-Z_]{1,20}) SPAMC/(\d{1,3})\.(\d{1,3})\s*")
_LENGTH = re.compile(rb"\d{1,18}")
READ_BYTES = 64 * 1024
FIRST_STEP_BYTES = 64 * 1024  # bytes decompressed in the first step, which is enough for most mails
InPool = Callable[[Callable[[], bytes]], Awaitable[bytes]]


class RequestError(Exception):
    """An error in a request: the name of an exit code, and a sentence for the client."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence

    def answer(self) -> bytes:
        sentence = " ".join(self.sentence.split())[:200]
        return f"{VERSION} {CODES[self.code]} {self.code}: {sentence}\r\n".encode("utf-8", "replace")


class Tell(NamedTuple):
    """Learn a mail as spam or ham, or unlearn it."""

    forget: bool
    spam: bool


class Head(NamedTuple):
    """A request without its mail."""

    command: str
    length: int | None  # bytes of the mail as sent; None: up to the end of the stream
    deflated: bool
    tell: Tell | None


def command_of(line: bytes) -> str:
    """The command in the first line of a request."""
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        raise RequestError("EX_PROTOCOL", "the first line must be a command and SPAMC/1.5")
    command = found[1].decode()
    if command not in COMMANDS:
        raise RequestError("EX_PROTOCOL", f"unknown command {command}")
    return command


def head_of(command: str, lines: Sequence[bytes]) -> Head:
    """The header lines of a request; unknown headers are ignored, as the protocol requires."""
    values: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name.strip():
            raise RequestError("EX_PROTOCOL", "a header line of the request must have a name and a colon")
        name, value = name.strip().lower(), value.strip()
        if values.setdefault(name, value) != value:
            raise RequestError("EX_PROTOCOL", "a header of the request has two different values")
    length = values.get(b"content-length")
    if length is not None and not _LENGTH.fullmatch(length):
        raise RequestError("EX_PROTOCOL", "Content-length must be a whole number")
    if b"transfer-encoding" in values:  # a second statement of where the mail ends
        raise RequestError("EX_PROTOCOL", "the protocol has no Transfer-Encoding; send Content-length alone")
    packing = values.get(b"compress", b"").lower()
    if packing not in (b"", b"zlib"):
        raise RequestError("EX_PROTOCOL", "Compress must be zlib")
    tell = _tell(values) if command == "TELL" else None
    return Head(command, None if length is None else int(length), packing == b"zlib", tell)


def _tell(values: dict[bytes, bytes]) -> Tell:
    """The headers Set and Remove name databases; `local` is this filter, and `remote` is ignored."""
    put, taken = (
        {word.strip().lower() for word in values.get(name, b"").split(b",") if word.strip()} for name in (b"set", b"remove")
    )
    if not (put | taken) <= {b"local", b"remote"}:
        raise RequestError("EX_PROTOCOL", "Set and Remove may only name local and remote")
    if b"local" in put and b"local" in taken:
        raise RequestError("EX_PROTOCOL", "only one of Set and Remove may be local")
    if b"local" in put:
        kind = values.get(b"message-class", b"").lower()
        if kind not in (b"spam", b"ham"):
            raise RequestError("EX_PROTOCOL", "Message-class must be spam or ham if Set is local")
        return Tell(forget=False, spam=kind == b"spam")
    if b"local" in taken:
        return Tell(forget=True, spam=False)
    raise RequestError("EX_PROTOCOL", "TELL needs Set: local or Remove: local")


def too_large(max_bytes: int) -> RequestError:
    return RequestError("EX_DATAERR", f"the mail is larger than {plural(max_bytes, 'byte')}")


def too_many() -> RequestError:
    return RequestError("EX_TEMPFAIL", "too many large mails at once; try again")


def answer(headers: Sequence[str], body: bytes | None = None) -> bytes:
    """A successful answer; the length of its body comes first."""
    lines = [f"{VERSION} 0 EX_OK", *(() if body is None else (f"Content-length: {len(body)}",)), *headers, "", ""]
    return "\r\n".join(lines).encode() + (body or b"")


PONG = f"{VERSION} 0 PONG\r\n".encode()


# --- reading a request ------------------------------------------------------------------------------------------------------


class Inbox:
    """The lines and the mail of one connection; the end of the stream closes only the client's writing side."""

    def __init__(self, reader: asyncio.StreamReader, limits: Limits) -> None:
        self._reader, self._limits, self._kept = reader, limits, bytearray()
        self.surplus = 0  # bytes after the mail

    @property
    def empty(self) -> bool:
        return not self._kept

    async def line(self) -> bytes | None:
        """The next line without its line end, or None if the stream ends first."""
        max_bytes = self._limits.header_bytes
        while (at := self._kept.find(b"\n", 0, max_bytes + 1)) < 0:
            if len(self._kept) > max_bytes:
                raise RequestError("EX_PROTOCOL", f"a line of the request is longer than {plural(max_bytes, 'byte')}")
            if not await self._more():
                return None
        line = bytes(self._kept[:at])
        del self._kept[: at + 1]
        return line.removesuffix(b"\r")

    async def headers(self) -> list[bytes]:
        """The lines up to an empty one."""
        lines: list[bytes] = []
        size = 0
        while line := await self.line():
            lines.append(line)
            size += len(line)
            if len(lines) > self._limits.header_lines:
                raise RequestError("EX_PROTOCOL", f"the request has more than {self._limits.header_lines} header lines")
            if size > self._limits.header_bytes:
                limit = plural(self._limits.header_bytes, "byte")
                raise RequestError("EX_PROTOCOL", f"the header lines of the request are longer than {limit} together")
        if line is None:
            raise RequestError("EX_PROTOCOL", "the request ends within its header lines")
        return lines

    async def mail(self, head: Head, share: Share) -> bytes:
        """The mail as it was sent, compressed or not."""
        max_bytes = self._limits.message_bytes
        if head.length is not None and head.length > max_bytes:
            raise too_large(max_bytes)
        try:
            if head.length is not None:
                share.hold(head.length)
            while head.length is None or len(self._kept) < head.length:
                if not await self._more():
                    break
                if len(self._kept) > max_bytes:
                    raise too_large(max_bytes)
                share.hold(len(self._kept))
        except BudgetError:
            raise too_many() from None
        if head.length is not None and len(self._kept) != head.length:
            more = "more" if len(self._kept) > head.length else "fewer"
            raise RequestError("EX_DATAERR", f"the mail has {more} bytes than Content-length declares")
        mail, self._kept = bytes(self._kept), bytearray()
        return mail

    async def rest(self, max_bytes: int) -> None:
        """Read and count up to `max_bytes` further bytes: closing with unread bytes would cut off the answer.

        A reset by the client is an end like any other, since nothing more is expected from it.
        """
        with contextlib.suppress(OSError):
            while self.surplus <= max_bytes and (chunk := await self._reader.read(READ_BYTES)):
                self.surplus += len(chunk)

    async def _more(self) -> bool:
        async with asyncio.timeout(self._limits.idle_seconds):
            chunk = await self._reader.read(READ_BYTES)
        self._kept += chunk
        return bool(chunk)


# --- compressed mails -------------------------------------------------------------------------------------------------------


async def inflated(packed: bytes, max_bytes: int, share: Share, in_pool: InPool) -> bytes:
    """A mail that was compressed by zlib, of `max_bytes` at most.

    A few compressed bytes may expand to very many. Each step at most doubles the size and is charged to the budget first, so
    that a client holds little more than twice the size of its mail, and at the end just that.
    """
    unpacker = zlib.decompressobj()
    parts, size, left = [], 0, packed
    while not unpacker.eof:
        step = min(max(FIRST_STEP_BYTES, size), max_bytes + 1 - size)
        try:
            share.hold(len(packed) + size + step)
        except BudgetError:
            raise too_many() from None
        parts.append(await in_pool(partial(_inflated, unpacker, left, step)))
        left, size = unpacker.unconsumed_tail, size + len(parts[-1])
        if size > max_bytes:
            raise too_large(max_bytes)
        if not parts[-1] and not unpacker.eof:
            raise RequestError("EX_DATAERR", "the compressed mail ends early")
    share.keep(size)
    return b"".join(parts)


def _inflated(unpacker: zlib._Decompress, packed: bytes, max_bytes: int) -> bytes:
    try:
        return unpacker.decompress(packed, max_bytes)
    except zlib.error:
        raise RequestError("EX_DATAERR", "the mail is not compressed by zlib") from None
