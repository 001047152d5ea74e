"""`rosenblatt export`: a model for somebody else's program."""

from __future__ import annotations

import sys

import click

from .options import model_argument


@click.command("export")
@model_argument
@click.option("--onnx", "kind", flag_value="onnx", help="ONNX: scores and labels in double precision.")
@click.option("--json", "kind", flag_value="json", help="JSON: everything needed to score rows in any language.")
@click.option("--c", "kind", flag_value="c", help="C99: one file without dependencies.")
@click.option("--sql", "kind", flag_value="sql", help="SQL: a SELECT over a table with the model's columns.")
@click.option("--table", metavar="NAME", default="rows", show_default=True, help="SQL: the table's name.")
@click.option("-o", "--output", metavar="FILE", help="Where it goes.  [default: standard output; its ending tells the kind]")
def command(model: str, kind: str | None, table: str, output: str | None) -> None:
    """Turn a model into ONNX, JSON, C or SQL, with scores equal to ours.

    \b
    Examples:
      rosenblatt export iris.safetensors --c > iris.c
      rosenblatt export adult.safetensors --sql --table people
      rosenblatt export a9a.safetensors -o a9a.onnx
    """
    from pathlib import Path

    from ..exports.export import LANGUAGES, export
    from ..models.files import load_model

    ending = Path(output or "").suffix.lower()
    kind = kind or next((language for language, end in LANGUAGES.items() if end == ending), None)
    if kind is None:
        raise click.UsageError("say which: --onnx, --json, --c or --sql")
    if kind == "onnx" and output is None and sys.stdout.isatty():
        raise click.UsageError("ONNX is not text: give --output FILE")
    written = export(load_model(model), kind, table=table)
    if output is None or output == "-":
        sys.stdout.buffer.write(written)
        return
    from ..models.atomic import write_atomically
    from .training import check_writable

    check_writable(output, model, ending=LANGUAGES[kind])
    write_atomically(output, lambda file: file.write(written))
    click.echo(f"{output}: {len(written):,} bytes", err=True)
