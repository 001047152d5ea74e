"""What `mail serve` does."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from ...mail.server.limits import Limits
from ...mail.server.server import Addresses, Server, serve
from ...mail.server.tokens import token_from
from ..console import note
from .common import opened

AT_ONCE = 4  # mails of the largest size


def run(home: str, given: dict[str, Any]) -> None:
    largest = given["max_size"] << 20
    server = Server(
        host=given["host"],
        port=None if given["no_spamd"] else given["port"],
        socket_path=given["socket_path"],
        socket_mode=given["socket_mode"],
        http_port=None if given["no_http"] else given["http_port"],
        token=token_from(given["token_file"]),
        tell=not given["no_tell"],
        remote_spamd=given["remote_spamd"],
        limits=Limits(largest, max(AT_ONCE * largest, Limits().bytes_at_once), connections=given["connections"]),
        log=note if given["verbose"] else None,
        warn=note,
    )
    # A filter is made only now: what is refused, or finds its port taken, leaves no empty one behind.
    with server.bound(), opened(home, create=True) as spam_filter:
        if spam_filter.created:
            where = spam_filter.stats()["home"]
            _tell(f"there was no filter in {where}: it has learnt nothing yet, and calls everything unsure")
        serve(spam_filter, server, _say)
    _tell("stopped; everything acknowledged is on disk")


def _tell(sentence: str) -> None:
    """A log on a full disk, or a terminal that was closed, is no reason to stop answering."""
    with contextlib.suppress(OSError):
        note(sentence)


def _say(addresses: Addresses) -> None:
    for sentence in addresses.notes:
        _tell(sentence)
    if addresses.spamd is not None:
        host, port = addresses.spamd
        click.echo(f"spamd   spamc -d {host} -p {port}")
    if addresses.socket is not None:
        click.echo(f"spamd   spamc -U {addresses.socket}")
    if addresses.http is not None:
        host, port = addresses.http
        click.echo(f"HTTP    http://{f'[{host}]' if ':' in host else host}:{port}/v1/classify")
