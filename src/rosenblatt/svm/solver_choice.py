"""The choice of the soft-margin solver, by loss and shape of the rows.

    newton             squared hinge, a d x d matrix is cheap     few steps, each one pass and the rows that crossed the margin
    active-set         hinge, few rows                            ends at the optimum, or early: then interior-point
    interior-point     hinge, a d x d matrix is cheap             20 to 50 steps on the rows near the margin
    dual-coordinates   all others: many columns, many rows        passes over the rows whose multipliers still change
Sparse rows, and dense rows of up to MAX_FALLBACK_COLUMNS columns, try dual coordinate descent first and continue with one of
the others if it stalls. With fewer rows than columns, and few of both, the first two run on rotated rows with as many
coordinates as there are independent rows: an SVM depends only on the inner products of its rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from ..data.problem import dense_array, read_only, rows_as_matrix, take_rows
from ..kernels.linear.rows import CSR, EPS, Dense
from .dual_active_set import dual_active_set, worth_trying
from .dual_coordinates import dual_coordinates
from .interior_point import interior
from .limits import SolverLimits
from .newton import newton
from .problem import BinarySVM, Solution
from .row_blocks import MIN_SAMPLED_ROWS

Solver: TypeAlias = Literal["auto", "newton", "interior-point", "dual-coordinates"]
# Up to this width the Gram matrix is cheaper than the passes that it saves.
MAX_DENSE_COLUMNS = 500
MAX_SPARSE_COLUMNS = 1000
# Up to this width the Gram matrix is built as a fallback when dual coordinate descent stalls.
MAX_FALLBACK_COLUMNS = 2000
# Up to this number of rows a matrix of rows x rows is cheap.
MAX_GRAM_ROWS = 1000
# Passes on sparse rows are cheap. The passes before an interior point take about as long as it does, which grows with the
# columns; for a tolerance below HARD_TOL they rarely suffice, and a quarter of them gives a starting point.
FIRST_PASSES, FIRST_PASSES_PER_COLUMN, HARD_TOL = 100, 2, 1e-5


def solve_binary_svm(
    svm: BinarySVM, solver: str, limits: SolverLimits, start: Solution | None = None
) -> tuple[Solution, int, str]:
    """The solution, the number of passes or steps, and the name of the solver; the gap may be above the tolerance."""
    if solver != "auto":
        return (*_solve(svm, solver, limits, start), solver)
    solver = choose_solver(svm)
    few = solver == "interior-point" and worth_trying(len(svm.signs), svm.width)
    if few and (found := dual_active_set(svm, limits.tol)) is not None:
        limits.report(found[1], found[0].gap)
        return (*found, "active-set")
    passes_first = solver == "interior-point" and isinstance(svm.rows, CSR) and len(svm.visited) >= MIN_SAMPLED_ROWS
    if solver == "dual-coordinates" and svm.width <= MAX_FALLBACK_COLUMNS:
        solver, passes_first = "newton" if svm.squared else "interior-point", True
    if passes_first:
        tried = (FIRST_PASSES + FIRST_PASSES_PER_COLUMN * svm.width) // (1 if limits.tol >= HARD_TOL else 4)
        start, passes = dual_coordinates(svm, replace(limits, max_iter=min(limits.max_iter, tried)), start)
        if start.gap <= limits.tol and not (_may_be_zero(start) and not svm.squared):
            return start, passes, "dual-coordinates"
    return (*_solve(svm, solver, limits, start), solver)


def _may_be_zero(found: Solution) -> bool:
    """Whether the best weights may be zero: they are within sqrt(2 (primal - dual)) of those found.

    The direction of such weights depends on the order of the rows; an interior point finds whether they are zero.
    """
    return float(found.w @ found.w) <= 2.0 * (found.primal - found.dual)


def choose_solver(svm: BinarySVM) -> str:
    """The solver for the shape of the rows."""
    most = MAX_SPARSE_COLUMNS if isinstance(svm.rows, CSR) else MAX_DENSE_COLUMNS
    if svm.width > most and len(svm.visited) > MAX_GRAM_ROWS:
        return "dual-coordinates"
    return "newton" if svm.squared else "interior-point"


def only_dual_coordinates(svm: BinarySVM, solver: str) -> bool:
    """Whether `solve_binary_svm` tries no other solver."""
    wide = svm.width > MAX_FALLBACK_COLUMNS
    return solver == "dual-coordinates" or (solver == "auto" and wide and choose_solver(svm) == "dual-coordinates")


def _solve(svm: BinarySVM, solver: str, limits: SolverLimits, start: Solution | None) -> tuple[Solution, int]:
    if solver == "dual-coordinates":
        return dual_coordinates(svm, limits, start)
    method = newton if solver == "newton" else interior
    if svm.width <= len(svm.visited):
        return method(svm, limits, start)
    rotated, steps = method(rotate_rows(svm), limits)
    multipliers = np.zeros(len(svm.signs))
    multipliers[svm.visited] = rotated.multipliers
    return svm.solution(multipliers), steps


def rotate_rows(svm: BinarySVM) -> BinarySVM:
    """The visited rows, rotated so that they have as many columns as independent rows."""
    seen = svm.visited
    rows = take_rows(svm.rows, seen)
    if isinstance(rows, CSR):
        matrix = rows_as_matrix(rows, 0, len(seen)).astype(np.float64)
        products = dense_array(matrix @ matrix.T)
    else:
        products, width = np.zeros((len(seen), len(seen))), 4096
        for first in range(0, rows.values.shape[1], width):
            part = rows.values[:, first : first + width].astype(np.float64)
            products += part @ part.T
    lengths, axes = np.linalg.eigh(products)
    # Rounding errors of the other eigenvalues would become columns of 1e-8, in which equal rows differ.
    kept = lengths > len(seen) * EPS * lengths[-1]
    kept[-1] = True
    values = np.ascontiguousarray(axes[:, kept] * np.sqrt(np.maximum(lengths[kept], 0.0)))
    return replace(svm, rows=Dense(read_only(values)), signs=svm.signs[seen], costs=svm.costs[seen], squares=None)
