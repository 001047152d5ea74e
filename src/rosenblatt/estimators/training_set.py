"""What a fit starts from and how it may end: validated rows and labels, the classes of a stream, obstacles and warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..data.problem import Problem, make_problem
from ..online.stopping import Stop

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class KnownClasses:
    """The classes of a stream before its next chunk."""

    announced: npt.ArrayLike | None  # the argument `classes` of partial_fit, or None
    known: Array | None  # None before the first chunk
    fixed: bool  # whether no other class may come


@dataclass(frozen=True)
class TrainingSet:
    """Validated rows and labels."""

    X: Matrix
    classes: Array  # sorted
    codes: IntArray  # the position of each row's label among the classes
    weights: FloatArray | None  # None: every row has weight 1
    fixed: bool  # whether a stream may bring no other class

    def problem(self, multiclass: str, x0: float, any_order: bool = False) -> Problem:
        return make_problem(
            self.X, self.codes, len(self.classes), multiclass=multiclass, weights=self.weights, x0=x0, any_order=any_order
        )


class StopWarning(ConvergenceWarning):
    """A fit that ended before its goal: what was not reached, and the stop."""

    def __init__(self, problem: str, stop: Stop) -> None:
        super().__init__(problem, stop)
        self.problem, self.stop = problem, stop

    def __str__(self) -> str:
        return f"{self.problem}: {self.stop}"


class StreamingObstacle(NamedTuple):
    """Why an estimator needs its rows in memory, and cannot be fitted from a cache on disk."""

    reason: str  # the predicate of a sentence about the parameter, or about the estimator
    parameter: str | None = None  # None: the estimator, whatever its parameters
    value: object = None
    instead: tuple[object, ...] = ()  # values of the parameter that do not need the rows in memory

    def describe(self, estimator: str) -> str:
        """Describe the obstacle and what to use instead."""
        if self.parameter is None:
            return f"{estimator} {self.reason}: use fit"
        instead = " or ".join(f"{self.parameter}={value!r}" for value in self.instead)
        return f"{self.parameter}={self.value!r} {self.reason}: use {instead}, or fit"
