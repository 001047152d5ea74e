"""How a server that a person started ends."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable


def run_until_signal(run: Callable[[], Awaitable[None]], stop: Callable[[], None]) -> None:
    """Run until SIGTERM, SIGINT or SIGHUP calls `stop`, and what was begun is finished; a second SIGTERM or SIGINT ends at
    once. SIGHUP means nothing where it was ignored before, as under nohup."""
    ends = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ends.append(signal.SIGHUP)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            for each in ends:
                loop.add_signal_handler(each, signalled)
        await run()

    def signalled() -> None:
        for each in ends:  # a terminal that ends sends two
            signal.signal(each, signal.SIG_IGN if each is signal.SIGHUP else signal.SIG_DFL)
        stop()

    asyncio.run(main())
