"""`rosenblatt mail evaluate`: the TREC protocol."""

from __future__ import annotations

from typing import Any

import click

from ..options import as_json, seed
from .common import home
from .sides import Sides, sides


@click.command("evaluate", cls=Sides)
@sides
@click.option("--index", metavar="FILE", help="A TREC index instead: lines of `spam PATH` or `ham PATH`, in order.")
@click.option(
    "--order", type=click.Choice(["time", "given", "shuffled"]),
    help="By the mails' dates, as given, or shuffled.  [default: time; for the filter in --home: as it has learnt them]",
)  # fmt: skip
@click.option(
    "--delay", type=click.IntRange(0), default=0, show_default=True, help="Mails until the filter hears what one was."
)
@click.option(
    "--train", type=click.Choice(["everything", "errors", "near"]), default="everything", show_default=True,
    help="What the filter learns from: all mail, its errors, or those and what was near the boundary.",
)  # fmt: skip
@click.option(
    "--band", type=click.FloatRange(0.0, min_open=True), metavar="SCORE", help="How near, for --train near.  [default: 0.5]"
)
@click.option(
    "--without", multiple=True, metavar="FIELD,...",
    help="Leave parts of the mails out: subject, from, reply-to, to, received, other-headers (these six are all-headers), "
    "body, links, attachments.",
)  # fmt: skip
@click.option(
    "--ham-weight", type=click.FloatRange(0.01, 100.0), help="As for learn.  [default: that of the filter measured, or 1]"
)
@click.option(
    "--ham-loss", type=click.FloatRange(0.0, 0.5), metavar="SHARE",
    help="As for learn.  [default: that of the filter measured, or 0.001]",
)  # fmt: skip
@click.option("--plot", metavar="FILE", help="Draw the learning curve: .svg, .png or .pdf.")
@seed
@home
@as_json
def command(**given: Any) -> None:
    """Measure a filter as TREC's spam track did: each mail is classified, then learnt, in the order in which mail came.

    A fresh filter is measured; the one in --home is not touched. Without --spam, --ham and --index it is measured on the mail
    that the filter in --home has learnt, in that order (or shuffled) and with its settings. Reported with 95 % bootstrap
    intervals: ham called spam (hm %), spam called ham (sm %), their logistic average (lam %), and (1-AUC) %, the share of pairs
    of a spam and a ham in wrong order.

    \b
    Examples:
      rosenblatt mail evaluate --spam spam/ --ham ham/ --plot curve.svg
      rosenblatt mail evaluate --index trec06p/full/index --order given --delay 1000
      rosenblatt mail evaluate --ham-weight 10
      rosenblatt mail evaluate --without all-headers,links
    """
    from .evaluating import run

    run(**given)
