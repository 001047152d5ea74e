"""Uvicorn inside our event loop: no signals of its own, no logs, and patience with slow heads of requests that ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .sockets import close


def _last(status: str, sentence: str) -> bytes:
    """An answer after which the connection is closed."""
    body = json.dumps({"error": sentence}).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


SLOW = _last("408 Request Timeout", "the request came too slowly")
LONG = _last("431 Request Header Fields Too Large", "the head of the request is too long")
WRONG = _last("400 Bad Request", "this is not HTTP as this server understands it")
BLANK = re.compile(rb"\n\r?\n")


class Web(uvicorn.Server):
    """idle_seconds: until a client has said something; stop_seconds: for what was begun at the end; connections: more than so
    many are cut off; counted: hears 1 for each connection that comes and -1 for each that goes."""

    def __init__(
        self,
        application: Any,
        *,
        idle_seconds: float,
        stop_seconds: float,
        header_bytes: int,
        connections: int,
        counted: Callable[[int], object] = lambda change: None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                http=_protocol(idle_seconds, header_bytes, connections, counted),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=max(1, round(idle_seconds)),
                timeout_graceful_shutdown=max(1, round(stop_seconds)),
                h11_max_incomplete_event_size=header_bytes,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await close(sockets or [], self.servers, self._connection)
        await super().shutdown(sockets)

    def _connection(self) -> asyncio.Protocol:
        protocol: Any = self.config.http_protocol_class
        made: asyncio.Protocol = protocol(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        return made

    def stop(self) -> None:
        self.should_exit = True


def _protocol(idle_seconds: float, header_bytes: int, connections: int, counted: Callable[[int], object]) -> Any:
    class Protocol(H11Protocol):
        """Uvicorn waits for the head of a request as long as it takes; here a timer runs from the connection's start, or a
        request's first byte, until its head is there. Whoever ends his side after a request still gets its answer. h11 limits
        a head that is not yet there as a whole; here one that comes all at once, too."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            counted(1)
            if len(self.connections) > connections:
                transport.abort()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            counted(-1)
            self._wait_no_more()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.conn.their_state is h11.IDLE and self._is_long(self.conn.trailing_data[0] + data):
                self._wait_no_more()
                self.transport.write(LONG)
                self.transport.close()
                return
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
                self._wait_no_more()
            elif self._timer is None:
                self._wait()

        def eof_received(self) -> bool:  # type: ignore[override]
            cycle = self.cycle
            if cycle is None or cycle.more_body or cycle.response_complete:
                return False
            cycle.keep_alive = False
            return True

        def send_400_response(self, msg: str) -> None:
            self.transport.write(WRONG)
            self.transport.close()

        def _is_long(self, head: bytes) -> bool:
            return len(head) > header_bytes and BLANK.search(head, 0, header_bytes) is None

        def _wait(self) -> None:
            self._timer = self.loop.call_later(idle_seconds, self._too_slow)

        def _wait_no_more(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _too_slow(self) -> None:
            self.transport.write(SLOW)
            self.transport.close()

    return Protocol
