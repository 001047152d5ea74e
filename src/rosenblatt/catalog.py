"""The algorithms by name: one line each. Whatever goes through all algorithms, such as the contract tests, reads this list.

Names and titles cost nothing to import, so that the command line can list them; an estimator is imported when it is made.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators.base import LinearClassifier

HOMES = {
    "AROW": "arow",
    "LinearMSE": "linear_mse",
    "MaxMargin": "max_margin",
    "NonlinearMSE": "nonlinear_mse",
    "PassiveAggressive": "passive_aggressive",
    "Perceptron": "perceptron",
    "SoftMargin": "soft_margin",
}


@dataclass(frozen=True)
class Algorithm:
    title: str
    name: str  # of the estimator
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def estimator(self) -> type[LinearClassifier]:
        found: type[LinearClassifier] = getattr(importlib.import_module(f"rosenblatt.estimators.{HOMES[self.name]}"), self.name)
        return found

    @property
    def options(self) -> dict[str, Any]:
        """Its parameters and what they are where nothing is said."""
        signature = inspect.signature(self.estimator)
        return {name: parameter.default for name, parameter in signature.parameters.items()} | self.parameters

    def make(self, **parameters: Any) -> LinearClassifier:
        return self.estimator(**{**self.parameters, **parameters})

    @property
    def online(self) -> bool:
        """Whether it moves the weights row by row and leaves a log."""
        return self.options.get("solver", "online") != "minimum" and hasattr(self.estimator, "reading")


ALGORITHMS = {
    "perceptron": Algorithm("Perceptron", "Perceptron"),
    "pocket": Algorithm("Pocket perceptron", "Perceptron", {"keep": "pocket"}),
    "average": Algorithm("Averaged perceptron", "Perceptron", {"keep": "average"}),
    "vote": Algorithm("Voted perceptron", "Perceptron", {"keep": "vote"}),
    "margin": Algorithm("Perceptron with margin", "Perceptron", {"margin": 1.0}),
    "batch": Algorithm("Batch perceptron", "Perceptron", {"update": "batch"}),
    "batch-mean": Algorithm("Batch perceptron, mean step", "Perceptron", {"update": "batch-mean"}),
    "mistakes": Algorithm("Perceptron on random mistakes", "Perceptron", {"order": "mistakes"}),
    "pa": Algorithm("Passive-aggressive", "PassiveAggressive", {"variant": "PA"}),
    "pa-1": Algorithm("Passive-aggressive I", "PassiveAggressive", {"variant": "PA-I"}),
    "pa-2": Algorithm("Passive-aggressive II", "PassiveAggressive", {"variant": "PA-II"}),
    "arow": Algorithm("Adaptive regularization (AROW)", "AROW"),
    "max-margin": Algorithm("Widest margin", "MaxMargin"),
    "soft-margin": Algorithm("Soft margin", "SoftMargin"),
    "linear-mse": Algorithm("Linear least squares", "LinearMSE"),
    "ridge": Algorithm("Linear least squares with a ridge", "LinearMSE", {"alpha": 1.0}),
    "nonlinear-mse": Algorithm("Least squares through tanh", "NonlinearMSE"),
    "logistic-mse": Algorithm("Least squares through the logistic function", "NonlinearMSE", {"activation": "logistic"}),
    "nonlinear-mse-online": Algorithm("Least squares through tanh, row by row", "NonlinearMSE", {"solver": "online"}),
    "nonlinear-mse-batch": Algorithm("Least squares through tanh, batch steps", "NonlinearMSE", {"solver": "batch"}),
}
