"""`rosenblatt mail compact`: drop the texts of old mail from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..options import WholeNumber, as_json
from .common import home, opened

if TYPE_CHECKING:
    from ...mail.filter import Filter


@click.command("compact")
@click.option("--keep", type=WholeNumber(0), help="Number of newest mails whose texts stay.")
@click.option("--force", is_flag=True, help="Drop all texts, without --keep.")
@home
@as_json
def command(keep: int | None, force: bool, home: str, as_json: bool) -> None:
    """Drop the texts of old mail from the log; what was learned from them stays.

    The log has the text of each mail, so that it can be unlearned. Without the text the filter classifies as before and still
    recognizes the mail, but can neither unlearn it nor change its label. This cannot be undone. Without --keep all texts are
    dropped, which needs --force (at a terminal the command asks).

    \b
    Example:
      rosenblatt mail compact --keep 10000
    """
    from ...reporting.text import plural
    from ..console import note, print_json

    with opened(home) as spam_filter:
        if keep is None:
            _confirm_all(spam_filter, force)
        dropped, shrunk = spam_filter.compact(keep or 0), spam_filter.store.shrunk
    if not shrunk:
        note("another process is reading the log: the texts leave the disk when it closes the filter")
    if as_json:
        print_json({"home": home, "dropped": dropped, "on_disk": not shrunk})
    else:
        lost = "" if not dropped else f"; {'it' if dropped == 1 else 'they'} can no longer be unlearned or relearned"
        note(f"dropped the texts of {plural(dropped, 'mail')} from {home}{lost}")


def _confirm_all(spam_filter: Filter, force: bool) -> None:
    from ...reporting.text import plural
    from .learn import confirm

    stats = spam_filter.stats()
    texts = stats["messages"] - stats["folded"]
    if texts:
        all_texts = f"the texts of all {plural(texts, 'mail')}"
        confirm(f"without --keep, {all_texts} would be dropped, and none could be unlearned or relearned", force)
