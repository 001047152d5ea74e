"""What an algorithm makes small: factor * (sum of the rows' losses) + penalty * |w|^2, of w without weight 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..losses import HINGE, LINEAR_MSE, LOGISTIC_MSE, NONLINEAR_MSE, SQUARED_HINGE


@dataclass(frozen=True)
class Goal:
    title: str
    loss: Callable[[Any], Any]  # of margins
    factor: float = 1.0
    penalty: float = 0.0
    cost: int = 1  # how many times as long a loss takes as the simplest


def goal_of(model: Any) -> Goal:
    """The goal of a fitted estimator; the hinge where nothing else is known of it."""
    found = _GOALS.get(type(model).__name__)
    return Goal("hinge loss, Σ max(0, 1 − m)", HINGE.value) if found is None else found(model)


def _perceptron(model: Any) -> Goal:
    b = float(getattr(model, "_margin_used", model.margin))
    title = "perceptron loss, Σ max(0, −m)" if b == 0.0 else f"perceptron loss, Σ max(0, {b:g} − m)"

    def loss(margins: Any) -> Any:
        return np.maximum(b - margins, 0.0, out=margins)

    return Goal(title, loss)


def _soft(model: Any) -> Goal:
    squared = model.loss == "squared_hinge"
    cost = float(model.C)
    name = "Σ max(0, 1 − m)²" if squared else "Σ max(0, 1 − m)"
    return Goal(f"½|w|² + {cost:g} {name}", (SQUARED_HINGE if squared else HINGE).value, cost, 0.5, 2)


def _squares(model: Any) -> Goal:
    ridge = f" + {model.ridge:g}|w|²" if model.ridge else ""
    return Goal(f"squared error, Σ (1 − m)²{ridge}", LINEAR_MSE.value, 1.0, float(model.ridge))


def _through(model: Any) -> Goal:
    logistic = model.activation == "logistic"
    title = "½ Σ (1 − σ(m))²" if logistic else "½ Σ (1 − tanh m)²"
    return Goal(f"squared error, {title}", (LOGISTIC_MSE if logistic else NONLINEAR_MSE).value, 0.5, 0.0, 8)


_GOALS: dict[str, Callable[[Any], Goal]] = {
    "AROW": lambda _: Goal("squared hinge loss, Σ max(0, 1 − m)²", SQUARED_HINGE.value, cost=2),
    "LinearMSE": _squares,
    "NonlinearMSE": _through,
    "Perceptron": _perceptron,
    "SoftMargin": _soft,
}
