"""`rosenblatt compare`: all algorithms on one file, in one table."""

from __future__ import annotations

from typing import Any

import click

from ..catalog import ALGORITHMS
from .options import about_data, as_json, data_argument, holdout, options_of, seed, test_file


def _names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = list(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter("name at least one algorithm")
    for name in names:
        if name not in ALGORITHMS:
            raise click.BadParameter(f"no algorithm is called {name!r}; there are {', '.join(ALGORITHMS)}")
    return names


@click.command("compare")
@data_argument
@click.option("--algorithms", callback=_names, metavar="NAME,NAME", help="Only these.  [default: all that the data allows]")
@click.option("--degree", type=click.IntRange(1, 20), default=1, show_default=True, help="Polynomials of the features.")
@click.option("--scale", type=click.Choice(["auto", "none", "max", "standard"]), default="auto", show_default=True,
              help="Scale features; auto: where their ranges differ wildly.")  # fmt: skip
@test_file
@holdout
@about_data
@seed
@as_json
def command(data: str, algorithms: list[str] | None, as_json: bool, **given: Any) -> None:
    """Try all algorithms on the same rows, in one table: training error, test error, margin, updates, time.

    The winner has the smallest test error; among equals the smaller training error, then the shorter time, decides. Whether
    the second best is really worse is said with the test of McNemar on the rows that only one of them gets right.

    \b
    Examples:
      rosenblatt compare spambase.data
      rosenblatt compare a9a --test a9a.t --algorithms average,pa-1,soft-margin
    """
    from ..training.request import Request
    from .comparing import run

    options = options_of(given)
    run(Request(data=data, options=options, **given), algorithms, as_json)
