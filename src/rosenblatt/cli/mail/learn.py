"""`rosenblatt mail learn`: what is spam and what is not, from boxes of mail."""

from __future__ import annotations

from typing import Any

import click

from ..options import as_json
from .common import home
from .sides import Sides, sides


@click.command("learn", cls=Sides)
@sides
@home
@click.option(
    "--ham-weight", type=click.FloatRange(0.01, 100.0),
    help="How many times as bad a ham lost is as a spam passed.  [default: 1]",
)  # fmt: skip
@click.option(
    "--ham-loss", type=click.FloatRange(0.0, 0.5), metavar="SHARE",
    help="The share of ham that may be called spam; sets the threshold.  [default: 0.001]",
)  # fmt: skip
@click.option(
    "--in-order", is_flag=True, help="Learn mail in the order given, not mixed: an online learner forgets what came first."
)
@as_json
def command(spam: tuple[str, ...], ham: tuple[str, ...], home: str, in_order: bool, as_json: bool, **settings: Any) -> None:
    """Learn from mail whether it is spam.

    What was learnt before is known by its digest, and learning it again changes nothing; learning it on the other side moves
    it. Mail is mixed before it is learnt; ten mails or more with those of such commands before, which are then learnt anew: in
    how many commands and in which order mailboxes are given does not matter. An interrupted command can be given again;
    nothing is learnt twice.

    --ham-weight and --ham-loss are kept: changing the first learns all mail anew, changing the second moves the threshold,
    though never to where a mail is more likely ham than spam. Exit code 1: some mail stayed on the other side, since its text
    is no longer in the log (`mail compact`).

    \b
    Examples:
      rosenblatt mail learn --spam ~/Mail/.Junk --ham ~/Mail/cur ~/archive.mbox
      rosenblatt mail learn --ham - < message.eml
      rosenblatt mail learn --ham-loss 0.0005
    """
    from ..failing import INTERRUPTED, Failure
    from .learning import learn

    given = {name: value for name, value in settings.items() if value is not None}
    if not (spam or ham or given):
        raise click.UsageError("nothing to learn: give --spam PATH, --ham PATH or both")
    try:
        left = learn(home, given, spam, ham, mix=not in_order, as_json=as_json)
    except KeyboardInterrupt:
        raise Failure(
            "interrupted; give the command again for what is not on disk yet: nothing is learnt twice", INTERRUPTED
        ) from None
    if left:
        raise click.exceptions.Exit(1)
