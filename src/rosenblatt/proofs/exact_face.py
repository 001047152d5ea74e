"""The face and its direction in exact arithmetic: planes that are zero on the face, and weights that bring its sum to zero.

Update     the direction keeps its floats, shortened, in all coordinates but the pivots of a basis of the face. These follow
           from a linear system, so that the products with the basis are zero. A pair of the face whose product is not zero
           joins the basis. The weights of a basis follow from a second system; all other pairs of the face have the weight 1.
Guarantee  None if the systems show that the floats were wrong; the checker of certificates decides about the rest.
Reference  exact linear systems by p-adic lifting: J. D. Dixon, Numerische Mathematik 40 (1982), in FLINT.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from flint import ctx, fmpz_mat
from scipy.linalg import qr

from ..array_types import BoolArray, FloatArray, IntArray
from ..certificates.likelihood import MAX_LISTED_ROWS, Likelihood, RowList
from ..certificates.statements import Certificate, Inseparable, Pair, Plane, Separable
from ..certificates.time_limit import OutOfTimeError, check_time, run_until
from ..svm.exact_separation import SECONDS_PER_SYSTEM, integers
from .separating_direction import NEGLIGIBLE, ClassPairs, DirectionSearch

if TYPE_CHECKING:
    from .certify import LabeledRows

WEIGHT_BITS = (6, 16, 52)  # lengths to which the weights of a direction are shortened, the first that separates
RANK_TOL = 1e-9
DOUBT = 1e-12  # products of unit vectors below this may be rounding errors
MAX_POOL_VALUES = 1 << 26  # of the pairs that a basis is chosen from
LOWEST_EXPONENT, MAX_EXPONENTS = -1140, 4096  # below the exponents of the last bits of all floats; and how many there are
HALF_BITS = 26

Places = tuple[IntArray, IntArray]  # rows and rivals of some pairs


def with_likelihood(certificate: Certificate, given: LabeledRows, deadline: float = math.inf) -> Certificate:
    """The certificate with the kind of separation, unchecked; without it if time runs out (`deadline` of `time.monotonic`)."""
    if not isinstance(certificate, Separable | Inseparable):
        return certificate
    try:
        with run_until(deadline):
            pairs = ClassPairs(given.X, given.codes, given.n_classes, certificate.about.intercept)
            search = DirectionSearch(pairs, deadline)
            if isinstance(certificate, Separable):
                search.face = np.zeros(pairs.own.shape, bool)
            else:
                search.run()
            if (pairs.all & ~search.face).any():
                search.minimize_weights()
            first = search.direction
            search.drop_columns()
            found = _likelihood(search)
            if found is None and search.direction is not first:
                search.direction = first  # its margin may be wider, so that rounding is no obstacle
                found = _likelihood(search)
            return replace(certificate, likelihood=found)
    except OutOfTimeError:
        return certificate


def _likelihood(search: DirectionSearch) -> Likelihood | None:
    """The exact form of the face and of the direction that a search ended with; None if there is none."""
    try:
        pairs, face = search.pairs, search.face
        weights: tuple[Pair, ...] | None = ()
        if face.any():
            weights = _face_weights(pairs, face, search.support)
        if weights is None:
            return None
        planes: list[Plane] | None = []
        if (pairs.all & ~face).any():
            planes = _planes(pairs, face, search.direction, search.support)
        if planes is None:
            return None
        separated = np.flatnonzero((pairs.all & ~face).any(axis=1))
        return Likelihood(tuple(planes), weights, _row_list(separated), _row_list(np.flatnonzero(face.any(axis=1))))
    finally:
        ctx.cleanup()  # FLINT's caches of this thread


def _row_list(rows: IntArray) -> RowList:
    return RowList(len(rows), tuple(rows[:MAX_LISTED_ROWS].tolist()))


# --- planes ----------------------------------------------------------------------------------------------------------------


def _planes(pairs: ClassPairs, face: BoolArray, direction: FloatArray, support: Places) -> list[Plane] | None:
    """Planes that are zero on the face and positive on all other pairs, near the direction."""
    direction = direction / abs(direction).max()
    used = np.flatnonzero(abs(direction) > NEGLIGIBLE)
    basis = _pool(pairs, face, support) if face.any() else None
    outside = pairs.all & ~face
    for bits in WEIGHT_BITS:
        short = np.round(np.ldexp(direction[used], bits)).astype(np.int64).tolist()
        for _ in range(len(used) + 1):
            weights = [Fraction(w, 1 << bits) for w in short]
            if basis is not None:
                weights = _annihilate(pairs, basis, used, weights)
            found = np.zeros(len(direction))
            found[used] = [float(w) for w in weights]
            distances = pairs.distances(found)
            if not (distances[outside] > DOUBT).all():
                break
            astray = np.argwhere(face & (abs(distances) > DOUBT))
            if len(astray) == 0:
                return _as_planes(pairs, used, weights)
            assert basis is not None
            basis = (np.append(basis[0], astray[0][0]), np.append(basis[1], astray[0][1]))
    return None


def _annihilate(pairs: ClassPairs, basis: Places, used: IntArray, weights: list[Fraction]) -> list[Fraction]:
    """The weights, of scaled columns, with the pivots of these pairs changed so that all products with the pairs are zero."""
    scaled = pairs.unit_vectors(*basis)[:, used].toarray()
    chosen = _independent(scaled.T)
    pivots = _independent(scaled[chosen])
    if len(pivots) == 0:
        return weights
    whole, _ = _integer_vectors(pairs, (basis[0][chosen], basis[1][chosen]), used)
    kept = [c for c in range(len(used)) if c not in set(pivots)]
    denominator = math.lcm(*(weights[c].denominator for c in kept))
    numerators = [int(weights[c] * denominator) for c in kept]
    right = [-sum(map(mul, (row[c] for c in kept), numerators)) for row in whole]
    solution = _solve([[row[c] for c in pivots] for row in whole], right)
    if solution is None:
        return weights
    out = list(weights)
    for c, value in zip(pivots, solution, strict=True):
        out[c] = value / denominator
    return out


def _as_planes(pairs: ClassPairs, used: IntArray, weights: Sequence[Fraction]) -> list[Plane]:
    """The planes of the columns as given; one plane for two classes, else one for each class, the first without weights."""
    unit = Fraction(math.gcd(*(w.numerator for w in weights)), math.lcm(*(w.denominator for w in weights)))
    intercepts, planes = [Fraction(0)] * pairs.k, [dict[int, Fraction]() for _ in range(pairs.k)]
    for place, weight in zip(used.tolist(), weights, strict=True):
        c, column = divmod(place, pairs.width)
        column -= pairs.intercept
        if column < 0:
            intercepts[c + 1] += weight / unit
        elif weight:
            planes[c + 1][column] = weight / unit / Fraction(2) ** int(pairs.exponents[column])
            intercepts[c + 1] -= planes[c + 1][column] * Fraction(float(pairs.center[column]))
    found = [Plane(plane, intercept) for plane, intercept in zip(planes, intercepts, strict=True)]
    return found[1:] if pairs.k == 2 else found


# --- weights ---------------------------------------------------------------------------------------------------------------


def _face_weights(pairs: ClassPairs, face: BoolArray, support: Places) -> tuple[Pair, ...] | None:
    """Pairs of the face with positive weights that, with the weight 1 for all others, bring its sum to zero."""
    total = _exact_total(pairs, face)
    if not any(total.values()):
        return ()
    pool = _pool(pairs, face, support)
    unit_vectors = pairs.unit_vectors(*pool)
    columns = np.unique(unit_vectors.indices)
    if not set(total) <= set(columns.tolist()):
        return None
    M = unit_vectors[:, columns].toarray()
    first = _independent(M[: len(support[0])].T) if len(support[0]) else []
    goal = [total.get(int(c), Fraction(0)) for c in columns]
    for chosen in (first, first + _extension(M, first)):
        if chosen and (found := _balance(pairs, M, columns, (pool[0][chosen], pool[1][chosen]), chosen, goal)):
            return found
    return None


def _balance(
    pairs: ClassPairs, M: FloatArray, columns: IntArray, places: Places, chosen: list[int], goal: list[Fraction]
) -> tuple[Pair, ...] | None:
    """Positive weights of independent pairs that, added to 1, take `goal`, the sum of the face, to zero."""
    whole, base = _integer_vectors(pairs, places, columns)
    goal = [f / Fraction(2) ** base for f in goal]
    unit = math.lcm(*(f.denominator for f in goal))
    aims, whole = [int(f * unit) for f in goal], [[v * unit for v in row] for row in whole]
    equations = _independent(M[chosen])
    if len(equations) < len(chosen):
        return None
    solution = _solve([[row[j] for row in whole] for j in equations], [-aims[j] for j in equations])
    if solution is None or min(solution) <= -1:
        return None
    below = math.lcm(*(f.denominator for f in solution))
    above = [f.numerator * (below // f.denominator) for f in solution]
    for column, aim in zip(zip(*whole, strict=True), aims, strict=True):
        check_time()
        if sum(map(mul, above, column)) != -below * aim:
            return None
    found = zip(places[0].tolist(), places[1].tolist(), solution, strict=True)
    return tuple(sorted(Pair(i, z, 1 + extra) for i, z, extra in found if extra))


def _exact_total(pairs: ClassPairs, face: BoolArray) -> dict[int, Fraction]:
    """The sum of q over the face, by coordinate."""
    counts = pairs.counts(face)[:, 1:]
    total: dict[int, int] = {}  # times 2^-LOWEST_EXPONENT
    for here, block in pairs.raw_blocks():
        entries = sp.coo_array(block)
        mantissas, exponents = np.frexp(entries.data.astype(np.float64))
        whole = np.ldexp(mantissas, 53).astype(np.int64)
        high, low = whole >> HALF_BITS, whole & ((1 << HALF_BITS) - 1)
        places = entries.col.astype(np.int64) * MAX_EXPONENTS + (exponents - 53 - LOWEST_EXPONENT)
        keys, inverse = np.unique(places, return_inverse=True)
        for c in range(pairs.k - 1):
            times = counts[here][entries.row, c]
            sums = zip(*(np.bincount(inverse, part * times, len(keys)).tolist() for part in (high, low)), strict=True)
            for key, (above, below) in zip(keys.tolist(), sums, strict=True):
                at = c * pairs.width + pairs.intercept + key // MAX_EXPONENTS
                total[at] = total.get(at, 0) + (((int(above) << HALF_BITS) + int(below)) << key % MAX_EXPONENTS)
    found = {}
    for c in range(pairs.k - 1):
        ones = int(counts[:, c].sum())
        if pairs.intercept:
            found[c * pairs.width] = Fraction(ones)
        for column, (center, exponent) in enumerate(zip(pairs.center.tolist(), pairs.exponents.tolist(), strict=True)):
            at = c * pairs.width + pairs.intercept + column
            if at in total or center:
                exact = Fraction(total.get(at, 0)) * Fraction(2) ** LOWEST_EXPONENT - Fraction(center) * ones
                found[at] = exact / Fraction(2) ** exponent
    return {place: value for place, value in found.items() if value}


def _integer_vectors(pairs: ClassPairs, places: Places, coordinates: IntArray) -> tuple[list[list[int]], int]:
    """q of some pairs in some coordinates, exactly: whole numbers times 2^exponent."""
    rows, rivals = places
    classes, columns = np.divmod(coordinates, pairs.width)
    columns = columns - int(pairs.intercept)
    taken = pairs.X[rows][:, np.maximum(columns, 0)]
    values = (taken if isinstance(taken, np.ndarray) else taken.toarray()).astype(np.float64)
    center, exponents = pairs.center[columns], pairs.exponents[columns]
    both = np.ldexp(np.vstack([values, center]), -exponents)
    both[:, columns < 0] = 1.0
    both[-1, columns < 0] = 0.0
    signs = (classes + 1 == pairs.codes[rows][:, None]).astype(int) - (classes + 1 == rivals[:, None])
    whole, base = integers(both)
    origin = whole.pop()
    return [
        [s * (v - c) for s, v, c in zip(*row, origin, strict=True)] for row in zip(signs.tolist(), whole, strict=True)
    ], base


# --- bases -----------------------------------------------------------------------------------------------------------------


def _pool(pairs: ClassPairs, face: BoolArray, support: Places) -> Places:
    """The support and evenly spread pairs of the face, enough for a basis of most faces."""
    places = np.flatnonzero(face)
    most = max(4 * pairs.n_weights, 1000)
    most = min(most, MAX_POOL_VALUES // max(1, min(pairs.n_weights, len(places))))
    if len(places) > most:
        places = places[np.linspace(0, len(places) - 1, most).astype(np.intp)]
    places = places[~np.isin(places, support[0] * pairs.k + support[1])]
    rows, rivals = np.divmod(places, pairs.k)
    return np.append(support[0], rows).astype(np.intp), np.append(support[1], rivals).astype(np.intp)


def _independent(M: FloatArray) -> list[int]:
    """Columns of a matrix that are a basis of them all, up to rounding."""
    if M.size == 0:
        return []
    R, order = qr(M, mode="r", pivoting=True)
    sizes = abs(np.diag(R))
    return [int(c) for c in order[: int((sizes > RANK_TOL * max(1.0, sizes[0])).sum())]]


def _extension(M: FloatArray, first: list[int]) -> list[int]:
    """Rows of M that, with the `first` ones, are a basis of all rows, up to rounding."""
    rest = M
    if first:
        Q, _ = np.linalg.qr(M[first].T)
        rest = M - (M @ Q) @ Q.T
        rest = rest - (rest @ Q) @ Q.T
    return _independent(rest.T)


def _solve(square: list[list[int]], right: list[int]) -> list[Fraction] | None:
    """The solution of a linear system in fractions; None if the matrix is singular."""
    s = len(square)
    bits = max((v.bit_length() for row in square for v in row), default=0)
    check_time(SECONDS_PER_SYSTEM * s**3.5 * bits)
    started = time.monotonic()
    try:
        solution: Any = fmpz_mat(s, s, [v for row in square for v in row]).solve(fmpz_mat(s, 1, right))
    except ZeroDivisionError:
        return None
    check_time(time.monotonic() - started)
    return [Fraction(int(solution[i, 0].p), int(solution[i, 0].q)) for i in range(s)]
