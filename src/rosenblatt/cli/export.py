"""`rosenblatt export`: a model in another language, perhaps smaller, with a proof for the rows of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import NumberOrWord, about_model_data, model_argument, options_for

if TYPE_CHECKING:
    from ..models.exports.export import Language
    from ..models.exports.reduction import Reduction
    from ..models.model import Model

# Bytes of a file to check that are read at a time.
CHUNK_BYTES = 1 << 24


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
@click.option(
    "--prune",
    type=NumberOrWord(float),
    metavar="NUMBER",
    help="Leave out light features. 100: keep the 100 heaviest; 0.01: leave out those that together have at most 1 % of the "
    "weight; 0: those without weight. The weight is what a feature can do to a score within the ranges of the training rows.",
)
@click.option("--float16", is_flag=True, help="Round weights to 16 bits (not in SQL).")
@click.option(
    "--check",
    metavar="DATA",
    help="Prove for the rows of this file that the export gives them the model's labels, and count those where it may not.",
)
@about_model_data
def command(
    model: str, table: str, output: str | None, prune: float | None, float16: bool, check: str | None, **given: Any
) -> None:  # fmt: skip
    """Export a model to ONNX, JSON, C, JavaScript or SQL, with the same scores and, except in SQL, the same probabilities.

    The options from --format on say how the file of --check is read, if it is not like the training file.

    \b
    Examples:
      rosenblatt export iris.safetensors --c > iris.c
      rosenblatt export adult.safetensors --sql --table people
      rosenblatt export adult.safetensors -o adult.mjs
      rosenblatt export a9a.safetensors -o a9a.onnx
      rosenblatt export adult.safetensors -o adult.mjs --prune 20 --float16 --check new.csv
    """
    from ..atomic_file import write_atomically
    from ..models.exports.export import LANGUAGES, TITLES, export, reduction_of
    from ..models.exports.formula import ExportError
    from ..models.exports.probabilities import WITH_PROBABILITIES
    from ..models.exports.reduction import check_prune
    from ..models.files import load_model
    from .console import Failure, check_writable, data_out, note

    language = _language({name: given.pop(name) for name in LANGUAGES}, output)
    if language == "onnx" and output is None and sys.stdout.isatty():
        raise click.UsageError("ONNX is a binary format: name a file with --output")
    try:
        check_prune(prune)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None
    loaded = load_model(model)
    if output is not None and output != "-":
        check_writable(output, model, check, ending=LANGUAGES[language])
    try:
        reduction = reduction_of(loaded, language, prune=prune, float16=float16)
        content = export(loaded, language, table=table, prune=prune, float16=float16)
        if reduction is not None:
            _note_reduction(reduction)
        if check is not None:
            _check(loaded, check, given, prune, float16)
        elif reduction is not None:
            note("nothing was proved about the labels of the smaller export: give rows with --check DATA")
        if reduction is not None:
            note(f"size: {_bytes(len(content))}, in place of {_bytes(len(export(loaded, language, table=table)))}")
    except ExportError as error:
        if error.option is None:
            raise
        raise Failure(f"{error.problem}; train with {error.option}") from None
    if loaded.probability_map is not None and language not in WITH_PROBABILITIES:
        instead = "export to ONNX, JSON, C or JavaScript"
        note(f"the {TITLES[language]} export has labels and scores, but not the probabilities: {instead}")
    if output is None or output == "-":
        data_out().write(content)
        return
    write_atomically(output, content)
    note(f"{output}: {_bytes(len(content))}")


def _check(model: Model, path: str, given: dict[str, Any], prune: float | None, float16: bool) -> None:
    """Print how many rows of a file are proved to have the labels of the model."""
    from ..data.readers.read import chunks
    from ..data.readers.sources import display_name
    from ..models.exports.decisions import check_decisions
    from .console import Failure, note

    if model.recipe is not None and model.recipe.kind == "mail":
        return  # the export refuses it
    found = check_decisions(model, chunks(path, options_for(model, given), CHUNK_BYTES), prune=prune, float16=float16)
    if not found.rows:
        raise Failure(f"{display_name(path)}: there are no rows to check")
    note(f"decisions on {display_name(path)}: {found}")


def _note_reduction(reduction: Reduction) -> None:
    from ..reporting.text import count
    from .console import note

    if reduction.pruned and reduction.kept == reduction.features:
        note("features: all have weight, and all are kept")
    elif reduction.pruned:
        note(f"features: {count(reduction.kept)} of {count(reduction.features)} are kept; {reduction.describe_bound()}")


def _bytes(number: int) -> str:
    from ..reporting.text import plural

    return plural(number, "byte")


def _language(flags: dict[Language, bool], output: str | None) -> Language:
    """The language that was selected by an option or by the extension of the output."""
    from ..models.exports.export import LANGUAGES

    extension = Path(output or "").suffix.lower()
    languages = [language for language, chosen in flags.items() if chosen]
    languages = languages or [language for language, own in LANGUAGES.items() if extension in own]
    if len(languages) != 1:
        extensions = ", ".join(own[0] for own in LANGUAGES.values())
        options = "--onnx, --json, --c, --js or --sql"
        raise click.UsageError(f"choose one of {options}, or an output file that ends with {extensions}")
    return languages[0]
