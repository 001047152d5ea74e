"""`rosenblatt convert`: a file in another format."""

from __future__ import annotations

from typing import Any

import click

from .options import about_data, as_json, data_argument, options_of


@click.command("convert")
@data_argument
@click.argument("out", metavar="OUT")
@click.option(
    "--to", metavar="FORMAT", help="svmlight, csv, tsv, jsonl, parquet, arrow or npz, where OUT's name does not tell."
)
@about_data
@as_json
def command(data: str, out: str, to: str | None, as_json: bool, **given: Any) -> None:
    """Turn a file into another format; OUT's ending says which, and whether it is compressed.

    svmlight and npz hold numbers: columns of names become one-hot columns, text becomes a bag of words. idx is read, not
    written.

    \b
    Examples:
      rosenblatt convert train-images-idx3-ubyte.gz mnist.svm
      rosenblatt convert adult.data adult.parquet --missing mean
      rosenblatt convert example:digits - --to csv | head
    """
    from .console import note, print_json
    from .converting import convert
    from .writing import check_writable

    if out != "-":
        check_writable(out, data)
    elif as_json:
        raise click.UsageError("--json and OUT would both go to standard output")
    rows, columns, target = convert(data, out, to, options_of(given))
    if as_json:
        print_json({"rows": rows, "columns": columns, "format": target, "written": out})
    else:
        note(f"{rows:,} rows, {columns:,} columns -> {'standard output' if out == '-' else out} ({target})")
