"""`rosenblatt predict`: the labels of the rows of a file, chunk by chunk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from .console import data_out, note
from .options import about_data, as_json, data_argument, load_first, model_argument, options_for

if TYPE_CHECKING:
    from ..array_types import FloatArray, IntArray
    from ..data.readers import Options
    from ..data.table import Data
    from ..models.model import Model, RecipeLike

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
    help="Add the probability of each class, in columns named in a first line; needs train --calibrate.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Write the labels here.  [default: standard output]")
@about_data
@as_json
def command(model: str, data: str, scores: bool, proba: bool, output: str, as_json: bool, **given: Any) -> None:
    """Predict the labels of the rows of a file: one label per line.

    The file needs no labels; if it has some, the accuracy is printed to standard error. With two classes, a score above 0
    means the second class; with more, there is one score per class, in the order in which `show` lists the classes. The label
    follows the scores, and near the plane another class may be slightly more probable. --json prints one object per line.

    \b
    Examples:
      rosenblatt predict adult.safetensors new.csv
      rosenblatt predict a9a.safetensors a9a.t --scores -o scores.tsv
      cat new.jsonl | rosenblatt predict m.safetensors - --format jsonl --json
    """
    from ..models.files import load_model

    loaded = load_first(load_model, model, data)
    if scores and proba and not as_json:
        raise click.UsageError("--scores and --proba exclude each other, except with --json")
    if proba and loaded.probability_map is None:
        from .console import Failure

        raise Failure(f"{model} has no probabilities; train it with --calibrate sigmoid")
    prediction = Prediction(loaded, data, options_for(loaded, given), scores, proba, as_json)
    if output == "-":
        prediction.write(data_out())
        return
    from ..atomic_file import write_atomically
    from .console import check_writable

    check_writable(output, data, model)
    write_atomically(output, prediction.write)


@dataclass(frozen=True)
class Prediction:
    """The labels of a file, as lines of text or JSON."""

    model: Model
    data: str
    options: Options
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
        comparable, unknown = True, Unknown(model.recipe)
        if self.with_probabilities and not self.as_json:
            file.write(_text_line("label", list(map(str, model.classes.tolist()))).encode())
        for chunk in chunks(self.data, self.options, CHUNK_BYTES):
            scores = model.scores(chunk)
            codes = model.winners(scores)
            file.write("".join(self._lines(model.classes[codes].tolist(), scores)).encode())
            file.flush()
            if chunk.labels is None:
                comparable = False
            elif comparable:
                try:
                    correct += int((codes_of(chunk, model.classes) == codes).sum())
                except DataError:  # labels that the model does not have
                    comparable = False
            rows += chunk.n_rows
            unknown.add(chunk)
        unknown.report(source)
        if comparable and rows:
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


class Unknown:
    """Counts what the rows of a file have that a model does not know: columns, and values of categorical columns."""

    def __init__(self, recipe: RecipeLike | None) -> None:
        self._recipe = recipe
        self._columns, self._cells = 0, Counter[str]()
        self._first: dict[str, str] = {}

    def add(self, chunk: Data) -> None:
        if self._recipe is not None:
            self._columns = max(self._columns, self._recipe.count_unknown_columns(chunk))
            for column, cells, value in self._recipe.unknown_categories(chunk):
                self._cells[column] += cells
                self._first.setdefault(column, value)

    def report(self, source: str) -> None:
        """Print a note to standard error for the unused columns, and one for each column with unknown values."""
        from ..reporting.text import plural, quoted_list

        if self._columns:
            note(f"ignored {plural(self._columns, 'column')} of {source} that the model does not use")
        for column, cells in self._cells.items():
            first = quoted_list([self._first[column]])
            note(
                f"column {column!r} of {source} has {plural(cells, 'cell')} with a value that the training rows did not have "
                f"(first: {first}); scored without a category"
            )


def _text_line(label: object, cells: Iterable[str]) -> str:
    return "\t".join([str(label), *cells]) + "\n"


class PredictedRows(NamedTuple):
    """The true codes, the predicted codes and the scores of a labeled file, with its digest (None for an example)."""

    true: IntArray
    predicted: IntArray
    scores: FloatArray
    sha256: str | None


def predict_labeled(model: Model, data: str, options: Options) -> PredictedRows:
    """Predict the rows of a labeled file; report what the model does not know."""
    import numpy as np

    from ..data.readers import is_example
    from ..data.readers.read import chunks, digest, open_source
    from ..data.readers.sources import display_name
    from ..data.table import codes_of

    true, predicted, scores = [], [], []
    unknown = Unknown(model.recipe)
    with open_source(data) as source:
        for chunk in chunks(source, options, CHUNK_BYTES):
            true.append(codes_of(chunk, model.classes))
            scores.append(model.scores(chunk))
            predicted.append(model.winners(scores[-1]))
            unknown.add(chunk)
        sha256 = None if is_example(source) else digest(source)
    unknown.report(display_name(data))
    return PredictedRows(np.concatenate(true), np.concatenate(predicted), np.concatenate(scores), sha256)
