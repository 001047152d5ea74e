"""`Perceptron`: the perceptrons."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..array_types import Array
from ..data.problem import Problem, mean_sqnorm
from ..kernels.linear.schemes import Joint, State
from ..online.history import Init
from ..online.rules.perceptron import PerceptronRule
from ..online.run import RunConfig, RunResult
from ..online.schedules import Step
from ..online.solver import solve
from ..online.stopping import Outlook
from ..online.training_rows import MissingRowsError
from ..probabilities.maps import Calibration
from ..validation import check_choice, check_flag, check_integer, check_number
from .base import RandomState, StreamingObstacle, Way
from .online import OnlineClassifier
from .online_parameters import JointOrOvr, Keep, Log, Order, VoteCount
from .row_weights import ClassWeight

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..proofs.convergence import Convergence
    from ..proofs.run_proofs import Proofs

Update: TypeAlias = Literal["online", "batch", "batch-mean"]


class Perceptron(OnlineClassifier):
    """Rosenblatt's perceptron: online or batch, with margin, pocket, voted, averaged, binary and multiclass.

    Problem    find w with y_n <w, p_n> > margin for every augmented row p_n = (x_0, x_n).
    Update     if y_n <w, p_n> <= margin:  w += rho_k y_n p_n; a row on the plane is a mistake.
    Guarantee  if some unit vector separates the rows with margin gamma, and R is the longest augmented row, then from w = 0
               online runs make at most (R^2 + 2 margin/rho)/gamma^2 updates, in any order.
    Reference  Rosenblatt (1958); Novikoff (1962); pocket: Gallant (1990); vote, average: Freund and Schapire (1999).

    Parameters
    ----------
    keep : {"last", "pocket", "average", "vote"}, default="last"
        Which hypothesis of the run to keep. "last": the weights after the last update. "pocket": the hypothesis with the
        fewest training errors, counted after every update; the first among equals. "average": the mean of the weights over
        all rows visited. "vote": all hypotheses, by majority, each weighted by its lifetime. `reading` gives the others from
        the same run.
    update : {"online", "batch", "batch-mean"}, default="online"
        "online": one row at a time. "batch": the sum of all rows at or below the margin. "batch-mean": that sum divided by the
        number of rows (the sum of their weights).
    margin : float or "auto", default=0.0
        b >= 0: rows at or below it trigger an update. With k classes it applies to the lead over the best rival. "auto" is
        the mean squared length of the augmented rows: never far from the best in our measurements (`docs/defaults.md`), and
        much better than 0 for long rows of counts.
    step : float or callable, default=1.0
        rho > 0, or a function k -> rho_k, where k = 1, 2, ... counts updates.
    init : {"zeros", "sum"} or array-like, default="zeros"
        The first weights: zeros, the sum of all y_n x_n, or an array of shape (d,) or (k, d). With one more column, the first
        column is weight 0.
    order : {"cyclic", "permuted", "random", "mistakes"}, default="permuted"
        The order of the rows. "permuted": a fresh permutation each pass. "random": drawn with replacement. "mistakes": each
        update takes a row drawn uniformly from all misclassified ones; a pass is then as many updates as there are rows.
        Batch updates have no order.
    max_iter : int, "auto" or None, default="auto"
        The number of passes. None: until the rows are separated or another limit is reached. "auto": 10, or for fewer than a
        thousand rows enough passes to visit 10,000 rows (at most 1,000 passes), as measured in `docs/defaults.md`; None with
        `certify`, and if `max_updates`, `w_max` or `tol` is given: that horizon then rules.
    max_updates : int, default=None
        The number of updates (of each one-vs-rest run): the horizon T of the pocket.
    w_max : float, default=None
        Stop when the norm of the weights, weight 0 included, exceeds this. On rows that no plane separates the norm stays
        bounded, so that it may never do so. When it has not grown by a thousandth for 1,000 passes (10,000 batch steps, or
        updates of order="mistakes"), nor, with `tol`, has the step become shorter, a run without `max_updates` and a number of
        passes calls `rb.certify`. It goes on if the rows are separable by at most 1e9 updates, and else stops as "stalled".
    tol : float, default=None
        Batch updates only: stop after a step shorter than this. The length is that of the move, rho * |delta| with delta the
        sum or mean of the rows at or below the margin; a bound epsilon on |delta| itself is tol = rho * epsilon. The rows need
        not be separated then.
    multiclass : {"joint", "ovr"}, default="joint"
        "joint": one run of k weight vectors. "ovr": each class against the rest.
    fit_intercept : bool, default=True
        Whether rows are augmented by a constant.
    intercept_scaling : float, default=1.0
        x_0, that constant. On sparse rows of length 1 the constant 1 is large: try 0.1.
    vote_count : {"lifetime", "survivals"}, default="lifetime"
        "lifetime": a hypothesis starts with one vote. "survivals": with none, and gets one for each row it classifies right;
        for online updates in an order of the rows, since the hypotheses of the others live for one step.
    class_weight : dict, "balanced" or None, default=None
        Scales the steps of a class, as `sample_weight` does those of a row.
    warm_start : bool, default=False
        Start `fit` from the last weights of the previous fit. Clock, counts and step sizes start over.
    log : bool or "rows", default=True
        Keep the update log in `log_`. The log holds no rows: it finds them in X as long as the caller keeps X. "rows": the log
        keeps X alive, too, and pickles hold the rows that moved the weights. False drops it as soon as the reading allows.
    certify : bool, default=False
        Run until the rows are separated or it is *proved that no plane separates them*. If the rows are not separated after
        100 passes (full scans, where each update takes one), they are passed to `rb.certify`, once. If no plane exists, the
        run stops as "impossible". If one exists, the run continues and ends after at most (R^2 + 2 margin/rho)/gamma^2
        updates. If that is more than 1e9, a warning says so: scale the columns, or limit the run by `max_updates`. Runs that
        end earlier are certified at their end. The proof covers rows of positive weight and separation with any margin; step
        sizes that shrink may still never find a plane.
    early_stopping : bool, default=False
        Hold out a share of the rows, classify them after each pass by the reading that is kept, and end the fit when their
        error has not become smaller for `n_iter_no_change` passes. The model is that of the best pass: the first one with the
        smallest error. It has seen no held-out row. For one-vs-rest, each class has its own best pass. The "auto" of
        `max_iter` is then 1000.
    validation_fraction : float, default=0.1
        The share of each class that `early_stopping` holds out: at least one row, drawn by `random_state` from the rows of
        positive weight.
    n_iter_no_change : int, default=5
        The number of passes or batch steps without a smaller error that end the fit.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        The map from scores to probabilities, which gives `predict_proba`. It is fitted on held-out scores of five folds, each
        of which takes one more fit. `predict` does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the row order.
    n_jobs : int, default=None
        Threads for one-vs-rest, batch steps, the pocket and votes. The result does not depend on it.
    verbose : int, default=0
        1 writes a line per pass to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights of the reading; one row for two classes. Votes have none. With `keep="last"`, learning continues from this
        array, so that `partial_fit` and `warm_start` use what is written into it.
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
        With `early_stopping`, the share of the held-out rows, by weight, that was misclassified after each pass or step: one
        array, or one per class for one-vs-rest of more than two classes.
    calibration_ : ProbabilityMap
        With `calibrate`, the map.
    stop_ : Stop
        Why the run ended.
    log_ : UpdateLog or None
        The updates of the run.
    pocket_errors_ : ndarray of shape (1,) or (n_classes,)
        The training errors of the pocket, if it was kept: one entry, or one per class for one-vs-rest.
    certificate_ : list of Separable, Inseparable, Undecided or None
        With `certify`, what is proved about the rows: one entry, which `rb.verify(certificate_[0], X, y)` checks; for
        one-vs-rest of more than two classes, one entry for each problem `X, y == label`. Rows of weight 0 are left out and
        not counted. An entry is None if only one class has positive weight. `stop_.certificate` is the entry that decided.
    convergence_ : list of Convergence
        The two inequalities of the convergence proof along this run: mistakes against their bound, |w_t|^2 against t R^2,
        <w_t, u> against t gamma. One entry, or one per class for one-vs-rest of more than two classes. Computed on first
        access, from `log_` and the rows; `dir` does not list it before. If X is gone: `reading(keep, X, y).convergence_`.

    See Also
    --------
    PassiveAggressive : Steps as long as each row needs.
    MaxMargin : The plane of the widest margin.
    certify : Proves whether a plane separates the rows.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.Perceptron(order="cyclic", max_iter=None).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> model.stop_.reason, model.n_updates_, model.predict([[1, 1]]).tolist()
    ('separated', 18, [1])
    """

    _has_convergence = True
    _checks_rows_as_read = True

    def __init__(
        self,
        *,
        keep: Keep = "last",
        update: Update = "online",
        margin: float | Literal["auto"] = 0.0,
        step: Step = 1.0,
        init: Literal["zeros", "sum"] | npt.ArrayLike = "zeros",
        order: Order = "permuted",
        max_iter: int | Literal["auto"] | None = "auto",
        max_updates: int | None = None,
        w_max: float | None = None,
        tol: float | None = None,
        multiclass: JointOrOvr = "joint",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        vote_count: VoteCount = "lifetime",
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        log: Log = True,
        certify: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        calibrate: Calibration | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.keep = keep
        self.update = update
        self.margin = margin
        self.step = step
        self.init = init
        self.order = order
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.w_max = w_max
        self.tol = tol
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.vote_count = vote_count
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.log = log
        self.certify = certify
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

    @property
    def _way(self) -> Way:
        return "online" if self.update == "online" else "batch"

    @property
    def _first_weights(self) -> Init:
        return self.init

    @property
    def _takes_unsorted_columns(self) -> bool:
        return not self.certify  # proofs need sorted columns

    def _rule(self, problem: Problem) -> PerceptronRule:
        return PerceptronRule(mean_sqnorm(problem) if self.margin == "auto" else float(self.margin))

    def _config_options(self) -> dict[str, Any]:
        names = ("update", "order", "step", "max_updates", "w_max", "tol")
        return {name: getattr(self, name) for name in names}

    @property
    def _required_margin(self) -> float:
        return float(self.__dict__.get("_margin_used", self.margin))

    @property
    def _constant_step(self) -> float | None:
        if callable(self.step) or self.update != "batch-mean":
            return None if callable(self.step) else float(self.step)
        log = self._update_log
        return None if log is None else float(self.step) / log._record.total_weight

    def _own_streaming_obstacle(self) -> StreamingObstacle | None:
        if self.certify:
            return StreamingObstacle("needs all rows in memory", "certify", True, (False,))
        if isinstance(self.init, str) and self.init == "sum":
            reason = "adds all rows before the first update, in another order than a stream can"
            return StreamingObstacle(reason, "init", "sum", ("zeros",))
        return super()._own_streaming_obstacle()

    def _bounded_run(self) -> tuple[float, float] | None:
        if callable(self.step):
            return None
        log = self._update_log
        bounded = (
            self.update == "online"
            and isinstance(self.init, str)
            and self.init == "zeros"
            and self.class_weight is None
            and (log is None or not log._record.labels.weights.size)
            and not self.warm_start
            and "mixing_" not in self.__dict__
            and (self.multiclass == "joint" or len(self.classes_) == 2)
        )
        return (self._required_margin, float(self.step)) if bounded else None

    @property
    def convergence_(self) -> list[Convergence]:
        """The two inequalities of the convergence proof along each run."""
        check_is_fitted(self, "classes_")
        self._refuse_labels("convergence_", "estimators_[j].convergence_")
        if "_convergence" not in self.__dict__:
            self._convergence = self._measure_convergence()
        return self._convergence

    def _measure_convergence(self) -> list[Convergence]:
        log, classes = self.log_, self.classes_
        if log is None:
            raise AttributeError("convergence_ needs the log of a whole run: use fit with log=True, not partial_fit")
        from ..proofs.convergence import UNKNOWN, convergence  # proofs take a fifth of a second to load

        try:
            self._run.check_rows()
            runs = log._pinned().runs()
            if len(runs) > 1:
                classes = np.array([False, True])
            given = self.__dict__.get("certificate_", [UNKNOWN] * len(runs))
            b, rho = self._margin_used, self._constant_step
            return [convergence(run, classes, b, one, rho) for run, one in zip(runs, given, strict=True)]
        except MissingRowsError:
            raise AttributeError(
                "convergence_ needs the training rows, which a fitted model does not keep: read it as "
                "reading(keep, X, y).convergence_ with the X and y of fit"
            ) from None

    def __dir__(self) -> list[str]:
        # scikit-learn reads every attribute that is listed, also for its diagrams of estimators. That must not start a proof.
        there = {"convergence_": "_convergence" in self.__dict__}
        return [name for name in object.__dir__(self) if (there[name] if name in there else hasattr(self, name))]

    def _solve(self, problem: Problem, config: RunConfig, start: State, sums: State | None) -> RunResult:
        rule = self._rule(problem)
        self._margin_used = rule.margin
        return solve(problem, rule, config, start, sums)

    @property
    def _states_proofs(self) -> bool:
        return bool(self.certify)

    def _proofs(self, problem: Problem, classes: Array, start: State) -> Proofs | None:
        return self._make_proofs(problem, classes, start) if self.certify else None

    def _outlook(self, problem: Problem, classes: Array, start: State) -> Callable[[int], Outlook]:
        proofs = cache(lambda: self._make_proofs(problem, classes, start))
        return lambda h: proofs().outlook(h)

    def _make_proofs(self, problem: Problem, classes: Array, start: State) -> Proofs:
        share = None  # 2b/rho, where updates are bounded by (R^2 + 2b/rho)/gamma^2
        from_zero = not (start.w.any() or start.bias.any()) and problem.x0 in (0.0, 1.0)
        if from_zero and self.update == "online" and not callable(self.step) and not problem.labels.weights.size:
            share = self._rule(problem).margin / float(self.step) * (1.0 if isinstance(problem.labels, Joint) else 2.0)
        from ..proofs.run_proofs import Proofs

        scans_per_pass = problem.n_visited if self._scans_for_each_update else 1
        limits = (None if self.max_iter == "auto" else self.max_iter, self.max_updates, self.w_max, self.tol)
        has_limit = any(limit is not None for limit in limits)
        return Proofs(problem, classes, scans_per_pass, share, verbose=bool(self.verbose), has_limit=has_limit)

    def _passes(self, problem: Problem) -> int | None:
        horizon = self.w_max is not None or self.tol is not None
        return None if self.certify or horizon else super()._passes(problem)

    def _needs_finite_rows(self) -> bool:
        return (isinstance(self.init, str) and self.init == "sum") or self.margin == "auto"

    def _check_stream_parameters(self) -> None:
        if self.certify:
            raise ValueError("certify=True needs all rows, but partial_fit has one chunk: use fit, or rb.certify")
        self._refuse_in_streams("init", self.init, "sum")
        self._refuse_in_streams("margin", self.margin, "auto")
        super()._check_stream_parameters()

    def _check_own_parameters(self) -> None:
        check_flag("certify", self.certify)
        if self.certify and self.early_stopping:
            raise ValueError("certify=True runs until the rows are separated or a proof is found: use early_stopping=False")
        check_choice("update", self.update, get_args(Update))
        check_choice("order", self.order, get_args(Order))
        if isinstance(self.margin, str):
            check_choice("margin", self.margin, ("auto",), "a number of at least 0")
        else:
            check_number("margin", self.margin, or_equal=True)
        if not callable(self.step):
            check_number("step", self.step)
        if isinstance(self.init, str):
            check_choice("init", self.init, ("zeros", "sum"), "an array")
        if self.max_updates is not None:
            check_integer("max_updates", self.max_updates)
        if self.w_max is not None:
            check_number("w_max", self.w_max)
        if self.tol is not None:
            check_number("tol", self.tol)
            if self.update == "online":
                raise ValueError(f"tol is the length of a batch step, got tol={self.tol!r} with update='online'")
