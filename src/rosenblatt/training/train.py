"""`train`: read, hold out, make features, fit, and find out what there is to say about it."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..catalog import ALGORITHMS, Algorithm
from ..data.labels import classes_and_codes, codes_of
from ..data.read_options import Options
from ..data.readers.read import digest as digest_of
from ..data.readers.read import is_example, opened, read
from ..data.table import Data, DataError, Sparse, as_text, typed_labels
from ..preprocessing.recipe import Recipe
from ..progress import Progress, progress_callback
from .metrics import Confusion
from .split import Holdout, folds

if TYPE_CHECKING:
    from ..certificates.statements import Certificate
    from ..estimators.base import LinearClassifier


# --- What a person asks for: which file, which algorithm with which parameters, and how it is tested.

# Of each class, where nothing is said about testing.
HOLDOUT = 0.2


@dataclass(frozen=True)
class Request:
    data: str
    options: Options = field(default_factory=Options)
    algorithm: str = "average"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    degree: int = 1
    scale: str = "auto"
    test: str | None = None
    holdout: float | None = None
    cv: int | None = None
    seed: int = 0
    certify: bool | None = None  # None: where it is quickly done

    def __post_init__(self) -> None:
        given = [name for name in ("test", "holdout", "cv") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"--{given[0]} and --{given[1]} are two ways to test: give one")
        if self.data == "-" and self.test == "-":
            raise ValueError("DATA and --test cannot both be standard input")
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"no algorithm is called {self.algorithm!r}; there are {', '.join(ALGORITHMS)}")
        own = self.choice.options
        for name in self.parameters:
            if name not in own:
                wanted = f"--{name.replace('_', '-')}"
                raise ValueError(f"{wanted} is not a parameter of {self.algorithm}, which has {_listed(own)}")

    @property
    def choice(self) -> Algorithm:
        return ALGORITHMS[self.algorithm]

    @property
    def share(self) -> float | None:
        """Of the rows to hold out; 0 on the command line is to hold out none."""
        if self.test is not None or self.cv is not None:
            return None
        return (HOLDOUT if self.holdout is None else self.holdout) or None

    def make(self, algorithm: str | None = None) -> LinearClassifier:
        """The estimator, with the request's parameters and seed; of another algorithm, those that it has."""
        choice = ALGORITHMS[algorithm or self.algorithm]
        seed = {"random_state": self.seed} if "random_state" in choice.options else {}
        given = {name: value for name, value in self.parameters.items() if name in choice.options}
        return choice.make(**(seed | given))


def _listed(own: Mapping[str, Any]) -> str:
    hidden = {"keep", "update", "warm_start", "log", "verbose", "random_state", "certify"}
    return ", ".join(f"--{name.replace('_', '-')}" for name in own if name not in hidden)


# ---

# A proof is tried without being asked for up to so many values, for so many seconds.
QUICK_VALUES, QUICK_SECONDS = 1 << 20, 1.0
NONE_HELD = "No row was held out to test on: every class has too few."
# Weights of a model, at most: 2 GB of them.
MOST_WEIGHTS = 1 << 28
# Numbers with fractions are classes where there are no more than so many.
QUANTITIES = 50


@dataclass(frozen=True)
class Prepared:
    """Rows to learn from and rows to test on, as features."""

    recipe: Recipe
    classes: Any
    X: Any
    y: Any
    X_test: Any = None
    codes_test: Any = None
    notes: tuple[str, ...] = ()
    places: Any = None  # of the rows to learn from, in the file; None: all of it

    @property
    def codes(self) -> Any:
        return np.searchsorted(self.classes, self.y)


@dataclass(frozen=True)
class Outcome:
    """A fitted estimator, and what came out."""

    request: Request
    recipe: Recipe
    estimator: LinearClassifier
    rows: int
    train: Confusion
    test: Confusion | None = None
    folds: tuple[Confusion, ...] = ()
    margin: float | None = None  # of the worst row; None: a vote has no plane
    bound: float | None = None  # updates that were possible at most
    certificate: Certificate | None = None
    history: tuple[tuple[int, int, int], ...] = ()  # passes, updates in all, updates of the pass
    seconds: float = 0.0  # of the fit alone
    total_seconds: float = 0.0
    notes: tuple[str, ...] = ()
    prepared: Prepared | None = None  # None: the rows went by in a stream
    sample: tuple[Any, Any] | None = None  # some of them, then
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def classes(self) -> Any:
        return self.estimator.classes_


