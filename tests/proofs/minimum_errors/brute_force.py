"""Reference results for few points by brute force: all sets of rows, smallest first, with separability in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st


def signed(X: Any, positive: Any, free: bool) -> list[list[Fraction]]:
    """y_i (x_i, 1) in fractions."""
    rows = [[*map(Fraction, row), *([Fraction(1)] if free else [])] for row in np.asarray(X, np.float64).tolist()]
    return [[v if p else -v for v in row] for row, p in zip(rows, positive, strict=True)]


def separable(rows: list[list[Fraction]]) -> bool:
    """Whether some v has z.v > 0 for all rows z: Fourier and Motzkin eliminate one coordinate of v after the other."""
    left = {tuple(row) for row in rows}
    for k in range(len(rows[0]) if rows else 0):
        above, below = ([z for z in left if z[k] * sign > 0] for sign in (1, -1))
        sums = {tuple(a / z[k] - b / u[k] for a, b in zip(z, u, strict=True)) for z in above for u in below}
        left = {z for z in left if z[k] == 0} | sums
        if any(not any(z) for z in left):
            return False
    return not left


def clashing(rows: list[list[Fraction]]) -> bool:
    """Whether the rows have one way only to add up to zero, and all weights in it are positive: then no v suits them all."""
    kept = list[tuple[list[Fraction], list[Fraction]]]()  # rows in echelon form, and how they are made
    zero = list[list[Fraction]]()
    for i, row in enumerate(rows):
        made = [Fraction(int(i == j)) for j in range(len(rows))]
        for other, how in kept:
            k = next(c for c, v in enumerate(other) if v)
            ratio = row[k] / other[k]
            row = [a - ratio * b for a, b in zip(row, other, strict=True)]
            made = [a - ratio * b for a, b in zip(made, how, strict=True)]
        if any(row):
            kept.append((row, made))
        else:
            zero.append(made)
    return len(zero) == 1 and (min(zero[0]) > 0 or max(zero[0]) < 0)


def fewest_errors(X: Any, positive: Any, free: bool) -> int:
    Z = signed(X, positive, free)
    for k in range(len(Z) + 1):
        for out in combinations(range(len(Z)), k):
            if separable([z for i, z in enumerate(Z) if i not in out]):
                return k
    raise AssertionError


def errors_of(X: Any, positive: Any, coef: Any, intercept: float) -> tuple[list[int], list[int]]:
    """The rows that a plane predicts wrong, a tie going to the smaller label; and the rows that are ties."""
    scores = [
        sum((Fraction(float(v)) * Fraction(float(w)) for v, w in zip(row, coef, strict=True)), Fraction(float(intercept)))
        for row in np.asarray(X, np.float64)
    ]
    wrong = [i for i, (score, p) in enumerate(zip(scores, positive, strict=True)) if (score > 0) != bool(p)]
    return wrong, [i for i, score in enumerate(scores) if score == 0]


STRETCHES = ([1.0, 1.0, 1.0], [0.1, 0.3, 0.7], [1e300, 1e-300, 0.3], [1e-308, 3.0, 1e9])


@st.composite
def few_points(draw: Any, most: int = 7) -> tuple[Any, Any]:
    """Points of a small grid, whole numbers or not, with labels of both kinds."""
    d, n, g = draw(st.integers(1, 3)), draw(st.integers(2, most)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(st.lists(st.integers(-g, g), min_size=d, max_size=d), min_size=n, max_size=n)), np.float64)
    positive = np.array([True, False, *draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))])
    return X * np.array(draw(st.sampled_from(STRETCHES)))[:d], positive
