"""The protocol of spamd as text: requests read from lines, answers made of bytes.

Facts: SpamAssassin's spamd/PROTOCOL (versions 1.2 to 1.5), and what spamc 4.0.1 does with answers:
- An error is its first line and nothing else. With an empty line after it `spamc -L` reports success; with a Content-length it
  takes the nothing that follows for the mail, which is lost.
- spamc reads an answer to the end of the stream, so a connection is for one request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

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
