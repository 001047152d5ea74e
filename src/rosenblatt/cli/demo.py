"""`rosenblatt demo`: what a person does with Rosenblatt, start to end, on data that is at hand."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table

from .compare import table_of
from .console import bar, out, say
from .options import seed
from .train import model_of, write_report_of

if TYPE_CHECKING:
    from rich.console import Console

    from ..training.train import Outcome


@click.command("demo")
@seed
@click.option("-o", "--output", metavar="FOLDER", help="Where report and model go.  [default: a new temporary folder]")
def command(seed: int, output: str | None) -> None:
    """See it train, prove, compare and report, on scikit-learn's breast-cancer data.

    \b
    Example:
      rosenblatt demo --seed 3
    """

    show_all(seed, output)


# --- What the demo shows: train, four readings of one run, a proof, all algorithms, the report.

DATA = "example:breast-cancer"
READINGS = {
    "last": "the weights after the last update",
    "pocket": "the fewest training errors of all",
    "average": "the mean over every row visited",
    "vote": "all hypotheses, by majority",
}
SHOWN = ("perceptron", "pocket", "average", "vote", "margin", "batch", "pa-1", "soft-margin", "linear-mse", "nonlinear-mse")


def show_all(seed: int, output: str | None) -> None:
    from ..models.files import save
    from ..training.compare import choose_winner, compare
    from ..training.request import Request
    from ..training.summary import summarize
    from ..training.train import train

    console = out()
    console.print(Panel.fit("[bold]Rosenblatt[/]: linear classifiers that show their work"))
    _step(console, "1. Train", f"rosenblatt train {DATA}")
    with bar("learning") as watch:
        outcome = train(Request(data=DATA, seed=seed), watch)
    say(summarize(outcome))

    _step(console, "2. One run, four readings", "model.reading('pocket')")
    console.print(_readings(outcome))

    _step(console, "3. Prove", f"rosenblatt certify {DATA}")
    _prove(console)

    _step(console, "4. Compare", f"rosenblatt compare {DATA}")
    assert outcome.prepared is not None
    with bar("comparing") as watch:
        entries = list(compare(Request(data=DATA, seed=seed), outcome.prepared, list(SHOWN), lambda name: watch))
    verdict = choose_winner(entries)
    console.print(table_of(entries, verdict.winner, console.width))
    console.print(verdict.sentence, markup=False, soft_wrap=True)

    _step(console, "5. Report", f"rosenblatt train {DATA} --report report.html")
    folder = Path(output) if output is not None else Path(tempfile.mkdtemp(prefix="rosenblatt-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    report, model = folder / "report.html", folder / "breast-cancer.safetensors"
    write_report_of(outcome, str(report), f"rosenblatt train {DATA} --seed {seed}")
    save(model_of(outcome), model)
    console.print(f"The report, one file for any browser: [bold]{report}[/]", soft_wrap=True)
    console.print(f"The model:                            [bold]{model}[/]", soft_wrap=True)
    console.print(f"\nNext: rosenblatt show {model}\n      rosenblatt --help", soft_wrap=True)


def _step(console: Console, title: str, command: str) -> None:
    console.print()
    console.print(Rule(f"[bold]{title}[/]", align="left"))
    console.print(f"[dim]$ {command}[/]\n")


def _readings(outcome: Outcome) -> Any:
    from ..training.train import predict_codes

    prepared, model = outcome.prepared, outcome.estimator
    assert prepared is not None
    table = Table(
        "reading", "which hypothesis", "training errors", "test errors", box=None, header_style="bold", padding=(0, 2, 0, 0)
    )
    readings: dict[str, Any] = {keep: model.reading(keep) for keep in READINGS}
    wrong = {
        keep: [int((predict_codes(reading, X) != codes).sum()) for X, codes in _parts(prepared)]
        for keep, reading in readings.items()
    }
    least = min(test for _, test in wrong.values())
    for keep, (training, test) in wrong.items():
        table.add_row(keep, READINGS[keep], str(training), str(test), style="bold green" if test == least else "")
    return table


def _parts(prepared: Any) -> list[tuple[Any, Any]]:
    return [(prepared.X, prepared.codes), (prepared.X_test, prepared.codes_test)]


def _prove(console: Console) -> None:
    from ..certificates.verify import verify
    from ..data.read_options import Options
    from ..proofs.certify import certify
    from .options import rows_and_labels

    whole = rows_and_labels(DATA, Options())
    certificate = certify(whole.X, whole.y)
    console.print(str(certificate), markup=False, soft_wrap=True)
    console.print(
        f"Checked in exact arithmetic by code that shares nothing with the solver: {verify(certificate, whole.X, whole.y)}"
    )
