"""Maps from scores to probabilities. NumPy alone, so that a saved model needs nothing else to predict.

Scores are rows x heads: one head for two classes, positive for the second; else one head per class. A map never turns the order
of two scores of a head around.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from ..array_types import Array, FloatArray

Calibration: TypeAlias = Literal["sigmoid", "isotonic", "temperature"]
CALIBRATIONS: tuple[str, ...] = get_args(Calibration)
INVALID_MAP = "the map from scores to probabilities is invalid"


class NoProbabilitiesError(AttributeError):
    """A model without a map from scores to probabilities.

    Parameters
    ----------
    kind : str
        The class of the estimator.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return (
            f"{self.kind} has scores but no probabilities: fit it with calibrate='sigmoid' "
            "(on the command line --calibrate sigmoid), which learns them on held-out rows"
        )


class ProbabilityMap(ABC):
    """A map from the scores of rows to the probabilities of their classes."""

    kind: ClassVar[Calibration]

    @abstractmethod
    def log_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the logarithms of the probabilities, rows x classes, from scores, rows x heads."""

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities, rows x classes, from scores, rows x heads. Each row sums to 1."""
        found: FloatArray = np.exp(self.log_probabilities(scores))
        found /= found.sum(axis=1, keepdims=True)
        return found

    def equals(self, other: ProbabilityMap) -> bool:
        """Return whether another map is of the same kind and has the same numbers."""
        mine, theirs = self.to_arrays(), other.to_arrays()
        return self.kind == other.kind and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    @abstractmethod
    def to_arrays(self) -> dict[str, Array]:
        """Return the numbers of the map by name, for a file."""

    @abstractmethod
    def check(self, heads: int) -> None:
        """Raise `ValueError` unless the numbers are valid for this number of heads."""


@dataclass(frozen=True, eq=False)
class Sigmoid(ProbabilityMap):
    """Platt's map: P = 1/(1 + exp(-(a f + b))) of each head's score f; several classes are then scaled to the sum 1.

    Reference  J. Platt, Advances in Large Margin Classifiers (1999).

    >>> Sigmoid(np.array([1.0]), np.array([0.0])).probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """

    a: FloatArray
    b: FloatArray
    kind = "sigmoid"

    def log_probabilities(self, scores: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            z = np.asarray(scores, np.float64) * self.a + self.b
        if z.shape[1] == 1:
            return _log_sigmoid(np.concatenate([-z, z], axis=1))
        return _log_normalized(_log_sigmoid(z))

    def to_arrays(self) -> dict[str, Array]:
        return {"a": self.a, "b": self.b}

    def check(self, heads: int) -> None:
        for each in (self.a, self.b):
            _require(each.dtype == np.float64 and each.shape == (heads,) and bool(np.isfinite(each).all()))
        _require(bool((self.a >= 0).all()))


@dataclass(frozen=True)
class Temperature(ProbabilityMap):
    """One temperature T for all classes: the softmax of f/T; of two classes, P = 1/(1 + exp(-f/T)).

    Reference  C. Guo, G. Pleiss, Y. Sun and K. Weinberger, ICML (2017).

    >>> Temperature(2.0).probabilities(np.array([[1.0, 1.0, 1.0, 1.0]])).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    temperature: float = 1.0
    kind = "temperature"

    def log_probabilities(self, scores: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            z = np.clip(np.asarray(scores, np.float64) / self.temperature, -_LARGE, _LARGE)
        return _log_sigmoid(np.concatenate([-z, z], axis=1)) if z.shape[1] == 1 else _log_normalized(z)

    def to_arrays(self) -> dict[str, Array]:
        return {"temperature": np.array([self.temperature])}

    def check(self, heads: int) -> None:
        _require(0.0 < self.temperature < np.inf)


@dataclass(frozen=True, eq=False)
class Isotonic(ProbabilityMap):
    """An increasing step function of each head's score, interpolated linearly; several classes are then scaled to the sum 1.

    `scores` and `values` have the corners of all heads, one after another, and `counts` their numbers. Probabilities of exactly
    0 and 1 occur: their logarithms are -inf and 0.

    Reference  B. Zadrozny and C. Elkan, KDD (2002).

    >>> Isotonic(np.array([-1.0, 1.0]), np.array([0.0, 1.0]), np.array([2])).probabilities(np.array([[0.5]])).tolist()
    [[0.25, 0.75]]
    """

    scores: FloatArray
    values: FloatArray
    counts: Array
    kind = "isotonic"

    def probabilities(self, scores: FloatArray) -> FloatArray:
        ends = np.cumsum(self.counts)
        each: FloatArray = np.empty(scores.shape)
        for head, (start, end) in enumerate(zip(ends - self.counts, ends, strict=True)):
            each[:, head] = np.interp(scores[:, head], self.scores[start:end], self.values[start:end])
        if each.shape[1] == 1:
            return np.concatenate([1.0 - each, each], axis=1)
        total = each.sum(axis=1, keepdims=True)
        each[total[:, 0] == 0] = 1.0  # no class has a chance: all have the same
        shares: FloatArray = each / each.sum(axis=1, keepdims=True)
        return shares

    def log_probabilities(self, scores: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.probabilities(scores))
        return logs

    def to_arrays(self) -> dict[str, Array]:
        return {"scores": self.scores, "values": self.values, "counts": self.counts}

    def check(self, heads: int) -> None:
        counted = self.counts.dtype == np.int64 and self.counts.shape == (heads,) and bool((self.counts >= 1).all())
        _require(counted)
        for each in (self.scores, self.values):
            valid = each.dtype == np.float64 and each.shape == (sum(self.counts.tolist()),)
            _require(valid and bool(np.isfinite(each).all()))
        within = np.ones(len(self.scores), bool)
        within[np.cumsum(self.counts)[:-1]] = False  # the first corner of a head follows no other
        _require(bool((np.diff(self.scores)[within[1:]] > 0).all() and (np.diff(self.values)[within[1:]] >= 0).all()))
        _require(bool((self.values >= 0).all() and (self.values <= 1).all()))


def map_of_arrays(kind: str, arrays: Mapping[str, Array], heads: int) -> ProbabilityMap:
    """Return the map whose `to_arrays` are given; raises `ValueError` if it is not one for this number of heads."""
    names = {"sigmoid": {"a", "b"}, "temperature": {"temperature"}, "isotonic": {"scores", "values", "counts"}}
    _require(names.get(kind) == set(arrays))
    found: ProbabilityMap
    if kind == "temperature":
        value = arrays["temperature"]
        _require(value.dtype == np.float64 and value.shape == (1,))
        found = Temperature(float(value[0]))
    else:
        found = Sigmoid(**arrays) if kind == "sigmoid" else Isotonic(**arrays)
    found.check(heads)
    return found


_LARGE = 1e300  # scores are cut off here, so that differences of two are finite


def _require(valid: bool) -> None:
    if not valid:
        raise ValueError(INVALID_MAP)


def _log_sigmoid(z: FloatArray) -> FloatArray:
    """Return log(1/(1 + exp(-z))), without overflow."""
    found: FloatArray = np.minimum(z, 0.0) - np.log1p(np.exp(-np.abs(z)))
    return found


def _log_normalized(logs: FloatArray) -> FloatArray:
    """Return logarithms of numbers, rows x classes, after each row is scaled to the sum 1."""
    top = logs.max(axis=1, keepdims=True)
    shifted = logs - top
    found: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found
