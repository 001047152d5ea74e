"""`rosenblatt mail relearn`: change the label of learned mail."""

from __future__ import annotations

import click

from ..options import as_json
from .common import home, opened


@click.command("relearn")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--as", "side", type=click.Choice(["spam", "ham"]), help="The new label.  [default: the other one]")
@click.option("--force", is_flag=True, help="Change also more than 10 labels, and what looks like a mistake.")
@home
@as_json
def command(paths: tuple[str, ...], side: str | None, force: bool, home: str, as_json: bool) -> None:
    """Change the label of mail: it is unlearned, then learned with the other label.

    Mail that the filter does not hold needs --as. If the labels of more than 10 mails would change, or a folder that is given
    with --as has hardly any mail, nothing is changed without --force (at a terminal the command asks). With --as, mailboxes
    in a folder whose names announce the other kind are skipped. Exit code 1: the label of some mail was not changed; 2:
    nothing was.

    \b
    Examples:
      rosenblatt mail relearn misfiled.eml
      rosenblatt mail relearn --as ham ~/Mail/.NotJunk
    """
    from .learn import relearn

    with opened(home) as spam_filter:
        missed = relearn(spam_filter, paths, side, force, as_json)
    if missed:
        raise click.exceptions.Exit(1)
