"""What the page asks for: points with labels, an algorithm with its knobs; checked, and complete."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..catalog import ALGORITHMS, Algorithm
from ..data.polynomials import Polynomial
from ..preprocessing.numeric import standard_scaling
from .knobs import KNOBS, Knob, knob_for, knobs_of

# --- The two coordinates of a point as the features that an algorithm sees: standardised where asked, and their products.
#
# phi_j(x) = prod_i ((x_i - centre_i)/scale_i)^e_ji, by degree and then in the order of the columns.

COLUMNS = ("x₁", "x₂")
POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Features:
    degree: int = 1
    centre: tuple[float, float] = (0.0, 0.0)
    scale: tuple[float, float] = (1.0, 1.0)

    @cached_property
    def polynomial(self) -> Polynomial:
        return Polynomial(2, self.degree)

    @property
    def width(self) -> int:
        return self.polynomial.width

    @property
    def scaled(self) -> bool:
        return (self.centre, self.scale) != ((0.0, 0.0), (1.0, 1.0))

    def rows(self, points: Any) -> Any:
        """The features of points, rows x features."""
        X = np.ascontiguousarray(points, np.float64)
        if self.scaled:
            X = (X - self.centre) / self.scale
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


def learned(points: Any, degree: int, scaled: bool) -> Features:
    """The features of a set of points; scaled: coordinates of mean 0 and deviation 1."""
    if not scaled:
        return Features(degree)
    shift, divide = standard_scaling(points.mean(axis=0), points.std(axis=0), abs(points).max(axis=0))
    return Features(degree, tuple(shift.tolist()), tuple(divide.tolist()))


def _power(name: str, exponent: int) -> str:
    return "" if exponent == 0 else name if exponent == 1 else name + str(exponent).translate(POWERS)


# ---

MOST_POINTS = 5000
MOST_CLASSES = 6
LARGEST = 1e9
MOST_DEGREE = 5
FIELDS = ("points", "labels", "algorithm", "knobs", "degree", "scaled", "seed")


class RequestError(ValueError):
    """What was asked for cannot be done: one sentence that names the thing.

    headers : the columns of a file that was refused, where they are known: another of them may be the labels.
    """

    def __init__(self, sentence: str, headers: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.headers = list(headers)


@dataclass(frozen=True, eq=False)
class Asked:
    """A request that can be carried out. `knobs` has all of the algorithm's."""

    points: Any  # rows x 2
    labels: Any  # class codes
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
        return learned(self.points, self.degree, self.scaled)

    @cached_property
    def rows(self) -> Any:
        return self.features.rows(self.points)

    @cached_property
    def n_classes(self) -> int:
        return len(np.unique(self.labels))

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Equal where the same is asked for."""
        knobs = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in self.knobs.items())
        data = self.points.tobytes(), self.labels.tobytes()
        return (*data, self.algorithm, knobs, self.degree, self.scaled, self.seed)


def asked(request: Any) -> Asked:
    """The request, checked; what is missing gets its default."""
    if not isinstance(request, Mapping):
        raise RequestError(f"a request must be an object with {', '.join(FIELDS)}, got {_shown(request)}")
    for name in request:
        if name not in FIELDS:
            raise RequestError(f"the request has no {name!r}{nearest(name, FIELDS)}")
    points, labels = _points(request.get("points")), _labels(request.get("labels"))
    if len(points) != len(labels):
        raise RequestError(f"there are {len(points):,} points and {len(labels):,} labels; each point needs one")
    if labels.min() == labels.max():
        raise RequestError("all points are of one class: there is nothing to tell apart; add a point of another")
    name = request.get("algorithm", "perceptron")
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise RequestError(f"no algorithm is called {_shown(name)}{nearest(name, ALGORITHMS)}")
    degree = _whole("degree", request.get("degree", 1), 1, MOST_DEGREE)
    scaled = _flag("scaled", request.get("scaled", False))
    seed = _whole("seed", request.get("seed", 0), 0, 2**32 - 1)
    return Asked(points, labels, name, _knobs(name, request.get("knobs", {})), degree, scaled, seed)


def nearest(name: Any, known: Iterable[str]) -> str:
    """
    >>> nearest("margni", ["margin", "step"])
    "; did you mean 'margin'?"
    """
    found = difflib.get_close_matches(str(name), list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def _points(given: Any) -> Any:
    try:
        points = np.array(given) if isinstance(given, list | tuple | np.ndarray) else None
    except (ValueError, OverflowError):
        points = None
    if points is None or points.dtype.kind not in "iuf" or points.ndim != 2 or points.shape[1] != 2 or _has_flags(given):
        if isinstance(given, list | tuple) and not given:
            raise RequestError("there are no points; add some of two classes")
        raise RequestError(f"points must be a list of pairs of numbers [x, y], got {_shown(given)}")
    if len(points) > MOST_POINTS:
        raise RequestError(f"there are {len(points):,} points, and {MOST_POINTS:,} are the most that can be played")
    points = np.ascontiguousarray(points, np.float64)
    fine = abs(points) <= LARGEST
    if not fine.all():
        row, column = (int(at[0]) for at in np.nonzero(~fine))
        raise RequestError(f"point {row} has the coordinate {points[row, column]!s}, which is not between -1e9 and 1e9")
    return points + 0.0  # -0.0 is 0.0


def _labels(given: Any) -> Any:
    try:
        labels = np.array(given) if isinstance(given, list | tuple | np.ndarray) and len(given) else None
    except (ValueError, OverflowError):
        labels = None
    if labels is None or labels.dtype.kind not in "iu" or labels.ndim != 1 or _has_flags([given]):
        raise RequestError(f"labels must be a list of class codes from 0 to {MOST_CLASSES - 1}, got {_shown(given)}")
    outside = (labels < 0) | (labels >= MOST_CLASSES)
    if outside.any():
        row = int(outside.argmax())
        raise RequestError(f"label {row} is {labels[row]}, and classes are numbered from 0 to {MOST_CLASSES - 1}")
    return labels.astype(np.int64)


def _has_flags(rows: Any) -> bool:
    """Whether true or false is among lists of numbers, where numpy takes them for 1 and 0."""
    return not isinstance(rows, np.ndarray) and any(isinstance(value, bool | np.bool_) for row in rows for value in row)


def check_knobs(algorithm: str, given: Mapping[str, Any]) -> None:
    """Raise where no such algorithm could have knobs like these; without the estimators, which take long to import."""
    for name, value in given.items():
        if name not in KNOBS:
            raise RequestError(f"{algorithm} has no knob called {name!r}{nearest(name, KNOBS)}")
        _value(knob_for(ALGORITHMS[algorithm].name, name), value)


def _knobs(algorithm: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise RequestError(f"knobs must be an object of names and values, got {_shown(given)}")
    own = knobs_of(ALGORITHMS[algorithm])
    for name in given:
        if name not in own:
            has = "; it has none" if not own else nearest(name, own) or f"; it has {', '.join(own)}"
            raise RequestError(f"{algorithm} has no knob called {name!r}{has}")
    return {name: _value(knob, given[name]) if name in given else knob.default for name, knob in own.items()}


def _value(knob: Knob, value: Any) -> Any:
    if value is None and knob.optional:
        return None
    if knob.kind == "flag":
        return _flag(knob.name, value)
    if knob.kind == "choice":
        words = [word for word, _ in knob.choices]
        if not isinstance(value, str) or value not in words:
            raise RequestError(f"{knob.name} must be one of {', '.join(words)}, got {_shown(value)}")
        return value
    if knob.kind == "weights":
        if not isinstance(value, list | tuple) or not all(_is_number(each) for each in value):
            raise RequestError(f"{knob.name} must be a list of numbers up to 1e9, weight 0 first, got {_shown(value)}")
        return [float(each) for each in value]
    assert knob.low is not None
    assert knob.high is not None
    if knob.whole:
        return _whole(knob.name, value, int(knob.low), int(knob.high))
    if isinstance(value, bool) or not isinstance(value, int | float) or not knob.low <= value <= knob.high:
        raise RequestError(f"{knob.name} must be a number from {knob.low:g} to {knob.high:g}, got {_shown(value)}")
    return float(value)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and abs(value) <= LARGEST


def _whole(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RequestError(f"{name} must be a whole number from {low:,} to {high:,}, got {_shown(value)}")
    return int(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise RequestError(f"{name} must be true or false, got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    """What was given, cut short."""
    if isinstance(value, list | tuple | Mapping) and len(value) > 3:
        return f"{'an object' if isinstance(value, Mapping) else 'a list'} of {len(value):,}"
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."
