"""`rosenblatt mail compact`: drop the texts of old mail from the log."""

from __future__ import annotations

import click

from ..options import WholeNumber, as_json
from .common import home, opened


@click.command("compact")
@click.option("--keep", type=WholeNumber(0), default=0, show_default=True, help="Number of newest mails whose texts stay.")
@home
@as_json
def command(keep: int, home: str, as_json: bool) -> None:
    """Drop the texts of old mail from the log; what was learned from them stays.

    The log has the text of each mail, so that it can be unlearned. Without the text the filter classifies as before and still
    recognizes the mail, but cannot unlearn it.

    \b
    Example:
      rosenblatt mail compact --keep 10000
    """
    from ...reporting.text import plural
    from ..console import note, print_json

    with opened(home) as spam_filter:
        dropped, shrunk = spam_filter.compact(keep), spam_filter.store.shrunk
    if not shrunk:
        note("another process is reading the log: the texts leave the disk when it closes the filter")
    if as_json:
        print_json({"home": home, "dropped": dropped, "on_disk": not shrunk})
    else:
        note(f"dropped the texts of {plural(dropped, 'mail')} from {home}")
