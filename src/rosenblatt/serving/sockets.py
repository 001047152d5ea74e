"""Sockets of a server: listen on a host and port or at a path, close without losing clients, and run until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import signal
import socket
import stat
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

BACKLOG_CONNECTIONS = 1024
# Seconds for connections that were just accepted to reach the server, and for their first request to be read.
SETTLE_S = 0.02
# Seconds for which a client that is still sending its request, or is idle, keeps its place if there are too many clients; and
# one that has not sent the head of its first request, which clients send at once.
KEEPS_PLACE_S, KEEPS_PLACE_SILENT_S = 1.0, 0.25
# Seconds to wait for an answer from a socket that another server may have left behind.
PROBE_TIMEOUT_S = 1.0


class ServeError(ValueError):
    """Raised when a server cannot start."""


def is_loopback(host: str) -> bool:
    """Return whether all addresses of a host are reachable from this machine only."""
    return all(ipaddress.ip_address(address).is_loopback for _, address in _addresses(host, 0))


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on one port of each address of the host; port 0 stands for any free port."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
        raise ServeError(f"port must be a whole number from 0 to 65535, got {port!r}")
    sockets: list[socket.socket] = []
    try:
        found = _addresses(host, port)
        for number, (family, address) in enumerate(found):
            try:
                sockets.append(_bound(family, address, port))
            except OSError as error:  # localhost may resolve to ::1 on machines without IPv6
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) or not (sockets or number + 1 < len(found)):
                    raise
            port = sockets[0].getsockname()[1] if sockets else port
    except OSError as error:
        for each in sockets:
            each.close()
        why = "; ports below 1024 need root" if isinstance(error, PermissionError) else ""
        raise ServeError(f"cannot listen on {host} port {port}: {(error.strerror or str(error)).lower()}{why}") from None
    return sockets


def listen_at(path: str | os.PathLike[str], mode: int = 0o600) -> socket.socket:
    """Listen at a path, for users with write permission. A socket of a server that has ended is replaced."""
    where = os.fspath(path)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(where)
        old = os.umask(0o777 & ~mode)
        try:
            bound.bind(where)
        finally:
            os.umask(old)
        bound.listen(BACKLOG_CONNECTIONS)
    except OSError as error:
        bound.close()
        raise ServeError(f"cannot listen at {where}: {(error.strerror or str(error)).lower()}") from None
    except ServeError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


def _remove_stale(where: str) -> None:
    """Remove a socket that no server answers on; raise ServeError if one does, or if the path is another kind of file."""
    try:
        if not stat.S_ISSOCK(os.lstat(where).st_mode):
            raise ServeError(f"cannot listen at {where}: the path is a file, not a socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_TIMEOUT_S)
        try:
            probe.connect(where)
        except (ConnectionRefusedError, FileNotFoundError):
            Path(where).unlink(missing_ok=True)
            return
    raise ServeError(f"cannot listen at {where}: another server is listening")


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ServeError(f"unknown host {host!r}") from None
    known = {str(where[0]).partition("%")[0]: family for family, _, _, _, where in found}
    return [(family, address) for address, family in known.items() if family in (socket.AF_INET, socket.AF_INET6)]


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    # asyncio sets TCP_NODELAY only on sockets created as TCP; without it, each small response waits 40 ms for the one before.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((address, port))
        bound.listen(BACKLOG_CONNECTIONS)
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


async def close(
    listening: Sequence[socket.socket], servers: Sequence[asyncio.Server], protocol: Callable[[], asyncio.BaseProtocol]
) -> None:
    """Stop listening. Clients that connected at the last moment are accepted first; closing at once would cut them off."""
    loop = asyncio.get_running_loop()
    for each in listening:
        loop.remove_reader(each)
    await asyncio.sleep(SETTLE_S)  # asyncio drops connections that it has accepted but not yet passed on
    late = [connection for each in listening for connection in _accept_waiting(each)]
    for server in servers:
        server.close()
    for connection in late:
        with contextlib.suppress(OSError):
            await loop.connect_accepted_socket(protocol, connection)
    await asyncio.sleep(SETTLE_S)  # for their requests to be read; clients without a request are closed


def _accept_waiting(listening: socket.socket) -> Iterator[socket.socket]:
    with contextlib.suppress(OSError):  # no further connection is waiting
        while True:
            connection, _ = listening.accept()
            connection.setblocking(False)
            yield connection


def run_until_signal(run: Callable[[], Awaitable[None]], stop: Callable[[], None]) -> None:
    """Run until SIGTERM, SIGINT or SIGHUP; then call `stop` and wait for running requests.

    A second SIGTERM or SIGINT ends the process at once. SIGHUP is left alone if it was ignored before, as under nohup.
    """
    signals = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signals.append(signal.SIGHUP)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            for each in signals:
                loop.add_signal_handler(each, handle_signal)
        await run()

    def handle_signal() -> None:
        for each in signals:  # a closing terminal sends two
            signal.signal(each, signal.SIG_IGN if each is signal.SIGHUP else signal.SIG_DFL)
        stop()

    asyncio.run(main())
