"""`rosenblatt mail serve`: serve the filter with the spamd protocol, for spamc, and over HTTP."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import click

from ..console import echo, note
from ..options import WholeNumber
from .common import home, opened

if TYPE_CHECKING:
    from ...mail.server.server import Addresses


MIN_LARGE_MAILS = 4  # mails of the largest size that the server holds in memory at once, at least


def _octal(_: click.Context, __: click.Parameter, value: str) -> int:
    if not re.fullmatch("0?[0-7]{3}", value):
        raise click.BadParameter(f"must be three octal digits, as for chmod, got {value!r}")
    return int(value, 8)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=7830,
    show_default=True,
    help="Port of the spamd protocol; 0: any free one.",
)
@click.option("--socket", "socket_path", metavar="FILE", help="Also serve the spamd protocol on this Unix socket.")
@click.option(
    "--socket-mode", callback=_octal, default="600", show_default=True, metavar="OCTAL",
    help="Permissions of that socket: 660 includes its group, 666 all users.",
)  # fmt: skip
@click.option(
    "--http-port", type=WholeNumber(0, 65535), default=7831, show_default=True, help="Port of the HTTP API; 0: any free one."
)
@click.option("--no-spamd", is_flag=True, help="No TCP port for the spamd protocol.")
@click.option("--no-http", is_flag=True, help="No HTTP.")
@click.option(
    "--allow-tell", is_flag=True, help="Clients may teach the filter over TCP without a token: all users of this machine can."
)
@click.option("--no-tell", is_flag=True, help="Clients of the Unix socket may not teach the filter either.")
@click.option(
    "--token-file", metavar="FILE",
    help="Token that HTTP clients must send (Authorization: Bearer ...).  [default: ROSENBLATT_MAIL_TOKEN, if set]",
)  # fmt: skip
@click.option(
    "--remote-spamd", is_flag=True, help="Allow the spamd protocol, which has no passwords, on addresses other than loopback."
)
@click.option(
    "--max-size", type=WholeNumber(1), default=32, show_default=True, metavar="MB",
    help="Largest size of a mail. All mails in memory take up to four times this, or 256 MB if that is more.",
)  # fmt: skip
@click.option(
    "--connections", type=WholeNumber(1), default=256, show_default=True, help="Connections at once, for spamd and for HTTP."
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Print a line for each request on standard error, without contents of mails."
)
@home
def command(home: str, **given: Any) -> None:
    """Serve the filter to spamc, the client of SpamAssassin, and over HTTP, until SIGTERM, SIGHUP or Ctrl-C.

    Lessons are on disk before they are acknowledged. Clients teach the filter through the Unix socket, or over HTTP with a
    token; without one, all users of the machine could, which needs --allow-tell. The default address is loopback; on others
    HTTP needs a token, and the spamd protocol, which has none, needs --remote-spamd. HTTP needs pip install
    'rosenblatt[serve]'.

    \b
    Examples:
      rosenblatt mail serve --socket ~/.spamd
      spamc -p 7830 -c < new.eml; spamc -U ~/.spamd -L spam < junk.eml
      curl --data-binary @new.eml -H 'Content-Type: message/rfc822' http://127.0.0.1:7831/v1/classify
      curl --data-binary @junk.eml -H 'Content-Type: message/rfc822' -H 'Authorization: Bearer TOKEN' \\
        'http://127.0.0.1:7831/v1/learn?as=spam'
    """
    run(home, given)


def run(home: str, given: dict[str, Any]) -> None:
    """Serve with the options of the command line."""
    from ...mail.server.limits import Limits, token_from
    from ...mail.server.server import Server, serve

    largest = given["max_size"] << 20
    server = Server(
        host=given["host"],
        port=None if given["no_spamd"] else given["port"],
        socket_path=given["socket_path"],
        socket_mode=given["socket_mode"],
        http_port=None if given["no_http"] else given["http_port"],
        token=token_from(given["token_file"], warn=note),
        tell=not given["no_tell"],
        allow_tell=given["allow_tell"],
        remote_spamd=given["remote_spamd"],
        limits=Limits(largest, max(MIN_LARGE_MAILS * largest, Limits().bytes_at_once), connections=given["connections"]),
        log=note if given["verbose"] else None,
        warn=note,
    )
    # The filter is created last: an invalid option or a taken port leaves no empty one behind.
    with server.bound(), opened(home, create=True) as spam_filter:
        if spam_filter.created:
            _note(f"created a new filter in {spam_filter.stats()['home']}; until it has learned, it gives no verdicts")
        serve(spam_filter, server, _print_addresses)
    _note("stopped; all acknowledged lessons are on disk")


def _note(sentence: str) -> None:
    """Print a note; a full disk or a closed terminal must not stop the server."""
    with contextlib.suppress(OSError):
        note(sentence)


def _print_addresses(addresses: Addresses) -> None:
    for sentence in addresses.notes:
        _note(sentence)
    if addresses.spamd is not None:
        host, port = addresses.spamd
        echo(f"spamd   spamc -d {host} -p {port}")
    if addresses.socket is not None:
        echo(f"spamd   spamc -U {addresses.socket}")
    if addresses.http is not None:
        host, port = addresses.http
        echo(f"HTTP    http://{f'[{host}]' if ':' in host else host}:{port}/v1/classify")
