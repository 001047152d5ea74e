"""Online learners on sets of columns, as alternatives to the AROW of the filter; messages have length 1.

Reference  Crammer et al., Online passive-aggressive algorithms, 2006; Goodman and Yih, Online discriminative spam filter
           training, 2006 (logistic); Wang, Zhao and Hoi, Exact soft confidence-weighted learning, 2012; Sculley, Advances in
           online learning-based spam filtering, 2008 (perceptrons with margins).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.mail.learner import Learner

BITS = 22


class Additive:
    """w += tau y x, where tau is a function of the margin y s."""

    def __init__(self, tau: Callable[[float], float], average: bool = False) -> None:
        self.tau, self.average, self.seen = tau, average, 1.0
        self.weights = np.zeros(1 << BITS)
        self.late = np.zeros(1 << BITS if average else 0)  # sum of updates, each times its position

    def score(self, columns: Any) -> float:
        total = self.weights[columns].sum() - (self.late[columns].sum() / self.seen if self.average else 0.0)
        return float(total / np.sqrt(max(len(columns), 1)))

    def learn(self, columns: Any, spam: bool) -> None:
        y, x = 1.0 if spam else -1.0, 1.0 / np.sqrt(max(len(columns), 1))
        tau = self.tau(float(y * x * self.weights[columns].sum()))
        if tau:
            self.weights[columns] += tau * y * x
            if self.average:
                self.late[columns] += self.seen * tau * y * x
        self.seen += 1.0


class SoftConfidence:
    """SCW-I: the least change after which the margin is phi standard deviations, with step C at most."""

    def __init__(self, phi: float, C: float = 1.0) -> None:
        self.phi, self.C = phi, C
        self.weights, self.variances = np.zeros(1 << BITS), np.ones(1 << BITS)

    def score(self, columns: Any) -> float:
        return float(self.weights[columns].sum() / np.sqrt(max(len(columns), 1)))

    def learn(self, columns: Any, spam: bool) -> None:
        if not len(columns):
            return
        y, x, phi, s = 1.0 if spam else -1.0, 1.0 / np.sqrt(len(columns)), self.phi, self.variances[columns]
        m, v = y * self.score(columns), float(s.sum()) * x * x
        psi, zeta = 1.0 + phi**2 / 2.0, 1.0 + phi**2
        alpha = max(0.0, (-m * psi + np.sqrt(m * m * phi**4 / 4.0 + v * phi**2 * zeta)) / (v * zeta))
        alpha = min(self.C, alpha)
        if alpha > 0.0:
            root = 0.5 * (-alpha * v * phi + np.sqrt((alpha * v * phi) ** 2 + 4.0 * v))
            beta = alpha * phi / (root + v * alpha * phi)
            self.weights[columns] += alpha * y * x * s
            self.variances[columns] = s - beta * (s * x) ** 2


def logistic(rate: float) -> Callable[[float], float]:
    return lambda margin: float(rate / (1.0 + np.exp(min(margin, 700.0))))


LEARNERS: dict[str, Callable[[], Any]] = {
    "AROW, r = 0.01": lambda: Learner(BITS, 0.01),
    "AROW, r = 0.1": lambda: Learner(BITS, 0.1),
    "AROW, r = 1": lambda: Learner(BITS, 1.0),
    "AROW, r = 10": lambda: Learner(BITS, 10.0),
    "SCW-I, phi = 0.3": lambda: SoftConfidence(0.3),
    "SCW-I, phi = 1": lambda: SoftConfidence(1.0),
    "PA-I, C = 1": lambda: Additive(lambda margin: min(1.0, max(0.0, 1.0 - margin))),
    "PA-I, C = 0.1": lambda: Additive(lambda margin: min(0.1, max(0.0, 1.0 - margin))),
    "logistic, rate 1": lambda: Additive(logistic(1.0)),
    "logistic, rate 10": lambda: Additive(logistic(10.0)),
    "logistic, rate 30": lambda: Additive(logistic(30.0)),
    "perceptron": lambda: Additive(lambda margin: float(margin <= 0.0)),
    "perceptron, margin 0.5": lambda: Additive(lambda margin: float(margin <= 0.5)),
    "perceptron, margin 2": lambda: Additive(lambda margin: float(margin <= 2.0)),
    "averaged perceptron, margin 0.5": lambda: Additive(lambda margin: float(margin <= 0.5), average=True),
}
