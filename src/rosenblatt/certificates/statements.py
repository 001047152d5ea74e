"""What a certificate states: planes with their margins, a clash, or bounds on the margin if separability was not decided.

A *clash* is a proof that no planes separate the classes: a few rows, each against a class that is not its own, with convex
weights for which the signed sum of the rows is exactly zero. No plane classifies all rows of a clash correctly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, NamedTuple

from .exact_numbers import Interval, as_float, count_text, decimal_text, quotient_as_float, root_above, root_below
from .likelihood import Likelihood, SeparationKind
from .sentences import ClashShape, describe_ceilings, describe_clash, describe_likelihood, describe_margins, describe_separation

# The name of a margin is padded to this number of characters, so that two margins are aligned.
MARGIN_NAME_CHARS = 47
# The most weights that `Separable.coef` lists, in 256 MB.
MAX_LISTED_WEIGHTS = 1 << 25


class Pair(NamedTuple):
    """A row against a class that is not its own, and the weight of this pair in a convex combination.

    The row x of class l against class z stands for the vector that has x at l, -x at z and zeros elsewhere (Kesler's
    construction): its product with the weights of all classes is (w_l - w_z).x. With two classes it is y x.
    """

    row: int
    rival: int  # the position of a class in `classes`
    weight: Fraction


@dataclass(frozen=True)
class About:
    """The data that a certificate is about: shape, classes as text, digest; and whether planes have an intercept."""

    n_rows: int
    n_columns: int
    classes: tuple[str, ...]
    sha256: str
    intercept: bool

    @property
    def n_planes(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)


@dataclass(frozen=True)
class Plane:
    """The nonzero weights by column, and the intercept."""

    weights: dict[int, Fraction]
    intercept: Fraction

    def coef(self, n_columns: int) -> list[float]:
        """All weights, rounded to floats."""
        out = [0.0] * n_columns
        for column, weight in self.weights.items():
            out[column] = as_float(weight)
        return out


@dataclass(frozen=True)
class Ceiling:
    """An upper bound: no planes have a margin whose square exceeds `upper_squared`, the squared length of these pairs' sum."""

    upper_squared: Fraction
    pairs: tuple[Pair, ...]

    @property
    def upper(self) -> float:
        return root_above(self.upper_squared)


@dataclass(frozen=True)
class Margin(Ceiling):
    """The widest margin of a space: at least the margin of `planes`, at most the bound that `pairs` prove."""

    lower_squared: Fraction
    planes: tuple[Plane, ...]  # with two classes a single plane, positive on the second class

    @property
    def lower(self) -> float:
        return root_below(self.lower_squared)

    @property
    def gap(self) -> float:
        """The relative width of the interval, (upper - lower)/upper."""
        lower, upper = self.lower_squared, self.upper_squared
        # Not `1 - lower/upper`: reducing that quotient takes seconds for 100,000 digits.
        product = upper.numerator * lower.denominator
        difference = product - lower.numerator * upper.denominator
        return max(0.0, difference / product) / (1 + self.lower / self.upper)

    def __str__(self) -> str:
        if self.gap > 1e-6:
            lower = decimal_text(self.lower_squared, 6, root=True, rounded="down")
            return f"between {lower} and {decimal_text(self.upper_squared, 6, root=True, rounded='up')}"
        accuracy = f"relative error at most {decimal_text(Fraction(self.gap), 1, rounded='up')}" if self.gap else "exact"
        return f"{decimal_text(self.lower_squared, 12, root=True)} ({accuracy})"


