"""A mail that came packed by zlib, a few bytes of which may stand for very many."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from functools import partial

from .limits import BudgetError, Share
from .protocol import RequestError, too_large, too_many

FIRST = 64 * 1024  # bytes that the first step may make; most mails have no more
InPool = Callable[[Callable[[], bytes]], Awaitable[bytes]]


async def inflated(packed: bytes, most: int, share: Share, in_pool: InPool) -> bytes:
    """The mail, of `most` bytes at most. What a step may make is held before it is made, and a step makes no more than there is
    already, so that nobody holds much more than twice what his mail has; at the end he holds just that."""
    unpacker = zlib.decompressobj()
    parts, size, left = [], 0, packed
    while not unpacker.eof:
        step = min(max(FIRST, size), most + 1 - size)
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
