"""`rosenblatt mail show`: what the filter has learned."""

from __future__ import annotations

import click

from ..options import WholeNumber, as_json
from .common import home, opened


@click.command("show")
@click.option(
    "-n", "--features", type=WholeNumber(0), default=20, show_default=True, help="Number of features of spam and of ham."
)
@home
@as_json
def command(features: int, home: str, as_json: bool) -> None:
    """Show what the filter has learned: the number of mails, its thresholds, and the heaviest features of spam and ham.

    \b
    Example:
      rosenblatt mail show -n 50
    """
    from .explain import show

    with opened(home) as spam_filter:
        show(spam_filter, features, as_json)
