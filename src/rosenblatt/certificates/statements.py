"""What a certificate states: the plane and its margins, the clash, or how far the proof came."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, NamedTuple


class Pair(NamedTuple):
    """A row against a class that is not its own, and the weight of the two in a convex combination.

    The row x of class l against class z stands for the vector that has x at l, -x at z and zeros elsewhere (Kesler's
    construction): its product with the weights of all classes is (w_l - w_z).x. With two classes it is y x.
    """

    row: int
    rival: int  # the position of a class in `classes`
    weight: Fraction


class Interval(NamedTuple):
    """Two floats, rounded outwards, between which a number is proved to be."""

    lower: float
    upper: float


@dataclass(frozen=True)
class About:
    """The data a certificate speaks of: shape, classes as text, digest; and whether planes have an intercept."""

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
    """Weights that are not zero, by column, and the intercept."""

    weights: dict[int, Fraction]
    intercept: Fraction

    def coef(self, n_columns: int) -> list[float]:
        out = [0.0] * n_columns
        for column, weight in self.weights.items():
            out[column] = as_float(weight)
        return out


class _Told:
    """What a session shows is the sentence, not pages of digits."""

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True)
class Ceiling:
    """No planes have a margin whose square is over `upper_squared`: the combination of these pairs is as short as that."""

    upper_squared: Fraction
    pairs: tuple[Pair, ...]

    @property
    def upper(self) -> float:
        return root_above(self.upper_squared)


@dataclass(frozen=True)
class Margin(Ceiling):
    """The widest margin of a space, between what these planes have and what these pairs leave possible."""

    lower_squared: Fraction
    planes: tuple[Plane, ...]  # with two classes one, of the second against the first

    @property
    def lower(self) -> float:
        return root_below(self.lower_squared)

    @property
    def gap(self) -> float:
        """The share of the margin that is not known, (upper - lower)/upper."""
        return max(0.0, float(1 - self.lower_squared / self.upper_squared)) / (1 + self.lower / self.upper)

    def __str__(self) -> str:
        if self.gap > 1e-6:
            return f"between {in_words(self.lower_squared, 6, root=True)} and {in_words(self.upper_squared, 6, root=True)}"
        return f"{in_words(self.lower_squared, 12, root=True)}, known {f'to {self.gap:.0e} of it' if self.gap else 'exactly'}"


@dataclass(frozen=True, repr=False)
class Separable(_Told):
    """Planes separate the classes, and the widest margin is between two numbers, in each of two spaces.

    Attributes
    ----------
    about : the data it speaks of: shape, classes as text, SHA-256, and whether there is an intercept.
    augmented : the margin of rows (1, x): the intercept is a weight like any other and counts in norms. This is the
        perceptron's space. It has `lower`, `upper` and `gap` as floats rounded outwards, `lower_squared` and `upper_squared` as
        fractions, the `planes` and the `pairs` of rows that prove them.
    geometric : the margin where the intercept is free and counts nowhere: distances of x from the plane, as support vectors
        have them. Without an intercept the two are one.
    radius_squared : of the longest augmented row, as a fraction; `radius` is its root, rounded up.
    mistake_bound : the interval of R^2/gamma^2.
    coef, intercept : the planes of the widest geometric margin, as lists of floats, one plane for two classes.
    verdict : "separable".
    """

    about: About
    augmented: Margin
    geometric: Margin
    radius_squared: Fraction  # of the longest augmented row
    verdict: ClassVar[str] = "separable"

    @property
    def radius(self) -> float:
        """R, the length of the longest augmented row, rounded up."""
        return root_above(self.radius_squared)

    @property
    def mistake_bound(self) -> Interval:
        """R^2/gamma^2: how many updates a perceptron that starts from zero can make at most, in any order."""
        low, high = (self.radius_squared / square for square in (self.augmented.upper_squared, self.augmented.lower_squared))
        return Interval(math.nextafter(as_float(low), 0.0), math.nextafter(as_float(high), math.inf))

    @property
    def coef(self) -> list[list[float]]:
        """The planes of the widest geometric margin, rounded to floats."""
        return [plane.coef(self.about.n_columns) for plane in self.geometric.planes]

    @property
    def intercept(self) -> list[float]:
        """Of the same planes."""
        return [as_float(plane.intercept) for plane in self.geometric.planes]

    def __str__(self) -> str:
        what = "a plane separates" if self.about.n_planes == 1 else f"{self.about.n_planes} planes separate"
        lines = [f"separable: {what} the {self.about.n_rows} rows, proved row by row."]
        if self.about.intercept:
            lines.append(f"  widest margin, free intercept (support vectors): {self.geometric}")
            lines.append(f"  widest margin of rows (1, x) (perceptrons):       {self.augmented}")
        else:
            lines.append(f"  widest margin of planes through the origin: {self.augmented}")
        bound = in_words(self.radius_squared / self.augmented.lower_squared, 6)
        most = f"a perceptron from zero makes at most R^2/gamma^2 = {bound} updates"
        lines.append(f"  longest row R = {in_words(self.radius_squared, 6, root=True)}; {most}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Inseparable(_Told):
    """No planes separate the classes: convex weights of a few rows against rival classes sum to exactly zero.

    Every W gives these pairs products that sum, with the weights, to zero, so that not all of them can be positive.

    Attributes
    ----------
    about : the data it speaks of: shape, classes as text, SHA-256, and whether there is an intercept.
    clash : pairs (row, rival, weight): a row against the class it cannot be told from (a position in `about.classes`), and its
        weight, a fraction. No pair can be left out.
    rows : the rows of the clash, by position, each once.
    weights : of the pairs, in their order; they sum to 1.
    verdict : "inseparable".
    """

    about: About
    clash: tuple[Pair, ...]
    verdict: ClassVar[str] = "inseparable"

    @property
    def rows(self) -> list[int]:
        return sorted({pair.row for pair in self.clash})

    @property
    def weights(self) -> list[Fraction]:
        return [pair.weight for pair in self.clash]

    def __str__(self) -> str:
        return f"not separable: {clash_in_words(self)}."


@dataclass(frozen=True, repr=False)
class Undecided(_Told):
    """The time ran out. What is known: no margin is over these ceilings.

    Attributes
    ----------
    about : the data it speaks of.
    augmented, geometric : for each space the ceiling, `upper`, and the pairs of rows that prove it.
    """

    about: About
    augmented: Ceiling
    geometric: Ceiling
    verdict: ClassVar[str] = "undecided"

    def __str__(self) -> str:
        spaces = (("a geometric", self.geometric), ("an augmented", self.augmented))
        known = (f"no separator with {name} margin above {ceiling.upper:.3g} exists" for name, ceiling in spaces)
        return f"undecided when the time ran out: {'; '.join(known)}."


Certificate = Separable | Inseparable | Undecided


def clash_in_words(proof: Inseparable) -> str:
    """The clash as a person would say it."""
    rows, rivals = proof.rows, {pair.rival for pair in proof.clash}
    told = ", ".join(map(str, rows[:12])) + (f" and {len(rows) - 12} more" if len(rows) > 12 else "")
    if not proof.about.intercept:
        if len(rows) == 1:
            return f"row {told} is zero, and a plane through the origin has it on neither side"
        return f"these {len(rows)} rows cannot be separated by a plane through the origin: {told}"
    if len(rivals) > 2:
        return f"these {len(rows)} rows of {len(rivals)} classes cannot be separated from each other: {told}"
    # Weights balance between classes: with two rivals, a row that is against one of them is of the other.
    few, many = sorted(
        ([pair.row for pair in proof.clash if pair.rival == z] for z in rivals), key=lambda rows: (len(rows), rows)
    )
    if (len(few), len(many)) == (1, 1):
        return f"rows {rows[0]} and {rows[1]} are the same point with different labels"
    these = f"these {len(rows)} rows cannot be separated: "
    if (len(few), len(many)) == (1, 2):
        return f"{these}row {few[0]} lies on the segment between rows {many[0]} and {many[1]}"
    if (len(few), len(many)) == (1, 3):
        return f"{these}row {few[0]} lies in the triangle of rows {many[0]}, {many[1]} and {many[2]}"
    if (len(few), len(many)) == (2, 2):
        return f"{these}the segment between rows {few[0]} and {few[1]} meets that between rows {many[0]} and {many[1]}"
    if len(few) == 1:
        return f"{these}row {few[0]} lies among the {len(many)} others, which have another label: {told}"
    return f"{these}the hull of {len(few)} of them meets that of the {len(many)} others, which have another label: {told}"


def in_words(number: Fraction, digits: int, root: bool = False) -> str:
    """A number, or its root, of any size, also beyond floats, with so many digits."""
    with localcontext(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN) as context:
        found = Decimal(number.numerator) / Decimal(number.denominator)
        found = found.sqrt() if root else found
        context.prec = digits
        found = (+found).normalize()
        return f"{found:f}" if -5 <= found.adjusted() < digits else f"{found:e}"


def root_below(square: Fraction) -> float:
    """The largest float, or nearly so, whose square is at most this."""
    root = min(_root(square), sys.float_info.max)
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0.0)
    return root


def root_above(square: Fraction) -> float:
    root = _root(square)
    while root < math.inf and Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def _root(square: Fraction) -> float:
    """The square root in floats, whatever the size: of a 128-bit number and a power of two."""
    if square <= 0:
        return 0.0
    shift = (square.numerator.bit_length() - square.denominator.bit_length() - 128) // 2 * 2
    scaled = square * Fraction(2) ** -shift
    try:
        return math.ldexp(math.sqrt(float(scaled)), shift // 2)
    except OverflowError:
        return math.inf


def as_float(number: Fraction) -> float:
    """The nearest float; infinite where it is beyond all of them."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
