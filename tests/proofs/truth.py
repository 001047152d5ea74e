"""Reference results for small sets of integer rows, by enumeration in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from operator import mul
from typing import Any


def pairs(points: list[list[Any]], y: list[int], intercept: bool) -> tuple[list[tuple[int, int]], list[list[Any]]]:
    """(row, rival) and Kesler's vectors, without the last class, which the others determine; two classes: y (1, x)."""
    k, where, vectors = max(y) + 1, [], []
    for i, (x, own) in enumerate(zip(points, y, strict=True)):
        p = [1, *x] if intercept else list(x)
        for rival in range(k):
            if rival != own:
                where.append((i, rival))
                vectors.append([((z == own) - (z == rival)) * value for z in range(1, k) for value in p])
    return where, vectors


def nullspace(columns: list[list[Any]]) -> list[list[Fraction]]:
    """A basis of all a with sum_j a_j columns[j] = 0, by Gauss and Jordan."""
    n = len(columns)
    rows = [[Fraction(column[r]) for column in columns] for r in range(len(columns[0]))]
    leads: list[int] = []
    for c in range(n):
        found = next((r for r in range(len(leads), len(rows)) if rows[r][c]), None)
        if found is None:
            continue
        at = len(leads)
        rows[at], rows[found] = rows[found], rows[at]
        rows[at] = [value / rows[at][c] for value in rows[at]]
        for r in range(len(rows)):
            if r != at and rows[r][c]:
                rows[r] = [value - rows[r][c] * lead for value, lead in zip(rows[r], rows[at], strict=True)]
        leads.append(c)
    basis = []
    for free in (c for c in range(n) if c not in leads):
        basis.append([Fraction(int(c == free)) for c in range(n)])
        for r, lead in enumerate(leads):
            basis[-1][lead] = -rows[r][free]
    return basis


def separates(vectors: list[list[Any]]) -> bool:
    """Whether some w has w.q > 0 for all q, which it has exactly if no convex combination of the q is zero (Gordan)."""
    return not solvable([[1, *q] for q in vectors], [1] + [0] * len(vectors[0]))


def face(vectors: list[list[Any]]) -> list[bool]:
    """For each q, whether w.q = 0 for all w that have w.q >= 0 for all: whether -q is a positive combination of them."""
    return [solvable(vectors, [-value for value in q]) for q in vectors]


def solvable(columns: list[list[Any]], right: list[Any]) -> bool:
    """Whether some a >= 0 has sum_j a_j columns[j] = right: the simplex method in fractions, phase one, with Bland's rule."""
    m, n = len(right), len(columns)
    signs = [-1 if value < 0 else 1 for value in right]
    table = [[Fraction(signs[r] * column[r]) for column in columns] + [Fraction(signs[r] * right[r])] for r in range(m)]
    basis = [n + r for r in range(m)]  # artificial: never enter again
    cost = [-sum(row[c] for row in table) for c in range(n + 1)]
    while True:
        enter = next((c for c in range(n) if cost[c] < 0), None)
        if enter is None:
            return cost[n] == 0
        ratios = [(row[n] / row[enter], basis[r], r) for r, row in enumerate(table) if row[enter] > 0]
        _, _, leave = min(ratios)
        table[leave] = [value / table[leave][enter] for value in table[leave]]
        for r, row in enumerate(table):
            if r != leave and row[enter]:
                table[r] = [value - row[enter] * lead for value, lead in zip(row, table[leave], strict=True)]
        cost = [value - cost[enter] * lead for value, lead in zip(cost, table[leave], strict=True)]
        basis[leave] = enter


def least_norm(vectors: list[list[Any]], sides: list[int]) -> Fraction:
    """The least squared norm of a combination that is convex on each side, by trying every small support."""
    n_sides, width = max(sides) + 1, len(vectors[0])
    best: Fraction | None = None
    for size in range(n_sides, min(len(vectors), width + n_sides) + 1):
        for support in combinations(range(len(vectors)), size):
            mine = [sides[j] for j in support]
            if len(set(mine)) < n_sides:
                continue
            a = _affine([vectors[j] for j in support], mine, n_sides)
            if a is not None and min(a) >= 0:
                v = [sum(w * vectors[j][c] for w, j in zip(a, support, strict=True)) for c in range(width)]
                square = sum((value * value for value in v), Fraction(0))
                best = square if best is None else min(best, square)
    assert best is not None
    return best


def _affine(rows: Any, sides: list[int], n_sides: int) -> list[Fraction] | None:
    """The weights of the least point of the affine hull, None where they are not unique."""
    s = len(rows)
    system = [
        [sum(map(mul, rows[i], rows[j])) for j in range(s)] + [int(sides[i] == k) for k in range(n_sides)] + [0]
        for i in range(s)
    ] + [[int(side == k) for side in sides] + [0] * n_sides + [-1] for k in range(n_sides)]
    solutions = nullspace([list(column) for column in zip(*system, strict=True)])
    return [value / solutions[0][-1] for value in solutions[0][:s]] if len(solutions) == 1 and solutions[0][-1] else None
