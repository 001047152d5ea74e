"""Where runs are computed: a few at a time, in threads, and a queue that ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request


class Desk:
    """Used in one event loop only."""

    def __init__(self, at_once: int, waiting: int, seconds: float) -> None:
        self._free, self._most, self._seconds = asyncio.Semaphore(at_once), at_once + waiting, seconds
        self.there = 0  # those who are waited for

    async def do(self, request: Request, work: Callable[..., bytes], *arguments: Any) -> bytes:
        """What `work` returns or raises, unless too many wait, or it takes too long. Whoever left while waiting is forgotten: a
        page asks anew at each move of a point."""
        if self.there >= self._most:
            raise HTTPException(503, "too many runs wait to be computed; try again", {"Retry-After": "1"})
        self.there += 1
        try:
            async with asyncio.timeout(self._seconds):
                await self._free.acquire()
                if await request.is_disconnected():
                    self._free.release()
                    raise ClientDisconnect
                running = _in_a_thread(lambda: work(*arguments))
                running.add_done_callback(self._done)
                return await asyncio.shield(running)
        except TimeoutError:
            raise HTTPException(503, f"the run took longer than {self._seconds:g} seconds") from None
        finally:
            self.there -= 1

    def _done(self, running: asyncio.Future[bytes]) -> None:
        """A thread cannot be stopped: its place is free when it has ended, whoever still waits for it."""
        self._free.release()
        if not running.cancelled():
            running.exception()


def _in_a_thread(work: Callable[[], bytes]) -> asyncio.Future[bytes]:
    """A thread of its own, which nobody waits for at the end: those of a pool are joined when Python ends."""
    loop = asyncio.get_running_loop()
    told: asyncio.Future[bytes] = loop.create_future()

    def tell(tell_it: Callable[[Any], None], what: Any) -> None:
        if not told.done():
            tell_it(what)

    def run() -> None:
        try:
            ending: tuple[Callable[[Any], None], Any] = (told.set_result, work())
        except Exception as error:
            ending = (told.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(tell, *ending)

    threading.Thread(target=run, name="studio", daemon=True).start()
    return told
