"""Uvicorn inside our event loop: no signals of its own, no logs, and patience with slow heads of requests that ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .http import Api
from .limits import TOLD, Limits
from .metrics import Metrics
from .sockets import close


def _last(status: str, sentence: str) -> bytes:
    """An answer after which the connection is closed."""
    body = json.dumps({"error": sentence}).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


SLOW = _last("408 Request Timeout", "the request came too slowly")
WRONG = _last("400 Bad Request", "this is not HTTP as this server understands it")


class Web(uvicorn.Server):
    def __init__(self, api: Api, limits: Limits, metrics: Metrics) -> None:
        super().__init__(
            uvicorn.Config(
                api.application(),
                http=_protocol(limits, metrics),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=max(1, round(limits.idle_seconds)),
                timeout_graceful_shutdown=max(1, round(limits.stop_seconds)),
                h11_max_incomplete_event_size=limits.header_bytes,
            )
        )
        self._api = api

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
        self._api.stopping = self.should_exit = True


def _protocol(limits: Limits, metrics: Metrics) -> Any:
    class Protocol(H11Protocol):
        """Uvicorn waits for the head of a request as long as it takes; here a timer runs from the connection's start, or a
        request's first byte, until its head is there. Whoever ends his side after a request still gets its answer."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            metrics.connections["http"] += 1
            if len(self.connections) > limits.connections + TOLD:
                transport.abort()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            metrics.connections["http"] -= 1
            self._wait_no_more()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
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

        def _wait(self) -> None:
            self._timer = self.loop.call_later(limits.idle_seconds, self._too_slow)

        def _wait_no_more(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _too_slow(self) -> None:
            self.transport.write(SLOW)
            self.transport.close()

    return Protocol
