"""Where the studio listens: this machine only, and a port that is free."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from ...serving.sockets import ServeError, is_loopback, listen

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
