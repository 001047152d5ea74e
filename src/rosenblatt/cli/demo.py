"""`rosenblatt demo`: training, readings, a proof, a comparison and a report on example data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import seed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..training.train import Outcome

DATA = "example:breast-cancer"
READINGS = {
    "last": "the weights after the last update",
    "pocket": "the hypothesis with the fewest training errors",
    "average": "the mean over all rows visited",
    "vote": "all hypotheses, by majority",
}
COMPARED_ALGORITHMS = (
    "perceptron",
    "pocket",
    "average",
    "vote",
    "margin",
    "batch",
    "pa-1",
    "soft-margin",
    "linear-mse",
    "nonlinear-mse",
)


@click.command("demo")
@seed
@click.option("-o", "--output", metavar="FOLDER", help="Folder of the report and the model.  [default: a temporary folder]")
def command(seed: int, output: str | None) -> None:
    """Show training, proofs, comparison and reports on scikit-learn's breast-cancer data.

    \b
    Example:
      rosenblatt demo --seed 3
    """
    from rich.panel import Panel
    from rich.text import Text

    from ..training.request import Request
    from ..training.summary import summarize
    from ..training.train import train
    from .console import Failure, bar, out, print_fields

    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise Failure(f"{output}: is a file, not a folder")
    console = out()
    title = Text.assemble(("Rosenblatt", "bold"), ": linear classifiers that show their work")
    console.print(Panel.fit(title))
    seeded = f"{DATA} --seed {seed}" if seed else DATA
    _heading(console, "1. Train", f"rosenblatt train {seeded} --algorithm average")
    request = Request(data=DATA, seed=seed)
    with bar("training") as watch:
        outcome = train(request, watch)
    print_fields(summarize(outcome))

    _heading(console, "2. One run, four readings", "model.reading('pocket')", prompt=">>>")
    console.print(_readings_table(outcome))

    _heading(console, "3. Prove", f"rosenblatt certify {DATA}")
    _prove(console)

    _heading(console, "4. Compare", f"rosenblatt compare {seeded} --algorithms {','.join(COMPARED_ALGORITHMS)}")
    _compare(console, outcome)

    _heading(console, "5. Report", f"rosenblatt train {seeded} --algorithm average --report report.html")
    _report(console, outcome, output)


def _heading(console: Console, title: str, command: str, prompt: str = "$") -> None:
    from rich.rule import Rule
    from rich.text import Text

    console.print()
    console.print(Rule(Text(title, style="bold"), align="left"))
    console.print(f"{prompt} {command}\n", style="dim", soft_wrap=True)


def _readings_table(outcome: Outcome) -> Table:
    """The errors of the four readings of one run."""
    from rich.table import Table

    from ..training.train import predict_codes

    prepared, model = outcome.prepared, outcome.estimator
    assert prepared is not None
    columns = ("reading", "hypothesis", "training errors", "test errors")
    table = Table(*columns, box=None, header_style="bold", padding=(0, 2, 0, 0))
    readings: dict[str, Any] = {keep: model.reading(keep) for keep in READINGS}
    parts = [(prepared.X, prepared.codes), (prepared.X_test, prepared.codes_test)]
    errors = {
        keep: [int((predict_codes(reading, X) != codes).sum()) for X, codes in parts] for keep, reading in readings.items()
    }
    fewest = min(test for _, test in errors.values())
    for keep, (training, test) in errors.items():
        table.add_row(keep, READINGS[keep], str(training), str(test), style="bold green" if test == fewest else "")
    return table


def _prove(console: Console) -> None:
    from ..certificates.verify import verify
    from ..data.readers import Options
    from ..proofs.certify import certify
    from .options import read_labeled_rows

    rows = read_labeled_rows(DATA, Options())
    certificate = certify(rows.X, rows.y)
    console.print(str(certificate), soft_wrap=True)
    check = verify(certificate, rows.X, rows.y)
    console.print(f"{check} (checked in exact arithmetic, by code that shares nothing with the solver)")


def _compare(console: Console, outcome: Outcome) -> None:
    from ..training.compare import Comparison, compare
    from ..training.verdict import choose_winner
    from .compare import comparison_table
    from .console import bar

    assert outcome.prepared is not None
    with bar("comparing") as watch:
        entries = list(compare(outcome.request, Comparison(outcome.prepared), list(COMPARED_ALGORITHMS), lambda name: watch))
    verdict = choose_winner(entries)
    console.print(comparison_table(entries, verdict, width=console.width))
    console.print(f"\n{verdict.sentence}", soft_wrap=True)


def _report(console: Console, outcome: Outcome, output: str | None) -> None:
    import tempfile

    from rich.text import Text

    from ..models.files import save
    from .train import build_model, write_report_file

    folder = Path(output) if output is not None else Path(tempfile.mkdtemp(prefix="rosenblatt-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    report, model = folder / "report.html", folder / "breast-cancer.safetensors"
    write_report_file(outcome, str(report), f"rosenblatt train {DATA} --seed {outcome.request.seed}")
    save(build_model(outcome), model)
    for what, path in (("Report (one HTML file): ", report), ("Model:                  ", model)):
        console.print(Text.assemble(what, (str(path), "bold")), soft_wrap=True)
    console.print(f"\nNext: rosenblatt show {model}\n      rosenblatt --help", soft_wrap=True)
