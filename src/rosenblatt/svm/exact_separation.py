"""Exact separability: whether a plane separates the rows, decided in rational arithmetic.

Problem    do the hulls of the two classes (the hull of the signed rows and the origin) meet?
Update     the float solver ends with a few rows whose combinations are equal up to rounding. If their linear system has
           exact weights and none is negative, they are the proof. Else Wolfe's cycles continue in fractions, and search all
           rows for one that violates the margin.
Guarantee  Wolfe's method is finite in exact arithmetic, and a float is an integer over a power of two. So it ends with weights
           of at most d + 2 rows whose combinations are equal, or with the nearest points of disjoint hulls.
Reference  P. Wolfe, Finding the nearest point in a polytope, Math. Programming 11 (1976); exact linear systems by p-adic
           lifting: J. D. Dixon, Numerische Mathematik 40 (1982), in FLINT.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
from flint import ctx, fmpq, fmpq_mat, fmpz_mat
from scipy.linalg import qr

from ..array_types import FloatArray, IntArray, Matrix
from ..certificates.time_limit import check_time
from .signed_rows import SignedRows

MAX_SYSTEM_ROWS = 800  # rows of an exact linear system: about half a minute
# Work of Wolfe's steps in fractions, rows^2 (rows + columns) each: about five seconds.
MAX_WORK = 30_000_000
SECONDS_PER_WORK = 5.0 / MAX_WORK
SECONDS_PER_SYSTEM = 9e-11  # time to solve an exact linear system, per rows^3.5 and bit


@dataclass
class WorkBudget:
    """The work that rational arithmetic may do, and its deadline (by `time.monotonic`)."""

    work: float = field(default_factory=lambda: MAX_WORK)
    deadline: float = math.inf

    def spend(self, work: float) -> bool:
        """Subtract some work; return whether it is still within the budget."""
        self.work -= work
        return self.work >= 0 and self.allows(SECONDS_PER_WORK * work)

    def reduced(self) -> WorkBudget:
        """The budget for improving an existing answer."""
        return WorkBudget(min(self.work, MAX_WORK), self.deadline)

    def allows(self, seconds: float) -> bool:
        """Whether a computation of this duration, which cannot be interrupted, ends before the deadline."""
        return time.monotonic() + seconds < self.deadline


@dataclass(frozen=True)
class Decision:
    """Rows (as positions) and convex weights whose combinations are equal, or at most 2 sqrt(bound_squared) apart.

    With one side, the distance from the origin is at most sqrt(bound_squared). `apart`: the hulls are disjoint, and these are
    their nearest points.
    """

    places: list[int]
    weights: list[Fraction]
    bound_squared: Fraction = Fraction(0)
    apart: bool = False


def decide(
    rows: SignedRows, places: IntArray, weights: FloatArray, *, apart: bool = False, budget: WorkBudget | None = None
) -> Decision | None:
    """Decide whether the hulls meet, starting from convex weights of some rows whose combinations are close.

    apart : the hulls are known to be disjoint, and only their nearest points are computed; None if that takes too long.
    """
    try:
        return _decide(rows, places, weights, apart, budget or WorkBudget())
    finally:
        ctx.cleanup()  # FLINT's caches of this thread, which would not be freed when the thread ends


def _decide(rows: SignedRows, places: IntArray, weights: FloatArray, apart: bool, budget: WorkBudget) -> Decision | None:
    if apart:
        decision = _wolfe(rows, list(places), _normalized(weights, rows.side[places]), budget)
        return decision if decision.apart else None
    found = decide_by_equal_rows(rows)
    if found is not None:
        return found
    lifted = _lifted(rows, places) if len(places) <= MAX_SYSTEM_ROWS else []
    bits = max((value.bit_length() for row in lifted for value in row), default=0)
    if lifted and budget.allows(seconds := SECONDS_PER_SYSTEM * len(lifted) ** 3.5 * bits):
        check_time(seconds)
        solution = _meeting(lifted, rows.n_sides)
        if solution is not None:
            return _meet(list(places), solution)
    return _wolfe(rows, list(places), _normalized(weights, rows.side[places]), budget)


def decide_by_equal_rows(rows: SignedRows) -> Decision | None:
    """Two equal rows with opposite labels or, without a bias, a row of zeros; None if there are none."""
    places = rows.find_equal_rows()
    if places is None:
        return None
    return Decision(places, [Fraction(rows.n_sides, len(places))] * len(places))


def point(rows: SignedRows, decision: Decision) -> FloatArray:
    """The combination of the scaled signed rows, rounded once."""
    columns, v, unit = _point(rows, decision.places, decision.weights)
    out, unit = np.zeros(len(rows.center)), unit * Fraction(2) ** rows.exponent
    out[columns] = [float(value * unit) for value in v]
    return out


# --- integers --------------------------------------------------------------------------------------------------------------


def _lifted(rows: SignedRows, places: IntArray) -> list[list[int]]:
    """The signed rows as integers (times a common power of two), one column per side, without columns of zeros."""
    whole, _ = integers(rows.raw(places)[1])
    return [[*row, *(int(side == k) for k in range(rows.n_sides))] for row, side in zip(whole, rows.side[places], strict=True)]


def integers(values: Matrix) -> tuple[list[list[int]], int]:
    """Floats as integers times 2^exponent."""
    mantissa, exponent = np.frexp(values)
    odd = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.where(odd == 0, 1, odd & -odd)
    zeros = np.log2(lowest.astype(np.float64)).astype(np.int64)
    odd >>= zeros
    power = exponent.astype(np.int64) - 53 + zeros
    base = int(power[odd != 0].min()) if odd.any() else 0
    shift = np.where(odd == 0, 0, power - base)
    rows = []
    for ms, ks in zip(odd, shift, strict=True):
        check_time()
        rows.append([m << k for m, k in zip(ms.tolist(), ks.tolist(), strict=True)])
    return rows, base


def _matrix(lifted: list[list[int]]) -> Any:
    return fmpz_mat(len(lifted), len(lifted[0]), [value for row in lifted for value in row])


def _fraction(q: fmpq) -> Fraction:
    return Fraction(int(q.p), int(q.q))


def _normalized(weights: FloatArray, side: IntArray) -> list[Fraction]:
    exact = [Fraction(max(float(a), 0.0)) for a in weights]
    sums = [sum((a for a, s in zip(exact, side, strict=True) if s == k), Fraction(0)) for k in range(int(max(side)) + 1)]
    return [a / sums[s] for a, s in zip(exact, side, strict=True)]


def _meet(places: list[int], weights: list[Fraction]) -> Decision:
    kept = [(int(p), a) for p, a in zip(places, weights, strict=True) if a]
    return Decision([p for p, _ in kept], [a for _, a in kept])


# --- the linear system -----------------------------------------------------------------------------------------------------


def _meeting(lifted: list[list[int]], n_sides: int) -> list[Fraction] | None:
    """Weights >= 0 with sum_i a_i z_i = 0 and sums of 1, if these rows have them and are independent."""
    s, width = len(lifted), len(lifted[0])
    if s > width:
        return None
    largest = max(abs(value) for row in lifted for value in row)
    cut = max(0, largest.bit_length() - 900)
    floats = np.array([[float(value >> cut) if cut else float(value) for value in row] for row in lifted])
    scale = abs(floats).max(axis=0)
    _, equations = qr(floats / np.where(scale > 0, scale, 1.0), mode="r", pivoting=True)
    chosen = sorted(equations[:s].tolist())
    square = fmpz_mat(s, s, [row[c] for c in chosen for row in lifted])
    right = fmpz_mat(s, 1, [int(c >= width - n_sides) for c in chosen])
    try:
        solution: Any = square.solve(right)
    except ZeroDivisionError:
        return None
    above, below = solution.numer_denom()  # integers: fractions would be reduced after every product
    if any(above[i, 0] < 0 for i in range(s)):
        return None
    sums = _matrix(lifted).transpose() * above
    if any(sums[c, 0] != (below if c >= width - n_sides else 0) for c in range(width)):
        return None
    return [_fraction(solution[i, 0]) for i in range(s)]


# --- Wolfe's cycles in fractions -------------------------------------------------------------------------------------------


def _wolfe(rows: SignedRows, places: list[int], x: list[Fraction], budget: WorkBudget) -> Decision:
    """The end of Wolfe's cycles or, if they would take too long, the bound from the first weights."""
    begun, longest = (places, x), 0.0
    while budget.spend(work := len(places) ** 2 * (len(places) + min(rows.n_features, len(places) * rows.density))):
        started = time.monotonic()
        lifted = _lifted(rows, np.array(places))
        bits = max(value.bit_length() for row in lifted for value in row)
        check_time(max(longest, SECONDS_PER_WORK * work * (bits / 53) ** 2))
        y = _affine(lifted, rows.n_sides)
        if y is None:
            x = _drop_dependent(lifted, x)
        elif min(y) < 0:
            x = _toward(x, y)
        else:
            x = y
            kept = [j for j, a in enumerate(x) if a > 0]
            places, x = [places[j] for j in kept], [x[j] for j in kept]
            columns, v, _ = _point(rows, places, x)
            if not any(v):
                return _meet(places, x)
            behind = _behind(rows, places, columns, v)
            if behind is None:
                return Decision(places, x, apart=True)
            places, x = [*places, behind], [*x, Fraction(0)]
            longest = max(longest, time.monotonic() - started)
            continue
        kept = [j for j, a in enumerate(x) if a > 0]
        places, x = [places[j] for j in kept], [x[j] for j in kept]
        longest = max(longest, time.monotonic() - started)
    return _bounded(rows, *begun)


