"""`--spam PATH... --ham PATH...`: each takes all paths up to the next option."""

from __future__ import annotations

from typing import Any

import click


class Sides(click.Command):
    """click has options of one value; here one name stands before many."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        repeated: list[str] = []
        side: str | None = None
        options = True
        for argument in args:
            if options and argument == "--":
                options = False
            elif options and argument in ("--spam", "--ham"):
                side = argument
            elif options and argument.startswith("-") and argument != "-":
                side = None
                repeated.append(argument)
            elif side is None:
                repeated.append(argument)
            else:
                repeated += [side, argument]
        return super().parse_args(ctx, repeated)


def sides(command: Any) -> Any:
    command = click.option("--ham", multiple=True, metavar="PATH...", help="Wanted mail.")(command)
    return click.option("--spam", multiple=True, metavar="PATH...", help="Unwanted mail.")(command)
