"""`rosenblatt studio`: a page in the browser that shows algorithms learning."""

from __future__ import annotations

from typing import Any

import click

from ..catalog import ALGORITHMS
from .options import about_data, options_of


@click.command("studio")
@click.argument("data", metavar="[DATA]", required=False)
@click.option("-a", "--algorithm", type=click.Choice(list(ALGORITHMS)), metavar="NAME",
              help=f"The one to start with: {', '.join(ALGORITHMS)}.")  # fmt: skip
@click.option("--set", "knobs", multiple=True, metavar="KNOB=VALUE", help="Its knobs, for example margin=0.5 or w_max=none.")
@click.option("--host", default="127.0.0.1", show_default=True, help="An address of this machine to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="0: any free one.  [default: 8531, or the next free one]")
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@click.option("--export", "exported", metavar="FILE.html", help="Write the page as one file that works offline, and end.")
@about_data
def command(data: str | None, **given: Any) -> None:
    """Watch an algorithm find its plane, step by step, forwards and backwards, in the browser.

    Serves a page on this machine until Ctrl-C: place points, or give DATA to see it in two of its columns or its principal
    components. Needs pip install 'rosenblatt[serve]'; --export does not.

    \b
    Examples:
      rosenblatt studio
      rosenblatt studio example:iris --algorithm soft-margin --set C=10
      rosenblatt studio --export page.html
    """
    from .watching import run

    run(data, options_of(given), given)
