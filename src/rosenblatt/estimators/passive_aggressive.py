"""`PassiveAggressive`: the smallest move that gives each row its margin."""

from __future__ import annotations

from typing import Any, Literal, get_args

from ..data.problem import Problem
from ..online.rules.passive_aggressive import PassiveAggressiveRule, Variant, passive_aggressive_rule
from ..probabilities.maps import Calibration
from ..validation import check_choice, check_integer, check_number
from .base import RandomState
from .online import OnlineClassifier
from .online_parameters import JointOrOvr, Keep, Log, Order, VoteCount
from .row_weights import ClassWeight


class PassiveAggressive(OnlineClassifier):
    """Passive-aggressive learning: PA, PA-I and PA-II, binary and multiclass.

    Problem    after each row, the nearest w that gives it a margin of 1; C caps the move (PA-I) or softens it (PA-II).
    Update     with the loss l = 1 - y <w, p> > 0:  w += tau y p, and
               PA: tau = l/|p|^2;  PA-I: tau = min(C, l/|p|^2);  PA-II: tau = l/(|p|^2 + 1/(2C)).
    Guarantee  PA, if some u has y_n <u, p_n> >= 1 for all rows: the squared losses of a run sum to at most |u|^2 R^2.
    Reference  Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 7 (2006).

    Coming from scikit-learn's `SGDClassifier(learning_rate="pa1", eta0=C)`: "pa1" is variant="PA-I", "pa2" is "PA-II",
    average=True is keep="average", shuffle=False is order="cyclic". Rows are augmented here, so their squared length includes
    x_0^2; with fit_intercept=False the weights are the same.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness, greater than 0. Not used by "PA". A row's weight scales it; with "PA", weights below 1 shorten steps.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        Which step to take.
    keep : {"last", "pocket", "average", "vote"}, default="average"
        Which hypothesis of the run to keep, as in `Perceptron`. The average is more accurate than the last weights on nearly
        every data set we measured.
    order : {"cyclic", "permuted", "random", "mistakes"}, default="permuted"
        The order of the rows, as in `Perceptron`.
    max_iter : int, "auto" or None, default="auto"
        The number of passes, as in `Perceptron`. None requires a margin of 1 on every row, which is often reached only in the
        limit: set `max_updates` too.
    max_updates : int, default=None
        The number of updates (of each one-vs-rest run).
    multiclass : {"joint", "ovr"}, default="joint"
        "joint": one run of k weight vectors. "ovr": each class against the rest.
    fit_intercept : bool, default=True
        Whether rows are augmented by a constant.
    intercept_scaling : float, default=1.0
        x_0, that constant.
    vote_count : {"lifetime", "survivals"}, default="lifetime"
        How votes are counted, as in `Perceptron`.
    class_weight : dict, "balanced" or None, default=None
        Scales C for the rows of a class.
    warm_start : bool, default=False
        Start `fit` from the last weights of the previous fit.
    log : bool or "rows", default=True
        Keep the update log in `log_`.
        The log holds no rows: it finds them in X as long as the caller keeps X. "rows": the log keeps X alive, too, and
        pickles hold the rows that moved the weights.
    early_stopping : bool, default=False
        Hold out a share of the rows, classify them after each pass by the reading that is kept, and end the fit when their
        error has not become smaller for `n_iter_no_change` passes. The model is that of the best pass: the first one with the
        smallest error. It has seen no held-out row. For one-vs-rest, each class has its own best pass. The "auto" of
        `max_iter` is then 1000.
    validation_fraction : float, default=0.1
        The share of each class that `early_stopping` holds out: at least one row, drawn by `random_state` from the rows of
        positive weight.
    n_iter_no_change : int, default=5
        The number of passes without a smaller error that end the fit.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        The map from scores to probabilities, which gives `predict_proba`. It is fitted on held-out scores of five folds, each
        of which takes one more fit. `predict` does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the row order.
    n_jobs : int, default=None
        Threads for one-vs-rest, the pocket and votes. The result does not depend on it.
    verbose : int, default=0
        1 writes a line per pass to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights of the reading. Votes have none. With `keep="last"`, learning continues from this array, so that
        `partial_fit` and `warm_start` use what is written into it.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts of the reading. Votes have none.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted. Ties are predicted as the smaller one.
    n_features_in_ : int
        The number of columns of X.
    n_iter_ : int
        The number of passes made; with `early_stopping`, up to the best one.
    n_updates_ : int
        The number of updates made.
    validation_errors_ : list of ndarray
        With `early_stopping`, the share of the held-out rows, by weight, that was misclassified after each pass: one
        array, or one per class for one-vs-rest of more than two classes.
    calibration_ : ProbabilityMap
        With `calibrate`, the map.
    stop_ : Stop
        Why the run ended.
    log_ : UpdateLog or None
        The updates of the run.
    pocket_errors_ : ndarray of shape (1,) or (n_classes,)
        The training errors of the pocket, if it was kept.

    See Also
    --------
    Perceptron : Steps of a fixed length.
    AROW : Steps of another length for each weight.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.PassiveAggressive(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> model.predict([[1, 1], [0, 0]]).tolist()
    [1, 0]
    """

    _checks_rows_as_read = True

    def __init__(
        self,
        *,
        C: float = 1.0,
        variant: Variant = "PA-I",
        keep: Keep = "average",
        order: Order = "permuted",
        max_iter: int | Literal["auto"] | None = "auto",
        max_updates: int | None = None,
        multiclass: JointOrOvr = "joint",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        vote_count: VoteCount = "lifetime",
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        log: Log = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        calibrate: Calibration | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.variant = variant
        self.keep = keep
        self.order = order
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.vote_count = vote_count
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.log = log
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _multiclass(self) -> JointOrOvr:
        return self.multiclass

    def _rule(self, problem: Problem) -> PassiveAggressiveRule:
        return passive_aggressive_rule(self.variant, float(self.C))

    def _config_options(self) -> dict[str, Any]:
        return {"order": self.order, "max_updates": self.max_updates}

    def _check_own_parameters(self) -> None:
        check_number("C", self.C, maximum=float("inf"))
        check_choice("variant", self.variant, get_args(Variant))
        if self.max_updates is not None:
            check_integer("max_updates", self.max_updates)
        check_choice("order", self.order, get_args(Order))
