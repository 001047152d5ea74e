"""`rosenblatt mail serve`: spamd's protocol for spamc, and HTTP."""

from __future__ import annotations

import re
from typing import Any

import click

from .common import home


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
    from .serving import run

    run(home, given)
