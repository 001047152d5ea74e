"""`rosenblatt evaluate`: how well a model labels the rows of a file."""

from __future__ import annotations

import math
from typing import Any

import click

from .options import about_data, as_json, data_argument, model_argument, options_for


@click.command("evaluate")
@model_argument
@data_argument
@about_data
@as_json
def command(model: str, data: str, as_json: bool, **given: Any) -> None:
    """Say how well a model labels the rows of a file.

    The error with its 95 % interval, the confusion matrix (true classes down, predicted across), precision, recall and F1 of
    each class, and the area under the ROC curve (of more than two classes: the mean of each against the rest).

    \b
    Examples:
      rosenblatt evaluate a9a.safetensors a9a.t
      rosenblatt evaluate adult.safetensors adult.test --json
    """
    from ..models.files import load_model
    from ..training.metrics import Confusion, mean_auc
    from .console import print_json
    from .predict import codes_and_scores

    found = load_model(model)
    true, predicted, scores = codes_and_scores(found, data, options_for(found, given))
    confusion = Confusion.of(true, predicted, len(found.classes))
    area = mean_auc(scores, true) if scores.shape[1] in (1, len(found.classes)) else math.nan
    names = [str(label) for label in found.classes.tolist()]
    if as_json:
        columns = zip(names, confusion.precision, confusion.recall, confusion.f1, strict=True)
        each = [{"label": n, "precision": p, "recall": r, "f1": f} for n, p, r, f in columns]
        told = confusion.to_dict() | {"auc": None if math.isnan(area) else area, "classes": each}
        print_json(told | {"confusion": confusion.counts.tolist()})
        return
    _print(confusion, area, names)


def _print(confusion: Any, area: float, names: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from .console import out, say

    low, high = confusion.interval
    lines = [
        ("rows", f"{confusion.rows:,}"),
        ("error", f"{confusion.error:.2%} ({confusion.errors:,}), 95 % interval {low:.2%} to {high:.2%}"),
    ]
    if not math.isnan(area):
        lines.append(("AUC", f"{area:.4f}"))
    say(lines)
    wide = len(names) <= 12
    columns = [*(f"as {name}" for name in names if wide), "precision", "recall", "F1"]
    table = Table("true class", *columns, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for k, name in enumerate(names):
        cells = [Text(f"{count:,}", style="bold" if j == k else "") for j, count in enumerate(confusion.counts[k]) if wide]
        shares = (confusion.precision[k], confusion.recall[k], confusion.f1[k])
        table.add_row(Text(name), *cells, *(f"{share:.4f}" for share in shares))
    out().print(table)
    if not wide:  # too many columns for a matrix: of each class, what it is taken for
        from ..reporting.terminal import confusion_lines

        click.echo("\n" + "\n".join(confusion_lines(names, confusion.counts.tolist())))
