"""`minimum_errors`: the least number of training errors of any plane."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
import numpy.typing as npt

from ...array_types import FloatArray, IntArray, MatrixLike
from ...data.problem import Problem, dense_array, make_problem
from ...parallel import one_blas_thread
from ...progress import report_progress
from ...reporting.text import count, plural
from ...validation import ParameterError, ParameterTypeError, check_flag, check_number
from ..certify import validated_rows
from .clashes import EXPENSIVE_SIZE, Clash, ClashFinder, HittingSet, LowerBoundProof, describe_forced_errors, plane_for
from .enumeration import MAX_WEIGHTS, enumerate_planes
from .exact_signs import FloatPlane
from .search import Search

FIRST_ROUNDS = 10  # rounds of the search before the first round of proof
WORK_PER_ROUND = 4_000_000  # work of the search between two rounds of proof, in rows times lines
MAX_ROUNDS, MAX_PROOF_ROUNDS = 300, 8
FORCED_TIME_SHARE = 0.3  # share of the time for checking whether equal rows force all errors
SEARCH_FACTOR = 4  # factor for the rounds of the search while the lower bound is below half of the errors
FLAT_NAMES = ("", "sides of the origin", "thresholds", "lines through pairs", "planes through triples")  # by number of weights


@dataclass(frozen=True)
class MinimumErrors:
    """The fewest errors found, and a proved lower bound on the errors of every plane.

    Parameters
    ----------
    errors : int
        The number of rows that the plane misclassifies. No plane with fewer errors is known.
    lower : int
        Every plane misclassifies at least this many rows.
    optimal : bool
        Whether `errors` equals `lower`.
    coef : array of shape (n_features,)
        The weights of the plane. A row with w.x + b > 0 is assigned the larger label.
    intercept : float
        The intercept of the plane.
    wrong : array of int
        The positions of the misclassified rows, exact: fractions decide if floats cannot. A row on the plane counts as
        misclassified; with an intercept the plane is moved off all rows.
    exact : bool
        Whether the lower bound is proved in integers. False for a bound of HiGHS, which is computed in floats.
    how : str
        How the lower bound was proved, as a sentence.
    clashes : list of tuple of int
        The sets of rows, as positions, that the lower bound rests on: no plane classifies all rows of a set correctly. Empty if
        all planes were tried.
    seconds : float
        The time that the search took.
    proof : LowerBoundProof
        How the lower bound was proved, for programs.

    See Also
    --------
    rosenblatt.minimum_errors : Find the fewest errors.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> found = rb.minimum_errors([[0], [1], [2]], ["a", "b", "a"])
    >>> found.errors, found.lower, found.proof.value
    (1, 1, 'disjoint-clashes')
    """

    errors: int
    lower: int
    optimal: bool
    coef: FloatArray
    intercept: float
    wrong: IntArray
    exact: bool
    how: str
    clashes: list[Clash] = field(repr=False)
    seconds: float
    proof: LowerBoundProof

    def __str__(self) -> str:
        rows = plural(self.errors, "row")
        if self.optimal:
            return f"The best plane misclassifies {rows}, and no plane misclassifies fewer: {self.how}."
        return f"A plane misclassifies {rows}, and no plane misclassifies fewer than {count(self.lower)}: {self.how}."


def minimum_errors(
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = 60.0,
    random_state: int = 0,
    verbose: int = 0,
) -> MinimumErrors:
    """Find the least number of training errors of any plane, with a proved lower bound.

    Problem    min over (w, b) of the number of rows with y_i (w.x_i + b) <= 0; NP-hard.
    Update     planes: descent along lines with exact steps, from many starts. Proofs: if equal rows with different labels
               force errors and a plane separates the others, it is optimal; in up to three dimensions all planes are tried, if
               there is time; in more, every plane misclassifies a row of each clash (rows that no plane separates), and HiGHS
               finds the fewest rows that include one of each clash.
    Guarantee  lower <= the least number <= errors. The errors are exact on the given rows, and so are clashes and tried
               planes; `exact` is False for a lower bound of HiGHS, computed in floats. Separable rows give 0 at once.
    Reference  L. Li and H.-T. Lin, IJCNN (2007); E. Amaldi, M. E. Pfetsch and L. E. Trotter, Math. Programming 95 (2003).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Labels of two classes.
    fit_intercept : bool, default=True
        Whether the plane has an intercept. If False, it goes through the origin.
    time_limit : float or None, default=60.0
        Seconds after which the best result so far is returned; a step that has started is finished, which takes longer only
        with hundreds of columns. None: until the least number is proved, possibly forever.
    random_state : int, default=0
        Seed of the search. A result that is proved before the time limit depends on nothing else.
    verbose : int, default=0
        1 writes a line per round to stderr.

    Returns
    -------
    MinimumErrors
        The plane with the fewest errors found, and the lower bound with its proof.

    See Also
    --------
    rosenblatt.certify : Decide whether a plane without errors exists.
    rosenblatt.doctor : Find out why a perceptron does not converge.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> found = rb.minimum_errors([[0], [1], [2], [3], [4]], ["a", "b", "a", "b", "a"])
    >>> found.errors, found.lower, found.optimal
    (2, 2, True)
    >>> print(found)
    The best plane misclassifies 2 rows, and no plane misclassifies fewer: all 5 thresholds of 5 points were tried.
    """
    begun = time.perf_counter()
    seconds = math.inf if time_limit is None else check_number("time_limit", time_limit, maximum=math.inf)
    seed = _seed(random_state)
    check_flag("fit_intercept", fit_intercept)
    given = validated_rows(X, y, "minimum_errors", max_classes=2)
    problem = make_problem(given.X, given.codes, 2, x0=float(bool(fit_intercept)))
    with one_blas_thread():
        return _Run(problem, seed, begun, seconds, bool(verbose)).run()


class _Run:
    """Alternates between the search for better planes and proofs of better bounds."""

    def __init__(self, problem: Problem, seed: int, begun: float, seconds: float, verbose: bool) -> None:
        self.problem, self.begun, self.deadline, self.verbose = problem, begun, begun + seconds, verbose
        self.search = Search(problem, seed, self.deadline)
        self.hitting_set = HittingSet(problem, seed, self.deadline)
        self.n_weights = problem.n_features + int(problem.x0 != 0)
        self.rounds = max(1, min(MAX_ROUNDS, WORK_PER_ROUND // (problem.n_rows * self.search.lines)))

    def run(self) -> MinimumErrors:
        search, hitting_set = self.search, self.hitting_set
        expensive = min(self.problem.n_rows, self.problem.n_features) > EXPENSIVE_SIZE  # rounds of search take seconds
        if expensive and (found := self._forced()) is not None:
            return found
        search.run(FIRST_ROUNDS, 0)
        if search.best.errors == 0:
            return self._separable()
        if not expensive and hitting_set.equal_pairs and (found := self._forced()) is not None:
            return found
        hitting_set.finder.sort_by_distance(search.best)
        self._offer(hitting_set.begin())
        if search.best.errors == 0:
            return self._separable()
        if self.n_weights <= MAX_WEIGHTS and self._continues() and (found := self._enumerated()) is not None:
            return found
        self._alternate()
        return self._by_hitting_set()

    def _alternate(self) -> None:
        search, hitting_set, idle = self.search, self.hitting_set, 0
        while self._continues():
            before, near = search.best, 2 * hitting_set.lower >= search.best.errors
            search.run(self.rounds if near else SEARCH_FACTOR * self.rounds, hitting_set.lower)
            idle = idle + 1 if search.best is before else 0
            hitting_set.finder.sort_by_distance(search.best)
            # More proof rounds the longer no better plane is found; sooner if the bound has reached half of the errors.
            for _ in range(min(1 + (idle if near else idle // 4), MAX_PROOF_ROUNDS)):
                if self._continues():
                    self._offer(hitting_set.round())
            self._report()

    def _forced(self) -> MinimumErrors | None:
        """The result, if equal rows with different labels force all errors, or there are no errors."""
        pairs = self.hitting_set.equal_pairs
        if self.search.best.errors > len(pairs):
            now = time.perf_counter()
            deadline = time.monotonic() + FORCED_TIME_SHARE * (self.deadline - now)
            self._offer(plane_for(self.problem, self.hitting_set.unpaired, deadline))
        if self.search.best.errors > len(pairs):
            return None
        if not pairs:
            return self._separable()
        return self._result(len(pairs), LowerBoundProof.DUPLICATES, describe_forced_errors(pairs), pairs)

    def _continues(self) -> bool:
        return self.search.best.errors > self.hitting_set.lower and time.perf_counter() < self.deadline

    def _offer(self, plane: FloatPlane | None) -> None:
        if plane is not None:
            self.search.offer(plane)

    def _enumerated(self) -> MinimumErrors | None:
        """The result of trying all planes; None if there is no time."""
        problem, lower = self.problem, self.hitting_set.lower
        self.search.run(self.rounds, lower)
        if self.search.best.errors == lower:
            return self._by_hitting_set()
        values = np.array(dense_array(problem.matrix()), np.float64)
        positive = np.asarray(problem.signs) > 0
        found = enumerate_planes(values, positive, problem.x0 != 0, self.deadline)
        if found is None:
            return None
        if found.errors < self.search.best.errors:
            self._offer(ClashFinder(problem, np.inf).separate(found.right))
        how = f"all {count(found.tried)} {FLAT_NAMES[self.n_weights]} of {count(found.points)} points were tried"
        return self._result(found.errors, LowerBoundProof.ENUMERATION, how, [])

    def _separable(self) -> MinimumErrors:
        return self._result(0, LowerBoundProof.SEPARABLE, "a plane classifies all rows correctly", [])

    def _by_hitting_set(self) -> MinimumErrors:
        found = self.hitting_set
        return self._result(found.lower, found.proof, found.how, found.rests_on)

    def _result(self, lower: int, proof: LowerBoundProof, how: str, clashes: list[Clash]) -> MinimumErrors:
        plane, exact = self.search.best, proof is not LowerBoundProof.INTEGER_PROGRAM
        seconds = time.perf_counter() - self.begun
        optimal, bias = plane.errors == lower, float(plane.bias)
        return MinimumErrors(plane.errors, lower, optimal, plane.coef, bias, plane.wrong, exact, how, clashes, seconds, proof)

    def _report(self) -> None:
        best, found = self.search.best.errors, self.hitting_set
        text = f"{best} errors, at least {found.lower} by {len(found.clashes)} clashes"
        report_progress(0, text=text, verbose=self.verbose)


def _seed(random_state: int) -> int:
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise ParameterTypeError("random_state", "an integer", random_state)
    if random_state < 0:
        raise ParameterError("random_state", "at least 0", random_state)
    return int(random_state)
