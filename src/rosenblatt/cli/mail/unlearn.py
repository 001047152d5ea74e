"""`rosenblatt mail unlearn`: undo the learning of mail."""

from __future__ import annotations

import click

from ..options import as_json
from .common import home, opened


@click.command("unlearn")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@home
@as_json
def command(paths: tuple[str, ...], home: str, as_json: bool) -> None:
    """Unlearn mail: afterwards the filter is, bit for bit, one that never saw it.

    It is retrained on the rest of the log in the same order. Mail whose text was dropped (`mail compact`) cannot be unlearned
    and is reported. Exit code 1: some mail was not unlearned.

    \b
    Example:
      rosenblatt mail unlearn mistake.eml
    """
    from .learn import unlearn

    with opened(home) as spam_filter:
        missed = unlearn(spam_filter, paths, as_json)
    if missed:
        raise click.exceptions.Exit(1)
