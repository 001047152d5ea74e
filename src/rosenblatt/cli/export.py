"""`rosenblatt export`: a model for somebody else's program."""

from __future__ import annotations

import sys

import click

from .options import model_argument


@click.command("export")
@model_argument
@click.option("--onnx", is_flag=True, help="ONNX: scores and labels in double precision.")
@click.option("--json", is_flag=True, help="JSON: everything needed to score rows in any language.")
@click.option("--c", is_flag=True, help="C99: one file without dependencies.")
@click.option("--sql", is_flag=True, help="SQL: a SELECT over a table with the model's columns.")
@click.option("--table", metavar="NAME", default="rows", show_default=True, help="SQL: the table's name.")
@click.option("-o", "--output", metavar="FILE", help="Where it goes.  [default: standard output; its ending tells the kind]")
def command(model: str, table: str, output: str | None, **asked: bool) -> None:
    """Turn a model into ONNX, JSON, C or SQL, with scores equal to ours.

    \b
    Examples:
      rosenblatt export iris.safetensors --c > iris.c
      rosenblatt export adult.safetensors --sql --table people
      rosenblatt export a9a.safetensors -o a9a.onnx
    """
    from pathlib import Path

    from ..models.exports.export import LANGUAGES, export
    from ..models.files import load_model

    kinds = [language for language in LANGUAGES if asked[language]]
    ending = Path(output or "").suffix.lower()
    kinds = kinds or [language for language, end in LANGUAGES.items() if end == ending]
    if len(kinds) != 1:
        raise click.UsageError("say which one: --onnx, --json, --c or --sql")
    kind = kinds[0]
    if kind == "onnx" and output is None and sys.stdout.isatty():
        raise click.UsageError("ONNX is not text: give --output FILE")
    written = export(load_model(model), kind, table=table)
    if output is None or output == "-":
        sys.stdout.buffer.write(written)
        return
    from ..models.atomic_file import write_atomically
    from .console import check_writable

    check_writable(output, model, ending=LANGUAGES[kind])
    write_atomically(output, lambda file: file.write(written))
    click.echo(f"{output}: {len(written):,} bytes", err=True)
