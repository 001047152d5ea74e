"""Where a server listens: addresses that are taken, looked up and refused in one sentence."""

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

BACKLOG = 1024
SETTLE = 0.02  # seconds


class ServeError(ValueError):
    """Why a server does not start."""


def is_loopback(host: str) -> bool:
    """Whether all addresses of a host are of this machine only."""
    return all(ipaddress.ip_address(address).is_loopback for _, address in _addresses(host, 0))


def listen(host: str, port: int) -> list[socket.socket]:
    """One socket for each address of the host, on one port; port 0: any that is free."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
        raise ServeError(f"port must be a whole number from 0 to 65535, got {port!r}")
    sockets: list[socket.socket] = []
    try:
        found = _addresses(host, port)
        for number, (family, address) in enumerate(found):
            try:
                sockets.append(_bound(family, address, port))
            except OSError as error:  # machines without IPv6 may still have ::1 as a localhost
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) or not (sockets or number + 1 < len(found)):
                    raise
            port = sockets[0].getsockname()[1] if sockets else port
    except OSError as error:
        for each in sockets:
            each.close()
        why = "; ports below 1024 are for root only" if isinstance(error, PermissionError) else ""
        raise ServeError(f"cannot listen on {host} port {port}: {(error.strerror or str(error)).lower()}{why}") from None
    return sockets


def listen_at(path: str | os.PathLike[str], mode: int = 0o600) -> socket.socket:
    """A socket in the file system, for those whom its mode lets write. One that a dead server left is replaced, one that
    answers is not."""
    where = os.fspath(path)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _clear(where)
        old = os.umask(0o777 & ~mode)
        try:
            bound.bind(where)
        finally:
            os.umask(old)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise ServeError(f"cannot listen at {where}: {(error.strerror or str(error)).lower()}") from None
    except ServeError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


def _clear(where: str) -> None:
    try:
        if not stat.S_ISSOCK(os.lstat(where).st_mode):
            raise ServeError(f"cannot listen at {where}: there is a file that is no socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(1.0)
        try:
            knock.connect(where)
        except (ConnectionRefusedError, FileNotFoundError):
            Path(where).unlink(missing_ok=True)
            return
    raise ServeError(f"cannot listen at {where}: another server is there")


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ServeError(f"there is no host {host!r}") from None
    known = {str(where[0]).partition("%")[0]: family for family, _, _, _, where in found}
    return [(family, address) for address, family in known.items() if family in (socket.AF_INET, socket.AF_INET6)]


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    # asyncio sends small answers at once only where a socket says that it is TCP; else each waits 40 ms for the one before.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((address, port))
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


async def close(
    listening: Sequence[socket.socket], servers: Sequence[asyncio.Server], protocol: Callable[[], asyncio.BaseProtocol]
) -> None:
    """Listen no more. Those who came at the last moment are let in first: closing over them would cut them off."""
    loop = asyncio.get_running_loop()
    for each in listening:
        loop.remove_reader(each)
    await asyncio.sleep(SETTLE)  # for connections that were accepted just now to become ours; asyncio drops them else
    late = [connection for each in listening for connection in _waiting(each)]
    for server in servers:
        server.close()
    for connection in late:
        with contextlib.suppress(OSError):
            await loop.connect_accepted_socket(protocol, connection)
    await asyncio.sleep(SETTLE)  # for what they ask to be read: who has asked for nothing is let go


def _waiting(listening: socket.socket) -> Iterator[socket.socket]:
    with contextlib.suppress(OSError):  # there is nobody else
        while True:
            connection, _ = listening.accept()
            connection.setblocking(False)
            yield connection


# --- How a server that a person started ends.


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