class _Sentences(ABC):
    """`str` and `repr` show sentences, not pages of digits."""

    about: About
    likelihood: Likelihood | None
    verdict: ClassVar[str]

    @property
    @abstractmethod
    def headline(self) -> str: ...

    @property
    def separation(self) -> SeparationKind | None:
        """The kind of separation in the sense of Albert and Anderson, if it was computed and proved."""
        if self.likelihood is None:
            return "complete" if self.verdict == "separable" else None
        return self.likelihood.kind

    def text(self, names: Sequence[str] = ()) -> str:
        """Return the printed certificate.

        Parameters
        ----------
        names : sequence of str, default=()
            The names of the columns. Without them, columns are counted from 1.

        Returns
        -------
        str
            What `str` of the certificate returns, with these names.
        """
        lines = [self.headline, *self._details()]
        if self.likelihood is not None:
            outcome = "an optimum" if self.likelihood.kind == "overlap" else "no optimum"
            sentence = describe_likelihood(self.likelihood, self.about, names)
            lines.append(f"{sentence}; logistic regression without a penalty has {outcome}.")
        return "\n  ".join(lines)

    def _details(self) -> list[str]:
        return []

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True, repr=False)
class Separable(_Sentences):
    """Certificate that planes separate the classes, with bounds on the widest margin in two spaces.

    Parameters
    ----------
    about : About
        The data: shape, classes as text, SHA-256, and whether planes have an intercept.
    augmented : Margin
        The margin of rows (1, x), in which the intercept is a weight like any other and counts in norms: the space of the
        perceptron. It has `lower`, `upper` and `gap` as floats rounded outwards, `lower_squared` and `upper_squared` as
        fractions, and the `planes` and `pairs` of rows that prove them.
    geometric : Margin
        The margin with a free intercept, which does not count in norms: the distance of x from the plane, as for support
        vector machines. Without an intercept both spaces are the same.
    radius_squared : fractions.Fraction
        The squared length of the longest augmented row.
    likelihood : Likelihood or None, default=None
        Planes with weights in few columns that separate all rows, if `certify(..., likelihood=True)` found them.

    Attributes
    ----------
    verdict : str
        "separable".
    separation : str
        "complete".
    headline : str
        The verdict as a sentence, which is the first line of the printed certificate.
    radius : float
        R, the length of the longest augmented row, rounded up.
    mistake_bound : Interval
        Bounds on R^2/gamma^2, the largest number of updates of a perceptron that starts from zero.
    coef : list of list of float
        The planes of the widest geometric margin; a single plane for two classes. Raises `ValueError` beyond
        33 million weights.
    intercept : list of float
        The intercepts of these planes.

    See Also
    --------
    rosenblatt.certify : Find a certificate.
    rosenblatt.verify : Check a certificate.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> certificate = rb.certify([[0], [2]], ["a", "b"])
    >>> certificate.verdict, certificate.geometric.lower, certificate.coef, certificate.intercept
    ('separable', 1.0, [[0.5]], [-0.5])
    """

    about: About
    augmented: Margin
    geometric: Margin
    radius_squared: Fraction
    likelihood: Likelihood | None = None
    verdict: ClassVar[Literal["separable"]] = "separable"

    @property
    def radius(self) -> float:
        """R, the length of the longest augmented row, rounded up."""
        return root_above(self.radius_squared)

    @property
    def mistake_bound(self) -> Interval:
        """Bounds on R^2/gamma^2, the largest number of updates of a perceptron that starts from zero, in any order of rows."""
        squares = (self.augmented.upper_squared, self.augmented.lower_squared)
        low, high = (quotient_as_float(self.radius_squared, square) for square in squares)
        return Interval(math.nextafter(low, 0.0), math.nextafter(high, math.inf))

    @property
    def coef(self) -> list[list[float]]:
        """The planes of the widest geometric margin, rounded to floats."""
        n_weights = self.about.n_columns * len(self.geometric.planes)
        if n_weights > MAX_LISTED_WEIGHTS:  # a small file may state any number of columns
            raise ValueError(
                f"the planes have {count_text(n_weights)} weights, too many for lists: "
                "use the weights in geometric.planes, which are those that are not zero"
            )
        return [plane.coef(self.about.n_columns) for plane in self.geometric.planes]

    @property
    def intercept(self) -> list[float]:
        """The intercepts of the planes in `coef`, rounded to floats."""
        return [as_float(plane.intercept) for plane in self.geometric.planes]

    @property
    def headline(self) -> str:
        """The verdict as a sentence."""
        return describe_separation(self)

    def _details(self) -> list[str]:
        return describe_margins(self, name_chars=MARGIN_NAME_CHARS if self.about.intercept else 0)


