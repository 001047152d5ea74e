"""`rosenblatt predict`: the labels of the rows of a file, chunk by chunk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from .console import data_out, note
from .drift import DriftReport, drift_file
from .options import about_model_data, as_json, data_argument, load_first, model_argument, options_for

if TYPE_CHECKING:
    from ..array_types import FloatArray, IntArray
    from ..data.readers import Options
    from ..models.model import Model

# Bytes read at a time.
CHUNK_BYTES = 1 << 24


@click.command("predict")
@model_argument
@data_argument
@click.option(
    "--scores", is_flag=True, help="Add the score, or the scores of all classes, after each label, with tabs between."
)
@click.option(
    "--proba",
    is_flag=True,
    help="Add the probability of each class, in columns named in a first line. The default model has them, others after "
    "train --calibrate.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Write the labels here.  [default: standard output]")
@drift_file
@about_model_data
@as_json
def command(
    model: str, data: str, scores: bool, proba: bool, output: str, drift: str | None, as_json: bool, **given: Any
) -> None:
    """Predict the labels of the rows of a file: one label per line.

    The file needs no labels; if it has some, the accuracy is printed to standard error. With two classes, a score above 0
    means the second class; with more, there is one score per class, in the order in which `show` lists the classes. The label
    follows the scores, and near the plane another class may be slightly more probable. --json prints one object per line.

    Standard error shows, for each column, the missing cells, the values that the training rows do not have, and numbers far
    outside of their range; --drift writes a comparison of all columns. Columns that the file lacks, up to half of them, count
    as missing cells, unless the model was trained with --missing refuse.

    \b
    Examples:
      rosenblatt predict adult.safetensors new.csv
      rosenblatt predict a9a.safetensors a9a.t --scores -o scores.tsv
      rosenblatt predict adult.safetensors new.csv --drift drift.json
      cat new.jsonl | rosenblatt predict m.safetensors - --format jsonl --json
    """
    from ..models.files import load_model

    loaded = load_first(load_model, model, data)
    report = DriftReport(loaded, data, drift, model)
    if scores and proba and not as_json:
        raise click.UsageError("--scores and --proba exclude each other, except with --json")
    if proba and loaded.probability_map is None:
        from .console import Failure

        raise Failure(f"{model} has no probabilities; train it with --calibrate sigmoid")
    prediction = Prediction(loaded, data, report.options(options_for(loaded, given)), report, scores, proba, as_json)
    if output == "-":
        prediction.write(data_out())
        return
    from ..atomic_file import write_atomically
    from .console import Failure, check_writable

    check_writable(output, data, model)
    if drift is not None and os.path.realpath(drift) == os.path.realpath(output):
        raise Failure("two output files have the same name")
    write_atomically(output, prediction.write)


@dataclass(frozen=True)
class Prediction:
    """The labels of a file, as lines of text or JSON."""

    model: Model
    data: str
    options: Options
    drift: DriftReport
    with_scores: bool = False
    with_probabilities: bool = False
    as_json: bool = False

    def write(self, file: IO[bytes]) -> None:
        """Write the labels, then report the accuracy and unused columns on standard error."""
        from ..data.readers.read import chunks
        from ..data.readers.sources import display_name
        from ..data.table import DataError, codes_of
        from ..reporting.text import count, percent

        model, source = self.model, display_name(self.data)
        correct = rows = 0
        unknown: DataError | None = None
        labeled = True
        if self.with_probabilities and not self.as_json:
            file.write(_text_line("label", list(map(str, model.classes.tolist()))).encode())
        for chunk in chunks(self.data, self.options, CHUNK_BYTES):
            scores = model.scores(chunk)
            codes = model.winners(scores)
            file.write("".join(self._lines(model.classes[codes].tolist(), scores)).encode())
            file.flush()
            labeled = labeled and chunk.labels is not None
            if labeled and unknown is None:
                try:
                    correct += int((codes_of(chunk, model.classes) == codes).sum())
                except DataError as error:  # a label that the model does not have
                    unknown = error
            rows += chunk.n_rows
            self.drift.add(chunk)
        self.drift.finish()
        if labeled and unknown is not None:
            note(f"no accuracy: {unknown.problem}")
        elif labeled and rows:
            note(f"accuracy {percent(correct / rows, decimals=2)} on {source} ({count(correct)} of {count(rows)})")

    def _lines(self, labels: list[Any], scores: FloatArray) -> Iterator[str]:
        nothing: list[Any] = [()] * len(labels)
        shown = scores.tolist() if self.with_scores else nothing
        probable = self.model.probabilities_of(scores).tolist() if self.with_probabilities else nothing
        if self.as_json:
            return (self._json_line(*row) for row in zip(labels, shown, probable, strict=True))
        return (_text_line(label, map(repr, [*a, *b])) for label, a, b in zip(labels, shown, probable, strict=True))

    def _json_line(self, label: object, scores: list[float], probabilities: list[float]) -> str:
        result, names = {"label": label}, list(map(str, self.model.classes.tolist()))
        if scores:
            result["scores"] = scores[0] if len(scores) == 1 else dict(zip(names, scores, strict=False))
        if probabilities:
            result["probabilities"] = dict(zip(names, probabilities, strict=True))
        return json.dumps(result, ensure_ascii=False) + "\n"


def _text_line(label: object, cells: Iterable[str]) -> str:
    return "\t".join([str(label), *cells]) + "\n"


class PredictedRows(NamedTuple):
    """The true codes, the predicted codes and the scores of a labeled file, and the digest of its contents, if any."""

    true: IntArray
    predicted: IntArray
    scores: FloatArray
    contents_sha256: str | None


def predict_labeled(model: Model, data: str, options: Options, drift: DriftReport) -> PredictedRows:
    """Predict the rows of a labeled file; report how they differ from the training rows."""
    import numpy as np

    from ..data.readers import is_example
    from ..data.readers.read import chunks, digest, open_source
    from ..data.table import codes_of

    true, predicted, scores = [], [], []
    with open_source(data) as source:
        for chunk in chunks(source, options, CHUNK_BYTES):
            true.append(codes_of(chunk, model.classes))
            scores.append(model.scores(chunk))
            predicted.append(model.winners(scores[-1]))
            drift.add(chunk)
        contents = None if is_example(source) else digest(source).contents
    drift.finish()
    return PredictedRows(np.concatenate(true), np.concatenate(predicted), np.concatenate(scores), contents)
