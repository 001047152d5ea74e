"""`Perceptron`: every perceptron of the family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.problem import Problem, mean_sqnorm
from ..kernels.linear.schemes import Joint, Rest, State
from ..online.config import RunConfig, RunResult
from ..online.rules.perceptron import PerceptronRule
from ..online.schedules import Step
from ..online.solver import solve
from ..validation import count, flag, number, one_of
from .online import OnlineClassifier

if TYPE_CHECKING:
    from ..proofs.convergence import Convergence
    from ..proofs.run_proofs import Proofs


class Perceptron(OnlineClassifier):
    """Rosenblatt's perceptron: online or batch, with margin, pocket, voted, averaged, binary and multiclass.

    Problem    find w with y_n <w, p_n> > margin for every augmented row p_n = (x_0, x_n).
    Update     where y_n <w, p_n> <= margin:  w += rho_k y_n p_n; a row on the plane is a mistake.
    Guarantee  if some unit vector separates the rows with margin gamma, and R is the longest augmented row, then from w = 0
               online runs make at most (R^2 + 2 margin/rho)/gamma^2 updates, in any order.
    Reference  Rosenblatt (1958); Novikoff (1962); pocket: Gallant (1990); vote, average: Freund and Schapire (1999).

    Parameters
    ----------
    keep : which hypothesis of the run to keep.
        "last"; "pocket": the one with the fewest training errors, looked at after every update, the first of equals;
        "average": the mean over all rows visited; "vote": all of them, by majority, each with the votes it lived for.
        `model.reading(...)` gives the others from the same run.
    update : "online": one row at a time; "batch": all rows at or under the margin at once, their sum; "batch-mean": that sum
        over the number of rows (the sum of their weights).
    margin : b >= 0; rows at or under it are corrected. With k classes it is asked of the difference to the best rival.
        "auto" is the mean squared length of the augmented rows: never far from the best in our measurements
        (`docs/defaults.md`), and much better than 0 where rows are long counts.
    step : rho > 0, or a callable k -> rho_k, k = 1, 2, ... counting updates.
    init : "zeros", "sum" (of all y_n x_n) or an array of shape (d,) or (k, d); with one more column, weight 0 comes first.
    order : "cyclic"; "permuted": a fresh order each pass; "random": drawn with replacement; "mistakes": each update takes a
        row drawn uniformly from all that are misclassified (a pass is then as many updates as there are rows). Batch updates
        take all rows at once and have no order.
    max_iter : passes over the rows; None: until they are separated or another stop fires. "auto": 10, and on less than a
        thousand rows as many as visit 10,000 (1,000 at most), as measured in `docs/defaults.md`; None with `certify`.
    max_updates : updates (of each one-vs-rest run).
    w_max : stop when the norm of the weights, weight 0 included, passes it.
    tol : batch only: stop after a step shorter than this. That is not the same as having separated the rows.
    multiclass : "joint": one joint run of k weight vectors; "ovr": each class against the rest.
    fit_intercept, intercept_scaling : whether rows are augmented by a constant x_0, and by which.
        On sparse rows of length 1 the constant 1 is large; try 0.1.
    vote_count : "lifetime": a hypothesis is born with one vote; "survivals": with none, one for each row it gets right.
    class_weight : None, "balanced" or a dict; it scales steps as `sample_weight` does.
    warm_start : `fit` starts from the last weights of the fit before; clock, counts and step sizes begin anew.
    log : keep the update log in `log_`; False drops it as soon as the reading allows.
    certify : True: run until the rows are separated *or it is proved that no plane separates them*. What is not separated
        after 100 passes (looks at all rows, where each update takes one) is handed to `rb.certify`, once. No plane: the run
        stops as "impossible". A plane: it goes on, and ends after (R^2 + 2 margin/rho)/gamma^2 updates at the latest; where
        the margin is tiny that may be long, so that `max_iter` or `max_updates` may still be wanted. Runs that end without
        having asked are certified at their end. The proof is of the rows that weigh something, and of planes that separate
        them at all, whatever `margin` is; steps that get ever shorter may still never find one.
    random_state : seed of the orders.
    n_jobs : threads for one-vs-rest, batch steps, the pocket and votes; the bits do not depend on it.
    verbose : 1 writes a line per pass to stderr.

    Attributes
    ----------
    coef_, intercept_ : the plane or planes of the reading (not for votes, which have no single plane).
    classes_ : the labels, sorted. A tie is predicted as the smaller one.
    stop_ : why the run ended, in a word (`stop_.reason`) and a sentence.
    log_ : the `UpdateLog`.
    n_iter_, n_updates_ : passes and updates made.
    certificate_ : with `certify`, what is proved about the rows, `Separable` or `Inseparable`; `rb.verify(certificate_, X, y)`
        checks it. For one-vs-rest of more than two classes a list, each of `X, y == label`. Rows of weight 0 are left out, and
        not counted; None, where only one class weighs anything. `stop_.certificate` is the same.
    convergence_ : the two inequalities of the convergence proof along this run, a `Convergence`: mistakes against their
        bound, |w_t|^2 against t R^2, <w_t, u> against t gamma. Computed when first asked for, from `log_` and the rows, with
        a certificate where there is none yet (`dir` does not list it before); a list for one-vs-rest.
    pocket_errors_ : training errors of the pocket, where it was kept (a list, class by class, for one-vs-rest).

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.Perceptron(order="cyclic", max_iter=None).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> model.stop_.reason, model.n_updates_, model.predict([[1, 1]]).tolist()
    ('separated', 18, [1])
    """

    def __init__(
        self,
        *,
        keep: str = "last",
        update: str = "online",
        margin: float | str = 0.0,
        step: Step = 1.0,
        init: Any = "zeros",
        order: str = "permuted",
        max_iter: int | str | None = "auto",
        max_updates: int | None = None,
        w_max: float | None = None,
        tol: float | None = None,
        multiclass: str = "joint",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        vote_count: str = "lifetime",
        class_weight: Any = None,
        warm_start: bool = False,
        log: bool = True,
        certify: bool = False,
        random_state: Any = None,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rule(self, problem: Problem) -> PerceptronRule:
        return PerceptronRule(mean_sqnorm(problem) if self.margin == "auto" else float(self.margin))

    def _plan_options(self) -> dict[str, Any]:
        names = ("update", "order", "step", "max_updates", "w_max", "tol")
        return {name: getattr(self, name) for name in names}

    @property
    def convergence_(self) -> Any:
        check_is_fitted(self, "classes_")
        if "_convergence" not in self.__dict__:
            self._convergence = self._converged()
        return self._convergence

    def _converged(self) -> Convergence | list[Convergence]:
        log, classes = self.log_, self.classes_
        if log is None:
            raise AttributeError("convergence_ needs the log of a whole run: use fit with log=True, not partial_fit")
        from ..proofs.convergence import UNKNOWN, convergence  # proofs take a fifth of a second to load

        certificates: Any = getattr(self, "certificate_", UNKNOWN)
        self._run.check_rows()
        if not isinstance(log._problem.labels, Rest):
            return convergence(log, classes, self._margin_used, certificates)
        given = [UNKNOWN] * len(classes) if certificates is UNKNOWN else certificates
        of_two = np.array([False, True])
        return [convergence(run, of_two, self._margin_used, one) for run, one in zip(log.runs(), given, strict=True)]

    def __dir__(self) -> list[str]:
        # scikit-learn looks at the value of all it lists, here and in its pictures of estimators; that should start no proof.
        there = {"convergence_": "_convergence" in self.__dict__}
        return [name for name in object.__dir__(self) if (there[name] if name in there else hasattr(self, name))]

    def _solve(self, problem: Problem, plan: RunConfig, start: State, sums: State | None) -> RunResult:
        rule = self._rule(problem)
        self._margin_used = rule.margin
        return solve(problem, rule, plan, start, sums)

    def _proofs(self, problem: Problem, classes: Any, start: State) -> Proofs | None:
        if not self.certify:
            return None
        share = None  # 2b/rho, where updates are bounded by (R^2 + 2b/rho)/gamma^2
        from_zero = not (start.w.any() or start.bias.any()) and problem.x0 in (0.0, 1.0)
        if from_zero and self.update == "online" and not callable(self.step) and not problem.labels.weights.size:
            share = self._rule(problem).margin / float(self.step) * (1.0 if isinstance(problem.labels, Joint) else 2.0)
        from ..proofs.run_proofs import Proofs

        return Proofs(problem, classes, self._looks(problem), share, bool(self.verbose))

    def _passes(self, problem: Problem, options: dict[str, Any]) -> int | None:
        return None if self.certify else super()._passes(problem, options)

    def _looks(self, problem: Problem) -> int:
        """How often a pass looks at all rows."""
        return problem.n_visited if self.order == "mistakes" and self.update == "online" else 1

    def _check_own_parameters(self) -> None:
        flag("certify", self.certify)
        one_of("update", self.update, ("online", "batch", "batch-mean"))
        one_of("order", self.order, ("cyclic", "permuted", "random", "mistakes"))
        if isinstance(self.margin, str):
            one_of("margin", self.margin, ("auto",), "or a number of at least 0")
        else:
            number("margin", self.margin, or_equal=True)
        if not callable(self.step):
            number("step", self.step)
        if isinstance(self.init, str):
            one_of("init", self.init, ("zeros", "sum"), "or an array")
        if self.max_updates is not None:
            count("max_updates", self.max_updates)
        if self.w_max is not None:
            number("w_max", self.w_max)
        if self.tol is not None:
            number("tol", self.tol)
            if self.update == "online":
                raise ValueError(f"tol is the length of a batch step, got tol={self.tol!r} with update='online'")
