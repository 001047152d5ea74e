"""The places of spamd connections: which client has how many, and which connection makes room for another.

Each client may have a number of places, and all clients together `EXTRA_CONNECTIONS` more, so that a client that takes all it
can get leaves some to others. Where there is no place, a connection that keeps the server waiting is displaced: one without a
complete head after a quarter of a second, since spamc sends it at once; one whose mail has not arrived after a second; one
that was answered and does not close. If there is none, a newcomer waits: the others will be done or late soon.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from collections import Counter
from collections.abc import Collection
from time import perf_counter

from ...serving.sockets import KEEPS_PLACE_S, KEEPS_PLACE_SILENT_S
from .limits import EXTRA_CONNECTIONS

KEEPS_PLACE_IDLE_S = KEEPS_PLACE_SILENT_S  # without a complete head, or after the answer
WAIT_FOR_PLACE_S = 1.5  # longer than a client keeps its place while the server waits for it
RETRY_S = 0.1
CREDENTIALS = struct.Struct("3i")  # process, user and group of the other side of a Unix socket
IPV6_NETWORK_BITS = 64  # one client may use all addresses of such a network

Task = asyncio.Task[None]


class Places:
    """The connections that have a place, and those that wait for one or are refused.

    Parameters
    ----------
    per_client : int
        The number of places of one client.
    """

    def __init__(self, per_client: int) -> None:
        self._per_client = per_client
        self._clients: dict[Task, str] = {}  # of connections with a place
        self._count: Counter[str] = Counter()  # places by client
        self._without: dict[Task, str] = {}  # clients of connections without a place
        self._late_from: dict[Task, float] = {}  # when a connection that the server waits for can be displaced

    def enter(self, task: Task, writer: asyncio.StreamWriter) -> bool:
        """Give a new connection a place, or let it wait for one; returns False if too many wait."""
        client = client_of(writer)
        if self._take(task, client):
            return True
        if len(self._without) >= EXTRA_CONNECTIONS and not self._displace_one(self._late(self._without)):
            return False
        self._without[task] = client
        return True

    async def wait(self, task: Task) -> bool:
        """Wait until a connection has a place, for a limited time; returns whether it has one."""
        until = perf_counter() + WAIT_FOR_PLACE_S
        while task in self._without:
            if self._take(task, self._without[task]):
                del self._without[task]
            elif perf_counter() > until:
                return False
            else:
                await asyncio.sleep(RETRY_S)
        return True

    def head_received(self, task: Task) -> None:
        self._late_from[task] = perf_counter() + KEEPS_PLACE_S

    def request_received(self, task: Task) -> None:
        """Note that the server no longer waits for a client: the request has arrived, or is wrong."""
        self._late_from.pop(task, None)

    def answered(self, task: Task) -> None:
        """Note that the server only waits for a client to close its side."""
        self._late_from[task] = perf_counter() + KEEPS_PLACE_IDLE_S

    def leave(self, task: Task) -> None:
        self._without.pop(task, None)
        self._late_from.pop(task, None)
        if (client := self._clients.pop(task, None)) is not None:
            self._count[client] -= 1
            if not self._count[client]:
                del self._count[client]

    def _take(self, task: Task, client: str) -> bool:
        """Give a connection a place, if need be that of one that is late."""
        if self._count[client] >= self._per_client:
            free = self._displace_one([each for each in self._late(self._clients) if self._clients[each] == client])
        elif len(self._clients) >= self._per_client + EXTRA_CONNECTIONS:
            free = self._displace_one(self._late(self._clients))
        else:
            free = True
        if free:
            self._clients[task] = client
            self._count[client] += 1
            self._late_from[task] = perf_counter() + KEEPS_PLACE_IDLE_S
        return free

    def _late(self, tasks: Collection[Task]) -> list[Task]:
        now = perf_counter()
        return [task for task, late_from in self._late_from.items() if late_from <= now and task in tasks]

    def _displace_one(self, late: list[Task]) -> bool:
        """End the connection that is late for longest, of the client that has the most of them; returns whether one was."""
        if not late:
            return False
        clients = self._clients | self._without
        (most, _), *_ = Counter(clients[task] for task in late).most_common(1)
        task = min((task for task in late if clients[task] == most), key=self._late_from.__getitem__)
        self.leave(task)
        task.cancel()
        return True


def is_unix(writer: asyncio.StreamWriter) -> bool:
    return bool(writer.get_extra_info("socket").family == socket.AF_UNIX)


def client_of(writer: asyncio.StreamWriter) -> str:
    """The user of a Unix socket, or the address. All users of loopback are one client, since each can use all its addresses."""
    if is_unix(writer):
        if not hasattr(socket, "SO_PEERCRED"):
            return "socket"
        connection = writer.get_extra_info("socket")
        _, user, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        return f"user {user}"
    host = str((writer.get_extra_info("peername") or ["::"])[0]).partition("%")[0]
    address = ipaddress.ip_address(host)
    if address.is_loopback:
        return "loopback"
    return host if address.version == 4 else str(ipaddress.ip_network((address, IPV6_NETWORK_BITS), strict=False))
