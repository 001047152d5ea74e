"""Training and test rows as features: read, hold out, fit the recipe, encode the labels, and refuse unusable data."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..data.csr import CSRMatrix
from ..data.readers import Options
from ..data.readers.kinds import forms_of
from ..data.readers.read import Digest, read
from ..data.readers.read import digest as digest_of
from ..data.readers.several import Files, expand
from ..data.readers.sources import Source
from ..data.table import Data, DataError, as_text, codes_of, rounded_integers, typed_labels
from ..preprocessing.choices import Choices
from ..preprocessing.recipe import Recipe
from ..preprocessing.recipe_fit import fit_recipe
from ..preprocessing.scaling import Scale
from ..reporting.text import count, quoted_list
from .request import Request
from .split import MIN_TEST_ROWS, Holdout

if TYPE_CHECKING:
    from ..estimators.base import LinearClassifier

# Why no row was held out: by default, and if a share was given.
TOO_FEW_TO_TEST = (
    f"No row was held out for testing, because fewer than {MIN_TEST_ROWS} would be: "
    "`train --cv 5` tests on all rows, --test FILE on others."
)
NOTHING_TO_HOLD_OUT = "No row was held out for testing: every class has too few rows."
# Weights of a model, at most: 2 GiB of float64.
MAX_WEIGHTS = 1 << 28
# Distinct numeric labels with fractions, up to which they are classes and not quantities.
MAX_FRACTION_CLASSES = 50
# Rows from which on labels are no classes if more than half of them are different.
MIN_ROWS_OF_CLASSES = 20


@dataclass(frozen=True)
class Prepared:
    """Training rows and test rows as features."""

    recipe: Recipe
    classes: Array  # sorted labels
    X: Matrix
    y: Array
    X_test: Matrix | None = None
    codes_test: IntArray | None = None
    notes: tuple[str, ...] = ()
    positions: IntArray | None = None  # positions of the training rows in the file; None if all rows are training rows
    rounded: DataError | None = None  # why nothing can be proved about the training rows, see `rounded_integers`
    test_digest: Digest | None = None  # of the test file, if there is one

    @property
    def codes(self) -> IntArray:
        """The class code of each training row."""
        return np.searchsorted(self.classes, self.y)

    @contextlib.contextmanager
    def mark_rounded(self, estimator: LinearClassifier) -> Iterator[None]:
        """Tell an estimator during its fit that the rows are not those of the file, if so."""
        if self.rounded is not None or self.recipe.scales:
            estimator._rounded = "the columns were scaled" if self.rounded is None else self.rounded.sentence
        try:
            yield
        finally:
            estimator.__dict__.pop("_rounded", None)


def read_with_digest(request: Request) -> tuple[Data, Digest | None]:
    """Read the training files; return their rows and their digest, which built-in examples lack."""
    with Files(request.files) as files:
        data = files.read(request.options)
        require_labels(data)
        return data, files.digest()


def require_labels(data: Data) -> Array:
    """Return the labels, or raise DataError if the data has none."""
    if data.labels is None:
        raise DataError(data.source, "no labels to learn from; name the label column with --label")
    return data.labels


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to test on, before they become features."""

    train: Data
    test: Data | Source | None = None  # a source is read as the training rows were
    untested: str | None = None  # why no row was held out, though the request allows it


def hold_out(request: Request, data: Data) -> Split:
    """Hold out the share of a request, if it has one and the rows are enough."""
    if request.holdout_share is None:
        return Split(data)
    holdout = Holdout(request.holdout_share, request.seed)
    held = holdout.mask(require_labels(data))
    if not held.any() or (request.holdout is None and not holdout.worthwhile):
        return Split(data, untested=reason_without_test(request))
    return Split(data.take(~held), data.take(held))


def prepare(request: Request, split: Split) -> Prepared:
    """Make the features of the training rows and of the test rows, which are those of the split or of the request's test file.

    The recipe is fitted on the training rows alone.
    """
    data, test = split.train, split.test
    check_weight_count(data, len(np.unique(as_text(require_labels(data)))))
    recipe = learn_recipe(request, [data])
    test_digest = None
    options = options_for_recipe(recipe, request.options, data)
    if isinstance(test, Source):
        source, test = test, read(test, options)
        test_digest = digest_of(source)
    elif test is None and request.test is not None:
        with Files(expand(request.test)) as files:
            test, test_digest = files.read(options), files.digest()
    if recipe.width == 0:
        raise DataError(data.source, "the file has no columns besides the labels")
    y = typed_labels(require_labels(data))
    classes = np.unique(y)
    check_several_classes(data.source, classes)
    notes = tuple(note for note in (data.note, *recipe.notes, split.untested) if note)
    X, rounded = as_matrix(recipe.rows(data)), rounded_integers(data)
    assert not isinstance(test, Source)
    if test is None or test.n_rows == 0:
        return Prepared(recipe, classes, X, y, notes=notes, rounded=rounded)
    X_test, codes_test = as_matrix(recipe.rows(test)), codes_of(test, classes)
    if request.holdout_share is not None:
        notes += untested_classes(classes, np.bincount(codes_test, minlength=len(classes)))
    return Prepared(recipe, classes, X, y, X_test, codes_test, notes, data.positions, rounded, test_digest)


