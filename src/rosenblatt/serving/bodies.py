"""Bodies of requests: no larger and no slower than allowed, and an end for those that are not wanted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

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