def _affine(lifted: list[list[int]], n_sides: int) -> list[Fraction] | None:
    """The weights of the point of least norm of the affine hull; None if the rows are dependent."""
    Z = _matrix(lifted)
    s, width = len(lifted), len(lifted[0])
    E = fmpz_mat(s, n_sides, [value for row in lifted for value in row[width - n_sides :]])
    try:
        B = (Z * Z.transpose()).solve(E)
    except ZeroDivisionError:
        return None
    y = B * (fmpq_mat(E.transpose()) * B).solve(fmpq_mat(n_sides, 1, [fmpq(1)] * n_sides))
    return [_fraction(y[i, 0]) for i in range(s)]


def _drop_dependent(lifted: list[list[int]], x: list[Fraction]) -> list[Fraction]:
    """Weights of the same point with at least one zero (Caratheodory), for dependent rows."""
    null, _ = _matrix(lifted).transpose().nullspace()
    c = [int(null[i, 0]) for i in range(len(x))]
    if max(c) <= 0:
        c = [-value for value in c]
    reach = min(a / value for a, value in zip(x, c, strict=True) if value > 0)
    return [a - reach * value for a, value in zip(x, c, strict=True)]


def _toward(x: list[Fraction], y: list[Fraction]) -> list[Fraction]:
    """The point on the way from x to y where the first weight becomes zero."""
    reach = min(a / (a - b) for a, b in zip(x, y, strict=True) if b < 0)
    return [a + reach * (b - a) for a, b in zip(x, y, strict=True)]


