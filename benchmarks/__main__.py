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
    showing,
    sms,
    squares,
    startup,
    streams,
    studio,
)
from .showing import console

# In the order in which they run: from the repeats and whether it has to be quick to what was found, shown.
PARTS: dict[str, Callable[[int, bool], Any]] = {
    "algorithms": lambda repeats, quick: showing.algorithms(algorithms.measure(repeats=1 if quick else repeats)),
    "epochs": lambda repeats, quick: showing.ratios(epochs.measure(repeats, quick), "sklearn"),
    "pocket": lambda repeats, quick: showing.ratios(pocket.measure(repeats, quick), "NumPy"),
    "margins": lambda repeats, quick: showing.margins(margins.measure(3, quick)),
    "squares": lambda repeats, quick: showing.ratios(squares.measure(repeats, quick), "sklearn"),
    "proofs": lambda repeats, quick: showing.proofs(proofs.measure(3, quick)),
    "errors": lambda repeats, quick: showing.errors(errors.measure(quick)),
    "memory": lambda repeats, quick: showing.memory(memory.measure(quick)),
    "defaults": lambda repeats, quick: showing.defaults(defaults.measure(3, quick)),
    "parsing": lambda repeats, quick: showing.ratios(parsing.measure(repeats, quick), "peer"),
    "streams": lambda repeats, quick: {
        "speed": showing.ratios(streams.measure(3, quick), "memory"),
        "memory": showing.held(streams.memory(4e8 if quick else 5e9)),
    },
    "commands": lambda repeats, quick: showing.commands(commands.measure(repeats)),
    "startup": lambda repeats, quick: showing.seconds(startup.measure(3)),
    "hashing": lambda repeats, quick: showing.ratios(hashing.measure(repeats, quick), "sklearn"),
    "html": lambda repeats, quick: showing.html(html.measure(repeats, quick)),
    "mail": lambda repeats, quick: showing.several(mail.measure(quick)),
    "sms": lambda repeats, quick: showing.several(sms.measure(quick)),
    "serve": lambda repeats, quick: showing.served(serve.measure(quick=quick)),
    "studio": lambda repeats, quick: showing.studio(studio.measure(repeats, quick)),
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--repeats", default=7, show_default=True, help="Turns each contestant takes; medians are reported.")
@click.option("--quick", is_flag=True, help="A tenth of the rows: to see that it works, not how fast it is.")
@click.option(
    "--json", "path", type=click.Path(path_type=Path), default=Path("benchmarks/results/latest.json"), show_default=True,
    help="Where the numbers go; -: nowhere.",
)  # fmt: skip
def main(parts: tuple[str, ...], repeats: int, quick: bool, path: Path) -> None:
    """Measure Rosenblatt beside its peers in one process, on a quiet machine.

    Example: scripts/bench epochs pocket --repeats 5
    """
    found: dict[str, Any] = {"machine": _machine()}
    console.print(f"{found['machine']}\n")
    if quick:
        console.print("A tenth of the rows in the names: a check that it works, not a measurement.\n")
    for part in parts or PARTS:
        found[part] = PARTS[part](repeats, quick)
    if str(path) != "-":
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
