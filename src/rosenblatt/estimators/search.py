"""The search for parameters: candidates, their errors on folds, and the choice among them.

Problem    choose the parameters with the smallest expected error.
Update     every candidate is fitted on all folds but one and tested on that one. Candidates that differ in the cost C alone are
           fitted in an order from coarse to fine, each from the solution with the nearest C that is known.
Guarantee  the order of the work depends on the candidates alone, and a limit of time ends it: fits that are under way then are
           given up, and only candidates that were tested on all folds count. A longer budget tries the same candidates first,
           and the number of threads changes nothing.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from numbers import Integral
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.model_selection import BaseCrossValidator, check_cv

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..data.folds import search_folds
from ..parallel import in_order
from ..progress import Progress, progress_callback, report_progress, without_callback
from ..reporting.text import join_and
from ..svm.not_separable import NotSeparable
from ..validation import check_integer
from .candidates import Candidate, in_search_order
from .row_weights import ClassWeight, row_weights
from .trials import PATH_PARAMETER, Trial

if TYPE_CHECKING:
    from .base import LinearClassifier

Scorer: TypeAlias = Callable[..., float]  # (estimator, X, y): the greater, the better
Folds: TypeAlias = int | BaseCrossValidator | Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]
# Solutions that later fits may start from, at most, over all paths.
PATH_BYTES = 1 << 29
# Rows of each class, and classes, of the fits that load kernels before a budget begins.
WARM_UP_ROWS, WARM_UP_CLASSES = 5, 4
# Values of a part from which on a fit takes so long that an interrupt gives it up.
LONG_FIT_VALUES = 100_000


class Part(NamedTuple):
    """The rows of one fold: those to learn from, and those to test on."""

    X: Matrix
    y: Array
    weights: FloatArray | None
    X_test: Matrix
    y_test: Array
    weights_test: FloatArray | None


class _GivenUp(Exception):  # noqa: N818  nothing went wrong
    """The end of a fit whose result is no longer needed."""


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
    _paths: dict[Hashable, _Path] = field(default_factory=dict)
    _refusal: NotSeparable | None = None

    def run(
        self,
        candidates: Sequence[Candidate],
        budget: float | None = None,
        count: int | None = None,
        title: str = "",
        started: float | None = None,
    ) -> list[Trial]:
        """Try the candidates and return the trials in their order; those that the budget does not reach are left out.

        Parameters
        ----------
        candidates : sequence of Candidate
        budget : float, optional
            Seconds after which the search ends, maybe without any trial. The time to compile kernels does not count.
        count : int, optional
            The number of candidates to try, in the order of the search.
        title : str
            What progress reports begin with.
        started : float, optional
            When the budget began, by `time.perf_counter`; now by default.

        Raises
        ------
        NotSeparable
            If no candidate could be fitted on all folds.
        """
        now = time.perf_counter()
        if budget is not None and count is None:
            self._warm_up(candidates)
        warming = time.perf_counter() - now
        deadline = math.inf if budget is None else (now if started is None else started) + warming + budget
        order = in_search_order(candidates)[:count]
        work = [(place, fold) for place in order for fold in range(self.n_folds)]
        before, ended = _predecessors(candidates, work), {item: Event() for item in work}
        cancel = Event()

        def over() -> bool:
            return cancel.is_set() or time.perf_counter() > deadline

        def test(item: tuple[int, int]) -> tuple[float, float] | None:
            try:
                if item in before:
                    ended[before[item]].wait()
                return None if over() else self._test(candidates[item[0]], item[1], over, budget is not None)
            except _GivenUp:
                return None
            finally:
                ended[item].set()

        results: dict[tuple[int, int], tuple[float, float] | None] = {}
        self._paths = {}
        room = PATH_BYTES // max(1, len({candidate.group for candidate in candidates}) * self.n_folds)
        for place, fold in work:
            self._paths.setdefault((candidates[place].group, fold), _Path(room))
        with warnings.catch_warnings():  # here, since filters are shared by the threads
            warnings.simplefilter("ignore")
            found = in_order(test, work, effective_n_jobs(self.n_jobs), cancel)
            for done, (item, result) in enumerate(zip(work, found, strict=True), start=1):
                results[item] = result
                report_progress(done, text=f"{title}fit {done} of {len(work)}", total=len(work))
        self._paths = {}
        trials = [
            _trial(candidates[place], [results[place, fold] for fold in range(self.n_folds)])
            for place in sorted(_complete(order, results, self.n_folds))
        ]
        if self._refusal is not None and trials and all(math.isinf(trial.loss) for trial in trials):
            raise self._refusal
        return trials

    def _warm_up(self, candidates: Sequence[Candidate]) -> None:
        """Compile or load the kernels of the candidates on a few rows: the time for it does not depend on the data."""
        part = self.part(candidates[0].parameters, 0)
        _, codes = np.unique(part.y, return_inverse=True)
        few = np.concatenate(
            [np.flatnonzero(codes == code)[:WARM_UP_ROWS] for code in range(min(WARM_UP_CLASSES, codes.max() + 1))]
        )
        firsts = {candidate.group: candidate for candidate in reversed(candidates)}
        with without_callback(), warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore")
            for candidate in firsts.values():
                self.make(candidate.parameters).fit(part.X[few], part.y[few])

    def _test(self, candidate: Candidate, fold: int, over: Callable[[], bool], limited: bool) -> tuple[float, float]:
        """Return the loss of a candidate on a fold, infinite if it cannot be fitted there, and the seconds it took."""
        started = time.perf_counter()
        part = self.part(candidate.parameters, fold)

        def check(_: Progress) -> None:
            if over():
                raise _GivenUp

        # A callback makes the fits of a few rows slower, because it is called after each pass.
        watched = limited or math.prod(part.X.shape) >= LONG_FIT_VALUES
        try:
            with progress_callback(check) if watched else without_callback():
                estimator = self._fit(candidate, fold, part)
        except NotSeparable as error:
            self._refusal = error
            return math.inf, time.perf_counter() - started
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
        path = self._paths[candidate.group, fold]
        start = path.nearest(candidate.cost)
        if start is not None:
            estimator = copy.copy(start).set_params(C=candidate.cost)
        fitted: LinearClassifier = estimator.set_params(warm_start=True).fit(part.X, part.y, part.weights)
        path.add(candidate.cost, fitted)
        return fitted


@dataclass
class _Path:
    """Solutions by cost, from which others start: the latest ones that fit into a number of bytes, and at least one."""

    room: int
    _known: dict[float, tuple[LinearClassifier, int]] = field(default_factory=dict)

    def nearest(self, cost: float) -> LinearClassifier | None:
        if not self._known:
            return None
        return self._known[min(self._known, key=lambda other: (abs(math.log(other / cost)), other))][0]

    def add(self, cost: float, fitted: LinearClassifier) -> None:
        self._known[cost] = fitted, sum(_bytes_of(vars(fitted).get(name)) for name in ("_solutions", "multipliers_"))
        while len(self._known) > 1 and sum(size for _, size in self._known.values()) > self.room:
            del self._known[next(iter(self._known))]


def _bytes_of(value: Any) -> int:
    """The size of the arrays in a solution, or in a list of them."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_bytes_of, value if isinstance(value, list | tuple) else getattr(value, "__dict__", {}).values()))


