"""From sockets that listen to the last answer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...serving.http import Web
from ...serving.sockets import ServeError, is_loopback, listen, run_until_signal
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


# --- Where the studio listens: this machine only, and a port that is free.

HOST, PORT = "127.0.0.1", 8531
NEARBY = 20  # ports after it that are tried


@contextlib.contextmanager
def listening(host: str = HOST, port: int | None = None) -> Iterator[list[socket.socket]]:
    """Sockets of this machine; without a port ours, or the next one that is free."""
    if not is_loopback(host):
        raise ServeError(f"host {host!r} is reached from other machines, and the studio is for this one: stay on {HOST}")
    sockets = _first_free(host) if port is None else listen(host, port)
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()


def _first_free(host: str) -> list[socket.socket]:
    for port in range(PORT, PORT + NEARBY):
        with contextlib.suppress(ServeError):
            return listen(host, port)
    return listen(host, 0)


def url_of(sockets: list[socket.socket]) -> str:
    host, port = sockets[0].getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
