"""`SoftMargin`: support vectors with slack."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs

from ..array_types import Array, BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from ..data.problem import make_rows, rows_width
from ..kernels.linear.row_blocks import lengths
from ..kernels.linear.rows import Rows
from ..losses import Objective
from ..online.stopping import merge_stops
from ..parallel import one_blas_thread
from ..probabilities.maps import Calibration, ProbabilityMap, Sigmoid, Temperature
from ..progress import current_callback
from ..proofs.likelihood import check_maximum
from ..reporting.text import short
from ..svm.crammer_singer import CrammerSinger, lead_over_rivals
from ..svm.limits import SolverLimits, iteration_limit
from ..svm.multinomial import Multinomial
from ..svm.problem import choose_scheme
from ..svm.several_classes import SoftMarginTask, Solved
from ..svm.solver_choice import Solver
from ..svm.stored_solution import StoredSolution
from .base import RandomState, SolutionPath, StopWarning, TrainingSet, seed_of
from .row_weights import ClassWeight, check_every_class_has_weight
from .soft_margin_parameters import JOINT, LOSSES, MarginLoss, Multiclass, Penalty, check_soft_margin_parameters
from .svm_base import MarginClassifier, ZeroPlaneWarning, margin_of

if TYPE_CHECKING:
    import numpy.typing as npt

PROOF_TIME_S = 60.0  # for the proof that the likelihood of a problem has no maximum


class SoftMargin(MarginClassifier):
    """The soft-margin support vector machine, solved to a proved gap.

    Problem    min 1/2 |w|^2 + C sum_i xi_i (hinge) or C sum_i xi_i^2 (squared hinge),
               s.t. y_i (<w, x_i> + b) >= 1 - xi_i, xi_i >= 0;
               min 1/2 |w|^2 + C sum_i log(1 + exp(-y_i (<w, x_i> + b))) (logistic; C = inf: without 1/2 |w|^2 and C).
               penalty="l1": sum_j |w_j| in place of 1/2 |w|^2, so that most weights are zero.
    Guarantee  `objective_` exceeds the minimum by at most `dual_gap_`: the dual's value at `multipliers_` is a lower bound, and
               both are evaluated on all rows in float64. The fit ends when the gap, relative to the objective, is at most
               `tol`, or with a warning; `stop_` has the reason. With C = inf and the logistic loss, a separation that is below
               the rounding errors of float64 may be overlooked, and the bound is for weights up to twice the length of those
               found: see `rosenblatt.svm.unpenalized`. What `NoMaximum` states is proved in exact arithmetic.
    Reference  Cortes and Vapnik, Machine Learning 20 (1995). The solvers: see `rosenblatt.svm`.

    Coming from scikit-learn: `SVC(kernel="linear", C=C)` is `SoftMargin(C=C, multiclass="ovo")`, `LinearSVC(C=C, loss=loss)`
    is `SoftMargin(C=C, loss=loss, multiclass="ovr", penalize_intercept=True)`, `LinearSVC(multi_class="crammer_singer")` is
    `SoftMargin(multiclass="crammer_singer", penalize_intercept=True)`, `LogisticRegression(C=C)` is
    `SoftMargin(C=C, loss="logistic")`. `tol` has another meaning there.

    Parameters
    ----------
    C : float, default=1.0
        The cost of a unit of slack, greater than 0, scaled by a row's weight. Infinity gives the hard margin, see `MaxMargin`;
        with the logistic loss the largest likelihood without a penalty, and `fit` raises `NoMaximum` if there is none. Of
        equally good weights these are the shortest, up to a thousand columns.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        The price of slack. "logistic" is logistic regression, whose scores are log odds: it has probabilities.
    penalty : {"l2", "l1"}, default="l2"
        "l1" selects features: the smaller C, the fewer weights are other than zero. Not with the hinge, nor with joint schemes.
        A penalized intercept counts with its absolute value.
    multiclass : {"auto", "ovr", "ovo", "crammer_singer", "multinomial"}, default="auto"
        "ovr": each class against the rest. With the hinge, a class amid the others has no such plane: its weights are zero, and
        `fit` warns. "ovo": each pair of classes, with a vote; prediction takes k(k-1)/2 planes in place of k. Of classes with
        equal votes, the one with the most votes among them wins, then the one with the smaller sum of scores of lost pairs.
        Ties go to the smaller label: if training rows tie in "ovr", the intercept of the class at position h is lowered by
        1e-9 h, and if they lie on the plane of two classes, that of the plane by 1e-9. "auto": "ovr" for sparse rows of more
        than 1000 columns, or if all pairs took more than 2^26 weights, else "ovo"; with the logistic loss "multinomial";
        with the L1 penalty "ovr".
        "crammer_singer": all classes in one problem (hinge only), min 1/2 sum_m |w_m|^2 + C sum_i xi_i,
        s.t. (w_l - w_m).x_i + b_l - b_m >= 1 - xi_i for the row's class l and all others. Rows whose scores would be equal at
        the minimum are decided by what `tol` leaves. With two classes that is the plane of 2 C, as are the attributes.
        "multinomial": all classes in one problem (logistic only), min 1/2 sum_m |w_m|^2 - C sum_i log p_i, where p_i is the
        softmax of the row's scores at its class. Two classes: the plane of 2 C.
    fit_intercept : bool, default=True
        False: the plane goes through the origin.
    penalize_intercept : bool, default=False
        True: the intercept is one more weight that counts in |w|, as in LIBLINEAR. False: it is free, as in the textbook.
    intercept_scaling : float, default=1.0
        x_0, the constant before every row if the intercept is penalized. The larger, the freer the intercept.
    tol : float, default=1e-3
        The relative duality gap to reach, greater than 0.
    max_iter : int or "auto", default="auto"
        The number of iterations of each binary problem: passes (dual coordinates, "crammer_singer") or steps (Newton). "auto":
        1000, with "crammer_singer" 10,000; or, if that is more, as many as visit 10 million rows, but at most 100,000.
    solver : {"auto", "newton", "interior-point", "dual-coordinates"}, default="auto"
        "auto" chooses by the shape of the data. "newton" is for the squared hinge, the logistic loss and the L1 penalty,
        "interior-point" for the hinge.
    class_weight : dict, "balanced" or None, default=None
        Scales the C of a class.
    warm_start : bool, default=False
        Start `fit` from the previous solution: along a path of C it needs fewer passes.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        The map from scores to probabilities, which gives `predict_proba`. It is fitted on held-out scores of five folds, each
        of which takes one more fit. `predict` does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of row orders and samples.
    n_jobs : int, default=None
        Threads, for several binary problems or for the sums of one. The result does not depend on it.
    verbose : int, default=0
        1 writes the iterations so far and the gap to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_problems, n_features)
        The weights of each binary problem: one for two classes; else one per class, or one per pair (0, 1), (0, 2), ...,
        (1, 2), ... of classes. Weights that are zero up to rounding errors are zero.
    multiclass_ : {"ovr", "ovo", "crammer_singer", "multinomial"}
        The scheme that was used.
    intercept_ : ndarray of shape (n_problems,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted. y_i = +1 for `classes_[1]`, the problem's class or the second class of its pair.
    n_features_in_ : int
        The number of columns of X.
    support_ : list of ndarray
        For each problem, the rows with a multiplier other than zero: all, with the logistic loss, whose model files leave this
        and `multipliers_` out.
    support_vectors_ : list of {ndarray, sparse matrix}
        For each problem, those rows, copied from X. Pickles and copies of the model leave them out; the logistic loss, which
        gives every row a multiplier, has none.
    multipliers_ : list of ndarray
        For each problem, their a_i: w = sum_i a_i y_i x_i, 0 < a_i <= C c_i (hinge), sum_i a_i y_i = 0 with a free intercept.
        "crammer_singer" has one array of shape (n_support, n_classes): rows sum to 0, rivals are <= 0, w_m = sum_i a_im x_i,
        "multinomial" the like. With the logistic loss the sums differ from w by at most sqrt(2 dual_gap_); with C = inf they
        are zero, up to rounding errors. With the L1 penalty |sum_i a_i y_i x_ij| <= 1 for every column j.
    slack_ : ndarray of shape (n_problems, n_rows)
        xi_i for every row; NaN for rows that do not count.
    canonical_ : ndarray of shape (n_problems, n_rows)
        y_i (<w, x_i> + b) for every row. For "crammer_singer" the lead of a row's own score over the best rival.
    objective_ : ndarray of shape (n_problems,)
        The objective. "crammer_singer" is one problem.
    dual_gap_ : ndarray of shape (n_problems,)
        Primal minus dual objective.
    gap_ : ndarray of shape (n_problems,)
        `dual_gap_` relative to the objective.
    margin_ : ndarray of shape (n_problems,)
        1/|w|, half the width of the margin band; infinite for zero weights. For "crammer_singer" 1/(sqrt(2) |W|).
    n_iter_ : int
        The largest number of iterations of a binary problem, as `max_iter` counts them.
    solver_ : list of {"newton", "interior-point", "dual-coordinates", "active-set"}
        The solver of each binary problem. "active-set" solves small problems of the hinge, and the hard margin.
    calibration_ : ProbabilityMap
        With `calibrate`, the map.
    stop_ : Stop
        Why the fit ended.

    See Also
    --------
    MaxMargin : The hard margin.

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
    _solutions: list[Any]  # those of pairs of classes have the rows of the pair only

    @property
    def _objective(self) -> float:
        return float(self.objective_.sum())

    @property
    def _left_out_of_files(self) -> tuple[str, ...]:
        return ("support_", "multipliers_") if self.loss == "logistic" else ()

    def _minimized(self) -> Objective:
        l1 = self.penalty == "l1"
        return Objective(LOSSES[self.loss], float(self.C), 1.0 if l1 else 0.5, 1 if l1 else 2)

    @property
    def slack_(self) -> FloatArray:
        """The slack of every row, xi_i = max(0, 1 - canonical_i), per binary problem."""
        slack: FloatArray = np.maximum(0.0, 1.0 - self.canonical_)
        return slack

    @property
    def multiclass_(self) -> str:
        """The scheme of the fitted planes."""
        if "_scheme" not in self.__dict__:
            raise AttributeError("SoftMargin has no multiclass_ before fit")
        return self._scheme

    @property
    def _native_map(self) -> ProbabilityMap | None:
        if self.loss != "logistic" or (self._multiclass == "ovo" and len(self.__dict__.get("classes_", ())) != 2):
            return None
        k = len(self.__dict__.get("classes_", ()))
        return Sigmoid(np.ones(k), np.zeros(k)) if self._multiclass == "ovr" and k > 2 else Temperature(1.0)

    _path: ClassVar[SolutionPath | None] = "cost"

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: MarginLoss = "hinge",
        penalty: Penalty = "l2",
        multiclass: Multiclass = "auto",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        max_iter: int | Literal["auto"] = "auto",
        solver: Solver = "auto",
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        calibrate: Calibration | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.penalty = penalty
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _class_weight(self) -> ClassWeight:
        return self.class_weight

    @property
    def _intercept_scaling(self) -> float:
        return float(self.intercept_scaling)

    def _fit(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Self:
        # An overflow ends in an objective that is not finite, which is an error.
        with one_blas_thread(), np.errstate(all="ignore"):
            self._check_parameters()
            data = self._prepare(X, y, sample_weight)
            check_every_class_has_weight(data.weights, data.codes, data.classes)
            self._solve(data)
            return self

    def _solve(self, data: TrainingSet) -> None:
        X, classes, codes, weights = data.X, data.classes, data.codes, data.weights
        rows = make_rows(X)
        longest = self._check_lengths(X, rows, len(codes))
        scheme = self._choose_scheme(rows, len(classes))
        before, self._scheme = self._before(classes, rows_width(rows), len(codes), scheme), scheme
        joint = scheme in JOINT and len(classes) > 2
        most = iteration_limit(self.max_iter, len(codes), scheme == "crammer_singer")
        limits = SolverLimits(float(self.tol), most, seed_of(self.random_state))
        task = SoftMarginTask(
            rows, codes, classes, weights, scheme, float(self.C), self.loss, self.penalty, self.solver, self._x0, self._free,
            limits, effective_n_jobs(self.n_jobs), current_callback(bool(self.verbose)), longest,
        )  # fmt: skip
        self.classes_ = classes
        if joint:
            start = before[0] if before and (self.loss == "logistic" or before[0].n_rows == len(codes)) else None
            ends = [self._set_joint(rows, codes, task.solve_jointly(start))]
        else:
            answers, pair_rows = task.solve_each(before)
            ends = self._set(rows, answers, pair_rows, len(codes))
        unsolved = [h for h, (gap, steps) in enumerate(ends) if not gap <= self.tol and steps < most]
        if task.unpenalized and unsolved:
            check_maximum(
                X, codes, classes, weights, scheme, unsolved, fit_intercept=bool(self.fit_intercept),
                names=self.__dict__.get("feature_names_in_", ()), time_limit=PROOF_TIME_S,
            )  # fmt: skip
        self._end(ends, limits)

    def _choose_scheme(self, rows: Rows, n_classes: int) -> str:
        if self.multiclass == "auto" and (self.penalty == "l1" or self.loss == "logistic"):
            return "multinomial" if self.penalty == "l2" and n_classes > 2 else "ovr"
        return choose_scheme(rows, n_classes) if self.multiclass == "auto" else self.multiclass

    def _set_joint(self, rows: Rows, codes: IntArray, found: CrammerSinger | Multinomial) -> tuple[float, int]:
        support = np.flatnonzero(found.multipliers.any(axis=1))
        each = {
            "support_": [support],
            "multipliers_": [found.multipliers[support]],
            "_margins": [lead_over_rivals(rows, codes, found.W, found.bias)],
            "_margin_rows": [],
            "_n_rows": len(codes),
            "margin_": np.array([margin_of(found.W * np.sqrt(2.0))]),
            "gap_": np.array([found.gap]),
            "dual_gap_": np.array([max(0.0, found.primal - found.dual)]),
            "objective_": np.array([found.primal]),
            "n_iter_": found.n_iter,
        }
        newton = isinstance(found, Multinomial)
        self._set_each(rows, each, keep_rows=not newton)
        self.coef_, self.intercept_ = found.W, found.bias
        self.solver_, self._solutions = ["newton" if newton else "dual-coordinates"], [found]
        return found.gap, found.n_iter

    def _check_lengths(self, X: Matrix, rows: Rows, n: int) -> float:
        """Check that squared lengths are finite, and so every value: one pass instead of two. Return the largest length."""
        squares = np.empty(n)
        lengths(rows, 0.0, squares)
        if not np.isfinite(squares).all():
            self._check_finite(X)
            if self.penalty != "l1":  # its solver scales the columns
                raise ValueError("the squared length of a row exceeds the range of float64: scale the features")
        return float(np.sqrt(squares.max()))

    @property
    def _x0(self) -> float:
        return super()._x0 if self.penalize_intercept else float(bool(self.fit_intercept))

    @property
    def _free(self) -> bool:
        """Whether there is an intercept without a penalty."""
        return bool(self.fit_intercept) and not self.penalize_intercept

    @property
    def _penalized(self) -> bool:
        return bool(self.fit_intercept) and bool(self.penalize_intercept)

    def _before(self, classes: Array, width: int, rows: int, scheme: str) -> list[Any] | None:
        """Return the solutions that a warm start continues from; None if there are none of this scheme."""
        if not (self.warm_start and "_solutions" in self.__dict__):
            return None
        if not np.array_equal(classes, self.classes_) or self.coef_.shape[1] != width:
            raise ValueError(
                f"warm_start continues a fit on classes {self.classes_.tolist()} and {self.coef_.shape[1]} features, "
                f"got classes {classes.tolist()} and {width} features"
            )
        if self._scheme != scheme:
            return None
        return [each.expand(rows) if isinstance(each, StoredSolution) else each for each in self._solutions]

    def _set(self, rows: Rows, answers: list[Solved], pair_rows: list[IntArray], n: int) -> list[tuple[float, int]]:
        solutions = [solution for solution, _, _ in answers]
        places = [np.flatnonzero(solution.multipliers) for solution in solutions]
        support = [every[place] for every, place in zip(pair_rows, places, strict=True)] if pair_rows else places
        each = {
            "support_": support,
            "multipliers_": [solution.multipliers[place] for solution, place in zip(solutions, places, strict=True)],
            "_margins": [solution.margins for solution in solutions],
            "_margin_rows": pair_rows,
            "_n_rows": n,
            "margin_": np.array([margin_of(solution.w) for solution in solutions]),
            "gap_": np.array([solution.gap for solution in solutions]),
            "dual_gap_": np.array([max(0.0, solution.primal - solution.dual) for solution in solutions]),
            "objective_": np.array([solution.primal for solution in solutions]),
            "n_iter_": max(steps for _, steps, _ in answers),
        }
        self._set_each(rows, each, keep_rows=self.loss != "logistic")  # all rows have multipliers
        self.coef_ = np.array([solution.w for solution in solutions])
        self.intercept_ = np.array([solution.intercept for solution in solutions])
        self.solver_ = [solver for _, _, solver in answers]
        self._solutions = solutions
        return [(solution.gap, steps) for solution, steps, _ in answers]

    def _end(self, ends: list[tuple[float, int]], limits: SolverLimits) -> None:
        """Set `stop_` from the gap and the iterations of each problem, and warn."""
        if not all(np.isfinite(gap) for gap, _ in ends):
            raise ValueError(f"C={short(self.C, 6)} overflowed: use a smaller C, or scale the features")
        self.stop_ = merge_stops([limits.stop(*end) for end in ends], self.classes_, pairs=self._scheme == "ovo")
        if self.stop_.reason != "tolerance":
            remedy = " (scale the features)" if self.stop_.reason == "rounding" else ""
            if self.stop_.reason == "rounding" and np.inf == self.C and self.loss == "logistic":
                remedy = " (the classes are separated, or nearly: use a finite C, or rb.certify with likelihood=True)"
            warnings.warn(StopWarning(f"tol={short(self.tol, 6)} was not reached{remedy}", self.stop_), stacklevel=6)
        solved = np.array([gap <= self.tol for gap, _ in ends])  # other planes may be zero because of rounding errors
        if zeros := int((~self.coef_.any(axis=1) & solved).sum()):
            warnings.warn(
                ZeroPlaneWarning(zeros, len(self.coef_), self._scheme, self.loss, self._cost_of_first_weights(solved)),
                stacklevel=6,
            )

    def _cost_of_first_weights(self, solved: BoolArray) -> float | None:
        """The C above which every plane has weights; None without the L1 penalty."""
        if self.penalty == "l2":
            return None
        zero = solved & ~self.coef_.any(axis=1)
        growths = [float(each.growth) for each, is_zero in zip(self._solutions, zero, strict=True) if is_zero]
        return float(self.C) * max(growths)

    def _check_parameters(self) -> None:
        check_soft_margin_parameters(self)