def _complete(order: Sequence[int], results: Mapping[tuple[int, int], object], n_folds: int) -> list[int]:
    """The candidates that were tested on all folds, up to the first that was not."""
    return list(takewhile(lambda place: all(results[place, fold] is not None for fold in range(n_folds)), order))


def _trial(candidate: Candidate, results: Sequence[tuple[float, float] | None]) -> Trial:
    losses, seconds = zip(*(result for result in results if result is not None), strict=True)
    return Trial(dict(candidate.parameters), losses, sum(seconds))


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


def stratified_folds(y: Array, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the rows to learn from and those to test on, of each fold, with each class spread evenly, see `search_folds`."""
    fold = search_folds(np.unique(y, return_inverse=True)[1], n_folds, seed)
    return [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(int(fold.max()) + 1)]


def weights_of_errors(class_weight: ClassWeight, y: Array, weights: FloatArray | None) -> FloatArray | None:
    """Return the weights of rows to test on, with those of their classes as in fits; None if every row has weight 1."""
    classes, codes = np.unique(y, return_inverse=True)
    return row_weights(weights, class_weight, y[:, None], codes, classes)


def check_folds(cv: object) -> None:
    """Raise an error unless `cv` is a number of folds, a splitter or an iterable."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        check_integer("cv", cv, minimum=2)


def folds_of(cv: Folds, X: Any, y: Array, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the rows to learn from and those to test on, of each fold."""
    if isinstance(cv, Integral):
        return stratified_folds(y, int(cv), seed)
    return list(check_cv(cv, y, classifier=True).split(X, y))


def check_two_rows_of_each_class(y: Array) -> None:
    """Raise ValueError if a class has a single row, on which no model can be tested that knows the class."""
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        alone = classes[counts < 2].tolist()
        raise ValueError(
            f"tuning needs at least two rows of every class, and {_class_or_classes(alone)} a single row: "
            "add rows of it, leave it out, or do not tune"
        )


def _class_or_classes(labels: Sequence[Any]) -> str:
    names = join_and([repr(label) for label in labels[:5]])
    return f"the class {names} has" if len(labels) == 1 else f"the classes {names} have"
