"""Rows that tie with the hinge: between the planes of several classes, each against the rest, or on the plane of two classes.

Problem    an optimal plane has rows exactly on its margin, where the score of other classes is -1. A plane that is zero has the
           score -1 everywhere. So scores of several classes are equal up to rounding errors, which would decide: on one-hot
           columns, whose rows have few different values, a third of the rows or more. Some also lie on the plane of a pair.
Update     if training rows tie, the intercept of each class is lowered by TIE times its position; if training rows lie on the
           plane of two classes, its intercept is lowered by TIE. Ties then go to the smaller label whatever the rounding
           errors are.
Guarantee  the margins and the primal objective are those of the lowered intercept, so the gap includes its cost. If it would
           exceed the tolerance, all intercepts stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..array_types import FloatArray, IntArray
from ..kernels.linear.rows import Rows
from .problem import BinarySVM, Solution

TIE = 1e-9  # of scores, whose unit is the margin: smaller differences are rounding errors


def settle_ties(rows: Rows, codes: IntArray, solutions: list[Solution], x0: float, free: bool, tol: float) -> list[Solution]:
    """The solutions of all classes, in their order, with lowered intercepts if rows tie.

    codes : the class of each row.
    """
    if x0 == 0.0 or not _any_tie(codes, solutions):
        return solutions
    lowered = [_lower(rows, _signs(codes, h), solution, h * TIE, x0, free) for h, solution in enumerate(solutions)]
    within = all(new.gap <= max(tol, old.gap) for new, old in zip(lowered, solutions, strict=True))
    return lowered if within else solutions


def settle_rows_on_plane(rows: Rows, signs: IntArray, found: Solution, x0: float, free: bool, tol: float) -> Solution:
    """The solution of two classes, with a lowered intercept if rows lie on its plane. The larger label has the sign +1."""
    if x0 == 0.0 or not bool((abs(found.margins) <= TIE).any()):  # false for NaN
        return found
    lowered = _lower(rows, signs, found, TIE, x0, free)
    return lowered if lowered.gap <= max(tol, found.gap) else found


def _any_tie(codes: IntArray, solutions: list[Solution]) -> bool:
    """Whether the largest two scores of a row are equal."""
    scores = (solution.margins * _signs(codes, h) for h, solution in enumerate(solutions) if solution.w.any())
    return rows_tie(scores, level_of_zeros(solutions), len(codes))


def level_of_zeros(solutions: list[Solution]) -> float:
    """The largest score that planes of zeros give every row."""
    return max((solution.intercept for solution in solutions if not solution.w.any()), default=-np.inf)


def rows_tie(scores: Iterable[FloatArray], level: float, n: int) -> bool:
    """Whether the largest two scores of one of n rows are equal, up to TIE; ties of zero planes among themselves do not count.

    scores : of each plane that is not zero.
    """
    best, second = np.full(n, level), np.full(n, -np.inf)
    for score in scores:
        np.maximum(second, np.minimum(best, score), out=second)
        np.maximum(best, score, out=best)
    return bool((best - second <= TIE).any())  # false for rows without weight, whose margins are NaN


def _lower(rows: Rows, signs: IntArray, found: Solution, by: float, x0: float, free: bool) -> Solution:
    svm = BinarySVM(rows, signs, found.costs, False, x0, free)
    intercept, margins = found.intercept - by, found.margins - by * signs
    primal = svm.norm(found.w, intercept) / 2.0 + svm.losses(margins[svm.seen])
    return replace(found, intercept=intercept, margins=margins, primal=primal)


def _signs(codes: IntArray, h: int) -> IntArray:
    return np.where(codes == h, 1, -1).astype(np.int8)
