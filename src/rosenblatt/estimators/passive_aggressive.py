"""`PassiveAggressive`: the smallest move that gives each row its margin."""

from __future__ import annotations

from typing import Any

from ..data.problem import Problem
from ..online.rules.passive_aggressive import VARIANTS, PassiveAggressiveRule, passive_aggressive_rule
from ..validation import count, number, one_of
from .online import OnlineClassifier


class PassiveAggressive(OnlineClassifier):
    """Passive-aggressive learning: PA, PA-I and PA-II, binary and multiclass.

    Problem    after each row, the nearest w that gives it a margin of 1; C caps the move (PA-I) or softens it (PA-II).
    Update     with the loss l = 1 - y <w, p> > 0:  w += tau y p, and
               PA: tau = l/|p|^2;  PA-I: tau = min(C, l/|p|^2);  PA-II: tau = l/(|p|^2 + 1/(2C)).
    Guarantee  PA, if some u has y_n <u, p_n> >= 1 for all rows: the squared losses of a run sum to at most |u|^2 R^2.
    Reference  Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 7 (2006).

    Coming from scikit-learn's PassiveAggressiveClassifier: loss="hinge" is variant="PA-I", "squared_hinge" is "PA-II",
    average=True is keep="average", max_iter is max_iter, shuffle=False is order="cyclic". Rows are augmented here, so their
    squared length counts x_0^2 as well; with fit_intercept=False the weights are the same.

    Parameters
    ----------
    C : aggressiveness, greater than 0; not used by "PA". A row's weight scales it; with "PA", weights under 1 shorten steps.
    variant : "PA", "PA-I" or "PA-II".
    max_iter : as in `Perceptron`. None asks for a margin of 1 on every row, which is often reached only in the limit: give
        max_updates with it.
    keep, order, max_updates, multiclass, fit_intercept, intercept_scaling, vote_count, class_weight, warm_start, log,
    random_state, n_jobs, verbose : as in `Perceptron`.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.PassiveAggressive(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> model.predict([[1, 1], [0, 0]]).tolist()
    [1, 0]
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        variant: str = "PA-I",
        keep: str = "average",
        order: str = "permuted",
        max_iter: int | str | None = "auto",
        max_updates: int | None = None,
        multiclass: str = "joint",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        vote_count: str = "lifetime",
        class_weight: Any = None,
        warm_start: bool = False,
        log: bool = True,
        random_state: Any = None,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rule(self, problem: Problem) -> PassiveAggressiveRule:
        return passive_aggressive_rule(self.variant, float(self.C))

    def _plan_options(self) -> dict[str, Any]:
        return {"order": self.order, "max_updates": self.max_updates}

    def _check_own_parameters(self) -> None:
        number("C", self.C, most=float("inf"))
        one_of("variant", self.variant, VARIANTS)
        if self.max_updates is not None:
            count("max_updates", self.max_updates)
        one_of("order", self.order, ("cyclic", "permuted", "random", "mistakes"))
