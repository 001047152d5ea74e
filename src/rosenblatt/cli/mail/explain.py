"""`rosenblatt mail explain`: what decided about a mail."""

from __future__ import annotations

import click

from ..options import as_json
from .common import home, opened


@click.command("explain")
@click.argument("path", metavar="[FILE]", default="-")
@click.option("-n", "--features", type=click.IntRange(1), default=20, show_default=True, help="How many to show.")
@click.option("--single", is_flag=True, help="Show single features instead: words, pairs, stretches of letters (~), lines.")
@home
@as_json
def command(path: str, features: int, single: bool, home: str, as_json: bool) -> None:
    """Show the words that decided about a mail, each with what it added to the score.

    That is the weight of the word itself, and its share of those of the pairs and stretches of letters that touch it. The
    heaviest are shown; with the last line, which has all the rest, they sum to the score. Of dates and message ids only the
    shape is known: a stands for letters, 9 for digits, h for both.

    \b
    Examples:
      rosenblatt mail explain new.eml -n 40
      rosenblatt mail explain --single new.eml
    """
    from .explaining import explain

    with opened(home) as spam_filter:
        explain(spam_filter, path, features, single, as_json)
