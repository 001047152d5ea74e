"""Requests of the page: points with labels, an algorithm with its knobs. They are checked and completed with defaults."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..array_types import Array, FloatArray, IntArray
from ..catalog import ALGORITHMS, Algorithm
from ..data.polynomials import Polynomial
from ..reporting.text import count, plural, short
from .menu import Knob, declared_knobs, knobs_of

MAX_POINTS = 5000
MAX_CLASSES = 6
MAX_COORDINATE = 1e9
MAX_DEGREE = 5
FIELDS = ("points", "labels", "algorithm", "knobs", "degree", "scaled", "seed")

# --- Features of a point

COLUMNS = ("x₁", "x₂")
POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Features:
    """The features that an algorithm sees: products of the two coordinates, which may be standardized first.

    phi_j(x) = prod_i ((x_i - center_i)/scale_i)^e_ji, by degree and then in the order of the columns.
    """

    degree: int = 1
    center: tuple[float, float] = (0.0, 0.0)
    scale: tuple[float, float] = (1.0, 1.0)

    @cached_property
    def polynomial(self) -> Polynomial:
        return Polynomial(2, self.degree)

    @property
    def width(self) -> int:
        return self.polynomial.width

    @property
    def scaled(self) -> bool:
        return (self.center, self.scale) != ((0.0, 0.0), (1.0, 1.0))

    def rows(self, points: ArrayLike) -> FloatArray:
        """Return the features of points, rows x features."""
        X = np.ascontiguousarray(points, np.float64)
        if self.scaled:
            X = (X - self.center) / self.scale
        return np.ascontiguousarray(self.polynomial.expand(X))

    @property
    def exponents(self) -> list[list[int]]:
        factors = [self.polynomial.factors(j) for j in range(self.width)]
        return [[each.count(0), each.count(1)] for each in factors]

    @property
    def names(self) -> list[str]:
        """
        >>> Features(2).names
        ['x₁', 'x₂', 'x₁²', 'x₁x₂', 'x₂²']
        """
        return ["".join(_power(name, e) for name, e in zip(COLUMNS, each, strict=True)) for each in self.exponents]


def features_of_points(points: FloatArray, degree: int, scaled: bool) -> Features:
    """Return the features for a set of points; `scaled` standardizes the coordinates to mean 0 and deviation 1."""
    if not scaled:
        return Features(degree)
    deviations = points.std(axis=0)
    return Features(degree, tuple(points.mean(axis=0).tolist()), tuple(np.where(deviations > 0, deviations, 1.0).tolist()))


def _power(name: str, exponent: int) -> str:
    return "" if exponent == 0 else name if exponent == 1 else name + str(exponent).translate(POWERS)


# --- Requests


class RequestError(ValueError):
    """A request that cannot be carried out, with a sentence that names the cause.

    Parameters
    ----------
    sentence : str
        The message.
    headers : sequence of str, default=()
        Column names of a file that was not accepted, so that the page can offer another label column.
    """

    def __init__(self, sentence: str, headers: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.headers = list(headers)


class TimeLimitError(RequestError):
    """A run was stopped at the time limit."""


@dataclass(frozen=True, eq=False)
class RunRequest:
    """A valid request. `knobs` has a value for every knob of the algorithm."""

    points: FloatArray  # rows x 2
    labels: IntArray  # class codes
    algorithm: str
    knobs: Mapping[str, Any]
    degree: int = 1
    scaled: bool = False
    seed: int = 0

    @property
    def choice(self) -> Algorithm:
        return ALGORITHMS[self.algorithm]

    @cached_property
    def features(self) -> Features:
        return features_of_points(self.points, self.degree, self.scaled)

    @cached_property
    def rows(self) -> FloatArray:
        return self.features.rows(self.points)

    @cached_property
    def n_classes(self) -> int:
        return len(np.unique(self.labels))

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """A hashable key, equal for equal requests."""
        knobs = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in self.knobs.items())
        data = self.points.tobytes(), self.labels.tobytes()
        return (*data, self.algorithm, knobs, self.degree, self.scaled, self.seed)


def parse_request(request: object) -> RunRequest:
    """Check a request and fill in the defaults."""
    if not isinstance(request, Mapping):
        raise RequestError(f"a request must be an object with {', '.join(FIELDS)}, got {_shown(request)}")
    for name in request:
        if name not in FIELDS:
            raise RequestError(f"unknown field {name!r} in the request{nearest(name, FIELDS)}")
    points, labels = _parse_points(request.get("points")), _parse_labels(request.get("labels"))
    if len(points) != len(labels):
        raise RequestError(f"got {plural(len(points), 'point')} and {plural(len(labels), 'label')}; each point needs one label")
    if labels.min() == labels.max():
        raise RequestError("all points are of one class; add a point of another class")
    name = request.get("algorithm", "perceptron")
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise RequestError(f"unknown algorithm {_shown(name)}{nearest(name, ALGORITHMS)}")
    degree = _check_integer("degree", request.get("degree", 1), 1, MAX_DEGREE)
    scaled = _check_flag("scaled", request.get("scaled", False))
    seed = _check_integer("seed", request.get("seed", 0), 0, 2**32 - 1)
    return RunRequest(points, labels, name, _parse_knobs(name, request.get("knobs", {})), degree, scaled, seed)


def nearest(name: object, known: Iterable[str]) -> str:
    """Suggest the known name that is most like a misspelled one.

    >>> nearest("margni", ["margin", "step"])
    "; did you mean 'margin'?"
    """
    found = difflib.get_close_matches(str(name), list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def _parse_points(given: Any) -> FloatArray:
    try:
        points = np.array(given) if isinstance(given, list | tuple | np.ndarray) else None
    except (ValueError, OverflowError):
        points = None
    if points is None or points.dtype.kind not in "iuf" or points.ndim != 2 or points.shape[1] != 2 or _has_flags(given):
        if isinstance(given, list | tuple) and not given:
            raise RequestError("there are no points; add points of two classes")
        raise RequestError(f"points must be a list of pairs of numbers [x, y], got {_shown(given)}")
    if len(points) > MAX_POINTS:
        raise RequestError(f"{count(len(points))} points are too many; the maximum is {count(MAX_POINTS)}")
    points = np.ascontiguousarray(points, np.float64)
    fine = abs(points) <= MAX_COORDINATE
    if not fine.all():
        row, column = (int(at[0]) for at in np.nonzero(~fine))
        raise RequestError(f"point {row + 1} has the coordinate {points[row, column]!s}, which is not between -1e9 and 1e9")
    return points + 0.0  # -0.0 is 0.0


def _parse_labels(given: Any) -> IntArray:
    try:
        labels = np.array(given) if isinstance(given, list | tuple | np.ndarray) and len(given) else None
    except (ValueError, OverflowError):
        labels = None
    if labels is None or labels.dtype.kind not in "iu" or labels.ndim != 1 or _has_flags([given]):
        raise RequestError(f"labels must be a list of class codes from 0 to {MAX_CLASSES - 1}, got {_shown(given)}")
    outside = (labels < 0) | (labels >= MAX_CLASSES)
    if outside.any():
        row = int(outside.argmax())
        raise RequestError(
            f"point {row + 1} has the label {labels[row]}, but labels are class codes from 0 to {MAX_CLASSES - 1}"
        )
    return labels.astype(np.int64)


def _has_flags(rows: Array | Sequence[Sequence[float]]) -> bool:
    """Return whether lists of numbers contain true or false, which NumPy converts to 1 and 0."""
    return not isinstance(rows, np.ndarray) and any(isinstance(value, bool | np.bool_) for row in rows for value in row)


def check_knobs(algorithm: str, given: Mapping[str, Any]) -> None:
    """Raise for a wrong knob, as far as that is known without the estimators, which take long to import."""
    known = declared_knobs(ALGORITHMS[algorithm].entry)
    for name, value in given.items():
        if name not in known:
            raise RequestError(f"{algorithm} has no knob {name!r}{nearest(name, known)}")
        if value is not None:
            _check_value(known[name], value)


def _parse_knobs(algorithm: str, given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise RequestError(f"knobs must be an object of names and values, got {_shown(given)}")
    own = knobs_of(ALGORITHMS[algorithm])
    for name in given:
        if name not in own:
            hint = nearest(name, own) or (f"; its knobs: {', '.join(own)}" if own else "")
            raise RequestError(f"{algorithm} has no knob {name!r}{hint}")
    return {name: _check_value(knob, given[name]) if name in given else knob.default for name, knob in own.items()}


def _check_value(knob: Knob, value: object) -> Any:
    if value is None and knob.optional:
        return None
    if knob.kind == "flag":
        return _check_flag(knob.name, value)
    if knob.kind == "choice":
        words = [word for word, _ in knob.choices]
        if not isinstance(value, str) or value not in words:
            raise RequestError(f"{knob.name} must be one of {', '.join(words)}, got {_shown(value)}")
        return value
    if knob.kind == "weights":
        if not isinstance(value, list | tuple) or not all(_is_number(each) for each in value):
            raise RequestError(f"{knob.name} must be a list of numbers up to 1e9, w0 first, got {_shown(value)}")
        return [float(each) for each in value]
    assert knob.low is not None
    assert knob.high is not None
    if knob.whole:
        return _check_integer(knob.name, value, int(knob.low), int(knob.high))
    if isinstance(value, bool) or not isinstance(value, int | float) or not knob.low <= value <= knob.high:
        raise RequestError(f"{knob.name} must be a number from {short(knob.low)} to {short(knob.high)}, got {_shown(value)}")
    return float(value)


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and abs(value) <= MAX_COORDINATE


def _check_integer(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RequestError(f"{name} must be an integer from {count(low)} to {count(high)}, got {_shown(value)}")
    return int(value)


def _check_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise RequestError(f"{name} must be true or false, got {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """Return the repr of a value, shortened."""
    if isinstance(value, list | tuple | Mapping) and len(value) > 3:
        return f"{'an object' if isinstance(value, Mapping) else 'a list'} of {count(len(value))}"
    try:
        text = repr(value)
    except ValueError:  # an integer with thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."
