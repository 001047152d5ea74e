"""`rosenblatt export`: a model in another language."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import model_argument

if TYPE_CHECKING:
    from ..models.exports.export import Language


@click.command("export")
@model_argument
@click.option("--onnx", is_flag=True, help="ONNX: scores and labels in double precision.")
@click.option("--json", is_flag=True, help="JSON: everything needed to score rows in any language.")
@click.option("--c", is_flag=True, help="C99: one file without dependencies.")
@click.option("--js", is_flag=True, help="JavaScript: an ES module without dependencies, for Node and browsers.")
@click.option("--sql", is_flag=True, help="SQL: a SELECT over a table with the model's columns.")
@click.option("--table", metavar="NAME", default="rows", show_default=True, help="SQL: name of the table.")
@click.option(
    "-o", "--output", metavar="FILE", help="Output file; its extension selects the language.  [default: standard output]"
)
def command(model: str, table: str, output: str | None, **flags: bool) -> None:
    """Export a model to ONNX, JSON, C, JavaScript or SQL, with the same scores and, except in SQL, the same probabilities.

    \b
    Examples:
      rosenblatt export iris.safetensors --c > iris.c
      rosenblatt export adult.safetensors --sql --table people
      rosenblatt export adult.safetensors -o adult.mjs
      rosenblatt export a9a.safetensors -o a9a.onnx
    """
    from ..atomic_file import write_atomically
    from ..models.exports.export import LANGUAGES, export
    from ..models.exports.formula import ExportError
    from ..models.exports.probabilities import WITH_PROBABILITIES
    from ..models.files import load_model
    from ..reporting.text import plural
    from .console import Failure, check_writable, data_out, note

    language = _language(flags, output)
    if language == "onnx" and output is None and sys.stdout.isatty():
        raise click.UsageError("ONNX is a binary format: name a file with --output")
    loaded = load_model(model)
    try:
        content = export(loaded, language, table=table)
    except ExportError as error:
        if error.option is None:
            raise
        raise Failure(f"{error.problem}; train with {error.option}") from None
    if loaded.probability_map is not None and language not in WITH_PROBABILITIES:
        instead = "export to ONNX, JSON, C or JavaScript"
        note(f"the {language.upper()} export has labels and scores, but not the probabilities: {instead}")
    if output is None or output == "-":
        data_out().write(content)
        return
    check_writable(output, model, ending=LANGUAGES[language])
    write_atomically(output, content)
    note(f"{output}: {plural(len(content), 'byte')}")


def _language(flags: dict[str, bool], output: str | None) -> Language:
    """The language that was selected by an option or by the extension of the output."""
    from ..models.exports.export import LANGUAGES

    extension = Path(output or "").suffix.lower()
    languages = [language for language in LANGUAGES if flags[language]]
    languages = languages or [language for language, own in LANGUAGES.items() if extension in own]
    if len(languages) != 1:
        extensions = ", ".join(own[0] for own in LANGUAGES.values())
        options = "--onnx, --json, --c, --js or --sql"
        raise click.UsageError(f"choose one of {options}, or an output file that ends with {extensions}")
    return languages[0]
