"""`rosenblatt evaluate`: the accuracy of a model on a labeled file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from .drift import DriftReport, drift_file
from .options import about_model_data, as_json, data_argument, load_first, model_argument, options_for

if TYPE_CHECKING:
    from ..array_types import IntArray
    from ..models.model import Model
    from ..probabilities.measures import ProbabilityTest
    from ..training.judgment import Judgment
    from ..training.metrics import Confusion

# Classes up to which the confusion matrix is printed in full.
MAX_MATRIX_CLASSES = 12


@click.command("evaluate")
@model_argument
@data_argument
@drift_file
@about_model_data
@as_json
def command(model: str, data: str, drift: str | None, as_json: bool, **given: Any) -> None:
    """Measure the accuracy of a model on a labeled file.

    Prints the error with its 95 % interval, beside it the error of always predicting the largest class, the confusion matrix
    (rows: true classes, columns: predicted classes), precision, recall and F1 of each class, and the area under the ROC curve
    (for more than two classes: the mean of each class against the rest). A model with probabilities is measured by log loss,
    Brier score and its reliability: beside each tenth of the probabilities, the share of rows that have the class. Standard
    error shows how the rows differ from the training rows, as `predict` does.

    \b
    Examples:
      rosenblatt evaluate a9a.safetensors a9a.t
      rosenblatt evaluate adult.safetensors adult.test --json
    """
    from ..models.files import load_model
    from ..training.judgment import Judgment
    from ..training.metrics import Confusion, mean_auc
    from .console import print_json
    from .predict import predict_labeled

    loaded = load_first(load_model, model, data)
    report = DriftReport(loaded, data, drift, model)
    tested = predict_labeled(loaded, data, report.options(options_for(loaded, given)), report)
    confusion = Confusion.of(tested.true, tested.predicted, len(loaded.classes))
    known = tested.scores.shape[1] in (1, len(loaded.classes))
    area = mean_auc(tested.scores, tested.true) if known else math.nan
    names = [str(label) for label in loaded.classes.tolist()]
    no_test = "The model was trained on rows of this file" if _trained_on(loaded, data, tested.contents_sha256) else ""
    weighted = loaded.parameters.get("class_weight") is not None
    judgment = Judgment(confusion, names, training_sizes(loaded), noun="row", no_test=no_test, weighted=weighted)
    quality = None
    if loaded.probability_map is not None:
        from ..probabilities.measures import ProbabilityTest

        quality = ProbabilityTest.of(loaded.probabilities_of(tested.scores), tested.true)
    if as_json:
        columns = zip(names, confusion.precision, confusion.recall, confusion.f1, strict=True)
        classes = [{"label": n, "precision": p, "recall": r, "f1": f} for n, p, r, f in columns]
        auc = {"auc": None if math.isnan(area) else area}
        judged = judgment.to_dict()
        judged.pop("recall")  # among the classes
        probable = {"probabilities": None if quality is None else quality.to_dict()}
        print_json(confusion.to_dict() | auc | probable | judged | {"classes": classes, "confusion": confusion.counts.tolist()})
        return
    _print_measures(judgment, area, quality)
    _print_classes(confusion, names)
    if quality is not None:
        _print_reliability(quality, names)


def _trained_on(model: Model, data: str, contents_sha256: str | None) -> bool:
    """Whether a file is the one that the model was trained on: by the digest of its contents, or an example by its name."""
    from ..training.preparation import contents_digest

    if contents_sha256 is None:
        return bool(model.provenance.get("data") == data)
    return contents_digest(model.provenance) == contents_sha256


def training_sizes(model: Model) -> IntArray | None:
    """The training rows of each class, whose largest is the baseline; None if the model file does not have them."""
    import numpy as np

    from ..models.card.record import record_from_json

    record = record_from_json(model.provenance.get("training"))
    classes = None if record is None else record.training.classes
    return None if classes is None or len(classes) != len(model.classes) else np.array([rows for rows, _, _ in classes])


def _print_measures(judgment: Judgment, area: float, quality: ProbabilityTest | None) -> None:
    from ..reporting.text import count, fixed, percent, percent_range
    from ..training.summary import describe_probabilities
    from .console import print_fields

    confusion = judgment.confusion
    interval = percent_range(*confusion.interval)
    error = f"{percent(confusion.error, decimals=2)} ({count(confusion.errors)} wrong), 95 % interval {interval}"
    fields = [("rows", count(confusion.rows)), ("error", error), ("baseline", judgment.baseline_text)]
    if judgment.weighted:
        fields.append(("balanced", judgment.balanced_text))
    if not math.isnan(area):
        fields.append(("AUC", fixed(area)))
    if quality is not None:
        fields.append(("probabilities", describe_probabilities(quality)))
    print_fields(fields + [("warning", sentence) for sentence in judgment.warnings])


def _print_classes(confusion: Confusion, names: list[str]) -> None:
    """Print precision, recall and F1 of each class, with the confusion matrix if it is small."""
    from rich.table import Table
    from rich.text import Text

    from ..reporting.terminal import confusion_lines
    from ..reporting.text import count, fixed
    from .console import echo, out

    matrix = len(names) <= MAX_MATRIX_CLASSES
    columns = [*(f"as {name}" for name in names if matrix), "precision", "recall", "F1"]
    table = Table("true class", *columns, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for k, name in enumerate(names):
        cells = [Text(count(rows), style="bold" if j == k else "") for j, rows in enumerate(confusion.counts[k]) if matrix]
        shares = (confusion.precision[k], confusion.recall[k], confusion.f1[k])
        table.add_row(Text(name), *cells, *(fixed(share) for share in shares))
    out().print(table)
    if not matrix:
        echo("\n" + "\n".join(confusion_lines(names, confusion.counts.tolist())))


def _print_reliability(quality: ProbabilityTest, names: list[str]) -> None:
    """Print the reliability diagram: where probabilities are right, the bars end at them."""
    from ..reporting.terminal import reliability_lines
    from .console import echo

    title = "probability of the most probable class, and the share of rows where it is right"
    if quality.positive is not None:
        title = f"probability of {names[quality.positive]}, and its share of the rows"
    echo("\n".join(["", title, *reliability_lines(quality.bins)]))
