"""The algorithms by name: one line each. Whatever goes through all algorithms, such as the contract tests, reads this list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .linear import LinearClassifier
from .linear_mse import LinearMSE
from .max_margin import MaxMargin
from .nonlinear_mse import NonlinearMSE
from .online import OnlineClassifier
from .passive_aggressive import PassiveAggressive
from .perceptron import Perceptron
from .soft_margin import SoftMargin


@dataclass(frozen=True)
class Algorithm:
    title: str
    estimator: type[LinearClassifier]
    parameters: dict[str, Any] = field(default_factory=dict)

    def make(self, **parameters: Any) -> LinearClassifier:
        return self.estimator(**{**self.parameters, **parameters})

    @property
    def online(self) -> bool:
        """Whether it moves the weights row by row and leaves a log."""
        return issubclass(self.estimator, OnlineClassifier) and getattr(self.make(), "solver", "online") != "minimum"


ALGORITHMS = {
    "perceptron": Algorithm("Perceptron", Perceptron),
    "pocket": Algorithm("Pocket perceptron", Perceptron, {"keep": "pocket"}),
    "average": Algorithm("Averaged perceptron", Perceptron, {"keep": "average"}),
    "vote": Algorithm("Voted perceptron", Perceptron, {"keep": "vote"}),
    "margin": Algorithm("Perceptron with margin", Perceptron, {"margin": 1.0}),
    "batch": Algorithm("Batch perceptron", Perceptron, {"update": "batch"}),
    "batch-mean": Algorithm("Batch perceptron, mean step", Perceptron, {"update": "batch-mean"}),
    "mistakes": Algorithm("Perceptron on random mistakes", Perceptron, {"order": "mistakes"}),
    "pa": Algorithm("Passive-aggressive", PassiveAggressive, {"variant": "PA"}),
    "pa-1": Algorithm("Passive-aggressive I", PassiveAggressive, {"variant": "PA-I"}),
    "pa-2": Algorithm("Passive-aggressive II", PassiveAggressive, {"variant": "PA-II"}),
    "max-margin": Algorithm("Widest margin", MaxMargin),
    "soft-margin": Algorithm("Soft margin", SoftMargin),
    "linear-mse": Algorithm("Linear least squares", LinearMSE),
    "ridge": Algorithm("Linear least squares with a ridge", LinearMSE, {"ridge": 1.0}),
    "nonlinear-mse": Algorithm("Least squares through tanh", NonlinearMSE),
    "logistic-mse": Algorithm("Least squares through the logistic function", NonlinearMSE, {"activation": "logistic"}),
    "nonlinear-mse-online": Algorithm("Least squares through tanh, row by row", NonlinearMSE, {"solver": "online"}),
    "nonlinear-mse-batch": Algorithm("Least squares through tanh, batch steps", NonlinearMSE, {"solver": "batch"}),
}
