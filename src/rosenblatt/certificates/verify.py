"""The checker: whether a certificate holds of some rows and labels, in whole numbers and fractions, nothing rounded.

Problem    a float is a whole number over a power of two, so rows, planes and weights are fractions, and what a certificate
           states can be computed exactly. Nothing is believed: margins, radius and clash are computed anew from the data, and
           must be what is stated, to the last digit. Nothing here is shared with the solvers.
Guarantee  with l the class of row i and z any other class, d(i, z) = (w_l - w_z).x_i + b_l - b_z:
           separable     d(i, z) > 0 for all i and z; so planes separate, with margin  min d / (sqrt(2) |W|)  =: lower;
           ceiling       convex weights of pairs (i, z), whose signed sum is V, have  sum a d <= |W| |V|  for every W; so no
                         margin is over  |V| / sqrt(2)  =: upper;
           inseparable   V = 0; so sum a d = 0, and not every d is positive.
           In the augmented space b is part of W, and the 1 of (1, x) part of V. In the geometric space b is not counted, and
           the weights must balance: the sums of a over rows of each class and against it are equal.
           With two classes there is one plane w = w_1 - w_0, and |w| stands for sqrt(2) |W|, the shortest such W.
Reference  P. Gordan, Math. Annalen 6 (1873); C. Kesler's construction: N. J. Nilsson, Learning Machines (1965).

    python -m rosenblatt.certificates.verify certificate.json data
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any

from .data import Data
from .files import reread
from .statements import About, Ceiling, Certificate, Inseparable, Pair, Plane, Separable, Undecided

# Of the length of the whole numbers, in bits, times their products with values, and times itself: about ten seconds of each.
MOST_PRODUCTS, MOST_SQUARES = 1 << 39, 1 << 43


@dataclass(frozen=True)
class Check:
    """Whether a certificate holds, and why not; true or false where a condition is asked for."""

    holds: bool
    sentence: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.sentence


class Rejected(Exception):  # noqa: N818  not an error of ours: what the certificate says is not so
    pass


def verify(certificate: Certificate, X: Any, y: Any) -> Check:
    """Check a certificate against rows and labels, in exact arithmetic.

    certificate : what `rb.certify` or `rb.load_certificate` gave.
    X, y : the data it speaks of: array, data frame or sparse matrix of any float type, and labels.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0], [1], [2]], [0, 1, 0]
    >>> certificate = rb.certify(X, y)
    >>> print(certificate)
    not separable: these 3 rows cannot be separated: row 1 lies on the segment between rows 0 and 2.
    >>> print(rb.verify(certificate, X, y))
    the certificate holds: these rows are not separable
    >>> bool(rb.verify(certificate, X, [0, 1, 1]))
    False
    """
    try:
        certificate = _plain(certificate)
        codes, data = _data(certificate, X, y)
        if isinstance(certificate, Inseparable):
            _check_clash(certificate, codes, data)
        else:
            spaces = _spaces(certificate)
            for space, counts in spaces:
                _check_ceiling(certificate, space, counts, codes, data)
            if isinstance(certificate, Separable):
                _check_planes(certificate, spaces, codes, data)
    except Rejected as why:
        return Check(False, f"rejected: {why}")
    words = {"separable": "these rows are separable", "inseparable": "these rows are not separable"}
    return Check(True, f"the certificate holds: {words.get(certificate.verdict, 'no margin is over the ceilings it names')}")


def _plain(certificate: Any) -> Certificate:
    """What the certificate's file would say, read anew: whatever the object was, only plain numbers are left of it."""
    try:
        return reread(certificate)
    except ValueError as wrong:
        raise Rejected(str(wrong)) from None


def _data(certificate: Certificate, X: Any, y: Any) -> tuple[list[int], Data]:
    about, data = certificate.about, Data(X, y)
    position = {text: code for code, text in enumerate(about.classes)}
    _demand((data.n_rows, data.n_columns) == (about.n_rows, about.n_columns), "it speaks of data of another shape")
    _demand(set(data.labels) == set(position), "it speaks of other classes")
    _demand(data.sha256() == about.sha256, "it speaks of other data")
    return [position[text] for text in data.labels], data


def _spaces(certificate: Separable | Undecided) -> list[tuple[Any, bool]]:
    """The spaces of a certificate, and whether the intercept counts there like any other weight."""
    if not certificate.about.intercept:
        _demand(certificate.augmented == certificate.geometric, "without an intercept the two spaces are one")
        return [(certificate.augmented, False)]
    return [(certificate.augmented, True), (certificate.geometric, False)]


