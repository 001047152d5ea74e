"""`SoftMargin`: support vectors with slack."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from ..array_types import FloatArray
from ..data.labels import classes_and_codes
from ..data.problem import Rows, make_rows, rows_width
from ..kernels.linear.blocks import lengths
from ..online.stopping import Stop, merge_stops
from ..parallel import in_order, one_blas_thread
from ..progress import current_callback
from ..svm.crammer_singer import lead_over_rivals, solve_crammer_singer
from ..svm.hard_margin import hard_margin, prefer_hard_margin
from ..svm.problem import BinarySVM, Solution, SolverLimits
from ..svm.reductions import Head, heads
from ..svm.solver_choice import SOLVERS, solve_binary_svm
from ..validation import count, flag, number, one_of
from .base import FLOATS, check_every_class_weighs, check_n_jobs_and_verbose, row_weights, seed_of
from .svm_base import MarginClassifier, margin_of

# max_iter="auto"
ITERATIONS = 1000
TOGETHER = 10  # times as many for all classes at once, where most rows rest in most passes
VISITS = 10_000_000
MOST = 100_000
LARGE = 1e3  # a C with which the widest margin may be the answer


class SoftMargin(MarginClassifier):
    """The soft-margin support-vector machine, solved to a proven gap.

    Problem    min 1/2 |w|^2 + C sum_i xi_i (hinge) or C sum_i xi_i^2 (squared hinge),
               s.t. y_i (<w, x_i> + b) >= 1 - xi_i, xi_i >= 0.
    Guarantee  `objective_` is over the minimum by at most `dual_gap_`: the dual's value at `multipliers_` is a lower bound, and
               both are evaluated on all rows in float64. The fit ends when the gap, relative to the objective, is at most
               `tol`, or says in `stop_` and by a warning how far it got.
    Reference  Cortes and Vapnik, BinarySVM Learning 20 (1995). The solvers: see `rosenblatt.svm`.

    Coming from scikit-learn: `SVC(kernel="linear", C=C)` is `SoftMargin(C=C, multiclass="ovo")`, `LinearSVC(C=C, loss=loss)` is
    `SoftMargin(C=C, loss=loss, penalize_intercept=True)`, `LinearSVC(multi_class="crammer_singer")` is
    `SoftMargin(multiclass="crammer_singer", penalize_intercept=True)`. `tol` means something else there.

    Parameters
    ----------
    C : what a unit of slack costs, greater than 0; infinity makes it the hard-margin machine, see `MaxMargin`. A row's weight
        scales its C.
    loss : "hinge" or "squared_hinge".
    multiclass : "ovr", one class against the rest; "ovo", each against each; "crammer_singer", all at once (hinge only):
        min 1/2 sum_m |w_m|^2 + C sum_i xi_i, s.t. (w_l - w_m).x_i + b_l - b_m >= 1 - xi_i for the row's class l and all others.
        With two classes that is the plane of 2 C, and the attributes are that plane's.
    intercept : "free", as in the textbook; "penalized", one more weight that costs as the others do, as in LIBLINEAR; "none".
    intercept_scaling : x_0, the constant before every row where the intercept is penalized. The larger, the freer.
    tol : the relative duality gap to reach, greater than 0.
    max_iter : passes (dual coordinates) or steps (newton) at most; "auto": 1000, on small sets as many as see 10 million rows.
    solver : "auto", by the shape of the data, or "newton" (squared hinge only), "interior-point" (hinge only) or
        "dual-coordinates". `solver_` says which it was.
    class_weight : None, "balanced" or a dict; scales the C of a class.
    warm_start : `fit` starts from the solution before: along a path of C it needs fewer passes.
    random_state : seed of the orders and samples.
    n_jobs : threads for the machines of several classes, or for the sums of one; the bits do not depend on it.
    verbose : 1 writes the gap to stderr as it falls; of all classes at once, the passes made.

    Attributes
    ----------
    coef_, intercept_ : the plane, or one for each machine: classes, or pairs (0, 1), (0, 2), ..., (1, 2), ... of classes.
    classes_ : the labels, sorted; y_i = +1 for `classes_[1]`, the machine's class or the second of its pair.
    support_, support_vectors_ : the rows with a multiplier other than zero, by position and as they are in X, which the model
        refers to and does not copy; a pickled model holds them itself.
    multipliers_ : their a_i: w = sum_i a_i y_i x_i, 0 < a_i <= C c_i (hinge), sum_i a_i y_i = 0 where the intercept is free.
    slack_, canonical_ : xi_i and y_i (<w, x_i> + b) for every row; NaN for rows that do not count.
    objective_, dual_gap_, gap_ : the objective, primal minus dual, and that relative to the objective.
    margin_ : 1/|w|, half the width of the street.
    n_iter_ : passes or steps.
    solver_, stop_ : which solver it was, and why it ended.

    For more than two classes each of `support_` to `n_iter_` is a list with an entry for each machine. Crammer and Singer's is
    one machine: `multipliers_` is support x classes (rows sum to 0, rivals are <= 0), w_m = sum_i a_im x_i, `canonical_` the
    lead of the own score over the best rival's, `margin_` 1/(sqrt(2) |W|).

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.SoftMargin(C=1.0, tol=1e-9).fit([[0, 0], [0, 2], [2, 0], [2, 2]], [0, 0, 0, 1])
    >>> model.coef_.round(6).tolist(), model.intercept_.round(6).tolist(), model.support_[0].tolist()
    ([[1.0, 1.0]], [-3.0], [1, 2, 3])
    >>> bool(model.gap_[0] <= 1e-9)
    True
    """

    objective_: FloatArray
    dual_gap_: FloatArray
    _solutions: list[Any]
    _scheme: str

    @property
    def slack_(self) -> FloatArray:
        """xi_i = max(0, 1 - canonical distance) for every row."""
        if "canonical_" not in self.__dict__:
            raise AttributeError("SoftMargin has slack_ after fit")
        slack: FloatArray = np.maximum(0.0, 1.0 - self.canonical_)
        return slack

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        multiclass: str = "ovr",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        max_iter: int | str = "auto",
        solver: str = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the problem on these rows.

        X : array or sparse matrix of shape (rows, features); float32 and float64 are used as they are, without a copy.
        y : class labels, one per row.
        sample_weight : a number >= 0 for each row that scales its C; a weight of 2 is the row given twice.
        """
        # What overflows ends in an objective that is not finite, which is refused below.
        with self._unharmed(), one_blas_thread(), np.errstate(all="ignore"):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        X, y = self._validated(X, y, FLOATS, reset=True, finite=False)
        classes, codes = classes_and_codes(y)
        self._check_two(classes)
        weights = row_weights(sample_weight, self.class_weight, X, codes, classes)
        check_every_class_weighs(weights, codes, classes)
        rows = make_rows(X)
        self._check_lengths(X, rows, len(codes))
        # All classes at once are, with two of them, w_1 = -w_0 = w/2: the machine of two classes with twice the C.
        share = 2.0 if self.multiclass == "crammer_singer" and len(classes) == 2 else 1.0
        costs = np.broadcast_to(share, len(codes)) if weights is None else share * weights
        x0 = 0.0 if not self.fit_intercept else float(self.intercept_scaling) if self.penalize_intercept else 1.0
        if self.multiclass == "crammer_singer" and len(classes) > 2:
            self._fit_together(rows, codes, classes, self.C * costs, x0)
            return self
        problems = heads(rows, codes, len(classes), self.multiclass, weights=weights, x0=x0)
        machines = [self._machine(head, costs) for head in problems]
        before = self._before(classes, machines[0].width)
        threads = effective_n_jobs(self.n_jobs)
        inner = threads if len(machines) == 1 else 1
        progress = current_callback(bool(self.verbose))
        effort = SolverLimits(float(self.tol), self._most(len(codes)), seed_of(self.random_state), inner, progress)

        def solve(h: int) -> tuple[Solution, int, str]:
            if np.inf == self.C:
                head = problems[h]
                return hard_margin(head.problem, effort, classes[head.positive], head.about(classes))
            answer = solve_binary_svm(machines[h], self.solver, effort, before[h] if before else None)
            if answer[0].gap > self.tol and self.loss == "hinge" and not self._penalized and self.C > LARGE:
                return prefer_hard_margin(problems[h].problem, machines[h], effort, answer)
            return answer

        results = list(in_order(solve, range(len(machines)), threads if inner == 1 else 1))
        self.classes_ = classes
        self._set(rows, *map(list, zip(*results, strict=True)))
        return self

    def _fit_together(self, rows: Rows, codes: Any, classes: Any, costs: Any, x0: float) -> None:
        """All classes in one problem."""
        before = self._before(classes, rows_width(rows))
        found = solve_crammer_singer(
            rows, codes, len(classes), costs, x0=x0, free=self._free, tol=float(self.tol),
            max_iter=self._most(len(codes)), seed=seed_of(self.random_state), start=before[0] if before else None,
            progress=current_callback(bool(self.verbose)),
        )  # fmt: skip
        support = np.flatnonzero(found.multipliers.any(axis=1))
        each = {
            "support_": [support],
            "multipliers_": [found.multipliers[support]],
            "canonical_": lead_over_rivals(rows, codes, found.W, found.bias)[None],
            "margin_": np.array([margin_of(found.W * np.sqrt(2.0))]),
            "gap_": np.array([found.gap]),
            "dual_gap_": np.array([found.primal - found.dual]),
            "objective_": np.array([found.primal]),
            "n_iter_": found.n_iter,
        }
        self._set_each(rows, each)
        self.classes_, self.coef_, self.intercept_ = classes, found.W, found.bias
        self.solver_, self._solutions, self._scheme = "dual-coordinates", [found], self.multiclass
        self._end([self._stop(found.gap, found.n_iter, self._most(len(codes)))])

    def _check_lengths(self, X: Any, rows: Rows, n: int) -> None:
        """Squared lengths are finite, and so is every value: one pass instead of two."""
        squares = np.empty(n)
        lengths(rows, 0.0, squares)
        if not np.isfinite(squares).all():
            self._check_finite(X)
            row = int(np.flatnonzero(~np.isfinite(squares))[0])
            raise ValueError(f"the squared length of row {row} is over the largest float: scale the features")

    @property
    def _free(self) -> bool:
        """Whether there is an intercept that costs nothing."""
        return bool(self.fit_intercept) and not self.penalize_intercept

    @property
    def _penalized(self) -> bool:
        return bool(self.fit_intercept) and bool(self.penalize_intercept)

    def _machine(self, head: Head, weights: Any) -> BinarySVM:
        problem = head.problem
        # Where all rows cost the same, one number stands for all.
        costs = np.broadcast_to(self.C * weights[0], len(weights)) if weights.strides == (0,) else self.C * weights
        if problem.visited is not None:
            costs = np.zeros(len(weights))
            costs[problem.visited] = self.C * weights[problem.visited]
        squared = self.loss == "squared_hinge"
        return BinarySVM(problem.rows, problem.labels.signs, costs, squared, problem.x0, self._free)

    def _before(self, classes: Any, width: int) -> list[Any] | None:
        """The solutions that a warm start goes on from."""
        if not (self.warm_start and hasattr(self, "_solutions")):
            return None
        if not np.array_equal(classes, self.classes_) or self.coef_.shape[1] != width:
            raise ValueError(
                f"warm_start goes on from classes {self.classes_.tolist()} and {self.coef_.shape[1]} features, "
                f"got classes {classes.tolist()} and {width} features"
            )
        return self._solutions if self._scheme == self.multiclass else None

    def _set(self, rows: Rows, found: list[Solution], steps: list[int], solvers: list[str]) -> None:
        each = {
            "support_": [np.flatnonzero(solution.multipliers) for solution in found],
            "multipliers_": [solution.multipliers[np.flatnonzero(solution.multipliers)] for solution in found],
            "canonical_": found[0].margins[None] if len(found) == 1 else np.stack([solution.margins for solution in found]),
            "margin_": np.array([margin_of(solution.w) for solution in found]),
            "gap_": np.array([solution.gap for solution in found]),
            "dual_gap_": np.array([max(0.0, solution.primal - solution.dual) for solution in found]),
            "objective_": np.array([solution.primal for solution in found]),
            "n_iter_": max(steps),
        }
        self._set_each(rows, each)
        self.coef_ = np.array([solution.w for solution in found])
        self.intercept_ = np.array([solution.intercept for solution in found])
        self.solver_ = " and ".join(sorted(set(solvers)))
        self._solutions, self._scheme = found, self.multiclass
        most = self._most(len(found[0].multipliers))
        self._end([self._stop(solution.gap, made, most) for solution, made in zip(found, steps, strict=True)])

    def _most(self, n: int) -> int:
        """Passes or steps at most."""
        if not isinstance(self.max_iter, str):
            return int(self.max_iter)
        least = ITERATIONS * (TOGETHER if self.multiclass == "crammer_singer" else 1)
        return max(least, min(VISITS // n, MOST))

    def _stop(self, gap: float, steps: int, most: int) -> Stop:
        if not np.isfinite(gap):
            raise ValueError(f"C={self.C:g} makes numbers that floats cannot hold: take a smaller C, or scale the features")
        if gap <= self.tol:
            return Stop("tolerance", f"solved: the relative gap is {gap:.2g}, at most tol={self.tol:g}", gap=gap)
        if steps >= most:
            sentence = f"stopped after {most:,} iterations (the limit) with a relative gap of {gap:.2g}, above tol={self.tol:g}"
            return Stop("steps", sentence, limit=most, gap=gap)
        sentence = f"stopped by rounding errors with a relative gap of {gap:.2g}, above tol={self.tol:g}"
        return Stop("rounding", sentence, gap=gap)

    def _end(self, stops: list[Stop]) -> None:
        self.stop_ = merge_stops(stops)
        if self.stop_.reason != "tolerance":
            warnings.warn(f"tol={self.tol:g} was not reached: {self.stop_.sentence}", ConvergenceWarning, stacklevel=5)

    def _check_parameters(self) -> None:
        number("C", self.C, most=float("inf"))
        one_of("loss", self.loss, ("hinge", "squared_hinge"))
        one_of("multiclass", self.multiclass, ("ovr", "ovo", "crammer_singer"))
        flag("fit_intercept", self.fit_intercept)
        flag("penalize_intercept", self.penalize_intercept)
        one_of("solver", self.solver, ("auto", *SOLVERS))
        number("intercept_scaling", self.intercept_scaling)
        number("tol", self.tol)
        if isinstance(self.max_iter, str):
            one_of("max_iter", self.max_iter, ("auto",), "or a whole number")
        else:
            count("max_iter", self.max_iter)
        flag("warm_start", self.warm_start)
        check_n_jobs_and_verbose(self)
        if (self.solver, self.loss) in (("newton", "hinge"), ("interior-point", "squared_hinge")):
            raise ValueError(f"solver={self.solver!r} is not for loss={self.loss!r}")
        if np.inf == self.C and (self._penalized or self.multiclass == "crammer_singer"):
            raise ValueError("C=inf is the hard margin, which needs penalize_intercept=False and multiclass='ovr' or 'ovo'")
        if self.multiclass == "crammer_singer" and self.loss != "hinge":
            raise ValueError(f"multiclass='crammer_singer' has the hinge only, got loss={self.loss!r}")
