"""The search for parameters: candidates, their errors on folds, and the choice among them.

Problem    choose the parameters with the smallest expected error.
Update     every candidate is fitted on all folds but one and tested on that one. Candidates that differ in the cost C alone are
           fitted in an order from coarse to fine, each from the solution with the nearest C that is known.
Guarantee  the order of the work depends on the candidates alone, and a limit of time ends it after a whole round: a longer
           budget tries the same candidates first, and the number of threads changes nothing.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from sklearn.model_selection import StratifiedKFold

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..parallel import in_order
from ..progress import report_progress, without_callback
from ..reporting.text import join_and, short

if TYPE_CHECKING:
    from .base import LinearClassifier

Scorer: TypeAlias = Callable[..., float]  # (estimator, X, y): the greater, the better
PATH_PARAMETER = "C"


class Part(NamedTuple):
    """The rows of one fold: those to learn from, and those to test on."""

    X: Matrix
    y: Array
    weights: FloatArray | None
    X_test: Matrix
    y_test: Array
    weights_test: FloatArray | None


@dataclass(frozen=True)
class Trial:
    """The result of one candidate.

    Attributes
    ----------
    parameters : dict
        The parameters that were tried.
    losses : tuple of float
        The share of wrong rows of each fold, or the negated score.
    seconds : float
        The time of its fits and tests.
    """

    parameters: dict[str, Any]
    losses: tuple[float, ...]
    seconds: float

    @property
    def loss(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.losses))


@dataclass(frozen=True)
class Candidate:
    """Parameters to try. Candidates of one group differ in the cost C alone."""

    parameters: dict[str, Any]
    group: int
    round: int

    @property
    def cost(self) -> float:
        return float(self.parameters.get(PATH_PARAMETER, 1.0))


def candidates_of(grid: Mapping[str, Sequence[Any]]) -> list[Candidate]:
    """Return all combinations of a grid, in the order in which ties between them are decided."""
    names = [name for name in grid if name != PATH_PARAMETER]
    costs = sorted(grid[PATH_PARAMETER]) if PATH_PARAMETER in grid else [None]
    rounds = np.argsort(coarse_to_fine(len(costs)))
    found = []
    for group, values in enumerate(product(*(grid[name] for name in names))):
        fixed = dict(zip(names, values, strict=True))
        for place, cost in enumerate(costs):
            parameters = fixed if cost is None else {**fixed, PATH_PARAMETER: cost}
            found.append(Candidate(parameters, group, group if cost is None else int(rounds[place])))
    return found


def coarse_to_fine(n: int) -> IntArray:
    """Return 0, ..., n - 1 with the middle first, then the middle of each half, and so on.

    >>> coarse_to_fine(7).tolist()
    [3, 1, 5, 0, 2, 4, 6]
    """
    order, pieces = [], [(0, n)]
    while pieces:
        order += [(start + end) // 2 for start, end in pieces]
        halves = [half for start, end in pieces for half in ((start, (start + end) // 2), ((start + end) // 2 + 1, end))]
        pieces = [(start, end) for start, end in halves if start < end]
    return np.array(order, dtype=np.int64)


@dataclass
class Search:
    """A search over candidates, run by `run`.

    Parameters
    ----------
    make : callable
        Returns the estimator of a candidate's parameters.
    part : callable
        Returns the rows of a candidate's fold, from its parameters and the number of the fold.
    n_folds : int
    score : callable or None
        A scikit-learn scorer; None counts wrong rows.
    n_jobs : int or None
        Threads.
    """

    make: Callable[[Mapping[str, Any]], LinearClassifier]
    part: Callable[[Mapping[str, Any], int], Part]
    n_folds: int
    score: Scorer | None = None
    n_jobs: int | None = None
    _fitted: dict[Hashable, dict[float, LinearClassifier]] = field(default_factory=dict)

    def run(
        self, candidates: Sequence[Candidate], budget: float | None = None, count: int | None = None, title: str = ""
    ) -> list[Trial]:
        """Try the candidates and return the trials in their order; the rounds that the budget does not reach are left out.

        Parameters
        ----------
        candidates : sequence of Candidate
        budget : float, optional
            Seconds after which no further round begins; the first one is always made.
        count : int, optional
            The number of candidates to try: as many rounds as have it.
        title : str
            What progress reports begin with.
        """
        started = time.perf_counter()
        numbers = _rounds(candidates, count)
        work = [(place, fold) for number in numbers for place, fold in self._round(candidates, number)]
        ended = {(place, fold): Event() for place, fold in work}
        before = _predecessors(candidates, work)

        def test(item: tuple[int, int]) -> tuple[float, float] | None:
            place, fold = item
            candidate = candidates[place]
            try:
                if item in before:
                    ended[before[item]].wait()
                late = budget is not None and time.perf_counter() - started > budget
                if late and candidate.round != numbers[0]:
                    return None
                with without_callback():
                    return self._test(candidate, fold)
            finally:
                ended[item].set()

        results: dict[tuple[int, int], tuple[float, float]] = {}
        with warnings.catch_warnings():  # here, since filters are shared by the threads
            warnings.simplefilter("ignore")
            tested = in_order(test, work, effective_n_jobs(self.n_jobs))
            for done, (item, result) in enumerate(zip(work, tested, strict=True), start=1):
                if result is not None:
                    results[item] = result
                report_progress(done, text=f"{title}fit {done} of {len(work)}", total=len(work))
        self._fitted.clear()
        complete = {number for number in numbers if all(item in results for item in self._round(candidates, number))}
        return [
            self._trial(candidate, [results[place, fold] for fold in range(self.n_folds)])
            for place, candidate in enumerate(candidates)
            if candidate.round in complete
        ]

    def _round(self, candidates: Sequence[Candidate], number: int) -> list[tuple[int, int]]:
        places = [place for place, each in enumerate(candidates) if each.round == number]
        return [(place, fold) for place in places for fold in range(self.n_folds)]

    def _trial(self, candidate: Candidate, results: Sequence[tuple[float, float]]) -> Trial:
        losses, seconds = zip(*results, strict=True)
        return Trial(dict(candidate.parameters), losses, sum(seconds))

    def _test(self, candidate: Candidate, fold: int) -> tuple[float, float]:
        started = time.perf_counter()
        part = self.part(candidate.parameters, fold)
        estimator = self._fit(candidate, fold, part)
        if self.score is not None:
            weights = {} if part.weights_test is None else {"sample_weight": part.weights_test}
            loss = -float(self.score(estimator, part.X_test, part.y_test, **weights))
        else:
            wrong = estimator.predict(part.X_test) != part.y_test
            loss = float(np.average(wrong, weights=part.weights_test))
        return loss, time.perf_counter() - started

    def _fit(self, candidate: Candidate, fold: int, part: Part) -> LinearClassifier:
        estimator = self.make(candidate.parameters)
        if self.score is None and estimator.calibrate is not None:
            estimator.set_params(calibrate=None)  # classes do not depend on it
        if estimator._path != "cost" or PATH_PARAMETER not in candidate.parameters:
            return estimator.fit(part.X, part.y, part.weights)
        known = self._fitted.setdefault((candidate.group, fold), {})
        if known:
            nearest = min(known, key=lambda cost: (abs(np.log(cost / candidate.cost)), cost))
            estimator = copy.copy(known[nearest]).set_params(C=candidate.cost)
        fitted: LinearClassifier = estimator.set_params(warm_start=True).fit(part.X, part.y, part.weights)
        known[candidate.cost] = fitted
        return fitted


def _rounds(candidates: Sequence[Candidate], count: int | None) -> list[int]:
    """The numbers of the rounds, up to the one that reaches `count` candidates."""
    sizes = np.bincount([each.round for each in candidates])
    enough = len(sizes) if count is None else int(np.searchsorted(np.cumsum(sizes), count)) + 1
    return list(range(min(enough, len(sizes))))


def _predecessors(candidates: Sequence[Candidate], work: Iterable[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, int]]:
    """The item of the same group and fold that must end before each item begins."""
    latest: dict[tuple[int, int], tuple[int, int]] = {}
    before = {}
    for item in work:
        key = candidates[item[0]].group, item[1]
        if key in latest:
            before[item] = latest[key]
        latest[key] = item
    return before


def smoothed(trials: Sequence[Trial]) -> FloatArray:
    """Return the mean losses, averaged along each path with those of the neighbors: 1/4, 1/2, 1/4.

    The errors of neighbors differ by chance: their mean chose models with slightly fewer errors, see docs/tuning.md.
    """
    losses = np.array([trial.loss for trial in trials])
    paths: dict[str, list[int]] = {}
    for place, trial in enumerate(trials):
        rest = {name: value for name, value in trial.parameters.items() if name != PATH_PARAMETER}
        paths.setdefault(repr(rest), []).append(place)
    found = losses.copy()
    for places in paths.values():
        if len(places) > 1 and PATH_PARAMETER in trials[places[0]].parameters:
            found[places] = _with_neighbors(losses[places]) / _with_neighbors(np.ones(len(places)))
    return found


def _with_neighbors(line: FloatArray) -> FloatArray:
    around = np.pad(line, 1)
    total: FloatArray = around[:-2] + 2.0 * line + around[2:]
    return total


def best(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the smallest smoothed loss; of equals the one with C nearest to 1, the default, or the first."""
    losses = np.round(smoothed(trials), 12)
    equal = [trial for trial, loss in zip(trials, losses.tolist(), strict=True) if loss == losses.min()]
    return min(equal, key=lambda trial: abs(math.log(trial.parameters.get(PATH_PARAMETER, 1.0))))


def stratified_folds(y: Array, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the rows to learn from and those to test on, of each fold; fewer folds if a class has fewer rows than that.

    Raises
    ------
    ValueError
        If a class has a single row.
    """
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        alone = classes[counts < 2].tolist()
        raise ValueError(
            f"tuning needs at least two rows of every class, and {_class_or_classes(alone)} a single row: "
            "add rows of it, leave it out, or do not tune"
        )
    folds = StratifiedKFold(min(n_folds, int(counts.min())), shuffle=True, random_state=seed)
    return list(folds.split(np.zeros((len(y), 1)), y))


def _class_or_classes(labels: Sequence[Any]) -> str:
    names = join_and([repr(label) for label in labels[:5]])
    return f"the class {names} has" if len(labels) == 1 else f"the classes {names} have"


def describe(parameters: Mapping[str, Any]) -> str:
    """Return parameters as they are written in a call.

    >>> describe({"loss": "logistic", "C": 0.30000000000000004})
    "loss='logistic', C=0.3"
    """
    return ", ".join(
        f"{name}={short(value, 6) if isinstance(value, float) else repr(value)}" for name, value in parameters.items()
    )
