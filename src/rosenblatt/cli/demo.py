"""`rosenblatt demo`: what a person does with Rosenblatt, start to end, on data that is at hand."""

from __future__ import annotations

import click

from .options import seed


@click.command("demo")
@seed
@click.option("-o", "--output", metavar="FOLDER", help="Where report and model go.  [default: a new temporary folder]")
def command(seed: int, output: str | None) -> None:
    """See it train, prove, compare and report, on scikit-learn's breast-cancer data.

    \b
    Example:
      rosenblatt demo --seed 3
    """
    from .showing import show_all

    show_all(seed, output)
