"""Which requests our servers answer: those that mean one thing only, that name this machine, and that no other page sends.

A browser lets every page send requests to this machine. Pages of other sites are recognized by the headers that browsers add,
and by a Host that does not name this machine, if a name of theirs was made to point to it (DNS rebinding).
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


def check_sender(
    request: Request, *, local: bool = True, port: int | None = None, needs_host: bool = True, linked: Collection[str] = ()
) -> None:
    """Raise status 403 if a page of another site may have sent a request.

    Parameters
    ----------
    request : Request
        The request.
    local : bool, default=True
        Whether Host must name this machine.
    port : int or None, default=None
        The port that Host must have.
    needs_host : bool, default=True
        Whether there must be a Host. Browsers always send one; health checks in HTTP/1.0 do not.
    linked : collection of str, default=()
        Paths that links of other sites may lead to.
    """
    hosts, headers = request.headers.getlist("host"), request.headers
    if len(hosts) > 1 or (needs_host and not hosts) or (local and hosts and not is_local(hosts[0], port)):
        name = "localhost" if port is None else f"localhost:{port}"
        raise HTTPException(403, f"this server only answers as {name}, but the Host header has another name")
    if any(origin.lower() not in _origins(hosts, local) for origin in headers.getlist("origin")):
        raise HTTPException(403, "this server does not answer pages of other sites, but the Origin header names one")
    followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    followed = followed and request.url.path in linked and request.method == "GET"
    if not followed and not {"same-origin", "none"}.issuperset(headers.getlist("sec-fetch-site")):
        raise HTTPException(403, "this server does not answer pages of other sites, but the Sec-Fetch-Site header names one")


def _origins(hosts: list[str], local: bool) -> list[str]:
    """The origins of pages of this server; one that other machines reach may be behind a proxy that speaks https."""
    return [f"{scheme}://{host.lower()}" for host in hosts for scheme in (("http",) if local else ("http", "https"))]


def is_local(host: str, port: int | None = None) -> bool:
    """Return whether a Host header names this machine, and the port if one is given."""
    name, _, number = host.rpartition(":")
    if not (number.isascii() and number.isdigit() and len(number) < 6):
        name, number = host, "80"
    name = name.strip().lower().removesuffix(".")
    return (name in ("localhost", "[::1]") or _is_loopback(name)) and port in (None, int(number))


def _is_loopback(name: str) -> bool:
    """Return whether a name is an address in 127.0.0.0/8; anything else may be a registered name."""
    try:
        return IPv4Address(name).is_loopback
    except ValueError:
        return False


# --- Requests that proxies and servers may read differently


def strict(application: ASGIApp) -> ASGIApp:
    """Return an application that answers requests of ambiguous length or version with 400, and closes the connection."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        sentence = _ambiguity(scope) if scope["type"] == "http" else None
        if sentence is None:
            await application(scope, receive, send)
        else:
            await JSONResponse({"error": sentence}, 400, {"Connection": "close"})(scope, receive, send)

    return checked


def _ambiguity(scope: Scope) -> str | None:
    names = [name for name, _ in scope["headers"]]
    if scope["http_version"] not in ("1.0", "1.1"):
        return "the request must be HTTP/1.0 or HTTP/1.1"
    if b"transfer-encoding" in names and b"content-length" in names:
        return "the request has Content-Length and Transfer-Encoding, which contradict each other"
    return "Transfer-Encoding needs HTTP/1.1" if b"transfer-encoding" in names and scope["http_version"] == "1.0" else None