def train(request: Request, watch: Any = None) -> Outcome:
    """Learn in memory; `watch` is called with the `Progress` of the fit."""
    started = time.perf_counter()
    data, digest = read_and_digest(request)
    prepared = prepare(request, data)
    estimator, history, seconds, warned = fit(request.make(), prepared.X, prepared.y, watch)
    every = () if request.cv is None else cross_validate(request, data, watch)
    certificate = proof_of(request, prepared)
    found = predicted(estimator, prepared.X)
    confusion = Confusion.of(prepared.codes, found, len(prepared.classes))
    outcome = Outcome(
        request, prepared.recipe, estimator, len(prepared.y), confusion, test_of(estimator, prepared), every,
        margin_of(estimator, prepared), None, certificate, tuple(history), seconds,
        notes=(*prepared.notes, *warned), prepared=prepared,
        provenance=provenance(request, data, digest, len(prepared.y)),
    )  # fmt: skip
    return replace(outcome, bound=bound_of(outcome), total_seconds=time.perf_counter() - started)


def read_and_digest(request: Request) -> tuple[Data, str | None]:
    """The rows of a file, and the SHA-256 of its bytes; data that is at hand has none."""
    with opened(request.data) as source:
        data = labelled(read(source, request.options))
        return data, None if is_example(source) else digest_of(source)


def labelled(data: Data) -> Data:
    if data.labels is None:
        raise DataError(data.source, "there are no labels to learn from; --label names their column")
    return data


def prepare(request: Request, data: Data, test: Data | None = None) -> Prepared:
    """Features of the rows to learn from, and of those to test on: the test file, or rows held out."""
    places = None
    if test is None and request.share is not None:
        held = Holdout(request.share, request.seed).mask(data.labels)
        data, test, places = data.take(~held), data.take(held), np.flatnonzero(~held)
    check_width(data, len(np.unique(as_text(data.labels))))
    recipe = learn_recipe(request, [data])
    if test is None and request.test is not None:
        test = read(request.test, reading_for(recipe, request.options, data.label_name))
    if recipe.width == 0:
        raise DataError(data.source, "there are labels and no columns beside them")
    y = typed_labels(data.labels)
    classes = np.unique(y)
    check_classes(data, classes)
    none = NONE_HELD if places is not None and len(places) == len(held) else None
    notes = tuple(note for note in (data.note, *recipe.notes, none) if note)
    X = as_matrix(recipe.rows(data))
    if test is None or test.n_rows == 0:
        return Prepared(recipe, classes, X, y, notes=notes)
    return Prepared(recipe, classes, X, y, as_matrix(recipe.rows(test)), codes_of(test, classes), notes, places)


def check_width(data: Data, classes: int) -> None:
    """A column far out would make all weights before it."""
    width, heads = int(data.features.shape[1]), 1 if classes <= 2 else classes
    if width * heads > MOST_WEIGHTS:
        sentence = f"{width:,} columns and {classes:,} classes are {width * heads:,} weights, over {MOST_WEIGHTS:,}"
        raise DataError(data.source, f"{sentence}: is the largest column a mistake?")


