"""Uvicorn inside our event loop: no signals of its own, no logs, and patience with slow heads of requests that ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from typing import Any

import h11
import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
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


# --- Bodies of requests: no larger and no slower than allowed, and an end for those that are not wanted.

LINGER = 2.0  # seconds


class Bodies:
    """what: the word for a body. idle_seconds, read_seconds: between two packets, and for the whole."""

    def __init__(self, what: str, idle_seconds: float, read_seconds: float) -> None:
        self._what, self._idle, self._whole = what, idle_seconds, read_seconds

    async def read(self, request: Request, most: int, hold: Callable[[int], None] | None = None) -> bytes:
        """All of a body of at most so many bytes; `hold` hears how many before they are there."""
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise HTTPException(415, f"Content-Encoding is not understood: send the {self._what} as it is")
        length, body = int(request.headers.get("content-length", "0")), bytearray()
        try:
            async with asyncio.timeout(self._whole):
                while max(length, len(body)) <= most:
                    if hold is not None:
                        hold(max(length, len(body)))
                    if not (chunk := await self._chunk(request)):
                        break
                    body += chunk
                else:
                    raise HTTPException(413, f"the {self._what} is larger than {most:,} bytes")
        except TimeoutError:
            raise HTTPException(408, f"the {self._what} came too slowly") from None
        request.state.size = len(body)  # read to its end
        return bytes(body)

    async def refused(self, request: Request, error: HTTPException, most: int, said: dict[str, Any] | None = None) -> Response:
        """The answer to a wrong request: `said`, or the error alone. A client that still sends gets a little time to end, since
        it reads the answer only then; and no second request, since the rest of this one may be endless."""
        headers = dict(error.headers or {})
        if request.method == "POST" and not hasattr(request.state, "size"):
            headers["Connection"] = "close"
            waits = request.headers.get("expect", "").lower() == "100-continue" and not hasattr(request.state, "chunks")
            left = 0 if waits else most  # reading would invite whoever waits to send it all
            with contextlib.suppress(TimeoutError, ClientDisconnect):
                async with asyncio.timeout(0 if error.status_code == 408 else LINGER):
                    while left > 0 and (chunk := await self._chunk(request)):
                        left -= len(chunk)
        return JSONResponse(said or {"error": error.detail}, error.status_code, headers)

    async def _chunk(self, request: Request) -> bytes:
        """The next bytes of a request's body, or none at the end."""
        if not hasattr(request.state, "chunks"):
            request.state.chunks = request.stream()
        async with asyncio.timeout(self._idle):
            async for chunk in request.state.chunks:
                if chunk:
                    return bytes(chunk)
        return b""


# --- Which names of a server are names of this machine.


def is_local(host: str, port: int | None = None) -> bool:
    """Whether a Host header names this machine, and the port if one is given: a page whose name was made to point here (DNS
    rebinding) names itself."""
    name, _, number = host.rpartition(":")
    if not (number.isascii() and number.isdigit() and len(number) < 6):
        name, number = host, "80"
    name = name.strip().lower().removesuffix(".")
    return (name in ("localhost", "[::1]") or _is_loopback(name)) and port in (None, int(number))


def _is_loopback(name: str) -> bool:
    """127.0.0.0/8: anything else that looks like it is a name, which somebody may own."""
    try:
        return IPv4Address(name).is_loopback
    except ValueError:
        return False
