"""`rosenblatt mail unlearn`: take mail back."""

from __future__ import annotations

import click

from ..options import as_json
from .common import home, opened


@click.command("unlearn")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@home
@as_json
def command(paths: tuple[str, ...], home: str, as_json: bool) -> None:
    """Take mail back: afterwards the filter is, bit for bit, one that never saw it.

    It is what is left of the log, learnt anew in the same order. Mail whose text is no longer in the log (`mail compact`)
    cannot be taken back; that is said, and nothing changes. Exit code 1: some mail was not taken back.

    \b
    Example:
      rosenblatt mail unlearn mistake.eml
    """
    from .learn import unlearn

    with opened(home) as spam_filter:
        missed = unlearn(spam_filter, paths, as_json)
    if missed:
        raise click.exceptions.Exit(1)
