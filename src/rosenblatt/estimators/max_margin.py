"""`MaxMargin`: the hard-margin support vector machine."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
from joblib import effective_n_jobs

from ..array_types import Array, IntArray, MatrixLike
from ..online.stopping import Stop, merge_stops
from ..parallel import in_order, one_blas_thread
from ..probabilities.maps import Calibration
from ..progress import ProgressCallback, current_callback, problem_callback
from ..reporting.text import short
from ..svm.hard_margin import widest_margin
from ..svm.nearest_points import Nearest, nearest_points
from ..svm.not_separable import NotSeparable
from ..svm.problem import Head, heads
from ..validation import check_choice, check_flag, check_integer, check_number
from .base import SolutionPath, StopWarning, check_n_jobs_and_verbose
from .row_weights import check_every_class_has_weight
from .svm_base import MarginClassifier, ZeroPlaneWarning

if TYPE_CHECKING:
    import numpy.typing as npt

OvrOrOvo: TypeAlias = Literal["ovr", "ovo"]
Inseparable: TypeAlias = Literal["raise", "soft"]
ON_MARGIN_RTOL = 1e-9  # of `canonical_`, computed in float64
Solved = tuple[Nearest, Stop, NotSeparable | None, str]


class MaxMargin(MarginClassifier):
    """The hard-margin support vector machine: the plane of the widest margin, or a proof that there is none.

    Problem    min 1/2 |w|^2  s.t.  y_i (w.x_i + b) >= 1 for every row; the bias b is free and not penalized.
    Update     the nearest points of the convex hulls of both classes, by an active set; the plane halves their distance.
               For few rows by an active set on the dual, for many sparse rows by dual coordinates.
    Guarantee  every row has at least the margin `margin_`, and no plane has more than `margin_/(1 - gap_)`. If no plane
               separates the rows, `fit` raises `NotSeparable`, whose few rows and weights prove it in exact arithmetic.
    Reference  B. E. Boser, I. M. Guyon and V. N. Vapnik, COLT (1992); P. Wolfe, Math. Programming 11 (1976).

    Parameters
    ----------
    tol : float, default=1e-6
        The relative gap between the margin found and the proved upper bound. If rounding or `max_iter` ends the fit before
        that, it warns.
    fit_intercept : bool, default=True
        False: the plane goes through the origin.
    multiclass : {"ovr", "ovo"}, default="ovr"
        For more than two classes: each against the rest, or each pair with a vote.
    inseparable : {"raise", "soft"}, default="raise"
        "raise": raise `NotSeparable`. "soft": let rows cross the plane at a cost, and keep the proof in `proof_`. The cost is
        the squared hinge with C = 1/(largest centered value)^2, times the row's weight:
        min 1/2 |w|^2 + C/2 sum_i c_i max(0, 1 - y_i (w.x_i + b))^2. All rows inside the margin are then support vectors, and
        time grows with the cube of their number: it is meant for a few thousand rows.
    max_iter : int, default=100000
        The number of iterations of each binary problem: steps of the active set, each of which adds or drops rows, or passes
        of dual coordinates.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        The map from scores to probabilities, which gives `predict_proba`. It is fitted on held-out scores of five folds, each
        of which takes one more fit. `predict` does not depend on it.
    n_jobs : int, default=None
        Threads for several binary problems. The result does not depend on it.
    verbose : int, default=0
        1 writes the iterations so far, the gap and the number of support vectors to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_problems, n_features)
        The weights of each binary problem: one for two classes; else one per class, or one per pair (0, 1), (0, 2), ...,
        (1, 2), ... of classes.
    intercept_ : ndarray of shape (n_problems,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted. y_i = +1 for `classes_[1]`, the problem's class or the second class of its pair.
    n_features_in_ : int
        The number of columns of X.
    support_ : list of ndarray
        For each problem, the rows with a positive multiplier, of which the plane is made. Rows that lie on the margin but are
        not needed to hold the plane have multiplier 0 and are not among them. Where several sets of multipliers give the same
        plane, it is one of them.
    on_margin_ : list of ndarray
        For each problem, all rows on the planes H1 and H2 with y_i (w.x_i + b) = 1, up to the larger of 1e-9 and `gap_`: the
        support vectors of most textbooks. They contain `support_`. With slack, also the rows inside the margin.
    support_vectors_ : list of {ndarray, sparse matrix}
        For each problem, the rows `support_`, copied from X. Pickles and copies of the model leave them out.
    multipliers_ : list of ndarray
        For each problem, their alpha > 0: w = sum_i alpha_i y_i x_i, and sum_i alpha_i y_i = 0 with a free intercept. They are
        of size 1/(length of rows)^2, and zero or infinite if that is out of the range of floats.
    margin_ : ndarray of shape (n_problems,)
        1/|w|, the distance of the nearest row from the plane; infinite for zero weights, which only slack allows.
    gap_ : ndarray of shape (n_problems,)
        The relative gap, measured on all rows in float64.
    canonical_ : ndarray of shape (n_problems, n_rows)
        y_i (w.x_i + b): 1 on the rows `on_margin_`, which include the support vectors, and more elsewhere; with slack, less
        inside the margin. NaN for rows that do not count.
    proof_ : list of NotSeparable or None
        With inseparable="soft", the exceptions that would have been raised.
    n_iter_ : int
        The largest number of iterations of a binary problem, as `max_iter` counts them.
    calibration_ : ProbabilityMap
        With `calibrate`, the map.
    stop_ : Stop
        Why the fit ended.
    solver_ : list of {"active-set", "dual-coordinates"}
        The solver of each binary problem: "active-set", or "dual-coordinates" for many sparse rows.

    See Also
    --------
    SoftMargin : Lets rows cross the margin at a cost.
    certify : Proves the margin, or that there is none, in exact arithmetic.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.MaxMargin().fit([[0, 0], [1, 0], [3, 4], [4, 4]], [0, 0, 1, 1])
    >>> model.margin_.round(6).tolist(), model.support_[0].tolist()
    ([2.236068], [1, 2])
    >>> try:
    ...     rb.MaxMargin().fit([[0], [1], [2]], [0, 1, 0])
    ... except rb.NotSeparable as proof:
    ...     print(proof, [str(a) for a in proof.weights], proof.check([[0], [1], [2]], [0, 1, 0]))
    no plane separates these 3 rows: the convex hulls of the two classes overlap (rows 1, 2, 3) ['1/2', '1', '1/2'] True
    """

    _path: ClassVar[SolutionPath | None] = "widest"

    def __init__(
        self,
        *,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        multiclass: OvrOrOvo = "ovr",
        inseparable: Inseparable = "raise",
        max_iter: int = 100_000,
        calibrate: Calibration | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.inseparable = inseparable
        self.max_iter = max_iter
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def on_margin_(self) -> list[IntArray]:
        """All rows on the planes H1 and H2, or with slack inside them, for each binary problem."""
        self._refuse_labels("on_margin_", "estimators_[j].on_margin_")
        if "_margins" not in self.__dict__:
            where = "; model files do not hold it" if "support_" in self.__dict__ else ""
            raise AttributeError(f"{type(self).__name__} has no on_margin_ before fit{where}")
        limits = 1.0 + np.maximum(ON_MARGIN_RTOL, self.gap_)
        near = self.canonical_ <= limits[:, None]  # false for NaN
        return [np.union1d(np.flatnonzero(each), support) for each, support in zip(near, self.support_, strict=True)]

    @property
    def _has_quadratic_time(self) -> bool:
        return True

    def fit(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows. Arrays in C order and CSR matrices of float32 or float64 are used without a copy.
        y : array-like of shape (n_rows,), or {array-like, sparse matrix} of shape (n_rows, n_labels)
            The class label of each row, or an indicator matrix.
        sample_weight : array-like of shape (n_rows,), default=None
            Rows of weight 0 are ignored. All others must be on their side of the margin, for any weight; only with
            inseparable="soft" does a weight scale the cost of crossing.

        Returns
        -------
        self : object
            The fitted estimator. If an error is raised, the estimator stays as it was.

        Raises
        ------
        NotSeparable
            If no plane separates the rows and inseparable="raise".
        """
        return super().fit(X, y, sample_weight)

    def _fit(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Self:
        self._check_parameters()
        data = self._prepare(X, y, sample_weight, finite=True)
        classes, codes, weights = data.classes, data.codes, data.weights
        check_every_class_has_weight(weights, codes, classes)
        problems = heads(data.X, codes, len(classes), self.multiclass, weights=weights, x0=float(bool(self.fit_intercept)))
        with one_blas_thread():
            callback = current_callback(bool(self.verbose))

            def solve(h: int) -> Solved:
                return self._solve_head(problems[h], classes, problem_callback(callback, h, len(problems)))

            found = list(in_order(solve, range(len(problems)), effective_n_jobs(self.n_jobs)))
        self.classes_ = classes
        self._set(len(codes), problems, found)
        for stop in dict.fromkeys(stop for _, stop, *_ in found if stop.reason in ("rounding", "steps")):
            warnings.warn(StopWarning(f"tol={short(self.tol, 6)} was not reached", stop), stacklevel=5)
        if zeros := int((~self.coef_.any(axis=1)).sum()):  # only with slack
            warnings.warn(ZeroPlaneWarning(zeros, len(self.coef_), self.multiclass, "squared_hinge"), stacklevel=5)
        return self

    @property
    def _states_proofs(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        check_number("tol", self.tol)
        check_flag("fit_intercept", self.fit_intercept)
        check_choice("multiclass", self.multiclass, get_args(OvrOrOvo))
        check_choice("inseparable", self.inseparable, get_args(Inseparable))
        check_integer("max_iter", self.max_iter)
        check_n_jobs_and_verbose(self.n_jobs, self.verbose)

    def _solve_head(self, head: Head, classes: Array, progress: ProgressCallback | None) -> Solved:
        positive = classes[head.positive]
        about = head.about(classes)
        options: dict[str, Any] = {"tol": float(self.tol), "max_steps": int(self.max_iter), "progress": progress}
        try:
            found, solver = widest_margin(head.problem, positive=positive, about=about, **options)
        except NotSeparable as proof:
            if self.inseparable == "raise":
                raise
            proof.__traceback__ = None  # its frames would keep X alive
            found, solver = nearest_points(head.problem, price=1.0, **options), "active-set"
            if found.stop.reason == "tolerance":
                return found, Stop("inseparable", "no plane separates the rows; slack was allowed"), proof, solver
            return found, found.stop, proof, solver
        return found, found.stop, None, solver

    def _set(self, n: int, problems: list[Head], solved: list[Solved]) -> None:
        """Set the fitted attributes."""
        planes = [plane for plane, *_ in solved]
        self.coef_ = np.array([plane.coef for plane in planes])
        self.intercept_ = np.array([plane.bias for plane in planes])
        each = {
            "support_": [plane.support for plane in planes],
            "multipliers_": [plane.multipliers for plane in planes],
            "margin_": np.array([plane.margin for plane in planes]),
            "gap_": np.array([plane.gap for plane in planes]),
            "_margins": [plane.canonical for plane in planes],
            "_margin_rows": [head.rows_that_count() for head in problems],
            "_n_rows": n,
            "proof_": [proof for _, _, proof, _ in solved],
            "n_iter_": max(plane.steps for plane in planes),
        }
        self._set_each(problems[0].rows, each)
        self.solver_ = [solver for *_, solver in solved]
        self.stop_ = merge_stops([stop for _, stop, *_ in solved], self.classes_, pairs=self.multiclass == "ovo")
