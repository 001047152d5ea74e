"""The studio's server: it listens on this machine only and runs until it is stopped."""

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
    """Serves the page on listening sockets: `run` until `stop` is called, from any thread."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        page: Mapping[str, Any],
        sockets: list[socket.socket],
        *,
        limits: Limits | None = None,
        warn: Callable[[str], object] = lambda text: None,
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
        """Serve until `stop` is called; call `ready` when the server accepts requests."""
        serving = asyncio.create_task(self._web.serve(self._sockets))
        while not self._web.started and not serving.done():
            await asyncio.sleep(0.005)
        if ready is not None:
            ready()
        await serving

    def stop(self) -> None:
        """Shut down, after finishing the running requests if they do not take long."""
        self._web.stop()


def serve(server: Server, ready: Callable[[], object] | None = None) -> None:
    """Serve until Ctrl-C, and return."""
    run_until_signal(lambda: server.run(ready), server.stop)


# --- Sockets

HOST, PORT = "127.0.0.1", 8531
N_PORTS_TRIED = 20  # ports tried from PORT on, before any free port is used


@contextlib.contextmanager
def listening(host: str = HOST, port: int | None = None) -> Iterator[list[socket.socket]]:
    """Open sockets of this machine; without a port, PORT or the next free one."""
    if not is_loopback(host):
        raise ServeError(f"other machines can reach host {host!r}; the studio only listens on this one: use {HOST}")
    sockets = _first_free(host) if port is None else listen(host, port)
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()


def _first_free(host: str) -> list[socket.socket]:
    for port in range(PORT, PORT + N_PORTS_TRIED):
        with contextlib.suppress(ServeError):
            return listen(host, port)
    return listen(host, 0)


def url_of(sockets: list[socket.socket]) -> str:
    """Return the address of the page."""
    host, port = sockets[0].getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
