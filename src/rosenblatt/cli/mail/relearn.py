"""`rosenblatt mail relearn`: relearn mail to the other side."""

from __future__ import annotations

import click

from ..options import as_json
from .common import home, opened


@click.command("relearn")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--as", "side", type=click.Choice(["spam", "ham"]), help="What it is.  [default: the other of what was learnt]")
@home
@as_json
def command(paths: tuple[str, ...], side: str | None, home: str, as_json: bool) -> None:
    """Move mail to the other side: taken back exactly, then learnt as the other.

    Mail that was never learnt needs --as. Exit code 1: some mail was not moved.

    \b
    Examples:
      rosenblatt mail relearn misfiled.eml
      rosenblatt mail relearn --as ham ~/Mail/.NotJunk
    """
    from .learn import relearn

    with opened(home) as spam_filter:
        missed = relearn(spam_filter, paths, side, as_json)
    if missed:
        raise click.exceptions.Exit(1)
