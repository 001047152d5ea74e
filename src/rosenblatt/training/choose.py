"""The choice of an algorithm and its parameters for a file, by cross-validation on its training rows."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..array_types import IntArray
from ..data.problem import classes_and_codes
from ..data.table import Data, DataError, typed_labels
from ..estimators.base import LinearClassifier
from ..estimators.search import Part, Search, Trial, best, candidates_of, describe
from ..progress import ProgressCallback, progress_callback
from ..reporting.text import percent, plural, quoted_list
from ..svm.not_separable import NotSeparable
from .preparation import Prepared, Split, check_classes, prepare, require_labels
from .request import AUTO, SEARCHED, SINGLE_PASS, Request
from .split import assign_folds

SEARCH_FOLDS = 5
# Stored values times binary problems up to which plain training searches C; beyond, one pass after another is enough.
MAX_SEARCH_WORK = 10_000_000
# Features up to which `--tune` also tries their products, and the features that may come of it.
MAX_PRODUCT_FEATURES = 500
# What a search varies that is no parameter of the estimator.
OF_FEATURES = ("scale", "degree")


@dataclass(frozen=True)
class Choice:
    """A request with its algorithm and parameters chosen, the trials that decided, and notes for the user."""

    request: Request
    trials: tuple[Trial, ...] = ()
    notes: tuple[str, ...] = ()


def choose(request: Request, data: Data, watch: ProgressCallback | None = None, *, count: int = 0, title: str = "") -> Choice:
    """Choose what a request leaves open, from its training rows alone.

    Parameters
    ----------
    request : Request
    data : Data
        The training rows.
    watch : callable, optional
        Called with the `Progress` of the search.
    count : int, default=0
        The number of candidates to try; 0: as many as the budget allows.
    title : str, default=""
        What progress reports begin with.
    """
    if request.algorithm != AUTO and not request.tune:
        return Choice(request)
    classes, codes = classes_and_codes(typed_labels(require_labels(data)))
    check_classes(data, classes)
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        alone = quoted_list([str(label) for label in classes[sizes < 2].tolist()])
        reason = f"nothing was tuned, because there is a single training row of {alone}"
        if request.tune:
            raise ValueError(f"{data.source}: --tune needs at least two rows of every class, and {alone} has one")
        return Choice(replace(request, algorithm=SEARCHED), notes=(f"{reason[0].upper()}{reason[1:]}.",))
    folds = _Folds(request, data, assign_folds(codes, min(SEARCH_FOLDS, int(sizes.min())), request.seed, classes.tolist()))
    work = folds.work
    if request.algorithm == AUTO:
        large = work > MAX_SEARCH_WORK and not request.tune
        request = replace(request, algorithm=SINGLE_PASS if large else SEARCHED)
        if large:
            return Choice(request)
    folds.request = request
    grid = _grid(request, folds)
    if not any(len(values) > 1 for values in grid.values()):
        return Choice(request)
    budget = None if request.budget is None or count else request.budget / (1 + (request.n_folds or 0))
    search = Search(folds.estimator, folds, folds.n, n_jobs=-1)
    candidates = candidates_of(grid)
    with contextlib.nullcontext() if watch is None else progress_callback(watch):
        try:
            trials = search.run(candidates, budget, count or None, title)
        except NotSeparable:
            sentence = "no plane separates the rows of each fold, as the widest margin needs"
            raise DataError(data.source, sentence, option="--algorithm soft-margin") from None
    return _settle(request, trials, grid, len(candidates), folds.n)


def _grid(request: Request, folds: _Folds) -> dict[str, Sequence[Any]]:
    """The values to try of what the user did not set."""
    entry, fixed = request.choice.entry, {**request.choice.parameters, **request.parameters}
    grid: dict[str, Sequence[Any]] = {}
    if request.tune:
        if request.scale == "auto" and not folds.sparse:
            grid["scale"] = ("auto", "max")
        width = folds.width
        if request.degree == 1 and not folds.sparse and width * (width + 3) // 2 <= MAX_PRODUCT_FEATURES:
            grid["degree"] = (1, 2)
    return grid | {name: values for name, values in entry.grid.items() if name not in fixed}


def _settle(request: Request, trials: list[Trial], grid: Mapping[str, Sequence[Any]], candidates: int, n_folds: int) -> Choice:
    chosen = best(trials)
    features = {name: value for name, value in chosen.parameters.items() if name in OF_FEATURES}
    own = {name: value for name, value in chosen.parameters.items() if name not in OF_FEATURES}
    varied = {name: value for name, value in chosen.parameters.items() if len(grid[name]) > 1}
    tried = (
        f"{len(trials)} of {plural(candidates, 'candidate')}" if len(trials) < candidates else plural(candidates, "candidate")
    )
    note = (
        f"{describe(varied)} was chosen among {tried} by {n_folds}-fold cross-validation on the training rows "
        f"(error there {percent(chosen.loss)}, too low as the best of several)."
    )
    return Choice(replace(request, parameters={**request.parameters, **own}, **features), tuple(trials), (note,))


@dataclass
class _Folds:
    """The folds of the training rows as features, made once for each scaling and degree, see `Search`."""

    request: Request
    data: Data
    fold: IntArray
    _made: dict[tuple[int, Any, Any], Prepared] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return int(self.fold.max()) + 1

    @property
    def work(self) -> int:
        """Stored values of all training rows times the binary problems, from those of the first fold."""
        first = self._prepared({}, 0)
        values = first.X.nnz if hasattr(first.X, "nnz") else first.X.size
        heads = len(first.classes) if len(first.classes) > 2 else 1
        return int(values * heads * len(self.fold) / len(first.y))

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
        return Part(made.X, made.y, None, made.X_test, made.classes[made.codes_test], None)

    def _prepared(self, parameters: Mapping[str, Any], fold: int) -> Prepared:
        scale, degree = (parameters.get(name, getattr(self.request, name)) for name in OF_FEATURES)
        key = fold, scale, degree
        if key not in self._made:
            mine = self.fold == fold
            request = replace(
                self.request, scale=scale, degree=degree, test=None, cv=None, holdout=0.0, tune=False, budget=None
            )
            self._made[key] = prepare(request, Split(self.data.take(~mine), self.data.take(mine)))
        return self._made[key]
