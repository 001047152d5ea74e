"""A group of commands that are imported when they are called: one file each."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

import click


class Lazy(click.Group):
    """`listed` has the commands with their help, so that listing them imports none; `package` is where their files are."""

    listed: dict[str, str]
    package: str

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.listed)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.listed:
            return None
        command: click.Command = importlib.import_module(f".{name}", self.package).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self.listed and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.listed, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.listed)}."
            raise click.UsageError(f"no command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.listed.items()))