def check_classes(data: Data, classes: Any) -> None:
    if len(classes) < 2:
        raise DataError(data.source, f"all rows have the label {classes.tolist()[0]!r}: there is nothing to tell apart")
    many = len(classes) > min(QUANTITIES, max(2, data.n_rows // 2))
    if many and classes.dtype.kind == "U" and all(map(_is_number, classes.tolist())):
        raise DataError(data.source, f"the labels are {len(classes):,} different numbers: these are quantities, not classes")


def _is_number(label: str) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def learn_recipe(request: Request, chunks: Iterable[Data]) -> Recipe:
    parts = iter(chunks)
    head = next(parts)
    return Recipe.learn(
        itertools.chain([head], parts), degree=request.degree, scale=request.scale, text=head.text,
        categorical=head.categorical, first=0 if request.options.zero_based else None,
    )  # fmt: skip


def reading_for(recipe: Recipe, options: Options, label: str | None) -> Options:
    """How another file is read for a recipe: its columns, as they were read, and the labels where they are there."""
    label = options.label if label is None else label
    return replace(options, label=label, text=recipe.text, categorical=recipe.categorical, wanted=recipe.wanted)


def provenance(request: Request, data: Data, digest: str | None, rows: int) -> dict[str, Any]:
    """Where a model comes from, and how files are read for it."""
    said = request.options
    reading = {"label": data.label_name, "missing": said.missing, "zero_based": said.zero_based}
    told = {"data": request.data, "sha256": digest, "rows": rows, "columns": int(data.features.shape[1])}
    return told | {"reading": {name: value for name, value in reading.items() if value is not None}}


def as_matrix(rows: Any) -> Any:
    return rows.to_scipy() if isinstance(rows, Sparse) else rows


def fit(
    estimator: LinearClassifier, X: Any, y: Any, watch: Any = None
) -> tuple[LinearClassifier, list[tuple[int, int, int]], float, tuple[str, ...]]:
    """Fit, and keep what was told on the way: (estimator, updates pass by pass, seconds, warnings)."""
    history: list[tuple[int, int, int]] = []
    with heard(history, watch) as warned:
        started = time.perf_counter()
        estimator.fit(X, y)
        seconds = time.perf_counter() - started
    return estimator, history, seconds, tuple(dict.fromkeys(str(each.message) for each in warned))


@contextlib.contextmanager
def heard(history: list[tuple[int, int, int]], watch: Any) -> Iterator[list[warnings.WarningMessage]]:
    def tell(progress: Progress) -> None:
        if progress.ended_pass and not progress.heads and progress.updates:
            history.append((progress.passes, progress.updates, progress.last))
        if watch is not None:
            watch(progress)

    with progress_callback(tell), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield warned


def predicted(estimator: LinearClassifier, X: Any) -> Any:
    """Class codes."""
    return np.searchsorted(estimator.classes_, estimator.predict(X))


def test_of(estimator: LinearClassifier, prepared: Prepared) -> Confusion | None:
    if prepared.codes_test is None:
        return None
    return Confusion.of(prepared.codes_test, predicted(estimator, prepared.X_test), len(prepared.classes))


def cross_validate(request: Request, data: Data, watch: Any = None) -> tuple[Confusion, ...]:
    """Each fold is predicted by a model, preprocessing included, of the others."""
    assert request.cv is not None
    classes, codes = classes_and_codes(typed_labels(data.labels))
    fold = folds(codes, request.cv, request.seed)
    found = []
    for number in range(request.cv):
        mine = fold == number
        if len(np.unique(codes[~mine])) < len(classes):
            raise DataError(data.source, f"--cv {request.cv}: without fold {number + 1} a class has no rows")
        part = prepare(replace(request, holdout=0.0, cv=None), data.take(~mine), data.take(mine))
        estimator, *_ = fit(request.make(), part.X, part.y, watch)
        result = test_of(estimator, part)
        assert result is not None
        found.append(result)
    return tuple(found)


def proof_of(request: Request, prepared: Prepared) -> Certificate | None:
    """Whether planes separate the rows: asked for, or quickly found."""
    X = prepared.X
    values = X.nnz if hasattr(X, "nnz") else X.size
    if request.certify is False or (request.certify is None and values * max(1, len(prepared.classes) - 1) > QUICK_VALUES):
        return None
    from ..certificates.statements import Inseparable
    from ..proofs.certify import certify

    said = request.parameters
    fit_intercept = bool(said.get("fit_intercept", True))
    certificate = certify(X, prepared.y, fit_intercept, None if request.certify else QUICK_SECONDS)
    if certificate.verdict == "undecided" and not request.certify:
        return None
    if isinstance(certificate, Inseparable) and prepared.places is not None:
        # It is about the rows learnt from; whoever reads it looks for them in the file.
        clash = tuple(pair._replace(row=int(prepared.places[pair.row])) for pair in certificate.clash)
        return replace(certificate, clash=clash)
    return certificate


def margin_of(estimator: LinearClassifier, prepared: Prepared) -> float | None:
    """How far the worst row is from the plane on its own side; below zero where rows are on the other."""
    if "coef_" not in estimator.__dict__ or not np.any(estimator.coef_):
        return None
    if getattr(estimator, "multiclass", "joint") == "ovo" and len(prepared.classes) > 2:
        return None
    from ..proofs.margins import margin

    found = float(margin(estimator, prepared.X, prepared.y, space="geometric"))
    return found if math.isfinite(found) else None


def bound_of(outcome: Outcome) -> float | None:
    """How many updates this run could have made at most: an online perceptron from zero on rows that planes separate."""
    own = outcome.estimator.get_params()
    plain = own.get("update") == "online" and own.get("init") == "zeros" and own.get("class_weight") is None
    if not plain or outcome.prepared is None or callable(own["step"]) or isinstance(own["margin"], str):
        return None
    if own["multiclass"] == "ovr" and len(outcome.classes) > 2:
        return None
    if outcome.certificate is not None and outcome.certificate.verdict == "separable" and own["margin"] == 0.0:
        upper = float(outcome.certificate.mistake_bound.upper)  # type: ignore[union-attr]
        return upper if own["intercept_scaling"] == 1.0 and math.isfinite(upper) else None
    if outcome.margin is None or outcome.margin <= 0.0:
        return None
    from ..proofs.margins import mistake_bound

    prepared = outcome.prepared
    bound = mistake_bound(prepared.X, prepared.y, outcome.estimator, update_margin=own["margin"], step=own["step"]).upper
    return float(bound) if math.isfinite(bound) else None
