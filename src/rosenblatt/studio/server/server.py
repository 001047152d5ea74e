"""From sockets that listen to the last answer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any

from ...serving.http import Web
from ...serving.signals import run_until_signal
from .app import App, Limits


class Server:
    """Serves the page on sockets that listen; `run` does so until `stop` is called, from any thread."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        page: Mapping[str, Any],
        sockets: list[socket.socket],
        *,
        limits: Limits | None = None,
        warn: Callable[[str], object] = lambda sentence: None,
    ) -> None:
        self._sockets, limits = sockets, limits or Limits()
        self.app = App(files, page, sockets[0].getsockname()[1], limits, warn)
        self._web = Web(
            self.app.application(),
            idle_seconds=limits.idle_seconds,
            stop_seconds=limits.stop_seconds,
            header_bytes=limits.header_bytes,
            connections=limits.connections,
        )

    async def run(self, ready: Callable[[], object] | None = None) -> None:
        serving = asyncio.create_task(self._web.serve(self._sockets))
        while not self._web.started and not serving.done():
            await asyncio.sleep(0.005)
        if ready is not None:
            ready()
        await serving

    def stop(self) -> None:
        """End soon: what was begun is finished, if it does not take long."""
        self._web.stop()


def serve(server: Server, ready: Callable[[], object] | None = None) -> None:
    """Serve until Ctrl-C, and return."""
    run_until_signal(lambda: server.run(ready), server.stop)
