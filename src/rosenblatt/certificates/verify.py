"""The checker: whether a certificate holds for given rows and labels, in integers and fractions without rounding.

Problem    A float is an integer over a power of two, so rows, planes and weights are fractions, and everything a certificate
           states can be computed exactly. The checker trusts nothing: it computes margins, radius and clash from the data, and
           they must equal the stated values to the last digit. It shares no code with the solvers.
Guarantee  with l the class of row i and z any other class, d(i, z) = (w_l - w_z).x_i + b_l - b_z:
           separable     d(i, z) > 0 for all i and z; so planes separate, with margin  min d / (sqrt(2) |W|)  =: lower;
           ceiling       convex weights of pairs (i, z), whose signed sum is V, have  sum a d <= |W| |V|  for every W; so no
                         margin is over  |V| / sqrt(2)  =: upper;
           inseparable   V = 0; so sum a d = 0, and not every d is positive.
           In the augmented space b is part of W, and the 1 of (1, x) part of V. In the geometric space b is not counted, and
           the weights must balance: the sums of a over rows of each class and against it are equal.
           likelihood    d >= 0 for all pairs; and the pairs with d = 0 have weights > 0 with a signed sum of zero, so that
                         no planes with d >= 0 have d > 0 for any of them (`likelihood.py`).
           With two classes there is one plane w = w_1 - w_0, and |w| stands for sqrt(2) |W|, the shortest such W.
Reference  P. Gordan, Math. Annalen 6 (1873); C. Kesler's construction: N. J. Nilsson, Learning Machines (1965).

    python -m rosenblatt.certificates.verify certificate.json data
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from operator import mul

import numpy.typing as npt

from .data import Data, Row
from .digit_budget import CertificateTooLargeError
from .exact_arrays import MatrixLike
from .files import normalize_certificate, require_certificate
from .likelihood import Likelihood
from .statements import About, Ceiling, Certificate, Inseparable, Margin, Pair, Plane, Separable, Undecided
from .time_limit import check_time

# Limits of about ten seconds each: the bits of the integers times their products with values, and the squares of the bits.
MAX_BIT_PRODUCTS, MAX_BIT_SQUARES = 1 << 39, 1 << 43

Spaces = Sequence[tuple[Ceiling, bool]]  # each space, and whether the intercept counts in its norms


class CheckCode(Enum):
    """The outcome of a check: the certificate holds, or the first reason for which it does not."""

    HOLDS = "holds"
    MALFORMED = "malformed"  # the object cannot be written as a certificate file
    OTHER_SHAPE = "other-shape"
    OTHER_CLASSES = "other-classes"
    OTHER_DATA = "other-data"
    INVALID_STATEMENT = "invalid-statement"  # contradictory for any data
    FALSE_STATEMENT = "false-statement"  # not true of the data
    TOO_LARGE = "too-large"  # beyond the limits of a file, or of the work to check it


@dataclass(frozen=True)
class Check:
    """The result of `verify`; true in a condition if the certificate holds.

    Parameters
    ----------
    holds : bool
        Whether the certificate holds.
    sentence : str
        The result in words, with the reason if the certificate was rejected.
    code : CheckCode
        The result for programs.

    See Also
    --------
    rosenblatt.verify : Check a certificate.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [3, 4]], [0, 1]
    >>> check = rb.verify(rb.certify(X, y), X, [1, 0])
    >>> check.holds, check.code.value
    (False, 'other-data')
    """

    holds: bool
    sentence: str
    code: CheckCode

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.sentence


class _RejectedError(Exception):
    """The certificate does not hold."""

    def __init__(self, code: CheckCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def verify(certificate: Certificate, X: MatrixLike, y: npt.ArrayLike) -> Check:
    """Check a certificate against rows and labels, in exact arithmetic.

    Parameters
    ----------
    certificate : Separable, Inseparable or Undecided
        The certificate, as returned by `rosenblatt.certify` or `rosenblatt.load_certificate`.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows that the certificate is about: numbers of any type that float64 holds exactly.
    y : array-like of shape (n_rows,)
        The labels.

    Returns
    -------
    Check
        True in a condition if the certificate holds. `sentence` gives the reason if it does not, and `code` the reason as a
        `CheckCode`.

    Raises
    ------
    TypeError
        If `certificate` is not a certificate, or a list of certificates.
    ValueError
        If X or y is invalid: values that are not finite, that are not numbers, or that float64 cannot hold exactly, such as
        2**53 + 1; missing labels, labels that differ only as text ("1" and "1.0"), lengths that differ, or X that changed
        during the check.

    See Also
    --------
    rosenblatt.certify : Find a certificate.
    rosenblatt.load_certificate : Read a certificate from a file.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0], [1], [2]], [0, 1, 0]
    >>> certificate = rb.certify(X, y)
    >>> print(certificate)
    not separable: row 2 lies on the segment between rows 1 and 3, which have another label.
    >>> print(rb.verify(certificate, X, y))
    the certificate holds: the rows are not separable
    >>> check = rb.verify(certificate, X, [0, 1, 1])
    >>> bool(check), check.code.value
    (False, 'other-data')
    """
    require_certificate(certificate)
    return check_certificate(certificate, lambda: Data(X, y))


def check_certificate(certificate: Certificate, read: Callable[[], Data]) -> Check:
    """`verify` for the data that `read` returns. Raises `OutOfTimeError` after the deadline of an enclosing `run_until`."""
    try:
        certificate = _normalized(certificate)
        codes, data = _matching_data(certificate, read())
        if isinstance(certificate, Inseparable):
            _check_clash(certificate, codes, data)
        else:
            for space, counted in _spaces(certificate):
                _check_ceiling(certificate, space, counted, codes, data)
            if isinstance(certificate, Separable):
                _check_planes(certificate, codes, data)
        if certificate.likelihood is not None:
            _check_likelihood(certificate.likelihood, certificate.about, codes, data)
    except _RejectedError as error:
        return Check(False, f"rejected: {error}", error.code)
    through = "" if certificate.about.intercept else "planes through the origin"
    statements = {
        "separable": f"the rows are separable{through and f' by {through}'}",
        "inseparable": f"the rows are not separable{through and f' by {through}'}",
        "undecided": f"no margin{through and f' of {through}'} exceeds the stated bounds",
    }
    return Check(True, f"the certificate holds: {statements[certificate.verdict]}", CheckCode.HOLDS)


def _normalized(certificate: object) -> Certificate:
    try:
        return normalize_certificate(certificate)
    except CertificateTooLargeError as error:
        raise _RejectedError(CheckCode.TOO_LARGE, str(error)) from None
    except ValueError as error:
        raise _RejectedError(CheckCode.MALFORMED, str(error)) from None


def _matching_data(certificate: Certificate, data: Data) -> tuple[list[int], Data]:
    """The class of every row as a position, and the rows, if they are those of the certificate."""
    about = certificate.about
    data.check_labels()
    position = {text: code for code, text in enumerate(about.classes)}
    given, stated = (data.n_rows, data.n_columns), (about.n_rows, about.n_columns)
    other_shape = (
        f"the certificate is for {stated[0]} rows and {stated[1]} columns, but the data have {given[0]} and {given[1]}"
    )
    _require(given == stated, other_shape, CheckCode.OTHER_SHAPE)
    _require(set(data.labels) == set(position), "the certificate is for other classes", CheckCode.OTHER_CLASSES)
    data.keep(pair.row for pairs in _all_pairs(certificate) for pair in pairs)
    _require(data.sha256 == about.sha256, "the certificate is for other data", CheckCode.OTHER_DATA)
    return [position[text] for text in data.labels], data


def _all_pairs(certificate: Certificate) -> list[tuple[Pair, ...]]:
    if isinstance(certificate, Inseparable):
        return [certificate.clash]
    return [certificate.augmented.pairs, certificate.geometric.pairs]


def _spaces(certificate: Separable | Undecided) -> Spaces:
    if not certificate.about.intercept:
        _require_valid(certificate.augmented == certificate.geometric, "without an intercept both spaces must be equal")
        return [(certificate.augmented, False)]
    return [(certificate.augmented, True), (certificate.geometric, False)]


def _check_planes(certificate: Separable, codes: list[int], data: Data) -> None:
    """The planes of every space classify all rows correctly; the margin and the longest row are as stated."""
    about, binary = certificate.about, len(certificate.about.classes) == 2
    margins: list[tuple[Margin, bool]] = [(certificate.augmented, about.intercept)]
    margins += [(certificate.geometric, False)] if about.intercept else []
    all_planes = [_integer_planes(margin.planes, about, data) for margin, _ in margins]
    # Numerators and denominators: fractions would be reduced for every row.
    least: list[tuple[int, int]] = []
    longest, unit = 0, 1
    for i, ((columns, numbers, denominator), own) in enumerate(zip(data.rows(), codes, strict=True)):
        check_time()
        square = sum(map(mul, numbers, numbers))
        if square * unit * unit > longest * denominator * denominator:
            longest, unit = square, denominator
        for s, planes in enumerate(all_planes):
            scores = [sum(map(mul, numbers, map(w.__getitem__, columns))) + b * denominator for w, b in planes]
            worst = scores[0] * (2 * own - 1) if binary else scores[own] - max(scores[:own] + scores[own + 1 :])
            _require(worst > 0, f"the planes misclassify row {i + 1}")
            if len(least) <= s:
                least.append((worst, denominator))
            elif worst * least[s][1] < least[s][0] * denominator:
                least[s] = (worst, denominator)
    _require(Fraction(longest, unit**2) + about.intercept == certificate.radius_squared, "the radius is not that of the rows")
    for (margin, counted), planes, nearest in zip(margins, all_planes, [Fraction(*pair) for pair in least], strict=True):
        square = sum(sum(map(mul, w.values(), w.values())) + counted * b * b for w, b in planes) * (1 if binary else 2)
        _require(nearest**2 == margin.lower_squared * square, "the planes do not have the stated margin")


class _Weights(dict[int, int]):
    def __missing__(self, column: int) -> int:
        return 0


def _integer_planes(planes: tuple[Plane, ...], about: About, data: Data) -> list[tuple[_Weights, int]]:
    """Planes times their common denominator, which changes neither signs nor margins."""
    no_intercept = not any(plane.intercept for plane in planes)
    _require_valid(about.intercept or no_intercept, "planes through the origin have an intercept")
    integers, _ = _over_common_denominator(
        [f for plane in planes for f in (plane.intercept, *plane.weights.values())], data.n_values
    )
    rest = iter(integers)
    intercepts_first = [(next(rest), _Weights((c, next(rest)) for c in plane.weights)) for plane in planes]
    return [(weights, intercept) for intercept, weights in intercepts_first]


def _check_ceiling(certificate: Certificate, ceiling: Ceiling, counted: bool, codes: list[int], data: Data) -> None:
    """The pairs have the stated length, which no margin exceeds."""
    about = certificate.about
    vector, balance, unit = _combination(ceiling.pairs, codes, data, len(about.classes))
    _require(not about.intercept or counted or not any(balance), "the weights of the pairs do not balance")
    # Every pair adds a vector to its own class and subtracts it from the rival, so the sum counts |V|^2 twice.
    square = sum(v * v for v in (vector + balance if counted else vector))
    _require(square == 2 * ceiling.upper_squared * unit**2, "the pairs do not prove the stated upper bound")


def _check_clash(certificate: Inseparable, codes: list[int], data: Data) -> None:
    """The pairs of the clash sum to zero."""
    about, clash = certificate.about, certificate.clash
    vector, balance, _ = _combination(clash, codes, data, len(about.classes))
    _require(not any(vector), "the pairs of the clash do not sum to zero")
    _require(not about.intercept or not any(balance), "the weights of the clash do not balance")
    dimensions = (about.n_columns + about.intercept) * (len(about.classes) - 1)
    _require_valid(len(clash) <= dimensions + 1, "the clash has more pairs than the dimension allows")


def _check_likelihood(likelihood: Likelihood, about: About, codes: list[int], data: Data) -> None:
    """The planes misclassify no row; the pairs on them have positive weights that sum to zero; the rows are as stated."""
    weights = {(pair.row, pair.rival): pair.weight for pair in likelihood.weights}
    _require_valid(min(weights.values(), default=1) > 0, "a weight of the likelihood is not positive")
    integers, one = _over_common_denominator([*weights.values(), Fraction(1)], data.n_values)
    above_one = {pair: weight - one for pair, weight in zip(weights, integers, strict=False)}
    planes = _integer_planes(likelihood.planes, about, data) if likelihood.planes else []
    separated: list[int] = []
    on_plane: list[int] = []
    face, listed, unit = [FaceSum() for _ in about.classes], [FaceSum() for _ in about.classes], 1
    for i, (row, own) in enumerate(zip(data.rows(), codes, strict=True)):
        check_time()
        distances = _distances(planes, row, own, len(about.classes))
        _require(min(distances.values()) >= 0, f"the planes of the likelihood misclassify row {i + 1}")
        if row[2] > unit:
            for part in face + listed:
                part.multiply(row[2] // unit)
            unit = row[2]
        rivals = [z for z, distance in distances.items() if distance == 0]
        separated += [i] * (len(rivals) < len(distances))
        on_plane += [i] * bool(rivals)
        for z in rivals:
            face[own].add(row, unit // row[2])
            face[z].add(row, -(unit // row[2]))
            if (extra := above_one.pop((i, z), None)) is not None:
                listed[own].add(row, extra * (unit // row[2]))
                listed[z].add(row, -extra * (unit // row[2]))
    _require(not above_one, "the likelihood has a weight for a pair that the planes separate")
    for sum_of_ones, rest in zip(face, listed, strict=True):
        _require(sum_of_ones.cancels(rest, one, about.intercept), "the weights of the likelihood do not sum to zero")
    for rows, stated in ((separated, likelihood.separated), (on_plane, likelihood.on_plane)):
        found = (len(rows), tuple(rows[: len(stated.first)]))
        _require(found == stated, "the rows of the likelihood are not those of its planes")


def _distances(planes: list[tuple[_Weights, int]], row: Row, own: int, k: int) -> dict[int, int]:
    """d(i, z) by class z, times a positive number; 0 without planes."""
    columns, numbers, denominator = row
    scores = [sum(map(mul, numbers, map(w.__getitem__, columns))) + b * denominator for w, b in planes]
    scores = scores or [0] * k
    scores = [0, *scores] if k == 2 and len(scores) == 1 else scores
    return {z: scores[own] - score for z, score in enumerate(scores) if z != own}


class FaceSum:
    """The sum of rows (1, x) times whole numbers, by column, times a power of two."""

    def __init__(self) -> None:
        self.sums: dict[int, int] = {}
        self.balance = 0

    def add(self, row: Row, factor: int) -> None:
        for column, number in zip(row[0], row[1], strict=True):
            self.sums[column] = self.sums.get(column, 0) + factor * number
        self.balance += factor * row[2]

    def multiply(self, factor: int) -> None:
        self.sums = {column: factor * number for column, number in self.sums.items()}
        self.balance *= factor

    def cancels(self, other: FaceSum, times: int, counted: bool) -> bool:
        """Whether `times` this sum and the other are zero together; `counted`: the ones of rows (1, x) as well."""
        columns = self.sums.keys() | other.sums.keys()
        zero = all(times * self.sums.get(c, 0) + other.sums.get(c, 0) == 0 for c in columns)
        return zero and (not counted or times * self.balance + other.balance == 0)


def _combination(pairs: tuple[Pair, ...], codes: list[int], data: Data, k: int) -> tuple[list[int], list[int], int]:
    """The signed sum of the pairs by class, the signed sum of their weights, and the common denominator of both."""
    _require(all(codes[pair.row] != pair.rival for pair in pairs), "a row is paired with its own class")
    rows = []
    for pair in pairs:
        check_time()
        rows.append(data.row(pair.row))
    weights, denominator = _over_common_denominator([pair.weight for pair in pairs], sum(len(columns) for columns, *_ in rows))
    _require_valid(min(weights) > 0 and sum(weights) == denominator, "the weights are not convex")
    unit = max(power for *_, power in rows)
    sums: list[dict[int, int]] = [{} for _ in range(k)]
    balance = [0] * k
    for pair, weight, (columns, numbers, power) in zip(pairs, weights, rows, strict=True):
        check_time()
        own, rival, factor = sums[codes[pair.row]], sums[pair.rival], weight * (unit // power)
        balance[codes[pair.row]] += weight * unit
        balance[pair.rival] -= weight * unit
        for c, number in zip(columns, numbers, strict=True):
            own[c] = own.get(c, 0) + factor * number
            rival[c] = rival.get(c, 0) - factor * number
    return [v for part in sums for v in part.values()], balance, denominator * unit


def _over_common_denominator(fractions: list[Fraction], n_products: int) -> tuple[list[int], int]:
    """Numerators over a common denominator, and the denominator; `n_products`: how many values they will be multiplied with."""
    denominator = 1
    for f in fractions:
        denominator = math.lcm(denominator, f.denominator)
        _check_length(denominator.bit_length(), len(fractions), n_products)
    numerators = [f.numerator * (denominator // f.denominator) for f in fractions]
    _check_length(max(n.bit_length() for n in numerators), len(fractions), n_products)
    return numerators, denominator


def _check_length(bits: int, count: int, n_products: int) -> None:
    short = bits * n_products <= MAX_BIT_PRODUCTS and bits * bits * count <= MAX_BIT_SQUARES
    _require(short, "its fractions are too long to be checked", CheckCode.TOO_LARGE)


def _require(holds: bool, otherwise: str, code: CheckCode = CheckCode.FALSE_STATEMENT) -> None:
    if not holds:
        raise _RejectedError(code, otherwise)


def _require_valid(holds: bool, otherwise: str) -> None:
    _require(holds, otherwise, CheckCode.INVALID_STATEMENT)


if __name__ == "__main__":
    from .command import main

    sys.exit(main(sys.argv[1:]))
