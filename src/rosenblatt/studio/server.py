"""The server of the studio: an ASGI application on starlette that has runs computed by a few processes.

GET  /, /style.css, /main.js, ...    the page; its data is in /, and in /api/page
POST /api/run, /api/proof            JSON -> JSON: a recorded run; a proof about its points
POST /api/table?name=flowers.csv     a file -> the table in it; &label=COLUMN: the label column, by name or position

The server answers only browsers on this machine, and only its own page. Errors are {"error": "a sentence"}; errors about a
table also have the column names if they are known: {"headers": [...]}.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from posixpath import splitext
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ..serving.admission import check_sender
from ..serving.http import Bodies, Web
from ..serving.sockets import ServeError, is_loopback, listen, run_until_signal
from .answers import HANDLERS, TABLE_PATH, Outcome, answer, encode_json, internal_error
from .html_export import INDEX, TYPES, with_data
from .worker_pool import Budget, Handle, WorkerPool

HOST, PORT = "127.0.0.1", 8531
POLL_S = 0.005
N_PORTS_TRIED = 20  # ports tried from PORT on, before any free port is used
JSON = "application/json"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
Handler = Callable[[Request], Awaitable[Response]]


class Limits(NamedTuple):
    """Limits of the server."""

    request_bytes: int = 2 * 2**20
    table_bytes: int = 8 * 2**20
    header_bytes: int = 16 * 1024
    connections: int = 64
    budget: Budget = Budget()  # of runs
    idle_seconds: float = 10.0  # time to wait for the first byte of a client, and between its packets
    read_seconds: float = 30.0  # time to receive a request
    stop_seconds: float = 2.0  # time to finish running requests at shutdown


# --- The application


class App:
    """The application.

    `port` must appear in Host and Origin, `warn` is called with tracebacks of internal errors, and `handle` computes answers in
    other processes.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        page: Mapping[str, Any],
        port: int,
        limits: Limits,
        warn: Callable[[str], object],
        handle: Handle = answer,
    ) -> None:
        self._files = {name: (content, TYPES[splitext(name)[1]]) for name, content in files.items()}
        self._files[INDEX] = (with_data(_with_preload_hints(files), page).encode(), TYPES[".html"])
        self._page = encode_json(dict(page))
        self._port, self._limits, self._warn = port, limits, warn
        self._bodies = Bodies("request", limits.idle_seconds, limits.read_seconds)
        self.pool = WorkerPool(limits.budget, handle)

    def application(self) -> Starlette:
        routes = [
            Route("/", self._guard(self._file), methods=["GET"]),
            *(Route(f"/{name}", self._guard(self._file), methods=["GET"]) for name in self._files),
            Route("/api/page", self._guard(self._page_data), methods=["GET"]),
            *(Route(path, self._guard(self._compute), methods=["POST"]) for path in HANDLERS),
            Route(TABLE_PATH, self._guard(self._table), methods=["POST"]),
        ]
        application = Starlette(routes=routes, exception_handlers={HTTPException: self._unrouted})
        application.router.redirect_slashes = False  # a redirect would be sent before the checks
        return application

    def _guard(self, handler: Handler) -> Handler:
        """Return a handler that checks the request first and turns every exception into an answer."""

        async def guarded(request: Request) -> Response:
            try:
                self._admit(request)
                response = await handler(request)
            except HTTPException as error:
                response = await self._refused(request, error)
            except ClientDisconnect:
                response = Response(status_code=400)
            except Exception as error:
                self._warn("".join(traceback.format_exception(error)).rstrip())
                response = await self._refused(request, HTTPException(500, internal_error(error)))
            response.headers.update(HEADERS)
            return response

        return guarded

    def _admit(self, request: Request) -> None:
        """Raise status 403 unless the request comes from this server's own page on this machine, or follows a link to it."""
        check_sender(request, port=self._port, linked=("/",))

    async def _file(self, request: Request) -> Response:
        content, kind = self._files[request.url.path.removeprefix("/") or INDEX]
        return Response(content, media_type=kind)

    async def _page_data(self, request: Request) -> Response:
        return Response(self._page, media_type=JSON)

    async def _compute(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise HTTPException(415, f"Content-Type must be {JSON}")
        body = await self._bodies.read(request, self._limits.request_bytes)
        n_points = body.count(b"[") - 2  # one list for each point, and those around points and labels
        return self._response(await self.pool.run(request, request.url.path, body, n_points=n_points))

    async def _table(self, request: Request) -> Response:
        name, label = (request.query_params.get(part, "") for part in ("name", "label"))
        if not name:
            raise HTTPException(400, f"the name of the file is missing: POST {TABLE_PATH}?name=flowers.csv")
        body = await self._bodies.read(request, self._limits.table_bytes)
        n_points = body.count(b"\n")
        return self._response(await self.pool.run(request, TABLE_PATH, body, name, label or None, n_points=n_points))

    def _response(self, outcome: Outcome) -> Response:
        if outcome.traceback:
            self._warn(outcome.traceback)
        return Response(outcome.body, outcome.status, media_type=JSON)

    async def _unrouted(self, request: Request, error: Exception) -> Response:
        """Answer requests for unknown paths or methods, after the same checks."""
        assert isinstance(error, HTTPException)
        known = error

        async def refuse(_: Request) -> Response:
            raise known

        return await self._guard(refuse)(request)

    async def _refused(self, request: Request, error: HTTPException) -> Response:
        return await self._bodies.refuse(request, error, self._limits.table_bytes)


def _with_preload_hints(files: Mapping[str, bytes]) -> str:
    """Return index.html with preload hints for all modules, which a browser would otherwise find one import at a time."""
    hints = "".join(f'<link rel="modulepreload" href="{name}">\n' for name in sorted(files) if name.endswith(".js"))
    return files[INDEX].decode().replace("</head>", f"{hints}</head>", 1)


# --- Sockets


@contextlib.contextmanager
def listening(host: str = HOST, port: int | None = None) -> Iterator[list[socket.socket]]:
    """Open sockets of this machine; without a port, PORT or the next free one."""
    if not is_loopback(host):
        raise ServeError(f"other machines can reach host {host!r}; the studio only listens on this one: use {HOST}")
    sockets = _first_free(host) if port is None else listen(host, port)
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()


def _first_free(host: str) -> list[socket.socket]:
    for port in range(PORT, PORT + N_PORTS_TRIED):
        with contextlib.suppress(ServeError):
            return listen(host, port)
    return listen(host, 0)


def url_of(sockets: list[socket.socket]) -> str:
    """Return the address of the page."""
    host, port = sockets[0].getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


# --- Serving


class Server:
    """Serves the page on listening sockets: `run` until `stop` is called, from any thread."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        page: Mapping[str, Any],
        sockets: list[socket.socket],
        *,
        limits: Limits | None = None,
        warn: Callable[[str], object] = lambda text: None,
        handle: Handle = answer,
    ) -> None:
        self._sockets, limits = sockets, limits or Limits()
        self.app = App(files, page, sockets[0].getsockname()[1], limits, warn, handle)
        self._web = Web(
            self.app.application(),
            idle_seconds=limits.idle_seconds,
            stop_seconds=limits.stop_seconds,
            header_bytes=limits.header_bytes,
            connections=limits.connections,
        )

    async def run(self, ready: Callable[[], object] | None = None) -> None:
        """Serve until `stop` is called; call `ready` when the server accepts requests, which it can compute at once."""
        starting = asyncio.create_task(self.app.pool.start())
        try:
            while not starting.done() and not self._web.should_exit:
                await asyncio.wait({starting}, timeout=POLL_S)
            if self._web.should_exit:
                return
            starting.result()
            serving = asyncio.create_task(self._web.serve(self._sockets))
            while not self._web.started and not serving.done():
                await asyncio.sleep(POLL_S)
            if ready is not None:
                ready()
            await serving
        finally:
            starting.cancel()
            self.app.pool.close()

    def stop(self) -> None:
        """Shut down, after finishing the running requests if they do not take long."""
        self._web.stop()


def serve(server: Server, ready: Callable[[], object] | None = None) -> None:
    """Serve until Ctrl-C, and return."""
    run_until_signal(lambda: server.run(ready), server.stop)
