"""What the doctor sees in the rows of a training run without a proof, in one finding each, and nothing about clean rows.

Columns    those that number or identify the rows, predict the label alone, or are equal (`proofs/doctor/column_findings.py`)
Rows       test rows that equal a training row, and equal rows with different labels (`row_copies.py`)
Classes    a class with few rows; labels, and categories, that differ in case alone; many different numbers; probabilities of
           weighted classes
Scales     columns of very different range, if the request leaves them as they are
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..array_types import Array, IntArray
from ..data.csr import CSRMatrix
from ..data.readers import Options
from ..data.table import Data, Table, as_text
from ..preprocessing.categorical import Categories
from ..preprocessing.recipe import Recipe
from ..proofs.doctor.column_findings import MIN_SCALE_RATIO, copies, identifiers_and_leaks, no_quantities, range_ratio
from ..proofs.doctor.findings import AdviceForm, Finding
from ..proofs.doctor.label_findings import (
    describe_imbalance,
    folded,
    label_lists,
    label_marks,
    label_quantities,
    label_spellings,
    list_spellings,
    spellings,
)
from ..proofs.doctor.leaks import MAX_ERROR
from ..reporting.text import count, percent, plural, short
from .preparation import Prepared, require_labels
from .request import Request
from .row_copies import RowSample

# Shares of rows from which copies and conflicting labels are reported: some rows of most files are equal by chance.
MIN_SHARE_COPIED, MIN_SHARE_FORCED = 0.05, 0.01
# Rows are equal by nature if there are few possible ones: at most this many times their number.
MAX_POSSIBLE_PER_ROW = 10
# Columns of a matrix that are examined, if there are no more, and cells: those of the first rows.
MAX_MATRIX_COLUMNS, MAX_MATRIX_CELLS = 300, 1 << 22
OPTIONS = AdviceForm("rosenblatt train")
WEIGHTED_PROBABILITIES = (
    "Probabilities are those of the weighted classes. For those of the rows as they come: --calibrate sigmoid."
)


def consult(
    request: Request, data: Data, prepared: Prepared, *, folds: bool = False, same_file: bool = False
) -> tuple[Finding, ...]:
    """Return findings on the rows of a file that was read whole.

    folds : whether they are tested by cross-validation.
    same_file : whether the test file is this file, which is said elsewhere.
    """
    classes, train = prepared.classes, RowSample()
    train.add(prepared.X, prepared.codes)
    test = None
    if prepared.X_test is not None and prepared.codes_test is not None:
        test = RowSample()
        test.add(prepared.X_test, prepared.codes_test)
    tested = folds or (test is not None and not same_file)
    return (
        *about_columns(data, request.options),
        *about_spellings(prepared.recipe, classes),
        *about_rows(train, test, tested and not few_possible_rows(data, prepared.recipe)),
        *label_lists(classes.tolist()),
        *label_quantities(classes.tolist(), len(prepared.y), data.label_name),
        *about_classes(request, classes, np.bincount(prepared.codes, minlength=len(classes))),
        *about_scales(request, prepared.recipe),
    )


def columns_to_examine(data: Data, options: Options) -> dict[str | int, Array]:
    """The cells of the columns of a file by name; of a matrix those of its first rows, none if it is wide or none is full."""
    features = data.features
    if isinstance(features, Table):
        return dict(zip(features.names, features.columns, strict=True))
    n, width = features.shape
    if not 0 < width <= MAX_MATRIX_COLUMNS:
        return {}
    if isinstance(features, CSRMatrix) and not _has_full_column(features, require_labels(data)):
        return {}
    head = np.arange(n) < MAX_MATRIX_CELLS // width
    X = features.take(head).toarray() if isinstance(features, CSRMatrix) else features[head]
    first = int(isinstance(features, CSRMatrix) and not options.zero_based)
    return {f"column {first + c}": np.ascontiguousarray(X[:, c]) for c in range(width)}


def _has_full_column(rows: CSRMatrix, labels: Array) -> bool:
    """Whether a column has values in nearly all rows of a class: no other can number the rows or predict the label."""
    codes = np.unique(as_text(labels), return_inverse=True)[1]
    sizes = np.bincount(codes)
    low, high = int(rows.indptr[0]), int(rows.indptr[-1])
    cells = codes[rows.row_numbers()] * rows.width + rows.indices[low:high]
    values = np.bincount(cells, minlength=len(sizes) * rows.width).reshape(len(sizes), rows.width)
    return bool((values >= (1.0 - MAX_ERROR) * sizes[:, None]).any())


def about_columns(data: Data, options: Options) -> Iterator[Finding]:
    """Yield findings on single columns; those with losses have a note of the recipe, and dates ascend by nature."""
    columns = columns_to_examine(data, options)
    if columns:
        n = len(next(iter(columns.values())))
        labels, codes = np.unique(as_text(require_labels(data)[:n]), return_inverse=True)
        # Spellings of one label count as one: no column can predict which of them a row has.
        codes = np.unique([folded(str(label)) for label in labels.tolist()], return_inverse=True)[1][codes]
        examined = {name: cells for name, cells in columns.items() if name not in data.losses | data.dates}
        yield from identifiers_and_leaks(examined, codes, OPTIONS)
        dates: dict[str | int, Array] = {name: cells for name, cells in columns.items() if name in data.dates}
        yield from copies(dates, codes, OPTIONS)
        yield from no_quantities(dates)


def about_classes(request: Request, classes: Array, sizes: IntArray) -> Iterator[Finding]:
    """Yield findings on missing labels, on classes with few rows, and on probabilities that the weights of classes change."""
    yield from label_marks(classes.tolist(), sizes, "training row")
    weighs = "class_weight" in request.choice.options and "class_weight" not in request.parameters and request.threshold is None
    found = describe_imbalance(classes.tolist(), sizes, OPTIONS if weighs else None)
    if found is not None:
        yield found
    made = request.make()
    if made._class_weight is not None and made.calibrate is None and made._native_map is not None:
        yield Finding("weighted_probabilities", WEIGHTED_PROBABILITIES, {"calibrate": "sigmoid"})


def about_spellings(recipe: Recipe, classes: Array) -> Iterator[Finding]:
    """Yield a finding on classes, and on categories of each column, that are the same word in other letters."""
    yield from label_spellings(classes.tolist())
    for block in recipe.strings:
        if isinstance(block, Categories) and (groups := spellings(block.values)):
            which = f"Categories of column {block.name!r} that differ in case alone"
            sentence = f"{which} are different ones: {list_spellings(groups)}. Write them alike."
            yield Finding("spellings", sentence, {"column": block.name, "spellings": groups})


def about_rows(train: RowSample, test: RowSample | None, tested: bool) -> Iterator[Finding]:
    """Yield findings on test rows that equal training rows, and on equal rows with different labels.

    tested : whether copies matter for a test: of all training rows by folds, if there are no test rows.
    """
    forced, among = train.conflicts()
    conflicts = forced > 0 and forced >= MIN_SHARE_FORCED * among and train.varies
    copied, examined = train.copies() if test is None else train.copies_in(test)
    # Rows that differ in the label are not copies of one another.
    if tested and not conflicts and copied > 1 and copied >= MIN_SHARE_COPIED * examined:
        rows = train.rows if test is None else test.rows
        noun, other, error = ("row", "another row", "error of the folds")
        if test is not None:
            noun, other, error = ("test row", "a training row", "test error")
        equal = f"{_share(copied, examined, rows, noun)} equal {other}"
        sentence = f"{equal}: if they are copies, the {error} is too low. Remove copies from the file."
        yield Finding("copied_rows", sentence, {"share": copied / examined, "of": rows, "test": test is not None})
    if conflicts:
        of = _share(forced, among, train.rows, "training row")
        sentence = f"Equal rows have different labels: every model misclassifies at least {of}."
        yield Finding("duplicates", sentence, {"share": forced / among, "of": train.rows})


def _share(some: int, examined: int, rows: int, noun: str) -> str:
    """A number of rows and its share, estimated if not all rows were examined.

    >>> _share(5, 10, 10, "row"), _share(500, 1000, 1_000_000, "test row")
    ('5 of 10 rows (50.0 %)', 'about 50.0 % of 1,000,000 test rows')
    """
    share = percent(some / examined, 1)
    return f"{count(some)} of {plural(rows, noun)} ({share})" if examined == rows else f"about {share} of {plural(rows, noun)}"


def few_possible_rows(data: Data, recipe: Recipe) -> bool:
    """Whether the values of the columns that the model uses allow few different rows; of texts there is no end."""
    features = data.features
    if isinstance(features, CSRMatrix) or recipe.text:
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


def about_scales(request: Request, recipe: Recipe) -> Iterator[Finding]:
    """Yield a finding on columns of very different range that the request leaves as they are."""
    if request.scale == "none" and recipe.facts is not None:
        with np.errstate(over="ignore"):
            ratio = range_ratio(recipe.facts.maximum - recipe.facts.minimum)
        if ratio >= MIN_SCALE_RATIO:
            factor = short(ratio) if math.isfinite(ratio) else "over 1e308"
            sentence = (
                f"Column ranges differ by a factor of {factor} and were not scaled, as requested: leave out --scale none."
            )
            yield Finding("scales", sentence, {"ratio": ratio})
