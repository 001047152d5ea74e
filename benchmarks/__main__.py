"""`scripts/bench`: measure, print tables, write JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numba
import numpy as np
import sklearn

import rosenblatt

from . import (
    algorithms,
    commands,
    defaults,
    epochs,
    errors,
    hashing,
    html,
    mail,
    margins,
    memory,
    parsing,
    pocket,
    proofs,
    serve,
    sms,
    squares,
    startup,
    streams,
    studio,
    tables,
)
from .tables import console

# In the order in which they run. Each takes (repeats, quick), prints its table and returns the rows.
PARTS: dict[str, Callable[[int, bool], Any]] = {
    "algorithms": lambda repeats, quick: tables.algorithms(algorithms.measure(repeats=1 if quick else repeats)),
    "epochs": lambda repeats, quick: tables.ratios(epochs.measure(repeats, quick), "sklearn"),
    "pocket": lambda repeats, quick: tables.ratios(pocket.measure(repeats, quick), "NumPy"),
    "margins": lambda repeats, quick: tables.margins(margins.measure(3, quick)),
    "squares": lambda repeats, quick: tables.ratios(squares.measure(repeats, quick), "sklearn"),
    "proofs": lambda repeats, quick: tables.proofs(proofs.measure(3, quick)),
    "errors": lambda repeats, quick: tables.errors(errors.measure(quick)),
    "memory": lambda repeats, quick: tables.memory(memory.measure(quick)),
    "defaults": lambda repeats, quick: tables.defaults(defaults.measure(3, quick)),
    "parsing": lambda repeats, quick: tables.ratios(parsing.measure(repeats, quick), "peer"),
    "streams": lambda repeats, quick: {
        "speed": tables.ratios(streams.measure(3, quick), "memory"),
        "memory": tables.held(streams.memory(4e8 if quick else 5e9)),
    },
    "commands": lambda repeats, quick: tables.commands(commands.measure(repeats)),
    "startup": lambda repeats, quick: tables.seconds(startup.measure(3)),
    "hashing": lambda repeats, quick: tables.ratios(hashing.measure(repeats, quick), "sklearn"),
    "html": lambda repeats, quick: tables.html(html.measure(repeats, quick)),
    "mail": lambda repeats, quick: tables.several(mail.measure(quick)),
    "sms": lambda repeats, quick: tables.several(sms.measure(quick)),
    "serve": lambda repeats, quick: tables.served(serve.measure(quick=quick)),
    "studio": lambda repeats, quick: tables.studio(studio.measure(repeats, quick)),
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--repeats", default=7, show_default=True, help="Runs of each contestant; medians are reported.")
@click.option("--quick", is_flag=True, help="A tenth of the rows and short time limits: a check, not a measurement.")
@click.option(
    "--json", "path", type=click.Path(path_type=Path), default=Path("benchmarks/results/latest.json"), show_default=True,
    help="File for the numbers; -: standard output, with the tables on standard error.",
)  # fmt: skip
def main(parts: tuple[str, ...], repeats: int, quick: bool, path: Path) -> None:
    """Measure Rosenblatt beside its peers in one process, on a quiet machine.

    Example: scripts/bench epochs pocket --repeats 5
    """
    found: dict[str, Any] = {"machine": _machine()}
    console.stderr = str(path) == "-"
    console.print(f"{found['machine']}\n")
    if quick:
        console.print("A tenth of the rows in the names: a check that it works, not a measurement.\n")
    for part in parts or PARTS:
        found[part] = PARTS[part](repeats, quick)
    if console.stderr:
        click.echo(json.dumps(found, indent=1))
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1))
        console.print(f"\nwritten to {path}")


def _machine() -> dict[str, str]:
    versions = {"rosenblatt": rosenblatt, "numpy": np, "numba": numba, "scikit-learn": sklearn}
    return {"python": platform.python_version(), "cpu": _cpu()} | {
        name: module.__version__ for name, module in versions.items()
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