def _check_planes(certificate: Separable, spaces: list[tuple[Any, bool]], codes: list[int], data: Data) -> None:
    """Every row is on its side of the planes of every space; the nearest and the longest are as stated."""
    about, two = certificate.about, len(certificate.about.classes) == 2
    all_planes = [_whole_planes(space.planes, about, data) for space, _ in spaces]
    least, longest = [Fraction(0)] * len(spaces), Fraction(0)
    for i, ((columns, numbers, below), own) in enumerate(zip(data.rows(), codes, strict=True)):
        longest = max(longest, Fraction(sum(map(mul, numbers, numbers)), below**2))
        for s, planes in enumerate(all_planes):
            scores = [sum(map(mul, numbers, map(w.__getitem__, columns))) + b * below for w, b in planes]
            worst = scores[0] * (2 * own - 1) if two else scores[own] - max(scores[:own] + scores[own + 1 :])
            _demand(worst > 0, f"the planes have row {i} on the wrong side")
            least[s] = Fraction(worst, below) if i == 0 else min(least[s], Fraction(worst, below))
    _demand(longest + about.intercept == certificate.radius_squared, "the radius is not that of these rows")
    for (space, counts), planes, nearest in zip(spaces, all_planes, least, strict=True):
        square = sum(sum(map(mul, w.values(), w.values())) + counts * b * b for w, b in planes) * (1 if two else 2)
        _demand(nearest**2 == space.lower_squared * square, "the planes do not have the margin it states")


class _Weights(dict[int, int]):
    def __missing__(self, column: int) -> int:
        return 0


def _whole_planes(planes: tuple[Plane, ...], about: About, data: Data) -> list[tuple[_Weights, int]]:
    """Planes times a common denominator: neither signs nor margins change."""
    _demand(len(planes) == about.n_planes, "the number of planes is not that of the classes")
    _demand(about.intercept or not any(plane.intercept for plane in planes), "there are intercepts where none are allowed")
    _demand(all(c < about.n_columns for plane in planes for c in plane.weights), "a weight has no column")
    whole, _ = _common([f for plane in planes for f in (plane.intercept, *plane.weights.values())], data.n_values)
    rest = iter(whole)
    intercepts_first = [(next(rest), _Weights((c, next(rest)) for c in plane.weights)) for plane in planes]
    return [(weights, intercept) for intercept, weights in intercepts_first]


def _check_ceiling(certificate: Certificate, ceiling: Ceiling, counts: bool, codes: list[int], data: Data) -> None:
    about = certificate.about
    vector, balance, unit = _combination(ceiling.pairs, codes, data, len(about.classes))
    _demand(not about.intercept or counts or not any(balance), "the weights of its pairs do not balance")
    # Every pair adds to one class what it takes from another: both halves of |V|^2 are counted, and one is meant.
    square = sum(v * v for v in (vector + balance if counts else vector))
    _demand(square == 2 * ceiling.upper_squared * unit**2, "its pairs do not leave the upper bound it states")


def _check_clash(certificate: Inseparable, codes: list[int], data: Data) -> None:
    about, clash = certificate.about, certificate.clash
    vector, balance, _ = _combination(clash, codes, data, len(about.classes))
    _demand(not any(vector), "the pairs of the clash do not cancel")
    _demand(not about.intercept or not any(balance), "the weights of the clash do not balance")
    dimensions = (about.n_columns + about.intercept) * (len(about.classes) - 1)
    _demand(len(clash) <= dimensions + 1, "the clash has more pairs than any needs")


def _combination(pairs: tuple[Pair, ...], codes: list[int], data: Data, k: int) -> tuple[list[int], list[int], int]:
    """The signed sum of pairs, class by class, and of their weights alone, both in whole multiples of 1 over a number."""
    _demand(len({pair[:2] for pair in pairs}) == len(pairs) > 0, "a pair is there twice, or none at all")
    _demand(all(pair.row < data.n_rows and pair.rival < k for pair in pairs), "a pair has no row or no class")
    _demand(all(codes[pair.row] != pair.rival for pair in pairs), "a row is set against its own class")
    rows = [data.row(pair.row) for pair in pairs]
    weights, below = _common([pair.weight for pair in pairs], sum(len(columns) for columns, *_ in rows))
    _demand(min(weights) > 0 and sum(weights) == below, "the weights are not convex")
    unit = max(power for *_, power in rows)
    sums: list[dict[int, int]] = [{} for _ in range(k)]
    balance = [0] * k
    for pair, weight, (columns, numbers, power) in zip(pairs, weights, rows, strict=True):
        own, rival, move = sums[codes[pair.row]], sums[pair.rival], weight * (unit // power)
        balance[codes[pair.row]] += weight * unit
        balance[pair.rival] -= weight * unit
        for c, number in zip(columns, numbers, strict=True):
            own[c] = own.get(c, 0) + move * number
            rival[c] = rival.get(c, 0) - move * number
    return [v for part in sums for v in part.values()], balance, below * unit


def _common(fractions: list[Fraction], products: int) -> tuple[list[int], int]:
    """Fractions as whole multiples of 1 over a number, and that number; `products`: how many values they will meet."""
    below = 1
    for f in fractions:
        below = math.lcm(below, f.denominator)
        _check_length(below.bit_length(), len(fractions), products)
    whole = [f.numerator * (below // f.denominator) for f in fractions]
    _check_length(max(n.bit_length() for n in whole), len(fractions), products)
    return whole, below


def _check_length(bits: int, count: int, products: int) -> None:
    short = bits * products <= MOST_PRODUCTS and bits * bits * count <= MOST_SQUARES
    _demand(short, "its fractions are too long to be checked")


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Rejected(otherwise)


if __name__ == "__main__":
    from .command import main

    sys.exit(main(sys.argv[1:]))
