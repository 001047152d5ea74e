"""`rosenblatt predict`: label the rows of a file, chunk by chunk."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from .console import note
from .options import about_data, as_json, data_argument, model_argument, options_for

if TYPE_CHECKING:
    from ..data.read_options import Options
    from ..models.model import Model


@click.command("predict")
@model_argument
@data_argument
@click.option("--scores", is_flag=True, help="After each label its score, or the scores of all classes, separated by tabs.")
@click.option("-o", "--output", metavar="FILE", default="-", help="Where the labels go.  [default: standard output]")
@about_data
@as_json
def command(model: str, data: str, scores: bool, output: str, as_json: bool, **given: Any) -> None:
    """Label the rows of a file: one label a line.

    Labels in the file are not needed; where they are there, what share of them was met is said on standard error. With two
    classes the score is over 0 for the second; with more there is a score for each, in the order that `show` lists them.
    --json prints an object a line.

    \b
    Examples:
      rosenblatt predict adult.safetensors new.csv
      rosenblatt predict a9a.safetensors a9a.t --scores -o scores.tsv
      cat new.jsonl | rosenblatt predict m.safetensors - --format jsonl --json
    """
    from ..models.files import load_model

    found = load_model(model)
    options = options_for(found, given)
    if output == "-":
        label_rows(found, data, options, _text(sys.stdout.buffer), scores, as_json)
        return
    from ..models.atomic_file import write_atomically
    from .console import check_writable

    check_writable(output, data, model)
    write_atomically(output, lambda file: label_rows(found, data, options, _text(file), scores, as_json))


def _text(file: IO[bytes]) -> Any:
    def write(lines: Iterator[str]) -> None:
        file.write("".join(lines).encode())
        file.flush()

    return write


# --- Rows to labels, a chunk at a time.

# Bytes that are read at a time.
CHUNK = 1 << 24


def label_rows(model: Model, data: str, options: Options, write: Any, with_scores: bool, as_json: bool) -> None:
    from ..data.labels import codes_of
    from ..data.readers.read import chunks
    from ..data.readers.sources import display_name
    from ..data.table import DataError

    met = rows = strange = 0
    comparable = True
    for chunk in chunks(data, options, CHUNK):
        scores = model.scores(chunk)
        codes = model.winners(scores)
        write(_lines(model.classes[codes].tolist(), scores if with_scores else None, model.classes.tolist(), as_json))
        if chunk.labels is None:
            comparable = False
        elif comparable:
            try:
                met += int((codes_of(chunk, model.classes) == codes).sum())
            except DataError:  # labels that are not the model's: nothing to compare
                comparable = False
        rows += chunk.n_rows
        strange = max(strange, 0 if model.recipe is None else model.recipe.count_unknown_columns(chunk))
    if strange:
        note(f"left out: {strange:,} of the columns of {display_name(data)}, which the model does not know")
    if comparable and rows:
        note(f"{met / rows:.2%} of the labels in {display_name(data)} were met ({met:,} of {rows:,})")


def _lines(labels: list[Any], scores: Any, classes: list[Any], as_json: bool) -> Iterator[str]:
    each: Any = [None] * len(labels) if scores is None else scores.tolist()
    for label, row in zip(labels, each, strict=True):
        if as_json:
            told = {"label": label}
            if row is not None:
                told["scores"] = row[0] if len(row) == 1 else dict(zip(map(str, classes), row, strict=False))
            yield json.dumps(told, ensure_ascii=False) + "\n"
        else:
            yield "\t".join([str(label), *map(repr, row or ())]) + "\n"


def codes_and_scores(model: Model, data: str, options: Options) -> tuple[Any, Any, Any]:
    """(true codes, predicted codes, scores) of a whole file that has labels."""

    import numpy as np

    from ..data.labels import codes_of
    from ..data.readers.read import chunks

    true, predicted, scores = [], [], []
    for chunk in chunks(data, options, CHUNK):
        true.append(codes_of(chunk, model.classes))
        scores.append(model.scores(chunk))
        predicted.append(model.winners(scores[-1]))
    return np.concatenate(true), np.concatenate(predicted), np.concatenate(scores)