def _point(rows: SignedRows, places: list[int], x: list[Fraction]) -> tuple[IntArray, list[int], Fraction]:
    """The nonzero columns of these rows, and their combination there as integer multiples of a unit."""
    columns, values = rows.raw(np.array(places))
    whole, base = integers(values)
    below = math.lcm(*(a.denominator for a in x))
    above = [a.numerator * (below // a.denominator) for a in x]
    v = []
    for column in zip(*whole, strict=True):
        check_time()
        v.append(sum(map(mul, above, column)))
    return columns, v, Fraction(2) ** base / below


def _behind(rows: SignedRows, places: list[int], columns: IntArray, v: list[int]) -> int | None:
    """A row that violates the margin given by the corral; candidates are found in floats and decided in fractions."""
    largest = max(abs(value) for value in v)
    u = np.zeros(len(rows.center))
    u[columns] = [value / largest for value in v]
    products = rows.products(u)
    # Each product has at most d rounding errors, each of the size of the row (1, plus its center) times |u|_1.
    reach = 1.0 + abs(np.ldexp(rows.center, rows.exponent)).max(initial=0.0) if rows.near else 2.0
    doubt = 4.0 * (len(u) + 8) * np.finfo(np.float64).eps * reach * float(abs(u).sum()) + 1e-290
    for k in range(rows.n_sides):
        mine = [p for p in places if rows.side[p] == k]
        level = _product(rows, mine[0], columns, v)
        near = np.flatnonzero((rows.side == k) & (products < products[mine].max() + 2 * doubt))
        for place in near[np.argsort(products[near], kind="stable")].tolist():
            if place not in places and _product(rows, place, columns, v) < level:
                return int(place)
    return None


def _product(rows: SignedRows, place: int, columns: IntArray, v: list[int]) -> Fraction:
    check_time()
    mine, values = rows.raw(np.array([place]))
    _, at, shared = np.intersect1d(columns, mine, assume_unique=True, return_indices=True)
    whole, base = integers(values[:, shared])
    unit: Fraction = Fraction(2) ** base
    return unit * int(sum(map(mul, (v[c] for c in at), whole[0])))


def _bounded(rows: SignedRows, places: list[int], x: list[Fraction]) -> Decision:
    """The bound from weights whose combinations differ: no margin is larger than their distance (two sides: half of it)."""
    _, v, unit = _point(rows, places, x)
    return Decision(places, x, sum(value * value for value in v) * (unit / rows.n_sides) ** 2)
