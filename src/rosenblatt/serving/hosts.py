"""Which names of a server are names of this machine."""

from __future__ import annotations

from ipaddress import IPv4Address


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
