"""The parameters of the estimators as options, under the names of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..catalog import Option, command_line_options

Command = TypeVar("Command", bound=Callable[..., Any])
WORDS = {"none": None}  # all other words stand for themselves


class _NumberOrWord(click.ParamType):  # type: ignore[type-arg]
    """A number, or one of some words."""

    def __init__(self, number: type, words: tuple[str, ...]) -> None:
        self.number, self.words = number, words
        self.name = "|".join(["NUMBER", *words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if value in self.words:
            return WORDS.get(value, value)
        try:
            return self.number(value)
        except ValueError:
            kind = "whole number" if self.number is int else "number"
            self.fail(f"{value!r} is not a {kind}{''.join(f' or {word}' for word in self.words)}", param, ctx)


def parameters(command: Command) -> Command:
    """Add an option for each parameter of the catalog."""
    for name, option in reversed(command_line_options().items()):
        dashed = name.replace("_", "-")
        declaration = f"--{dashed}/--no-{dashed}" if option.kind == "flag" else f"--{dashed}"
        command = click.option(declaration, name, type=_type(option), default=None, help=option.help)(command)
    return command


def _type(option: Option) -> Any:
    if option.kind == "choice":
        return click.Choice(list(option.words))
    if option.kind in ("int", "float"):
        return _NumberOrWord(int if option.kind == "int" else float, option.words)
    return None


def pop_parameters(arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the parameters from a command's arguments, and return those that were given on the command line."""
    context, given = click.get_current_context(), {}
    for name in command_line_options():
        value = arguments.pop(name)
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            given[name] = value
    return given
