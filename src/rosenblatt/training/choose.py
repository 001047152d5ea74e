"""The choice of an algorithm and its parameters for a file, by cross-validation on its training rows."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..array_types import IntArray
from ..catalog import ALGORITHMS
from ..data.folds import search_folds
from ..data.problem import classes_and_codes
from ..data.table import Data, DataError, typed_labels
from ..estimators.base import LinearClassifier
from ..estimators.candidates import Candidate, accepted_by, candidates_of, untried
from ..estimators.search import Part, Search, weights_of_errors
from ..estimators.trials import Trial, best
from ..progress import ProgressCallback, progress_callback
from ..reporting.text import quoted_list
from ..svm.not_separable import NotSeparable
from .kept import Kept, bytes_of_rows
from .preparation import Prepared, Split, check_several_classes, prepare, require_labels
from .request import AUTO, OF_TEXT, PARAMETERS_OF_MANY_ROWS, PARAMETERS_OF_TEXT, SINGLE_PASS, TUNED, Request
from .tuning_plan import has_few_products
from .tuning_record import TuningRecord

SEARCH_FOLDS = 5
# Stored values times binary problems up to which plain training searches C; beyond, one pass after another is enough.
MAX_SEARCH_WORK = 10_000_000
# The same up to which the cost of text is minimized: about half a minute.
MAX_TEXT_WORK = 1_000_000_000
# Parameters with which plain training of text may use another loss than the logistic one.
TEXT_PARAMETERS = frozenset({"class_weight", "fit_intercept", "tol", "max_iter", "calibrate", "random_state", "n_jobs"})
# What a search varies that is no parameter of the estimator.
OF_FEATURES = ("scale", "degree")
NO_PROBABILITIES = "A model with loss={!r} has no probabilities; for them: --loss logistic, or --calibrate sigmoid."


@dataclass(frozen=True)
class Choice:
    """A request with its algorithm and parameters chosen, what was tried, if anything, and notes for the user."""

    request: Request
    tuning: TuningRecord | None = None
    notes: tuple[str, ...] = ()


def choose(
    request: Request,
    data: Data,
    watch: ProgressCallback | None = None,
    prepared: Prepared | None = None,
    *,
    count: int | None = None,
    title: str = "",
) -> Choice:
    """Choose what a request leaves open, from its training rows alone.

    Parameters
    ----------
    request : Request
    data : Data
        The training rows.
    watch : callable, optional
        Called with the `Progress` of the search.
    prepared : Prepared, optional
        The training rows as features, if nothing about these is searched; made here if they are needed and not given.
    count : int, optional
        The number of candidates to try; by default, as many as the budget allows.
    title : str, default=""
        What progress reports begin with.
    """
    if request.algorithm != AUTO and not request.tune:
        return Choice(request)
    started = time.perf_counter()
    classes, codes = classes_and_codes(typed_labels(require_labels(data)))
    check_several_classes(data.source, classes)
    asked = request
    if request.algorithm == AUTO:
        request = _for_rows(request, None if request.tune else prepared or prepare(request, Split(data)))
        if not request.tune and request.algorithm != asked.searched:
            return Choice(request)
    assigned = search_folds(codes, SEARCH_FOLDS, request.seed)
    if assigned.max() < 1:
        why = f"the {len(classes)} classes have too few training rows for two folds"
        if request.tune:
            raise ValueError(f"{data.source}: nothing can be tuned, because {why}")
        return Choice(request, notes=(f"Nothing was tuned, because {why}.",))
    folds = _Folds(request, data, assigned)
    grid = _grid(request, folds)
    candidates, _ = accepted_by(folds.estimator, candidates_of(grid))
    if len(candidates) < 2:
        return Choice(request)
    budget = None if request.budget is None or count is not None else request.budget / (1 + (request.n_folds or 0))
    search = Search(folds.estimator, folds, folds.n, n_jobs=-1)
    with contextlib.nullcontext() if watch is None else progress_callback(watch):
        try:
            trials = search.run(candidates, budget, count, title, started)
        except NotSeparable:
            sentence = "no plane separates the rows of each fold, as the widest margin needs"
            raise DataError(data.source, sentence, option="--algorithm soft-margin") from None
    return _settle(asked, folds, grid, candidates, trials, time.perf_counter() - started)


def check_tunable(request: Request, data: Data) -> None:
    """Raise an error if parameters shall be tuned, and a class has a single training row, on which nothing can be tested."""
    if not request.tune:
        return
    classes, codes = classes_and_codes(typed_labels(require_labels(data)))
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        alone = quoted_list([str(label) for label in classes[sizes < 2].tolist()])
        raise ValueError(f"{data.source}: --tune needs at least two rows of every class, and {alone} has one")


def _for_rows(request: Request, rows: Prepared | None) -> Request:
    """The request with an algorithm in place of "auto": by the kind and number of the rows or, without rows, the tuned one."""
    if rows is None:
        return replace(request, algorithm=TUNED)
    work = (rows.X.nnz if hasattr(rows.X, "nnz") else rows.X.size) * (len(rows.classes) if len(rows.classes) > 2 else 1)
    of_text = rows.recipe.of_text and request.threshold is None  # a threshold may need probabilities
    if of_text and work <= MAX_TEXT_WORK and set(request.parameters) <= TEXT_PARAMETERS:
        return replace(request, algorithm=OF_TEXT, parameters={**PARAMETERS_OF_TEXT, **request.parameters})
    if work <= MAX_SEARCH_WORK:
        return replace(request, algorithm=request.searched)
    if set(request.parameters) <= set(ALGORITHMS[SINGLE_PASS].options):
        return replace(request, algorithm=SINGLE_PASS, parameters={**PARAMETERS_OF_MANY_ROWS, **request.parameters})
    return replace(request, algorithm=request.searched, parameters={"C": 1.0, **request.parameters})  # C is not searched


def _grid(request: Request, folds: _Folds) -> dict[str, Sequence[Any]]:
    """The values to try of what the user did not set."""
    entry, fixed = request.choice.entry, {**request.choice.parameters, **request.parameters}
    grid: dict[str, Sequence[Any]] = {}
    if request.tune:
        if request.scale == "auto" and not folds.sparse:
            grid["scale"] = ("auto", "max")
        if request.degree == 1 and not folds.sparse and has_few_products(len(folds.fold), folds.width):
            grid["degree"] = (1, 2)
    return grid | {name: values for name, values in entry.grid.items() if name not in fixed}


def _settle(
    request: Request, folds: _Folds, grid: Mapping[str, Sequence[Any]], candidates: Sequence[Candidate],
    trials: list[Trial], seconds: float,
) -> Choice:  # fmt: skip
    chosen = best(trials).parameters if trials else untried(grid)
    features = {name: value for name, value in chosen.items() if name in OF_FEATURES}
    own = {name: value for name, value in chosen.items() if name not in OF_FEATURES}
    settled = replace(folds.request, parameters={**request.parameters, **own}, **features)
    if request.algorithm == AUTO and own.get("loss") == "logistic":
        settled = replace(settled, algorithm=request.searched, parameters={**request.parameters, **own, "loss": "logistic"})
    varied = {name: value for name, value in chosen.items() if len(grid[name]) > 1}
    weighted = request.parameters.get("class_weight") is not None
    record = TuningRecord(tuple(trials), len(candidates), folds.n, varied, seconds, weighted=weighted)
    notes = [] if request.tune else [record.sentence]
    loss = own.get("loss", "logistic")
    if request.algorithm == AUTO and loss != "logistic" and request.parameters.get("calibrate") is None:
        notes.append(NO_PROBABILITIES.format(loss))
    return Choice(settled, record, tuple(notes))


@dataclass
class _Folds:
    """The folds of the training rows as features, see `Search`."""

    request: Request
    data: Data
    fold: IntArray
    _kept: Kept[Prepared] = field(default_factory=Kept)

    @property
    def n(self) -> int:
        return int(self.fold.max()) + 1

    @property
    def sparse(self) -> bool:
        return hasattr(self._prepared({}, 0).X, "nnz")

    @property
    def width(self) -> int:
        return self._prepared({}, 0).recipe.width

    def estimator(self, parameters: Mapping[str, Any]) -> LinearClassifier:
        own = {name: value for name, value in parameters.items() if name not in OF_FEATURES}
        return replace(self.request, parameters={**self.request.parameters, **own}).make()

    def __call__(self, parameters: Mapping[str, Any], fold: int) -> Part:
        made = self._prepared(parameters, fold)
        assert made.X_test is not None
        assert made.codes_test is not None
        y_test = made.classes[made.codes_test]
        weights = weights_of_errors(self.request.parameters.get("class_weight"), y_test, None)
        return Part(made.X, made.y, None, made.X_test, y_test, weights)

    def _prepared(self, parameters: Mapping[str, Any], fold: int) -> Prepared:
        scale, degree = (parameters.get(name, getattr(self.request, name)) for name in OF_FEATURES)

        def make() -> Prepared:
            mine = self.fold == fold
            request = replace(
                self.request, scale=scale, degree=degree, test=None, cv=None, holdout=0.0, tune=False, budget=None
            )
            return prepare(request, Split(self.data.take(~mine), self.data.take(mine)))

        return self._kept.get((fold, scale, degree), make, _bytes_of)


def _bytes_of(made: Prepared) -> int:
    return bytes_of_rows(made.X) + bytes_of_rows(made.X_test)