@dataclass(frozen=True, repr=False)
class Inseparable(_Sentences):
    """Certificate that no planes separate the classes: a clash.

    A clash is a set of rows, each against a rival class, with convex weights for which the signed sum of the rows is exactly
    zero. For all weights W the products with these pairs sum to zero as well, so that not all of them can be positive.

    Parameters
    ----------
    about : About
        The data: shape, classes as text, SHA-256, and whether planes have an intercept.
    clash : tuple of Pair
        Pairs `(row, rival, weight)`: the position of a row from 0, the position in `about.classes` of a class that the row
        cannot be separated from, and a weight as a fraction. That of `certify` is minimal: no pair can be left out. `verify`
        does not check that.
    likelihood : Likelihood or None, default=None
        The proof of quasi-complete separation or of overlap, if `certify(..., likelihood=True)` found it.

    Attributes
    ----------
    verdict : str
        "inseparable".
    separation : str or None
        "quasi-complete", "overlap", or None without `likelihood`.
    headline : str
        The verdict and the clash as a sentence.
    rows : list of int
        The rows of the clash, as positions from 0, each once.
    weights : list of fractions.Fraction
        The weights of the pairs, in their order; they sum to 1.
    rivals : list of int
        The classes that take part, as positions in `about.classes`.
    sides : tuple of two lists of int, or None
        If two classes clash, the rows of each, the shorter list first. None with more classes or without an intercept.
    shape : ClashShape
        The geometry: the same point, a point on a segment, and so on.

    See Also
    --------
    rosenblatt.certify : Find a certificate.
    rosenblatt.verify : Check a certificate.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> certificate = rb.certify([[0], [1], [2]], ["a", "b", "a"])
    >>> certificate.rows, [str(weight) for weight in certificate.weights], certificate.sides
    ([0, 1, 2], ['1/4', '1/2', '1/4'], ([1], [0, 2]))
    >>> certificate.shape.value
    'point-on-segment'
    """

    about: About
    clash: tuple[Pair, ...]
    likelihood: Likelihood | None = None
    verdict: ClassVar[Literal["inseparable"]] = "inseparable"

    @property
    def rows(self) -> list[int]:
        """The rows of the clash, as positions from 0, each once."""
        return sorted({pair.row for pair in self.clash})

    @property
    def weights(self) -> list[Fraction]:
        """The weights of the pairs, in their order; they sum to 1."""
        return [pair.weight for pair in self.clash]

    @property
    def rivals(self) -> list[int]:
        """The classes that take part, as positions in `about.classes`."""
        return sorted({pair.rival for pair in self.clash})

    @property
    def sides(self) -> tuple[list[int], list[int]] | None:
        """The rows of each class, if two classes clash; the shorter list comes first."""
        if not self.about.intercept or len(self.rivals) != 2:
            return None
        # The weights balance between classes: with two rivals, a row against one of them belongs to the other.
        one, other = sorted(
            ([pair.row for pair in self.clash if pair.rival == z] for z in self.rivals), key=lambda rows: (len(rows), rows)
        )
        return one, other

    @property
    def shape(self) -> ClashShape:
        """The geometry of the clash."""
        if not self.about.intercept:
            return ClashShape.ZERO_ROW if len(self.rows) == 1 else ClashShape.ORIGIN
        if self.sides is None:
            return ClashShape.SEVERAL_CLASSES
        few, many = map(len, self.sides)
        small = {
            (1, 1): ClashShape.SAME_POINT,
            (1, 2): ClashShape.POINT_ON_SEGMENT,
            (1, 3): ClashShape.POINT_IN_TRIANGLE,
            (2, 2): ClashShape.SEGMENTS_INTERSECT,
        }
        return small.get((few, many), ClashShape.POINT_IN_HULL if few == 1 else ClashShape.HULLS_OVERLAP)

    @property
    def headline(self) -> str:
        """The verdict and the clash as a sentence."""
        return f"not separable: {describe_clash(self)}."


@dataclass(frozen=True, repr=False)
class Undecided(_Sentences):
    """Certificate for undecided separability: upper bounds on every margin.

    Parameters
    ----------
    about : About
        The data: shape, classes as text, SHA-256, and whether planes have an intercept.
    augmented : Ceiling
        The bound on margins of rows (1, x), `upper`, and the `pairs` of rows that prove it.
    geometric : Ceiling
        The bound on margins with a free intercept.

    Attributes
    ----------
    verdict : str
        "undecided".
    headline : str
        The verdict and the bounds as a sentence.

    See Also
    --------
    rosenblatt.certify : Find a certificate; with `time_limit` it may be undecided.
    rosenblatt.verify : Check a certificate.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.certificates.statements import Ceiling
    >>> known = rb.certify([[0], [2]], ["a", "b"])
    >>> bounds = [Ceiling(margin.upper_squared, margin.pairs) for margin in (known.augmented, known.geometric)]
    >>> undecided = rb.Undecided(known.about, *bounds)
    >>> print(undecided)
    undecided: no plane has a geometric margin above 1 or an augmented margin above 0.708.
    >>> print(rb.verify(undecided, [[0], [2]], ["a", "b"]))
    the certificate holds: no margin exceeds the stated bounds
    """

    about: About
    augmented: Ceiling
    geometric: Ceiling
    verdict: ClassVar[Literal["undecided"]] = "undecided"
    likelihood: Likelihood | None = field(default=None, init=False)

    @property
    def headline(self) -> str:
        """The verdict and the bounds as a sentence."""
        return f"undecided: {describe_ceilings(self)}."


Certificate = Separable | Inseparable | Undecided
