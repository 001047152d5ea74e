"""`rosenblatt bench`: the benchmarks, small where nothing else is said."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from .console import Failure


@click.command("bench", context_settings={"ignore_unknown_options": True})
@click.option("--full", is_flag=True, help="All rows, as the README's tables have them: minutes to an hour.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[PART]...")
def command(full: bool, arguments: tuple[str, ...]) -> None:
    """Measure Rosenblatt beside its peers on this machine; close other programs first.

    The parts: epochs, pocket, margins, squares, proofs, errors, memory, defaults, parsing, streams, commands,
    startup, hashing, html, mail, sms, serve, studio.
    --repeats N says how many turns each contestant takes, --json FILE keeps the numbers.

    \b
    Examples:
      rosenblatt bench                 # small: epochs, parsing, startup
      rosenblatt bench epochs --full
    """
    given = list(arguments)
    if not any(not argument.startswith("-") for argument in given):
        given = ["epochs", "parsing", "startup", *given]
    if not full:
        given.append("--quick")
    if "--json" not in given:
        given += ["--json", "-"]
    _benchmarks().main.main(args=given, prog_name="rosenblatt bench", standalone_mode=True)


def _benchmarks() -> Any:
    """They are part of the wheel; in a checkout they are beside `src`."""
    try:
        return importlib.import_module("rosenblatt.benchmarks.__main__")
    except ModuleNotFoundError:
        root = Path(__file__).resolve().parents[3]
        if not (root / "benchmarks" / "__main__.py").is_file():
            raise Failure("the benchmarks are not installed: they come with the wheel and the source") from None
        sys.path.insert(0, str(root))
        return importlib.import_module("benchmarks.__main__")
