"""`rosenblatt explain`: why a row is predicted as it is, and the nearest changes that are predicted otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .options import WholeNumber, about_model_data, as_json, data_argument, load_first, model_argument, options_for

if TYPE_CHECKING:
    from ..data.readers import Options
    from ..data.table import Data
    from ..models.explanations.explanation import Explanation
    from ..models.model import Model

# Bytes read at a time.
CHUNK_BYTES = 1 << 22
CELL_CHARS = 40  # of a cell that is printed
SIGNIFICANT_DIGITS = 4  # of the largest contribution


@click.command("explain")
@model_argument
@data_argument
@click.option("--row", type=WholeNumber(1), default=1, show_default=True, help="The row of DATA to explain, from 1.")
@click.option("-n", "--columns", type=WholeNumber(1), default=10, show_default=True, help="Columns and changes to show.")
@click.option("--single", is_flag=True, help="Show single features, such as products and words, instead of columns.")
@click.option(
    "--training", metavar="FILE",
    help="The training file: also list the support vectors next to the row (models of soft-margin and max-margin).",
)  # fmt: skip
@click.option("--figure", metavar="FILE", help="Also write a figure as PNG, SVG or PDF.")
@about_model_data
@as_json
def command(
    model: str, data: str, row: int, columns: int, single: bool, training: str | None, figure: str | None, as_json: bool,
    **given: Any,
) -> None:  # fmt: skip
    """Explain why a row is predicted as it is, and what would change the prediction.

    Prints what each column adds to the score: with the intercept, the numbers sum to it. Two classes are decided by the sign
    of the score; of more classes, the predicted one is compared with the runner-up. Then the nearest change of each single
    column that is predicted otherwise, in the units of the file: numbers, dates and categories to replace, words to leave out.

    \b
    Examples:
      rosenblatt explain adult.safetensors new.csv
      rosenblatt explain adult.safetensors new.csv --row 17 -n 5 --figure row17.svg
      rosenblatt explain svm.safetensors new.csv --training adult.data
    """
    from ..models.files import load_model
    from .console import check_picture, check_writable, print_json

    loaded = load_first(load_model, model, data)
    if figure is not None:
        check_picture(figure)
        check_writable(figure, data, model)
    options = options_for(loaded, given)
    found = _row_of(data, options, row)
    explanation = loaded.explain(found) if training is None else _with_similar(loaded, found, training, options)
    true = None if found.labels is None else found.labels.tolist()[0]
    if figure is not None:
        from ..reporting.figures.explanation import explanation_chart
        from ..reporting.page import save_chart

        save_chart(explanation_chart(explanation, f"row {row}"), figure)
    if as_json:
        print_json({"row": row, "true": true, **explanation.to_dict(), "figure": figure})
        return
    _print(loaded, explanation, found, row, true, columns, single)
    if explanation.similar:
        _print_similar(explanation, columns)
    if figure is not None:
        from .console import echo

        echo(f"\nfigure: {figure}")


def _row_of(path: str, options: Options, row: int) -> Data:
    """One row of a file, counted from 1."""
    import numpy as np

    from ..data.readers.read import chunks
    from ..data.readers.sources import display_name
    from ..data.table import DataError
    from ..reporting.text import plural

    before = 0
    for chunk in chunks(path, options, CHUNK_BYTES):
        if row <= before + chunk.n_rows:
            return chunk.take(np.arange(before + 1, before + chunk.n_rows + 1) == row)
        before += chunk.n_rows
    sentence = f"there is no row {row}, because the file has {plural(before, 'row')}"
    raise DataError(display_name(path), sentence, option=f"--row 1 to --row {before}" if before > 1 else "--row 1")


def _with_similar(model: Model, found: Data, path: str, options: Options) -> Explanation:
    """The explanation with the nearest support vectors, which are rows of the training file."""
    from ..data.readers.read import read
    from ..models.card.record import HELD_OUT, record_from_json
    from ..models.explanations.similar import NotTrainingRowsError
    from ..training.preparation import require_labels
    from ..training.split import Holdout
    from .console import Failure

    data = read(path, options)
    labels, record = require_labels(data), record_from_json(model.provenance.get("training"))
    test = None if record is None else record.test
    if test is not None and test.by == HELD_OUT and test.share is not None and test.seed is not None:
        data = data.take(~Holdout(test.share, test.seed).mask(labels))
    try:
        explanation = model.explain(found, training=(data, require_labels(data)))
    except NotTrainingRowsError as error:
        raise Failure(f"{path}: {error}") from None
    places = data.positions
    if places is None:
        return explanation
    return replace(explanation, similar=tuple(replace(each, row=int(places[each.row])) for each in explanation.similar))


def _print(model: Model, explanation: Explanation, data: Data, row: int, true: object, n: int, single: bool) -> None:
    from ..models.explanations.row import number_forms
    from ..models.explanations.sentences import contributions, heaviest_words, sentences_of_changes
    from ..reporting.text import short
    from .bars import contribution_table
    from .console import echo, out, print_fields

    line = "" if data.lines is None else f" (line {data.lines[0]})"
    given = "" if true is None else f" (labeled {true})"
    favored, other = str(explanation.favored), str(explanation.other)
    print_fields([
        ("row", f"{row} of {data.source}{line}"),
        ("prediction", f"{explanation.label}{given}"),
        ("score", f"{short(explanation.score, 4)} (above 0: {favored}, else {other})"),
    ])  # fmt: skip
    rows, rest, decimals = contributions(explanation, n, single)
    title = f"for {favored} (+) or {other} (-)"
    echo()
    out().print(contribution_table(title, rows, rest, ("green", "red"), decimals))
    words = [] if single else heaviest_words(explanation, n)
    if words:
        echo()
        out().print(contribution_table("words", words, [], ("green", "red"), decimals))
    echo()
    hint = f" (-n {len(explanation.changes)} shows them)"
    for sentence in sentences_of_changes(explanation, n, number_forms(model), hint):
        echo(sentence)


def _print_similar(explanation: Explanation, n: int) -> None:
    """The nearest support vectors, with what each of them adds to the score."""
    from rich.table import Table
    from rich.text import Text

    from ..reporting.text import count, fixed, short
    from .console import echo, out

    table = Table("row", "label", "distance", "multiplier", "adds", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in (table.columns[0], *table.columns[2:]):
        column.justify = "right"
    for each in explanation.similar[:n]:
        table.add_row(
            count(each.row + 1), Text(str(each.label)), short(each.distance), short(each.multiplier, 4),
            fixed(each.amount, 3, signed=True),
        )  # fmt: skip
    echo("\nNearest training rows with a multiplier; all of them, with the intercept, add up to the score:")
    out().print(table)
