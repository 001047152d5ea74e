"""The HTTP side: an ASGI application on starlette.

POST /v1/classify?reasons=8          a mail -> {"label", "score", "probability", "points", "reasons": [{"name", "weight"}, ...]}
POST /v1/learn?as=spam|ham|forget    a mail -> {"as", "changed"}, after it is on disk
GET  /healthz, GET /metrics

A mail is the request body, as message/rfc822 or application/octet-stream. Pages of other sites are refused by their headers;
besides, they cannot send these types without a preflight request. Learning needs a token, unless the server allows it to all.
Errors are {"error": "a sentence"}.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ...reporting.text import fixed, plural
from ...serving.admission import check_sender
from ...serving.http import Bodies
from ..store.connection import FoldedError
from .engine import DEFAULT_REASONS, TIMEOUT_MESSAGE, Engine, Judgment, failure
from .limits import Budget, BudgetError, Limits, Share
from .monitoring import TYPE, Journal, Metrics, resident_bytes

TYPES = ("message/rfc822", "application/octet-stream")
MAX_REASONS = 100
STATS_TIMEOUT_S = 5.0  # time to get the numbers of the filter; Prometheus waits for ten seconds
Handler = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")


class Api:
    """The handlers of the HTTP API."""

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        budget: Budget,
        metrics: Metrics,
        *,
        token: str | None,
        tell: bool,
        local: bool,
        journal: Journal,
    ) -> None:
        self._engine, self._limits, self._budget, self._metrics, self._journal = engine, limits, budget, metrics, journal
        self._bodies = Bodies("mail", limits.idle_seconds, limits.read_seconds)
        self._token = None if token is None else token.encode()
        self._tell = tell
        self._local = local  # whether only loopback names are accepted as Host
        self.stopping = False

    def application(self) -> Starlette:
        routes = [
            Route("/v1/classify", self._instrumented("classify", self._classify), methods=["POST"]),
            Route("/v1/learn", self._instrumented("learn", self._learn), methods=["POST"]),
            Route("/healthz", self._instrumented("healthz", self._healthz, open_to_all=True), methods=["GET"]),
            Route("/metrics", self._instrumented("metrics", self._metrics_text), methods=["GET"]),
        ]
        application = Starlette(routes=routes, exception_handlers={HTTPException: self._unrouted})
        application.router.redirect_slashes = False  # a redirect would skip the checks and repeat the Host header
        return application

    def _instrumented(self, kind: str, handler: Handler, open_to_all: bool = False) -> Handler:
        """A handler with checks, metrics and a log line."""

        async def instrumented(request: Request) -> Response:
            start = perf_counter()
            try:
                self._admit(request, open_to_all)
                response = await handler(request)
            except HTTPException as error:
                response = await self._refused(request, error)
            except ClientDisconnect:
                response = Response(status_code=400)
            except Exception as error:
                status = 409 if isinstance(error, FoldedError) else 503  # 409: a retry cannot succeed
                response = await self._refused(request, HTTPException(status, failure(error)))
            self._done(kind, request, response, perf_counter() - start)
            return response

        return instrumented

    def _admit(self, request: Request, open_to_all: bool) -> None:
        if self._metrics.connections["http"] > self._limits.connections:
            raise HTTPException(503, "too many connections; try again", {"Retry-After": "1", "Connection": "close"})
        check_sender(request, local=self._local, needs_host=False)
        if self._token is not None and not open_to_all:
            scheme, _, given = request.headers.get("authorization", "").partition(" ")
            right = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), self._token)
            if not right or scheme.lower() != "bearer":
                raise HTTPException(401, "the Authorization header must have the token", {"WWW-Authenticate": "Bearer"})

    async def _classify(self, request: Request) -> Response:
        number = request.query_params.get("reasons", str(DEFAULT_REASONS))
        if not (number.isascii() and number.isdigit() and len(number) < 5 and int(number) <= MAX_REASONS):
            raise HTTPException(400, f"reasons must be a whole number from 0 to {MAX_REASONS}")
        with self._budget.share() as share:
            mail = await self._mail(request, share)
            judgment, reasons = await self._in_time(self._engine.judge(mail, _reasons, int(number)))
        verdict = judgment.verdict
        self._metrics.verdicts[verdict.label] += 1
        return JSONResponse(
            {
                "label": verdict.label,
                "score": float(verdict.score),
                "probability": float(verdict.probability),
                "points": judgment.points.score,
                "reasons": reasons,
            }
        )

    async def _learn(self, request: Request) -> Response:
        kind, *others = request.query_params.getlist("as") or [""]
        if kind not in ("spam", "ham", "forget") or others:
            raise HTTPException(400, "as must be spam, ham or forget, once, as in POST /v1/learn?as=spam")
        if not self._tell:
            raise HTTPException(
                403, "learning over HTTP needs a token: start the server with --token-file, or with --allow-tell"
            )
        with self._budget.share() as share:
            mail = await self._mail(request, share)
            changed = await self._in_time(self._engine.teach(mail, None if kind == "forget" else kind == "spam"))
        return JSONResponse({"as": kind, "changed": changed})

    async def _healthz(self, request: Request) -> Response:
        """`verdicts` is whether the filter has learned anything, `learning` whether the server can store lessons."""
        health: dict[str, Any] = {
            "status": "stopping" if self.stopping else "ok",
            "verdicts": self._engine.filter.taught,
            "learning": self._engine.learning_error is None,
        }
        if self._engine.learning_error is not None:
            health["reason"] = self._engine.learning_error
        return JSONResponse(health, 503 if self.stopping else 200)

    async def _metrics_text(self, request: Request) -> Response:
        sizes: dict[str, float] = {"learning": self._engine.learning_error is None}
        with contextlib.suppress(Exception):  # numbers that are not available are left out
            async with asyncio.timeout(STATS_TIMEOUT_S):
                sizes |= _sizes(await self._engine.stats())
        if (memory := resident_bytes()) is not None:
            sizes["resident_bytes"] = memory
        sizes["held_bytes"] = self._budget.held
        return PlainTextResponse(self._metrics.text(self._engine.n_learned, sizes), media_type=TYPE)

    async def _mail(self, request: Request, share: Share) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in TYPES:
            raise HTTPException(415, f"Content-Type must be {' or '.join(TYPES)}, as with curl -H 'Content-Type: {TYPES[0]}'")
        try:
            mail = await self._bodies.read(request, self._limits.message_bytes, share.hold)
        except BudgetError:
            raise HTTPException(503, "too many large mails at once; try again", {"Retry-After": "1"}) from None
        if not mail:
            raise HTTPException(400, "the request body must be a mail, got 0 bytes")
        return mail

    async def _unrouted(self, request: Request, error: Exception) -> Response:
        """Unknown path or method."""
        start, response = perf_counter(), await self._refused(request, error)
        self._done("other", request, response, perf_counter() - start)
        return response

    def _done(self, kind: str, request: Request, response: Response, seconds: float) -> None:
        self._metrics.done(f"http {kind}", str(response.status_code), seconds)
        size = f", {plural(request.state.size, 'byte')}" if hasattr(request.state, "size") else ""
        error = f", {request.state.error}" if hasattr(request.state, "error") else ""
        self._journal.request(f"http {kind} {response.status_code} {fixed(1e3 * seconds, 1)} ms{size}{error}")

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        request.state.error = error.detail
        if error.status_code >= 500:
            self._journal.warn(error.detail)
        return await self._bodies.refuse(request, error, self._limits.message_bytes)

    async def _in_time(self, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._limits.handle_seconds):
                return await work
        except TimeoutError:
            raise HTTPException(503, TIMEOUT_MESSAGE) from None


def _reasons(_: bytes, judgment: Judgment) -> list[dict[str, Any]]:
    """Reasons as JSON; a name may come from any bytes."""
    return [
        {"name": reason.name.encode("utf-8", "replace").decode(), "weight": float(reason.weight)} for reason in judgment.reasons
    ]


def _sizes(stats: dict[str, Any]) -> dict[str, float]:
    """The numbers among the stats of a filter."""
    return {f"filter_{k}": float(v) for k, v in stats.items() if isinstance(v, int | float) and not isinstance(v, bool)}
