"""An algorithm outside the package, for the tests of the catalog: a perceptron whose steps are `boldness` times as long."""

from __future__ import annotations

from typing import Any, Literal

from rosenblatt.catalog import Algorithm, EstimatorEntry, Option
from rosenblatt.data.problem import Problem
from rosenblatt.estimators.base import RandomState
from rosenblatt.estimators.online import OnlineClassifier
from rosenblatt.estimators.online_parameters import JointOrOvr, Keep, VoteCount
from rosenblatt.estimators.row_weights import ClassWeight
from rosenblatt.online.rules.perceptron import PerceptronRule
from rosenblatt.validation import check_number


class BoldPerceptron(OnlineClassifier):
    """A perceptron with a step of `boldness`."""

    def __init__(
        self, *, boldness: float = 2.0, keep: Keep = "last", order: Literal["cyclic", "permuted"] = "cyclic",
        max_iter: int | Literal["auto"] | None = "auto", max_updates: int | None = None, multiclass: JointOrOvr = "joint",
        fit_intercept: bool = True, intercept_scaling: float = 1.0, vote_count: VoteCount = "lifetime",
        class_weight: ClassWeight = None, warm_start: bool = False, log: bool = True, random_state: RandomState = None,
        n_jobs: int | None = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.boldness = boldness
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

    @property
    def _multiclass(self) -> JointOrOvr:
        return self.multiclass

    def _rule(self, problem: Problem) -> PerceptronRule:
        return PerceptronRule(0.0)

    def _config_options(self) -> dict[str, Any]:
        return {"order": self.order, "max_updates": self.max_updates, "step": float(self.boldness)}

    def _check_own_parameters(self) -> None:
        check_number("boldness", self.boldness)


ENTRY = EstimatorEntry(
    __name__, "Perceptron", ("pocket_errors_",), state="run", options={"boldness": Option("float", "The step.")}
)
BOLD = Algorithm("Bold perceptron", "BoldPerceptron", "Takes longer steps.", {"boldness": 3.0}, logged=True)
