"""A server of the studio in this process, and clients that send exact bytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from typing import Any, NamedTuple

from small_page import FILES

from rosenblatt.studio.answers import answer
from rosenblatt.studio.server import Limits, Server, listening
from rosenblatt.studio.worker_pool import Budget, Handle

PAGE = {"mode": "server", "table": {"names": ["</script>"]}}
REQUEST = {"points": [[0, 0], [1, 0], [0, 1], [1, 1]], "labels": [0, 1, 1, 1], "algorithm": "perceptron", "knobs": {}}
JSON = {"Content-Type": "application/json"}
# Few workers, since each takes a while to start.
SMALL = Budget(short_runs=1, slices=1, long_runs=1)
QUICK = {"idle_seconds": 0.4, "read_seconds": 0.8, "request_bytes": 20_000, "table_bytes": 30_000, "stop_seconds": 1.0}


class Answer(NamedTuple):
    status: int
    body: Any  # parsed if it is JSON
    headers: Any


class Studio(NamedTuple):
    port: int
    server: Server
    faults: list[str]

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Headers by their names in lower case, with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, named)
            response = connection.getresponse()
            read = response.read()
            kind = response.getheader("content-type", "")
            return Answer(response.status, json.loads(read) if kind == "application/json" else read, response.headers)
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.call("POST", path, sent, **{"content_type": "application/json"} | headers)

    def talk(self, sent: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), 20) as client:
            client.sendall(sent)
            return all_of(client)


def all_of(client: socket.socket) -> bytes:
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := client.recv(65536):
            parts.append(part)
    return b"".join(parts)


def is_refused(port: int) -> bool:
    """Whether no server listens."""
    try:
        socket.create_connection(("127.0.0.1", port), 10).close()
    except ConnectionRefusedError:
        return True
    return False


@contextlib.contextmanager
def studio(
    files: Mapping[str, bytes] = FILES, page: Mapping[str, Any] = PAGE, handle: Handle = answer, **limits: Any
) -> Iterator[Studio]:
    faults: list[str] = []
    with listening(port=0) as sockets:
        server = Server(files, page, sockets, limits=Limits(**{"budget": SMALL} | limits), warn=faults.append, handle=handle)
        there = threading.Event()

        def run() -> None:
            try:
                asyncio.run(server.run(there.set))
            finally:
                there.set()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            assert there.wait(60)
            yield Studio(sockets[0].getsockname()[1], server, faults)
        finally:
            server.stop()
            thread.join(20)
            assert not thread.is_alive()
