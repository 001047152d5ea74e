"""What the doctor sees in the rows of a training run without a proof, in one line each, and nothing about clean rows.

Columns    those that number or identify the rows, or predict the label alone (`proofs/doctor/column_findings.py`)
Rows       test rows that equal a training row, and equal rows with different labels
Classes    a class with few rows; labels, and categories, that differ in case alone; many different numbers
Scales     columns of very different range, if the request leaves them as they are
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..array_types import Array, IntArray
from ..data.csr import CSRMatrix
from ..data.table import Data, Table, as_text
from ..preprocessing.categorical import Categories
from ..preprocessing.recipe import Recipe
from ..proofs.doctor.column_findings import MIN_SCALE_RATIO, copies, identifiers_and_leaks, range_ratio
from ..proofs.doctor.duplicates import find_duplicates, row_hashes
from ..proofs.doctor.findings import AdviceForm, describe_imbalance
from ..reporting.text import comma_list, count, join_and, percent, plural, short
from .preparation import Prepared, require_labels
from .request import Request

# Shares of rows from which copies and conflicting labels are reported: some rows of most files are equal by chance.
MIN_SHARE_COPIED, MIN_SHARE_FORCED = 0.05, 0.01
# Rows are equal by nature if there are few possible ones: at most this many times their number.
MAX_POSSIBLE_PER_ROW = 10
# Numeric labels look like a quantity if there are more different ones, and fewer rows of each on average.
MAX_NUMERIC_CLASSES, MIN_ROWS_OF_NUMBER = 10, 20
MAX_SPELLINGS = 5
OPTIONS = AdviceForm("rosenblatt train")


def consult(
    request: Request, data: Data, prepared: Prepared, *, folds: bool = False, same_file: bool = False
) -> tuple[str, ...]:
    """Return notes on the rows of a file that was read whole.

    folds : whether they are tested by cross-validation.
    same_file : whether the test file is this file, which is said elsewhere.
    """
    notes = [*about_columns(data), *about_spellings(prepared.recipe, prepared.classes)]
    notes += [*_about_rows(data, prepared, folds, same_file), *about_numeric_classes(data, prepared.classes, len(prepared.y))]
    notes += about_classes(request, prepared.classes, np.bincount(prepared.codes, minlength=len(prepared.classes)))
    return (*notes, *_about_scales(request, prepared.recipe))


def about_columns(data: Data) -> Iterator[str]:
    """Yield notes on single columns of a table; those with losses have a note of the recipe, and dates ascend by nature."""
    if isinstance(data.features, Table):
        cells = dict(zip(data.features.names, data.features.columns, strict=True))
        columns: dict[str | int, Array] = {name: cells[name] for name in cells if name not in data.losses | data.dates}
        labels, codes = np.unique(as_text(require_labels(data)), return_inverse=True)
        # Spellings of one label count as one: no column can predict which of them a row has.
        codes = np.unique([_folded(str(label)) for label in labels.tolist()], return_inverse=True)[1][codes]
        yield from map(str, identifiers_and_leaks(columns, codes, OPTIONS))
        yield from map(str, copies({name: cells[name] for name in cells if name in data.dates}, codes, OPTIONS))


def about_classes(request: Request, classes: Array, sizes: IntArray) -> Iterator[str]:
    """Yield a note on a class with few rows."""
    weighs = "class_weight" in request.choice.options and "class_weight" not in request.parameters and request.threshold is None
    found = describe_imbalance(classes.tolist(), sizes, OPTIONS if weighs else None)
    if found is not None:
        yield found.sentence


def about_spellings(recipe: Recipe, classes: Array) -> Iterator[str]:
    """Yield a note on classes, and on categories of each column, that are the same word in other letters."""
    if classes.dtype.kind == "U" and (alike := _alike(classes.tolist())):
        yield f"Labels that differ in case alone are different classes: {alike}. Write them alike."
    for block in recipe.strings:
        if isinstance(block, Categories) and (alike := _alike(block.values)):
            which = f"Categories of column {block.name!r} that differ in case alone"
            yield f"{which} are different ones: {alike}. Write them alike."


def _alike(words: Sequence[str]) -> str:
    """Words that differ in case or blanks alone, as a list; nothing if there are none."""
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(_folded(word), []).append(word)
    return comma_list([join_and([repr(word) for word in group]) for group in groups.values() if len(group) > 1], MAX_SPELLINGS)


def _folded(word: str) -> str:
    return " ".join(word.casefold().split())


def about_numeric_classes(data: Data, classes: Array, rows: int) -> Iterator[str]:
    """Yield a note on labels that are numbers of which most are rare, as if a quantity was to be predicted."""
    if classes.dtype.kind in "iuf" and len(classes) > MAX_NUMERIC_CLASSES and rows < MIN_ROWS_OF_NUMBER * len(classes):
        name = "" if data.label_name is None else f" in column {data.label_name!r}"
        yield (
            f"The labels{name} are {count(len(classes))} different numbers, each a class of its own without order. "
            "To predict a quantity, replace it by a few classes, such as low and high."
        )


def _about_rows(data: Data, prepared: Prepared, folds: bool, same_file: bool) -> Iterator[str]:
    hashes = row_hashes(prepared.X)
    if prepared.X_test is not None:
        tested, copied = "test row", np.isin(row_hashes(prepared.X_test), hashes)
        equal = "equal a training row, which makes the test error"
    else:
        _, places, times = np.unique(hashes, return_inverse=True, return_counts=True)
        tested, copied, equal = "row", times[places] > 1, "equal another row, which makes the error of the folds"
    n, rows = int(copied.sum()), len(copied)
    tests = folds or (prepared.X_test is not None and not same_file)
    if tests and n > 1 and n >= MIN_SHARE_COPIED * rows and not _few_possible(data, prepared.recipe):
        share = f"{count(n)} of {plural(rows, tested)} ({percent(n / rows, 1)})"
        yield f"{share} {equal} optimistic: remove copies from the file."
    forced, rows = len(find_duplicates(prepared.X, prepared.codes).outvoted), len(prepared.y)
    if forced and forced >= MIN_SHARE_FORCED * rows:
        yield (
            f"Equal rows have different labels: every model misclassifies at least {count(forced)} of "
            f"{plural(rows, 'training row')} ({percent(forced / rows, 1)})."
        )


def _few_possible(data: Data, recipe: Recipe) -> bool:
    """Whether the values of the columns that the model uses allow few different rows."""
    features = data.features
    if isinstance(features, CSRMatrix):
        return False
    columns = (
        list(features.T)
        if not isinstance(features, Table)
        else [cells for name, cells in zip(features.names, features.columns, strict=True) if name in recipe.names]
    )
    possible, limit = 0.0, math.log(MAX_POSSIBLE_PER_ROW * max(1, data.n_rows))
    for cells in columns:
        possible += math.log(max(1, len(set(cells.tolist())) if cells.dtype.kind == "O" else len(np.unique(cells))))
        if possible > limit:
            return False
    return True


def _about_scales(request: Request, recipe: Recipe) -> Iterator[str]:
    if request.scale == "none" and recipe.facts is not None:
        with np.errstate(over="ignore"):
            ratio = range_ratio(recipe.facts.maximum - recipe.facts.minimum)
        if ratio >= MIN_SCALE_RATIO:
            factor = short(ratio) if math.isfinite(ratio) else "over 1e308"
            yield f"Column ranges differ by a factor of {factor} and were not scaled, as requested: leave out --scale none."
