"""`rosenblatt mail explain`: what decided about a mail."""

from __future__ import annotations

import click

from ..options import as_json
from .homes import home, opened


@click.command("explain")
@click.argument("path", metavar="[FILE]", default="-")
@click.option("-n", "--features", type=click.IntRange(1), default=20, show_default=True, help="How many to show.")
@home
@as_json
def command(path: str, features: int, home: str, as_json: bool) -> None:
    """Show the words and letters that decided about a mail, each with what it added to the score.

    They are the heaviest, ~ before pieces of words; what repeats another, such as pieces of a word that is there, is in the
    last line with all the rest. All lines sum to the score.

    \b
    Example:
      rosenblatt mail explain new.eml -n 40
    """
    from .explaining import explain

    with opened(home) as spam_filter:
        explain(spam_filter, path, features, as_json)
