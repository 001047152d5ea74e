"""`rosenblatt mail serve`: spamd's protocol for spamc, and HTTP."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import click

from ..console import note
from .common import home, opened

if TYPE_CHECKING:
    from ...mail.server.server import Addresses


def _octal(_: click.Context, __: click.Parameter, value: str) -> int:
    if not re.fullmatch("0?[0-7]{3}", value):
        raise click.BadParameter(f"it must be three octal digits, as chmod takes them, got {value!r}")
    return int(value, 8)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7830, show_default=True, help="spamd's protocol; 0: any free one."
)
@click.option("--socket", "socket_path", metavar="FILE", help="spamd's protocol on a socket in the file system, too.")
@click.option(
    "--socket-mode", callback=_octal, default="600", show_default=True, metavar="OCTAL",
    help="Who may use that socket: 660 for its group, too, 666 for all.",
)  # fmt: skip
@click.option("--http-port", type=click.IntRange(0, 65535), default=7831, show_default=True, help="HTTP; 0: any free one.")
@click.option("--no-spamd", is_flag=True, help="No TCP port for spamd's protocol.")
@click.option("--no-http", is_flag=True, help="No HTTP.")
@click.option("--no-tell", is_flag=True, help="spamc may ask but not teach.")
@click.option(
    "--token-file", metavar="FILE",
    help="HTTP clients must send what is in it: Authorization: Bearer ...  [default: ROSENBLATT_MAIL_TOKEN, if that is set]",
)  # fmt: skip
@click.option("--remote-spamd", is_flag=True, help="spamd's protocol on other addresses than loopback; it knows no passwords.")
@click.option(
    "--max-size", type=click.IntRange(1), default=32, show_default=True, metavar="MB",
    help="The largest mail; at least four of them are held at once.",
)  # fmt: skip
@click.option("--connections", type=click.IntRange(1), default=256, show_default=True, help="At once, on each side.")
@click.option("-v", "--verbose", is_flag=True, help="A line for each request, on standard error; nothing of the mail.")
@home
def command(home: str, **given: Any) -> None:
    """Answer spamc, the client of SpamAssassin, and HTTP, until SIGTERM, SIGHUP or Ctrl-C.

    What is learnt is on disk before it is acknowledged. Listens on loopback unless told otherwise; elsewhere HTTP needs a
    token, and spamd's protocol, which knows none, must be allowed expressly. HTTP needs pip install 'rosenblatt[serve]'.

    \b
    Examples:
      rosenblatt mail serve
      spamc -p 7830 -c < new.eml; spamc -p 7830 -L spam < junk.eml
      curl --data-binary @new.eml -H 'Content-Type: message/rfc822' http://127.0.0.1:7831/v1/classify
      curl --data-binary @junk.eml -H 'Content-Type: message/rfc822' 'http://127.0.0.1:7831/v1/learn?as=spam'
    """

    run(home, given)


# --- What `mail serve` does.

MIN_LARGE_MAILS = 4  # mails of the largest size


def run(home: str, given: dict[str, Any]) -> None:
    from ...mail.server.limits import Limits, token_from
    from ...mail.server.server import Server, serve

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
        limits=Limits(largest, max(MIN_LARGE_MAILS * largest, Limits().bytes_at_once), connections=given["connections"]),
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
