"""`rosenblatt mail classify`: spam, ham or unsure."""

from __future__ import annotations

import click

from ..options import as_json
from .common import home
from .verdicts import Classifying


@click.command("classify", cls=Classifying)
@click.argument("paths", metavar="[FILE]...", nargs=-1)
@click.option("--filter", "through", is_flag=True, help="Pass the mail through, with a header X-Rosenblatt added.")
@click.option("-e", "zero", is_flag=True, help="Exit code 0 whatever the mail is, as mail filters that must not fail want it.")
@click.option("--reasons", type=click.IntRange(0, 20), default=3, show_default=True, help="--filter: reasons in the header.")
@home
@as_json
def command(paths: tuple[str, ...], through: bool, zero: bool, reasons: int, home: str, as_json: bool) -> None:
    """Say whether mail is spam: the verdict, the probability of spam, the score, and whose they are.

    Reads standard input where no file is given. Exit codes are bogofilter's: 0 spam, 1 ham, 2 unsure, 3 something is wrong;
    with more than one mail, 0. With --filter the mail goes to standard output with `X-Rosenblatt: spam; score=...; reasons=...`
    as its last header, and is the same byte for byte otherwise, except that headers of that name which were there are dropped;
    a compressed file is unpacked.
    Should anything be wrong with the filter, the mail goes through as it came.

    \b
    Examples:
      rosenblatt mail classify new.eml
      rosenblatt mail classify --json ~/Mail/.Inbox
      :0fw                                            # in ~/.procmailrc
      | rosenblatt mail classify --filter -e
    """
    from .classifying import classify, pass_through

    if through:
        if as_json:
            raise click.UsageError("--filter prints the mail, not JSON")
        code = pass_through(home, paths, reasons)
    else:
        code = classify(home, paths, as_json)
    if code and not zero:
        raise click.exceptions.Exit(code)
