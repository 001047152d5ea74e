"""`minimum_errors`: the least number of training errors that any plane can have."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from ...data.problem import Problem, make_problem
from ...kernels.linear.rows import Dense
from ...parallel import one_blas_thread
from ...progress import report_progress
from ...validation import flag, number
from ..inputs import labelled
from .clashes import DEAR, Clash, Clashes, Hitting, plane_for, why
from .enumeration import MOST, enumerate_planes
from .exact_signs import Plane
from .search import Search

QUICK = 10  # rounds of descent before anything is proved
WORK = 4_000_000  # rows times lines between two rounds of proof
MOST_ROUNDS, MOST_PROOFS = 300, 8
FORCED = 0.3  # of the time, to see whether equal rows force all errors
SEARCHED = 4  # times as many rounds of descent while proofs are far away
FLATS = ("", "sides of the origin", "thresholds", "lines through pairs", "planes through triples")


@dataclass(frozen=True)
class MinimumErrors:
    """The fewest errors found, the fewest that are possible as far as is proved, and why.

    Attributes
    ----------
    errors : rows that the plane gets wrong; no plane is known that gets fewer wrong.
    lower : every plane gets at least so many rows wrong.
    optimal : whether the two are equal.
    coef, intercept : the plane; a row with w.x + b > 0 is of the larger label.
    wrong : positions of the rows that it gets wrong, exactly as counted in fractions where floats are in doubt. A row on the
        plane counts as wrong; with an intercept the plane is moved off all rows.
    exact : whether the lower bound is proved in whole numbers; False where it is HiGHS' own, in floats.
    how : how the lower bound was proved, in a sentence.
    clashes : the sets of rows, as positions, of which no plane gets all right, that the lower bound rests on; none where all
        planes were tried.
    seconds : how long it took.
    """

    errors: int
    lower: int
    optimal: bool
    coef: Any
    intercept: float
    wrong: Any
    exact: bool
    how: str
    clashes: list[Clash] = field(repr=False)
    seconds: float

    def __str__(self) -> str:
        rows = "row" if self.errors == 1 else "rows"
        if self.optimal:
            return f"The best plane gets {self.errors:,} {rows} wrong, and none gets fewer: {self.how}."
        return f"A plane gets {self.errors:,} {rows} wrong, and none gets fewer than {self.lower:,}: {self.how}."


def minimum_errors(
    X: Any, y: Any, *, fit_intercept: bool = True, time_limit: float | None = 60.0, random_state: int = 0, verbose: int = 0
) -> MinimumErrors:
    """The least number of training errors that any plane can have, with a lower bound that is proved.

    Problem    min over (w, b) of the number of rows with y_i (w.x_i + b) <= 0; NP-hard.
    Update     planes: descent along lines with exact steps, from many starts. Proofs: where equal rows with different labels
               force errors and a plane separates the others, it is optimal; in up to three dimensions all planes are tried, if
               there is time; in more, every plane gets a row of each clash wrong (rows that no plane separates), and the
               fewest rows that have one of each clash are found by HiGHS.
    Guarantee  lower <= the least number <= errors. The errors are exact on the rows as they came, and so are clashes and tried
               planes; a lower bound that is HiGHS' own, in floats, says so in `how`. Separable rows give 0 at once.
    Reference  L. Li and H.-T. Lin, IJCNN (2007); E. Amaldi, M. E. Pfetsch and L. E. Trotter, Math. Programming 95 (2003).

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features).
    y : labels of two kinds, one per row.
    fit_intercept : False: the plane goes through the origin.
    time_limit : seconds after which the best so far is the answer; a step that is under way is finished, which takes longer
        only with hundreds of columns. None: until the least number is proved, which may be never.
    random_state : seed of the descent. An answer that is proved before the time limit depends on nothing else.
    verbose : 1 writes a line per round to stderr.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> found = rb.minimum_errors([[0], [1], [2], [3], [4]], ["a", "b", "a", "b", "a"])
    >>> found.errors, found.lower, found.optimal
    (2, 2, True)
    >>> print(found)
    The best plane gets 2 rows wrong, and none gets fewer: all 5 thresholds of 5 points were tried.
    """
    begun = time.perf_counter()
    seconds = math.inf if time_limit is None else number("time_limit", time_limit, most=math.inf)
    seed = _seed(random_state)
    flag("fit_intercept", fit_intercept)
    given = labelled(X, y, "minimum_errors", at_most=2)
    problem = make_problem(given.X, given.codes, 2, x0=float(bool(fit_intercept)))
    with one_blas_thread():
        return _Run(problem, seed, begun, seconds, bool(verbose)).run()


class _Run:
    def __init__(self, problem: Problem, seed: int, begun: float, seconds: float, verbose: bool) -> None:
        self.problem, self.begun, self.deadline, self.verbose = problem, begun, begun + seconds, verbose
        self.search = Search(problem, seed, self.deadline)
        self.hitting = Hitting(problem, seed, self.deadline)
        self.width = problem.n_features + int(problem.x0 != 0)
        self.rounds = max(1, min(MOST_ROUNDS, WORK // (problem.n_rows * self.search.lines)))

    def run(self) -> MinimumErrors:
        search, hitting = self.search, self.hitting
        wide = min(self.problem.n_rows, self.problem.n_features) > DEAR  # then rounds of descent take seconds
        if wide and (found := self._forced()) is not None:
            return found
        search.run(QUICK, 0)
        if search.best.errors == 0:
            return self._answer(0, "a plane gets all rows right", [])
        if not wide and hitting.twins and (found := self._forced()) is not None:
            return found
        hitting.finder.by_nearness(search.best)
        self._offer(hitting.begin())
        if search.best.errors == 0:
            return self._answer(0, "a plane gets all rows right", [])
        if self.width <= MOST and self._open() and (found := self._enumerated()) is not None:
            return found
        idle = 0
        while self._open():
            before, near = search.best, 2 * hitting.lower >= search.best.errors
            search.run(self.rounds if near else SEARCHED * self.rounds, hitting.lower)
            idle = idle + 1 if search.best is before else 0
            hitting.finder.by_nearness(search.best)
            # The longer no better plane is found, the more time for proofs; sooner, if they have come half of the way.
            for _ in range(min(1 + (idle if near else idle // 4), MOST_PROOFS)):
                if self._open():
                    self._offer(hitting.round())
            self._tell()
        how = hitting.how or "nothing was proved in the time allowed"
        return self._answer(hitting.lower, how, hitting.rests_on, hitting.exact)

    def _forced(self) -> MinimumErrors | None:
        """The answer, where equal rows with different labels force all errors, or there are none."""
        problem, twins = self.problem, self.hitting.twins
        if self.search.best.errors > len(twins):
            now = time.perf_counter()
            self._offer(plane_for(problem, self.hitting.others, time.monotonic() + FORCED * (self.deadline - now)))
        if self.search.best.errors > len(twins):
            return None
        return self._answer(len(twins), why(twins) if twins else "a plane gets all rows right", twins)

    def _open(self) -> bool:
        return self.search.best.errors > self.hitting.lower and time.perf_counter() < self.deadline

    def _offer(self, plane: Plane | None) -> None:
        if plane is not None:
            self.search.offer(plane)

    def _enumerated(self) -> MinimumErrors | None:
        problem, lower = self.problem, self.hitting.lower
        self.search.run(self.rounds, lower)
        if self.search.best.errors == lower:
            return self._answer(lower, self.hitting.how, self.hitting.rests_on, self.hitting.exact)
        matrix = problem.matrix()
        values = np.array(matrix if isinstance(problem.rows, Dense) else matrix.toarray(), np.float64)
        positive = np.asarray(problem.labels.signs) > 0
        found = enumerate_planes(values, positive, problem.x0 != 0, self.deadline)
        if found is None:
            return None
        if found.errors < self.search.best.errors:
            self._offer(Clashes(problem, np.inf).separate(found.right))
        flats = FLATS[self.width]
        return self._answer(found.errors, f"all {found.tried:,} {flats} of {found.points:,} points were tried", [])

    def _answer(self, lower: int, how: str, clashes: list[Clash], exact: bool = True) -> MinimumErrors:
        plane = self.search.best
        seconds = time.perf_counter() - self.begun
        optimal, bias = plane.errors == lower, float(plane.bias)
        return MinimumErrors(plane.errors, lower, optimal, plane.coef, bias, plane.wrong, exact, how, clashes, seconds)

    def _tell(self) -> None:
        report_progress(0, text=f"{self.search.best.errors} errors, at least {self.hitting.lower}")
        if self.verbose:
            seconds, best, hitting = time.perf_counter() - self.begun, self.search.best.errors, self.hitting
            sys.stderr.write(f"{seconds:.1f} s: {best} errors, at least {hitting.lower} by {len(hitting.clashes)} clashes\n")


# --- what comes in -----------------------------------------------------------------------------------------------------------


def _seed(random_state: Any) -> int:
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise TypeError(f"random_state must be a whole number, got {random_state!r}")
    if random_state < 0:
        raise ValueError(f"random_state must be at least 0, got {random_state!r}")
    return int(random_state)
