"""The HTTP side: an ASGI application on starlette.

POST /v1/classify?reasons=8          a mail -> {"label", "score", "probability", "points", "reasons": [{"name", "weight"}, ...]}
POST /v1/learn?as=spam|ham|forget    a mail -> {"as", "changed"}, after it is on disk
GET  /healthz, GET /metrics

A mail is the body, as message/rfc822 or application/octet-stream: pages of other sites cannot send these types without asking
first, and are never told yes. Errors are {"error": "a sentence"}.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ...serving.http import Bodies, is_local
from ..store.connection import FoldedError
from .engine import REASONS, TOO_LONG, Engine, Judged, failure
from .limits import Budget, BudgetError, Limits, Share
from .metrics import TYPE, Journal, Metrics, resident_bytes

TYPES = ("message/rfc822", "application/octet-stream")
MOST_REASONS = 100
PATIENCE = 5.0  # seconds for the filter to say something of itself; Prometheus waits for ten
Handler = Callable[[Request], Awaitable[Response]]


class Api:
    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        budget: Budget,
        metrics: Metrics,
        *,
        token: str | None,
        local: bool,
        journal: Journal,
    ) -> None:
        self._engine, self._limits, self._budget, self._metrics, self._journal = engine, limits, budget, metrics, journal
        self._bodies = Bodies("mail", limits.idle_seconds, limits.read_seconds)
        self._token = None if token is None else token.encode()
        self._local = local  # reached under the names of this machine only
        self.stopping = False

    def application(self) -> Starlette:
        routes = [
            Route("/v1/classify", self._watched("classify", self._classify), methods=["POST"]),
            Route("/v1/learn", self._watched("learn", self._learn), methods=["POST"]),
            Route("/healthz", self._watched("healthz", self._healthz, open_to_all=True), methods=["GET"]),
            Route("/metrics", self._watched("metrics", self._tell_metrics), methods=["GET"]),
        ]
        application = Starlette(routes=routes, exception_handlers={HTTPException: self._unrouted})
        application.router.redirect_slashes = False  # that would answer before anybody is checked, with his own Host
        return application

    def _watched(self, kind: str, handler: Handler, open_to_all: bool = False) -> Handler:
        """A handler behind its checks, counted and logged."""

        async def watched(request: Request) -> Response:
            start = perf_counter()
            try:
                self._admit(request, open_to_all)
                response = await handler(request)
            except HTTPException as error:
                response = await self._refused(request, error)
            except ClientDisconnect:
                response = Response(status_code=400)
            except Exception as error:
                status = 409 if isinstance(error, FoldedError) else 503  # it is of no use to try the former again
                response = await self._refused(request, HTTPException(status, failure(error)))
            self._done(kind, request, response, perf_counter() - start)
            return response

        return watched

    def _admit(self, request: Request, open_to_all: bool) -> None:
        if self._metrics.connections["http"] > self._limits.connections:
            raise HTTPException(503, "too many connections; try again", {"Retry-After": "1", "Connection": "close"})
        # A page of another site cannot leave Host out; health checks in HTTP/1.0 do.
        if self._local and "host" in request.headers and not is_local(request.headers["host"]):
            raise HTTPException(403, "this server answers to localhost only, and the Host header names another")
        if self._token is not None and not open_to_all:
            scheme, _, given = request.headers.get("authorization", "").partition(" ")
            right = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), self._token)
            if not right or scheme.lower() != "bearer":
                raise HTTPException(401, "the Authorization header does not have the token", {"WWW-Authenticate": "Bearer"})

    async def _classify(self, request: Request) -> Response:
        asked = request.query_params.get("reasons", str(REASONS))
        if not (asked.isascii() and asked.isdigit() and len(asked) < 5 and int(asked) <= MOST_REASONS):
            raise HTTPException(400, f"reasons must be a whole number from 0 to {MOST_REASONS}")
        with self._budget.share() as share:
            mail = await self._mail(request, share)
            judged, reasons = await self._in_time(self._engine.judge(mail, _reasons, int(asked)))
        verdict = judged.verdict
        self._metrics.verdicts[verdict.label] += 1
        return JSONResponse(
            {
                "label": verdict.label,
                "score": float(verdict.score),
                "probability": float(verdict.probability),
                "points": judged.points.score,
                "reasons": reasons,
            }
        )

    async def _learn(self, request: Request) -> Response:
        kind = request.query_params.get("as")
        if kind not in ("spam", "ham", "forget"):
            raise HTTPException(400, "as must be spam, ham or forget: POST /v1/learn?as=spam")
        with self._budget.share() as share:
            mail = await self._mail(request, share)
            changed = await self._in_time(self._engine.tell(mail, None if kind == "forget" else kind == "spam"))
        return JSONResponse({"as": kind, "changed": changed})

    async def _healthz(self, request: Request) -> Response:
        """Verdicts are given in any case; `learning` says whether lessons are kept, too."""
        told: dict[str, Any] = {"status": "stopping" if self.stopping else "ok", "learning": self._engine.trouble is None}
        if self._engine.trouble is not None:
            told["reason"] = self._engine.trouble
        return JSONResponse(told, 503 if self.stopping else 200)

    async def _tell_metrics(self, request: Request) -> Response:
        sizes: dict[str, float] = {"learning": self._engine.trouble is None}
        with contextlib.suppress(Exception):  # what cannot be known now is left out: whoever watches needs the rest then
            async with asyncio.timeout(PATIENCE):
                sizes |= _sizes(await self._engine.stats())
        if (memory := resident_bytes()) is not None:
            sizes["resident_bytes"] = memory
        sizes["held_bytes"] = self._budget.held
        return PlainTextResponse(self._metrics.text(self._engine.learnt, sizes), media_type=TYPE)

    async def _mail(self, request: Request, share: Share) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in TYPES:
            raise HTTPException(415, f"Content-Type must be {' or '.join(TYPES)}, as with curl -H 'Content-Type: {TYPES[0]}'")
        try:
            mail = await self._bodies.read(request, self._limits.message_bytes, share.hold)
        except BudgetError:
            raise HTTPException(503, "too many large mails at once; try again", {"Retry-After": "1"}) from None
        if not mail:
            raise HTTPException(400, "there is no mail in the request's body")
        return mail

    async def _unrouted(self, request: Request, error: Exception) -> Response:
        """No such path, or not by this method."""
        start, response = perf_counter(), await self._refused(request, error)
        self._done("other", request, response, perf_counter() - start)
        return response

    def _done(self, kind: str, request: Request, response: Response, seconds: float) -> None:
        self._metrics.done(f"http {kind}", str(response.status_code), seconds)
        size = f", {request.state.size:,} bytes" if hasattr(request.state, "size") else ""  # where a mail was read
        said = f", {request.state.said}" if hasattr(request.state, "said") else ""  # where something was wrong
        self._journal.request(f"http {kind} {response.status_code} {1e3 * seconds:.1f} ms{size}{said}")

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        request.state.said = error.detail
        if error.status_code >= 500:
            self._journal.warn(error.detail)
        return await self._bodies.refuse(request, error, self._limits.message_bytes)

    async def _in_time(self, work: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(self._limits.handle_seconds):
                return await work
        except TimeoutError:
            raise HTTPException(503, TOO_LONG) from None


def _reasons(_: bytes, judged: Judged) -> list[dict[str, Any]]:
    """What JSON can say: a name may come from any bytes."""
    return [
        {"name": reason.name.encode("utf-8", "replace").decode(), "weight": float(reason.weight)} for reason in judged.reasons
    ]


def _sizes(stats: dict[str, Any]) -> dict[str, float]:
    """The numbers in what a filter says of itself."""
    return {f"filter_{k}": float(v) for k, v in stats.items() if isinstance(v, int | float) and not isinstance(v, bool)}
