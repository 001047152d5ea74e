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
    calibration,
    commands,
    defaults,
    epochs,
    errors,
    hashing,
    html,
    l1,
    labels,
    logistic,
    mail,
    margins,
    memory,
    multiclass,
    output,
    parsing,
    plain_training,
    pocket,
    proofs,
    scalings,
    serve,
    small,
    sms,
    squares,
    startup,
    streams,
    studio,
    texts,
    tuning,
)
from .output import console

# In the order in which they run. Each takes (repeats, quick), prints its table and returns the rows.
PARTS: dict[str, Callable[[int, bool], Any]] = {
    "algorithms": lambda repeats, quick: output.algorithms(algorithms.measure(repeats=1 if quick else repeats)),
    "epochs": lambda repeats, quick: output.ratios(epochs.measure(repeats, quick), "sklearn"),
    "small": lambda repeats, quick: output.ratios(small.measure(repeats, quick), "sklearn"),
    "pocket": lambda repeats, quick: output.ratios(pocket.measure(repeats, quick), "NumPy"),
    "margins": lambda repeats, quick: output.margins(margins.measure(3, quick)),
    "multiclass": lambda repeats, quick: output.multiclass(multiclass.measure(1 if quick else 3, quick)),
    "logistic": lambda repeats, quick: output.several(logistic.measure(1 if quick else 3, quick)),
    "l1": lambda repeats, quick: output.several(l1.measure(1 if quick else 3, quick)),
    "labels": lambda repeats, quick: output.ratios(labels.measure(1 if quick else 3, quick), "sklearn"),
    "squares": lambda repeats, quick: output.ratios(squares.measure(repeats, quick), "sklearn"),
    "proofs": lambda repeats, quick: output.proofs(proofs.measure(3, quick)),
    "errors": lambda repeats, quick: output.errors(errors.measure(quick)),
    "memory": lambda repeats, quick: output.memory(memory.measure(quick)),
    "defaults": lambda repeats, quick: output.defaults(defaults.measure(3, quick)),
    "plain-training": lambda repeats, quick: output.choices(plain_training.measure(2 if quick else 5, quick)),
    "scalings": lambda repeats, quick: output.choices(scalings.measure(1 if quick else 3, quick)),
    "tuning": lambda repeats, quick: output.choices(tuning.measure(1 if quick else 3, quick)),
    "calibration": lambda repeats, quick: output.several(calibration.measure(quick)),
    "parsing": lambda repeats, quick: output.ratios(parsing.measure(repeats, quick), "peer"),
    "streams": lambda repeats, quick: {
        "speed": output.ratios(streams.measure(3, quick), "memory"),
        "memory": output.held(streams.memory(4e8 if quick else 5e9)),
    },
    "commands": lambda repeats, quick: output.commands(commands.measure(repeats)),
    "startup": lambda repeats, quick: output.seconds(startup.measure(3)),
    "hashing": lambda repeats, quick: output.ratios(hashing.measure(repeats, quick), "sklearn"),
    "html": lambda repeats, quick: output.html(html.measure(repeats, quick)),
    "mail": lambda repeats, quick: output.several(mail.measure(quick)),
    "sms": lambda repeats, quick: output.several(sms.measure(quick)),
    "texts": lambda repeats, quick: output.texts(texts.measure(2 if quick else max(5, repeats), quick)),
    "serve": lambda repeats, quick: output.served(serve.measure(quick=quick)),
    "studio": lambda repeats, quick: output.studio(studio.measure(repeats, quick)),
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
