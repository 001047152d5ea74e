"""What a client sends, taken in under the limits."""

from __future__ import annotations

import asyncio

from .limits import BudgetError, Limits, Share
from .protocol import Head, RequestError, too_large, too_many

CHUNK = 64 * 1024


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
        while self.surplus <= most and (chunk := await self._reader.read(CHUNK)):
            self.surplus += len(chunk)

    async def _more(self) -> bool:
        async with asyncio.timeout(self._limits.idle_seconds):
            chunk = await self._reader.read(CHUNK)
        self._kept += chunk
        return bool(chunk)
