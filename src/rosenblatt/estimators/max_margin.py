"""`MaxMargin`: the hard-margin support vector machine."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from ..data.labels import classes_and_codes
from ..online.stopping import Stop, merge_stops
from ..parallel import in_order, one_blas_thread
from ..svm.hard_margin import widest_margin
from ..svm.nearest_points import Nearest, nearest_points
from ..svm.not_separable import NotSeparable
from ..svm.reductions import Head, heads
from ..validation import count, flag, number, one_of
from .base import FLOATS, check_every_class_weighs, check_n_jobs_and_verbose, row_weights
from .svm_base import MarginClassifier

Machine = tuple[Nearest, Stop, NotSeparable | None, str]


class MaxMargin(MarginClassifier):
    """The plane of the widest margin, with the proof that there is no wider one; or the proof that there is none at all.

    Problem    min 1/2 |w|^2  s.t.  y_i (w.x_i + b) >= 1 for every row; the bias b is free and not penalised.
    Update     the nearest points of the convex hulls of both classes, by an active set; the plane halves their distance. Where
               sparse rows are many, by dual coordinates.
    Guarantee  `margin_` is what the plane has on every row, and no plane has more than `margin_/(1 - gap_)`. Where no plane
               separates the rows, `fit` raises `NotSeparable`, whose few rows and weights prove it in exact arithmetic.
    Reference  B. E. Boser, I. M. Guyon and V. N. Vapnik, COLT (1992); P. Wolfe, Math. Programming 11 (1976).

    Parameters
    ----------
    tol : the relative gap between the margin found and the widest that is not ruled out. Where rounding or `max_iter` end the
        fit before, it warns and says how far it came.
    fit_intercept : False: the plane goes through the origin.
    multiclass : for more than two classes, "ovr": each against the rest; "ovo": each pair, by votes.
    inseparable : "raise" `NotSeparable`; or "soft": let rows that cannot be told apart cross the plane at a price, and keep the
        proof in `proof_`. The price is the squared hinge with C = 1/(largest centred value)^2, times the row's weight:
        min 1/2 |w|^2 + C/2 sum_i c_i max(0, 1 - y_i (w.x_i + b))^2. All rows inside the margin hold that plane, and time goes
        with the cube of their number: it is for a few thousand rows.
    max_iter : steps of the active set, each of which takes in one row.
    n_jobs : threads for the machines of several classes; the bits do not depend on it.
    verbose : 1 writes a line per pass to stderr.

    Attributes
    ----------
    coef_, intercept_ : the plane, or one for each machine: classes, or pairs (0, 1), (0, 2), ..., (1, 2), ... of classes.
    classes_ : the labels, sorted; y_i = +1 for `classes_[1]`, the machine's class or the second of its pair.
    support_, support_vectors_ : the rows that hold the plane, by position and as they are.
    multipliers_ : their alpha > 0: w = sum_i alpha_i y_i x_i, and sum_i alpha_i y_i = 0 where the bias is free. They are of
        size 1/(length of rows)^2, and zero or infinite where that is too small or too large for a float.
    margin_ : 1/|w|, the distance of the nearest row from the plane.
    gap_ : relative, measured on all rows in float64.
    canonical_ : y_i (w.x_i + b) for every row: 1 on support vectors, more elsewhere. NaN for rows that do not count.
    proof_ : None, or with inseparable="soft" the `NotSeparable` that would have been raised.
    n_iter_ : steps or passes taken.
    stop_ : why the fit ended, in a word (`stop_.reason`) and a sentence.
    solver_ : "active set", or "dual-coordinates" for many sparse rows.

    For more than two classes each of `support_` to `n_iter_` is a list with an entry for each machine.

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
    no plane separates the rows: these 3 rows have convex combinations that meet: 0, 1, 2 ['1/2', '1', '1/2'] True
    """

    def __init__(
        self,
        *,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        multiclass: str = "ovr",
        inseparable: str = "raise",
        max_iter: int = 100_000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.inseparable = inseparable
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the plane.

        X : array or sparse matrix of shape (rows, features); float32 and float64 are used as they are, without a copy.
        y : class labels, one per row.
        sample_weight : rows of weight 0 are as good as absent, all others must be on their side of the margin, whatever they
            weigh; only with inseparable="soft" does a weight say how dear it is to be on the wrong side.
        """
        with self._unharmed():
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        X, y = self._validated(X, y, FLOATS, reset=True)
        classes, codes = classes_and_codes(y)
        self._check_two(classes)
        weights = row_weights(sample_weight, None, X, codes, classes)
        check_every_class_weighs(weights, codes, classes)
        machines = heads(X, codes, len(classes), self.multiclass, weights=weights, x0=float(bool(self.fit_intercept)))
        with one_blas_thread():
            found = list(in_order(lambda head: self._machine(head, classes), machines, effective_n_jobs(self.n_jobs)))
        self.classes_ = classes
        self._set(len(codes), machines, found)
        for stop in {stop.sentence: stop for _, stop, *_ in found if stop.reason in ("rounding", "steps")}.values():
            warnings.warn(f"tol={self.tol:g} was not reached: {stop.sentence}", ConvergenceWarning, stacklevel=3)
        return self

    def _check_parameters(self) -> None:
        number("tol", self.tol)
        flag("fit_intercept", self.fit_intercept)
        one_of("multiclass", self.multiclass, ("ovr", "ovo"))
        one_of("inseparable", self.inseparable, ("raise", "soft"))
        count("max_iter", self.max_iter)
        check_n_jobs_and_verbose(self)

    def _machine(self, head: Head, classes: Any) -> Machine:
        positive = classes[head.positive]
        about = head.about(classes)
        options: dict[str, Any] = {"tol": float(self.tol), "max_steps": int(self.max_iter), "verbose": bool(self.verbose)}
        try:
            found, solver = widest_margin(head.problem, positive=positive, about=about, **options)
        except NotSeparable as proof:
            if self.inseparable == "raise":
                raise
            found, solver = nearest_points(head.problem, price=1.0, **options), "active set"
            if found.stop.reason == "tolerance":
                return found, Stop("inseparable", f"{proof}; the rows were separated with slack"), proof, solver
            return found, found.stop, proof, solver
        return found, found.stop, None, solver

    def _set(self, n: int, machines: list[Head], found: list[Machine]) -> None:
        """The fitted attributes."""
        planes = [plane for plane, *_ in found]
        canonical = np.full((len(planes), n), np.nan)
        for row, head, plane in zip(canonical, machines, planes, strict=True):
            row[slice(None) if head.problem.visited is None else head.problem.visited] = plane.canonical
        self.coef_ = np.array([plane.coef for plane in planes])
        self.intercept_ = np.array([plane.bias for plane in planes])
        each = {
            "support_": [plane.support for plane in planes],
            "multipliers_": [plane.multipliers for plane in planes],
            "margin_": np.array([plane.margin for plane in planes]),
            "gap_": np.array([plane.gap for plane in planes]),
            "canonical_": canonical,
            "proof_": [proof for _, _, proof, _ in found],
            "n_iter_": max(plane.steps for plane in planes),
        }
        self._set_each(machines[0].problem.rows, each)
        self.solver_ = " and ".join(sorted({solver for *_, solver in found}))
        self.stop_ = merge_stops([stop for _, stop, *_ in found])
