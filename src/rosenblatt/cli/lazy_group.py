"""A group of commands that are imported when they are called, one module each."""

from __future__ import annotations

import difflib
import importlib

import click


class LazyGroup(click.Group):
    """Command group whose help lists the commands without importing them.

    `listed` maps the names of the commands to their one-line help; `package` is the package of their modules. Each module has
    a function `command`.
    """

    listed: dict[str, str]
    package: str

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.listed)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.listed:
            return None
        command: click.Command = importlib.import_module(f".{name}", self.package).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.listed and not args[0].startswith("-"):
            similar = difflib.get_close_matches(args[0], self.listed, 1)
            hint = f"did you mean {similar[0]!r}?" if similar else f"choose from {', '.join(self.listed)}"
            raise click.UsageError(f"unknown command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.listed.items()))
