"""`rosenblatt evaluate`: the accuracy of a model on a labeled file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .cluster_options import on_cluster, open_cluster, refuse_with_cluster, refuse_without_cluster
from .drift import DriftReport, drift_file
from .options import about_model_data, as_json, files_argument, files_of, load_first, model_argument, options_for

if TYPE_CHECKING:
    from ..array_types import IntArray
    from ..data.readers import Options
    from ..models.model import Model
    from ..probabilities.measures import ProbabilityTest
    from ..training.judgment import Judgment
    from ..training.metrics import Confusion

# Classes up to which the confusion matrix is printed in full.
MAX_MATRIX_CLASSES = 12


@click.command("evaluate")
@model_argument
@files_argument
@drift_file
@about_model_data
@on_cluster
@as_json
def command(
    model: str,
    data: tuple[str, ...],
    drift: str | None,
    cluster: str | None,
    block_bytes: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Measure the accuracy of a model on a labeled file.

    Prints the error with its 95 % interval, beside it the error of always predicting the largest class, the confusion matrix
    (rows: true classes, columns: predicted classes), precision, recall and F1 of each class, and the area under the ROC curve
    (for more than two classes: the mean of each class against the rest). A model with probabilities is measured by log loss,
    Brier score and its reliability: beside each tenth of the probabilities, the share of rows that have the class. Standard
    error shows how the rows differ from the training rows, as `predict` does.

    Several files, or a pattern in quotes, are read as one. With --cluster, workers read them, and their counts are added up:
    without the area under the ROC curve, which needs all scores, and without a comparison with the training rows.

    \b
    Examples:
      rosenblatt evaluate a9a.safetensors a9a.t
      rosenblatt evaluate adult.safetensors adult.test --json
      rosenblatt evaluate churn.safetensors "test/*.csv" --cluster tcp://10.0.0.5:8786
    """
    from ..models.files import load_model
    from ..training.judgment import Judgment
    from .console import print_json

    refuse_without_cluster(cluster, {"block_bytes": block_bytes})
    if cluster is not None:
        refuse_with_cluster({"drift": drift})
    loaded = load_first(load_model, model, data[0])
    files = files_of(data, exist=cluster is not None)
    if cluster is None:
        report = DriftReport(loaded, files, drift, model)
        tested = _test(loaded, files, report.options(options_for(loaded, given)), report)
    else:
        tested = _test_on_cluster(loaded, files, options_for(loaded, given), cluster, block_bytes)
    confusion, quality, area = tested.confusion, tested.quality, tested.area
    names = [str(label) for label in loaded.classes.tolist()]
    no_test = "The model was trained on rows of this file" if _trained_on(loaded, files, tested.contents_sha256) else ""
    weighted = loaded.parameters.get("class_weight") is not None
    judgment = Judgment(confusion, names, training_sizes(loaded), noun="row", no_test=no_test, weighted=weighted)
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


class Tested(NamedTuple):
    """The counts of a test, the quality of the probabilities, and the area under the ROC curve, NaN if it is unknown."""

    confusion: Confusion
    quality: ProbabilityTest | None
    area: float = math.nan
    contents_sha256: str | None = None  # of the files


def _test(model: Model, files: tuple[str, ...], options: Options, report: DriftReport) -> Tested:
    """Test a model on files that are read here."""
    from ..training.metrics import Confusion, mean_auc
    from .predict import predict_labeled

    tested = predict_labeled(model, files, options, report)
    confusion = Confusion.of(tested.true, tested.predicted, len(model.classes))
    known = tested.scores.shape[1] in (1, len(model.classes))
    area = mean_auc(tested.scores, tested.true) if known else math.nan
    quality = None
    if model.probability_map is not None:
        from ..probabilities.measures import ProbabilityTest

        quality = ProbabilityTest.of(model.probabilities_of(tested.scores), tested.true)
    return Tested(confusion, quality, area, tested.contents_sha256)


def _test_on_cluster(model: Model, files: tuple[str, ...], options: Options, cluster: str, block_bytes: int | None) -> Tested:
    """Test a model on files that workers read."""
    from ..cluster.predictions import evaluate
    from ..cluster.read import BLOCK_BYTES, blocks_of_files

    blocks = blocks_of_files(files, options, block_bytes=block_bytes or BLOCK_BYTES)
    with open_cluster(cluster) as client:
        found = evaluate(model, blocks, client)
    return Tested(found.confusion, found.probabilities)


def _trained_on(model: Model, files: tuple[str, ...], contents_sha256: str | None) -> bool:
    """Whether files are those that the model was trained on: by the digest of their contents, or by their name."""
    from ..data.readers.sources import name_of
    from ..training.preparation import contents_digest

    if contents_sha256 is None or contents_digest(model.provenance) is None:
        return bool(model.provenance.get("data") == name_of(files))
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
