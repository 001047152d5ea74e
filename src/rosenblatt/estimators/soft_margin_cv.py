"""`SoftMarginCV`: the soft margin with the cost C chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ..array_types import Array, FloatArray, MatrixLike
from ..losses import Objective
from ..probabilities.maps import Calibration
from ..svm.solver_choice import Solver
from ..validation import ParameterError, check_integer, check_number
from .base import RandomState, check_n_jobs_and_verbose, seed_of
from .candidates import candidates_of
from .row_weights import ClassWeight, check_every_class_has_weight
from .search import Folds, Part, Search, check_folds, check_two_rows_of_each_class, folds_of, weights_of_errors
from .soft_margin import SoftMargin
from .soft_margin_parameters import MarginLoss, Multiclass, Penalty
from .svm_base import MarginClassifier
from .trials import best

if TYPE_CHECKING:
    import numpy.typing as npt

LEAST_C, LARGEST_C = 1e-4, 1e4  # of the default path


class SoftMarginCV(MarginClassifier):
    """The soft margin with C chosen by cross-validation along a warm-started path.

    Problem    that of `SoftMargin`; C is the value with the fewest wrong rows in the folds, averaged with its neighbors on the
               path with weights 1/4, 1/2, 1/4, and of equals the one nearest to 1.
    Guarantee  the fit on all rows is that of `SoftMargin(C=C_)` with the other parameters, bit for bit.

    Coming from scikit-learn: as `LogisticRegressionCV`, with one C for all classes. The error of the chosen C in the folds is
    too low as an estimate, because it is the best of several: `rb.tune` estimates the whole procedure.

    Parameters
    ----------
    Cs : int or array-like of shape (n_costs,), default=10
        The values of C, or how many between 1e-4 and 1e4 in equal ratios.
    cv : int, splitter or iterable, default=5
        The number of folds. Each class, of at least two rows, is spread evenly over them. Or a splitter of scikit-learn, or the
        rows to learn from and those to test on, of each fold.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        The price of slack, see `SoftMargin`.
    penalty : {"l2", "l1"}, default="l2"
        "l1" selects features, see `SoftMargin`.
    multiclass : {"auto", "ovr", "ovo", "multinomial", "crammer_singer"}, default="auto"
        How several classes are separated, see `SoftMargin`.
    fit_intercept : bool, default=True
        False: the plane goes through the origin.
    penalize_intercept : bool, default=False
        Whether the intercept counts in |w|.
    intercept_scaling : float, default=1.0
        The constant before every row if the intercept is penalized.
    tol : float, default=1e-3
        The relative duality gap to reach, greater than 0.
    max_iter : int or "auto", default="auto"
        The number of iterations of each binary problem.
    solver : {"auto", "newton", "interior-point", "dual-coordinates"}, default="auto"
        The solver, see `SoftMargin`.
    class_weight : dict, "balanced" or None, default=None
        Scales the C of a class, and weighs its wrong rows in the folds.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        How scores become probabilities. C is then chosen anew in each fold of the calibration.
    random_state : int, RandomState or None, default=None
        Seed of the folds, row orders and samples. None takes the same folds every time.
    n_jobs : int, default=None
        Threads; -1 uses all cores. The result does not depend on it.
    verbose : int, default=0
        1 writes the iterations so far and the gap to standard error.

    Attributes
    ----------
    C_ : float
        The chosen cost.
    Cs_ : ndarray of shape (n_costs,)
        The values that were tried, ascending.
    scores_ : ndarray of shape (n_folds, n_costs)
        The share of correct rows in each fold, by the weights of rows and classes.
    coef_ : ndarray of shape (n_problems, n_features)
        The weights of each binary problem of the fit on all rows. This and all other attributes are those of `SoftMargin`.
    intercept_ : ndarray of shape (n_problems,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        The number of columns of X.
    gap_ : ndarray of shape (n_problems,)
        The duality gap relative to the objective.
    stop_ : Stop
        Why the fit on all rows ended.

    See Also
    --------
    SoftMargin : The fit with a given C.
    tune : The search for any parameters, with an estimate of its error.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = rb.SoftMarginCV(Cs=[0.01, 1.0, 100.0]).fit(X, y)
    >>> bool(model.C_ in model.Cs_), model.scores_.shape
    (True, (5, 3))
    """

    C_: float
    Cs_: FloatArray
    scores_: FloatArray

    def __init__(
        self,
        *,
        Cs: int | npt.ArrayLike = 10,
        cv: Folds = 5,
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
        calibrate: Calibration | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
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
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _class_weight(self) -> ClassWeight:
        return self.class_weight

    _native_map = SoftMargin._native_map

    def _minimized(self) -> Objective | None:
        return self._with_cost(float(self.__dict__.get("C_", 1.0)))._minimized()

    def _fit(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Self:
        self._check_parameters()
        costs = self._costs()
        data = self._prepare(X, y, sample_weight)
        check_every_class_has_weight(data.weights, data.codes, data.classes)
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        labels = data.classes[data.codes]
        seed = 0 if self.random_state is None else seed_of(self.random_state)
        if isinstance(self.cv, Integral):
            check_two_rows_of_each_class(labels)
        folds = folds_of(self.cv, data.X, labels, seed)

        def part(parameters: Mapping[str, Any], fold: int) -> Part:
            train, test = folds[fold]
            some = (None, None) if weights is None else (weights[train], weights[test])
            weights_test = weights_of_errors(self.class_weight, labels[test], some[1])
            return Part(data.X[train], labels[train], some[0], data.X[test], labels[test], weights_test)

        search = Search(lambda parameters: self._with_cost(**parameters), part, len(folds), n_jobs=self.n_jobs)
        trials = search.run(candidates_of({"C": costs.tolist()}))
        self.C_, self.Cs_ = float(best(trials).parameters["C"]), costs
        self.scores_ = 1.0 - np.array([trial.losses for trial in trials]).T
        fitted = self._with_cost(self.C_).set_params(n_jobs=self.n_jobs).fit(data.X, labels, weights)
        kept = set(fitted.get_params()) | {"n_features_in_"}
        self.__dict__.update({name: value for name, value in vars(fitted).items() if name not in kept})
        return self

    def _with_cost(self, C: float) -> SoftMargin:
        """A soft margin with a cost and the other parameters of the search."""
        own = {name: value for name, value in self.get_params().items() if name not in ("Cs", "cv", "calibrate", "n_jobs")}
        return SoftMargin(C=C, **own)

    def _costs(self) -> FloatArray:
        """The values of C, ascending."""
        if isinstance(self.Cs, Integral) and not isinstance(self.Cs, bool):
            return np.geomspace(LEAST_C, LARGEST_C, check_integer("Cs", self.Cs))
        try:
            costs: Array = np.unique(np.asarray(self.Cs, np.float64).ravel())
        except (TypeError, ValueError):
            raise ParameterError("Cs", "a whole number or a list of numbers", self.Cs) from None
        if not len(costs):
            raise ParameterError("Cs", "a whole number or a list of numbers", self.Cs)
        for cost in costs.tolist():
            check_number("Cs", cost)
        return costs

    def _check_parameters(self) -> None:
        check_folds(self.cv)
        self._with_cost(1.0)._check_parameters()
        check_n_jobs_and_verbose(self.n_jobs, self.verbose)
