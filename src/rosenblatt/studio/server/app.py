"""The studio over HTTP: an ASGI application on starlette.

GET  /, /style.css, /main.js, ...    the page; its data is in /, and in /api/page
POST /api/run, /api/proof            JSON -> JSON: a recorded run, and what is proved about its data
POST /api/table?name=flowers.csv     a file -> the table in it; &label=COLUMN: the labels, by name or position

Only a browser on this machine, and only this server's own page in it, gets answers. Errors are {"error": "a sentence"}; that of
a table has its columns' names, too, where they are known: {"headers": [...]}.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping
from posixpath import splitext
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ...serving.http import Bodies, is_local
from ..answers import COMPUTED, TABLE, answer, fault, table, told, written
from ..export import INDEX, TYPES, with_data
from ..request import RequestError
from .pool import Desk

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
    """What one page may cost."""

    request_bytes: int = 2 * 2**20
    table_bytes: int = 8 * 2**20
    header_bytes: int = 16 * 1024
    connections: int = 64
    at_once: int = 2  # runs that are computed at a time
    waiting: int = 16  # and those that wait for it
    idle_seconds: float = 10.0  # until a client has said something, and between its packets
    read_seconds: float = 30.0  # until a request is there as a whole
    handle_seconds: float = 60.0  # until it is answered
    stop_seconds: float = 2.0  # for what was begun


class App:
    """port: where it is reached, as Host and Origin must say. warn: hears of faults of ours."""

    def __init__(
        self, files: Mapping[str, bytes], page: Mapping[str, Any], port: int, limits: Limits, warn: Callable[[str], object]
    ) -> None:
        self._files = {name: (content, TYPES[splitext(name)[1]]) for name, content in files.items()}
        self._files[INDEX] = (with_data(_hinted(files), page).encode(), TYPES[".html"])
        self._page = written(dict(page))
        self._port, self._limits, self._warn = port, limits, warn
        self._bodies = Bodies("request", limits.idle_seconds, limits.read_seconds)
        self.desk = Desk(limits.at_once, limits.waiting, limits.handle_seconds)

    def application(self) -> Starlette:
        routes = [
            Route("/", self._watched(self._file), methods=["GET"]),
            *(Route(f"/{name}", self._watched(self._file), methods=["GET"]) for name in self._files),
            Route("/api/page", self._watched(self._tell_page), methods=["GET"]),
            *(Route(path, self._watched(self._compute), methods=["POST"]) for path in COMPUTED),
            Route(TABLE, self._watched(self._table), methods=["POST"]),
        ]
        application = Starlette(routes=routes, exception_handlers={HTTPException: self._unrouted})
        application.router.redirect_slashes = False  # that would answer before anybody is checked, with his own Host
        return application

    def _watched(self, handler: Handler) -> Handler:
        """A handler behind its checks, which always answers."""

        async def watched(request: Request) -> Response:
            try:
                self._admit(request)
                response = await handler(request)
            except HTTPException as error:
                response = await self._refused(request, error)
            except RequestError as error:
                response = await self._refused(request, HTTPException(400, str(error)), told(error))
            except ClientDisconnect:
                response = Response(status_code=400)
            except Exception as error:
                self._warn("".join(traceback.format_exception(error)).rstrip())
                response = await self._refused(request, HTTPException(500, fault(error)))
            response.headers.update(HEADERS)
            return response

        return watched

    def _admit(self, request: Request) -> None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not is_local(hosts[0], self._port):
            raise HTTPException(403, f"this server answers to localhost:{self._port} only, and the Host header names another")
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in request.headers.getlist("origin")):
            raise HTTPException(403, "this server answers its own page only, and the Origin header names another")
        # A link to the page, in a mail or a course, is followed; what another site's page loads or sends is not for it.
        site, followed = request.headers.get("sec-fetch-site", "none"), request.headers.get("sec-fetch-mode") == "navigate"
        followed = followed and request.headers.get("sec-fetch-dest") == "document" and request.url.path == "/"
        if site not in ("same-origin", "none") and not (followed and request.method == "GET"):
            raise HTTPException(403, "this server answers its own page only, and the Sec-Fetch-Site header tells of another")

    async def _file(self, request: Request) -> Response:
        content, kind = self._files[request.url.path.removeprefix("/") or INDEX]
        return Response(content, media_type=kind)

    async def _tell_page(self, request: Request) -> Response:
        return Response(self._page, media_type=JSON)

    async def _compute(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise HTTPException(415, f"Content-Type must be {JSON}")
        body = await self._bodies.read(request, self._limits.request_bytes)
        return Response(await self.desk.do(request, answer, request.url.path, body), media_type=JSON)

    async def _table(self, request: Request) -> Response:
        name, label = (request.query_params.get(part, "") for part in ("name", "label"))
        if not name:
            raise HTTPException(400, f"name must be the file's: POST {TABLE}?name=flowers.csv")
        body = await self._bodies.read(request, self._limits.table_bytes)
        return Response(await self.desk.do(request, table, name, body, label or None), media_type=JSON)

    async def _unrouted(self, request: Request, error: Exception) -> Response:
        """No such path, or not by this method."""
        assert isinstance(error, HTTPException)
        known = error

        async def refuse(_: Request) -> Response:
            raise known

        return await self._watched(refuse)(request)

    async def _refused(self, request: Request, error: HTTPException, said: dict[str, Any] | None = None) -> Response:
        return await self._bodies.refuse(request, error, self._limits.table_bytes, said)


def _hinted(files: Mapping[str, bytes]) -> str:
    """index.html that names all modules at once, which a browser would else find one import after the other."""
    hints = "".join(f'<link rel="modulepreload" href="{name}">\n' for name in sorted(files) if name.endswith(".js"))
    return files[INDEX].decode().replace("</head>", f"{hints}</head>", 1)
