"""What the doctor sees in the rows of a training run without a proof, in one line each, and nothing about clean rows.

Columns    those that number or identify the rows, or predict the label alone (`proofs/doctor/column_findings.py`)
Rows       test rows that equal a training row, and equal rows with different labels
Classes    a class with few rows
Scales     columns of very different range, if the request leaves them as they are
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..array_types import Array, IntArray
from ..data.csr import CSRMatrix
from ..data.table import Data, Table, as_text
from ..preprocessing.recipe import Recipe
from ..proofs.doctor.column_findings import MIN_SCALE_RATIO, identifiers_and_leaks, range_ratio
from ..proofs.doctor.duplicates import find_duplicates, row_hashes
from ..proofs.doctor.findings import AdviceForm, describe_imbalance
from ..reporting.text import count, percent, plural, short
from .preparation import Prepared, require_labels
from .request import Request

# Shares of rows from which copies and conflicting labels are reported: some rows of most files are equal by chance.
MIN_SHARE_COPIED, MIN_SHARE_FORCED = 0.05, 0.01
# Rows are equal by nature if there are few possible ones: at most this many times their number.
MAX_POSSIBLE_PER_ROW = 10
OPTIONS = AdviceForm("rosenblatt train")


def consult(request: Request, data: Data, prepared: Prepared, *, folds: bool = False) -> tuple[str, ...]:
    """Return notes on the rows of a file that was read whole; `folds`: whether they are tested by cross-validation."""
    notes = [*about_columns(data), *_about_rows(data, prepared, folds)]
    notes += about_classes(request, prepared.classes, np.bincount(prepared.codes, minlength=len(prepared.classes)))
    return (*notes, *_about_scales(request, prepared.recipe))


def about_columns(data: Data) -> Iterator[str]:
    """Yield notes on single columns of a table; those with losses have a note of the recipe, and dates ascend by nature."""
    if isinstance(data.features, Table):
        named = zip(data.features.names, data.features.columns, strict=True)
        columns: dict[str | int, Array] = {name: cells for name, cells in named if name not in data.losses | data.dates}
        codes = np.unique(as_text(require_labels(data)), return_inverse=True)[1]
        yield from map(str, identifiers_and_leaks(columns, codes, OPTIONS))


def about_classes(request: Request, classes: Array, sizes: IntArray) -> Iterator[str]:
    """Yield a note on a class with few rows."""
    found = describe_imbalance(classes.tolist(), sizes, OPTIONS if "class_weight" in request.choice.options else None)
    if found is not None:
        yield found.sentence


def _about_rows(data: Data, prepared: Prepared, folds: bool) -> Iterator[str]:
    hashes = row_hashes(prepared.X)
    if prepared.X_test is not None:
        tested, copied = "test row", np.isin(row_hashes(prepared.X_test), hashes)
        equal = "equal a training row, which makes the test error"
    else:
        _, places, times = np.unique(hashes, return_inverse=True, return_counts=True)
        tested, copied, equal = "row", times[places] > 1, "equal another row, which makes the error of the folds"
    n, rows = int(copied.sum()), len(copied)
    if (folds or prepared.X_test is not None) and n > 1 and n >= MIN_SHARE_COPIED * rows and not _few_possible(data):
        share = f"{count(n)} of {plural(rows, tested)} ({percent(n / rows, 1)})"
        yield f"{share} {equal} optimistic: remove copies from the file."
    forced, rows = len(find_duplicates(prepared.X, prepared.codes).outvoted), len(prepared.y)
    if forced and forced >= MIN_SHARE_FORCED * rows:
        yield (
            f"Equal rows have different labels: every model misclassifies at least {count(forced)} of "
            f"{plural(rows, 'training row')} ({percent(forced / rows, 1)})."
        )


def _few_possible(data: Data) -> bool:
    """Whether the values of the columns allow few different rows."""
    features = data.features
    if isinstance(features, CSRMatrix):
        return False
    columns = features.columns if isinstance(features, Table) else features.T
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