def untested_classes(classes: Array, test_rows: IntArray) -> tuple[str, ...]:
    """Return a note about classes with too few rows to hold one out."""
    untested = classes[test_rows == 0].tolist()
    if not untested:
        return ()
    listed = quoted_list([str(label) for label in untested])
    if len(untested) == 1:
        return (f"Class {listed} has too few rows to hold one out: it is trained on, but not tested.",)
    return (f"Classes {listed} have too few rows to hold one out: they are trained on, but not tested.",)


def reason_without_test(request: Request) -> str:
    """Return why no row was held out, though the request allows it."""
    return TOO_FEW_TO_TEST if request.holdout is None else NOTHING_TO_HOLD_OUT


def check_weight_count(data: Data, n_classes: int) -> None:
    """Refuse data whose model would not fit in memory: a large column number alone creates all weights before it."""
    width, heads = int(data.features.shape[1]), 1 if n_classes <= 2 else n_classes
    if width * heads > MAX_WEIGHTS:
        size = f"{count(width)} columns and {count(n_classes)} classes need {count(width * heads)} weights"
        raise DataError(data.source, f"{size}; the limit is {count(MAX_WEIGHTS)}: is the largest column number a mistake?")


def _check_width(data: Data) -> Data:
    check_weight_count(data, 2)
    return data


def check_classes(source: str, classes: Array, rows: int) -> None:
    """Refuse labels of one class only, labels that are quantities, and labels of which almost every row has its own.

    rows : of the file, of which some may be held out.
    """
    check_several_classes(source, classes)
    too_many = len(classes) > min(MAX_FRACTION_CLASSES, max(2, rows // 2))
    distinct = f"the labels have {count(len(classes))} distinct values"
    other = "use --label to name another column"
    if too_many and classes.dtype.kind == "U" and all(map(_is_number, classes.tolist())):
        sentence = f"{distinct}: these are quantities, not classes"
        raise DataError(source, sentence, option="--label", advice=f"{other}, or replace them by a few classes")
    if rows >= MIN_ROWS_OF_CLASSES and 2 * len(classes) > rows:
        sentence = f"{distinct} in {count(rows)} rows: these are quantities, ids or texts, not classes"
        raise DataError(source, sentence, option="--label", advice=other)


def check_several_classes(source: str, classes: Array) -> None:
    """Refuse labels of one class only."""
    if len(classes) < 2:
        raise DataError(source, f"all rows have the label {classes.tolist()[0]!r}; at least two classes are needed")


def _is_number(label: str) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def learn_recipe(request: Request, chunks: Iterable[Data], *, in_memory: bool = True) -> Recipe:
    """Fit the recipe of the request on chunks of the training rows; `in_memory`: they fit into memory together."""
    remaining = map(_check_width, chunks)
    head = next(remaining)
    made = request.scale, request.degree, request.text_features
    return fit_recipe(itertools.chain([head], remaining), choices_for(head, request.options, *made, in_memory=in_memory))


def choices_for(
    head: Data, options: Options, scale: Scale, degree: int, text_features: str, *, in_memory: bool = False
) -> Choices:
    """Return how the columns of a file become features, by its first rows.

    Unless the columns are to stay as they are (`scale="none"`), constant ones are dropped.
    """
    return Choices(
        degree=degree, scale=scale, text=head.text, categorical=head.categorical, first=0 if options.zero_based else None,
        missing=options.missing, missing_indicator=options.missing_indicator, drop_constant=scale != "none",
        text_features=text_features, in_memory=in_memory,
    )  # fmt: skip


def options_for_recipe(recipe: Recipe, options: Options, data: Data) -> Options:
    """Return the options to read another file for a recipe: the same columns, read as in `data`, and the labels if present."""
    label = options.label if data.label_name is None else data.label_name
    return replace(
        options, label=label, text=recipe.text, categorical=recipe.categorical, required=recipe.required,
        numeric=recipe.number_names, forms=forms_of(data), values=recipe.values,
    )  # fmt: skip


def describe_provenance(
    request: Request, data: Data, digest: Digest | None, rows: int, test_digest: Digest | None = None
) -> dict[str, Any]:
    """Describe the data of a model and how files are read for it."""
    options = request.options
    reading = {"label": data.label_name, "missing": options.missing, "zero_based": options.zero_based}
    forms = {name: form.to_json() for name, form in forms_of(data).items()}
    return {
        "data": request.name,
        **_digests(digest, ""),
        "rows": rows,
        "columns": int(data.features.shape[1]),
        **_digests(test_digest, "test_"),
        "reading": {name: value for name, value in reading.items() if value is not None} | ({"forms": forms} if forms else {}),
    }


def _digests(digest: Digest | None, prefix: str) -> dict[str, str | None]:
    """The entries of a provenance for a file; the digest of its contents is one of them if the file is compressed."""
    entries = {f"{prefix}sha256": None if digest is None else digest.file}
    differs = digest is not None and digest.contents != digest.file
    return entries | ({f"{prefix}contents_sha256": digest.contents} if digest is not None and differs else {})


def contents_digest(provenance: Mapping[str, Any], prefix: str = "") -> str | None:
    """The digest of the contents of the training file that a provenance has, or with the prefix "test_" of the test file."""
    found: str | None = provenance.get(f"{prefix}contents_sha256", provenance.get(f"{prefix}sha256"))
    return found


def as_matrix(rows: FloatArray | CSRMatrix) -> Matrix:
    """Return rows as estimators take them: an array or a SciPy CSR array."""
    if isinstance(rows, CSRMatrix):
        matrix: Matrix = rows.to_scipy()
        return matrix
    return rows
