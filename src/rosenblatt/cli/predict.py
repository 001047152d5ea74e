"""`rosenblatt predict`: label the rows of a file, chunk by chunk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, Any

import click

from .options import about_data, as_json, data_argument, model_argument, options_for


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
    from .labelling import label_rows

    found = load_model(model)
    options = options_for(found, given)
    if output == "-":
        label_rows(found, data, options, _text(sys.stdout.buffer), scores, as_json)
        return
    from ..models.atomic_file import write_atomically
    from .writing import check_writable

    check_writable(output, data, model)
    write_atomically(output, lambda file: label_rows(found, data, options, _text(file), scores, as_json))


def _text(file: IO[bytes]) -> Any:
    def write(lines: Iterator[str]) -> None:
        file.write("".join(lines).encode())
        file.flush()

    return write
