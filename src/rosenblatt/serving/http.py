"""HTTP for our servers: Uvicorn in our event loop with limits on connections and request headers, and request bodies.

Uvicorn's own signal handling and logs are off.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import h11
import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..reporting.text import plural
from .admission import strict
from .sockets import KEEPS_PLACE_S, KEEPS_PLACE_SILENT_S, close


def _final_response(status: str, sentence: str) -> bytes:
    """Return a response after which the connection is closed."""
    body = json.dumps({"error": sentence}).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


TIMEOUT_RESPONSE = _final_response("408 Request Timeout", "the request arrived too slowly")
LONG_HEADER_RESPONSE = _final_response("431 Request Header Fields Too Large", "the request header is too long")
BAD_REQUEST_RESPONSE = _final_response("400 Bad Request", "the request is not valid HTTP")
BLANK_LINE = re.compile(rb"\n\r?\n")
# A line feed alone, a folded line, a list of lengths; and a header that may be there once.
AMBIGUOUS_HEADER = re.compile(rb"(?<!\r)\n|\n[ \t]|\ncontent-length:[^\r\n]*,", re.I)
LENGTH_HEADER = re.compile(rb"\ncontent-length:", re.I)
# Seconds for which the rest of a refused body is read.
LINGER_S = 2.0


class Web(uvicorn.Server):
    """An HTTP server.

    Parameters
    ----------
    application : ASGI application
    idle_seconds : float
        Time for a client to send the header of a request.
    stop_seconds : float
        Time for running requests to finish at the end.
    header_bytes : int
        Largest size of a request header.
    connections : int
        Connections beyond this number displace the oldest one that is still sending a request or idle.
    extra_connections : int, default=0
        Connections beyond this further number are closed at once if there is no such one.
    counted : callable, optional
        Called with 1 for each connection that opens and with -1 for each that closes.
    """

    def __init__(
        self,
        application: ASGIApp,
        *,
        idle_seconds: float,
        stop_seconds: float,
        header_bytes: int,
        connections: int,
        extra_connections: int = 0,
        counted: Callable[[int], object] = lambda change: None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                strict(application),
                http=_protocol(_Limits(idle_seconds, header_bytes, connections, extra_connections, counted)),
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
        """Leave signals to the caller."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await close(sockets or [], self.servers, self._make_protocol)
        await super().shutdown(sockets)

    def _make_protocol(self) -> asyncio.Protocol:
        protocol: Any = self.config.http_protocol_class
        made: asyncio.Protocol = protocol(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        return made

    def stop(self) -> None:
        """End the server after running requests."""
        self.should_exit = True


class _Limits(NamedTuple):
    idle_seconds: float
    header_bytes: int
    connections: int
    extra_connections: int
    counted: Callable[[int], object]


class _StrictConnection(h11.Connection):
    """h11's parser without its tolerance: headers that proxies may read differently are errors.

    h11 takes a line feed for a line end, joins folded lines, and takes equal lengths for one. A proxy that does not may see
    other headers, and thereby another end of the request.
    """

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            received = self.trailing_data[0]
            end = BLANK_LINE.search(received)
            header = received[: end.end()] if end else b""
            if AMBIGUOUS_HEADER.search(header) or len(LENGTH_HEADER.findall(header)) > 1:
                raise h11.RemoteProtocolError("ambiguous header")
        return super().next_event()


class _LimitedProtocol(H11Protocol):
    """Uvicorn's protocol with five changes.

    Uvicorn waits for a request header without limit; here a timer runs from the start of the connection, or from the
    first byte of a request, until its header is complete. A client that closes its sending side after a request still
    gets the response. h11 limits the size of an incomplete header only; here a header that arrives at once is limited,
    too. If there are too many connections, one that keeps the server waiting makes room. Ambiguous headers are errors.
    """

    limits: _Limits  # set by subclasses
    connections: set[_LimitedProtocol]  # type: ignore[assignment]
    _timer: asyncio.TimerHandle | None = None
    _opened = 0.0  # by the clock of the event loop

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = _StrictConnection(h11.SERVER, self.limits.header_bytes)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.limits.counted(1)
        self._opened = self.loop.time()
        self._start_timer()
        over = len(self.connections) - self.limits.connections
        if over > 0:
            waiting = sorted((each for each in self.connections if each.can_be_displaced), key=lambda each: each._opened)
            for each in waiting[:over]:  # connections that came too fast to displace others may be over the limit, too
                each.transport.abort()
            if not waiting and over > self.limits.extra_connections:
                transport.abort()

    @property
    def can_be_displaced(self) -> bool:
        """Whether the server has waited for this client: for the rest of a request, or for the next one."""
        cycle, age = self.cycle, self.loop.time() - self._opened
        waits = cycle is None or cycle.more_body or cycle.response_complete
        keeps = KEEPS_PLACE_SILENT_S if cycle is None else KEEPS_PLACE_S
        return waits and age > keeps and not self.transport.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.limits.counted(-1)
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.IDLE and self._is_too_long(self.conn.trailing_data[0] + data):
            self._stop_timer()
            self.transport.write(LONG_HEADER_RESPONSE)
            self.transport.close()
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._stop_timer()
        elif self._timer is None:
            self._start_timer()

    def eof_received(self) -> bool:  # type: ignore[override]
        cycle = self.cycle
        if cycle is None or cycle.more_body or cycle.response_complete:
            return False
        cycle.keep_alive = False
        return True

    def send_400_response(self, msg: str) -> None:
        self.transport.write(BAD_REQUEST_RESPONSE)
        self.transport.close()

    def _is_too_long(self, header: bytes) -> bool:
        limit = self.limits.header_bytes
        return len(header) > limit and BLANK_LINE.search(header, 0, limit) is None

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.limits.idle_seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self.transport.write(TIMEOUT_RESPONSE)
        self.transport.close()


def _protocol(limits: _Limits) -> type[H11Protocol]:
    """Return the protocol class with these limits; Uvicorn makes its instances itself."""
    return type("Protocol", (_LimitedProtocol,), {"limits": limits})


# --- Request bodies


class Bodies:
    """Reads request bodies of limited size and duration.

    Parameters
    ----------
    noun : str
        The word for a body in error messages.
    idle_seconds, read_seconds : float
        Time between two packets, and for the whole body.
    """

    def __init__(self, noun: str, idle_seconds: float, read_seconds: float) -> None:
        self._noun, self._idle_seconds, self._read_seconds = noun, idle_seconds, read_seconds

    async def read(self, request: Request, max_bytes: int, hold: Callable[[int], None] | None = None) -> bytes:
        """Read a body of at most `max_bytes` bytes; `hold` is called with its known size before each packet is read."""
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise HTTPException(415, f"Content-Encoding is not supported: send the {self._noun} uncompressed")
        length, body = int(request.headers.get("content-length", "0")), bytearray()
        try:
            async with asyncio.timeout(self._read_seconds):
                while max(length, len(body)) <= max_bytes:
                    if hold is not None:
                        hold(max(length, len(body)))
                    if not (chunk := await self._next_chunk(request)):
                        break
                    body += chunk
                else:
                    raise HTTPException(413, f"the {self._noun} is larger than {plural(max_bytes, 'byte')}")
        except TimeoutError:
            raise HTTPException(408, f"the {self._noun} arrived too slowly") from None
        request.state.size = len(body)  # marks the body as read to its end
        return bytes(body)

    async def refuse(self, request: Request, error: HTTPException, max_bytes: int) -> Response:
        """Return the response to a wrong request.

        A client that is still sending reads the response only when it has finished, so up to `max_bytes` bytes are read for
        a short time. The connection is then closed, since the rest of the body may be endless.
        """
        headers = dict(error.headers or {})
        if request.method == "POST" and not hasattr(request.state, "size"):
            headers["Connection"] = "close"
            waits = request.headers.get("expect", "").lower() == "100-continue" and not hasattr(request.state, "chunks")
            left = 0 if waits else max_bytes  # reading would invite a waiting client to send the body
            with contextlib.suppress(TimeoutError, ClientDisconnect):
                async with asyncio.timeout(0 if error.status_code == 408 else LINGER_S):
                    while left > 0 and (chunk := await self._next_chunk(request)):
                        left -= len(chunk)
        return JSONResponse({"error": error.detail}, error.status_code, headers)

    async def _next_chunk(self, request: Request) -> bytes:
        """Return the next bytes of the body, empty at its end."""
        if not hasattr(request.state, "chunks"):
            request.state.chunks = request.stream()
        async with asyncio.timeout(self._idle_seconds):
            async for chunk in request.state.chunks:
                if chunk:
                    return bytes(chunk)
        return b""
