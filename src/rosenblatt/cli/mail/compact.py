"""`rosenblatt mail compact`: drop the texts of old mail from the log."""

from __future__ import annotations

import click

from ..options import as_json
from .common import home, opened


@click.command("compact")
@click.option("--keep", type=click.IntRange(0), default=0, show_default=True, help="The latest mails whose texts stay.")
@home
@as_json
def command(keep: int, home: str, as_json: bool) -> None:
    """Drop the texts of old mail from the log, keeping what was learnt from them.

    The log holds the text that features were made of, so that mail can be taken back. Without it the filter decides as before
    and still knows which mail it has learnt, but cannot take that back exactly.

    \b
    Example:
      rosenblatt mail compact --keep 10000
    """
    from ...reporting.text import plural
    from ..console import note, print_json

    with opened(home) as spam_filter:
        dropped, gone = spam_filter.compact(keep), spam_filter.store.shrunk
    if not gone:
        note("somebody is reading the log: what was dropped leaves the disk when the filter is next closed by all")
    if as_json:
        print_json({"home": home, "dropped": dropped, "on_disk": not gone})
    else:
        note(f"the texts of {plural(dropped, 'mail')} were dropped from {home}")
