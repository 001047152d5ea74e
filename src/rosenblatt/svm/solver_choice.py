"""Which solver a soft-margin machine gets, by the shape of its rows.

    newton             squared hinge, a d x d matrix is cheap     a handful of steps, each a pass and the rows that crossed
    interior-point     hinge, a d x d matrix is cheap             20 to 50 steps on the rows near the margin
    dual-coordinates   all others: many columns, many rows        passes over the rows that still move
Sparse rows, and dense ones of up to MOST_COLUMNS, try passes first, and go on with one of the others where those get stuck.
Where there are fewer rows than columns, and few of either, the first two run on the rows turned into as many dimensions as
there are rows: all that a machine sees of its rows is their inner products.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.problem import read_only, rows_as_matrix, take_rows
from ..kernels.linear.rows import CSR, Dense
from .dual_coordinates import dual_coordinates
from .interior_point import interior
from .newton import newton
from .problem import Effort, Machine, Solution
from .row_blocks import SMALL

SOLVERS = ("newton", "interior-point", "dual-coordinates")
# Columns up to which a matrix of columns x columns is cheap beside the passes that it saves.
DENSE_COLUMNS = 500
SPARSE_COLUMNS = 1000
MOST_COLUMNS = 2000  # with more, passes go on; up to here the matrix is dear, but where passes get stuck there is no other way
# Rows up to which the same is true of a matrix of rows x rows.
FEW_ROWS = 1000
# On sparse rows passes are cheap. Before an interior point so many are tried as take about its time, which grows with the
# columns; a quarter of that where they will hardly be enough, for a plane to begin from.
TRIED, TRIED_PER_COLUMN, HARD = 100, 2, 1e-5


def solve_machine(machine: Machine, solver: str, effort: Effort, start: Solution | None = None) -> tuple[Solution, int, str]:
    """The solution, the passes or steps it took and the solver; its gap says whether the tolerance was reached."""
    if solver != "auto":
        return (*_solve(machine, solver, effort, start), solver)
    solver = choose(machine)
    passes_first = solver == "interior-point" and isinstance(machine.rows, CSR) and len(machine.visited) >= SMALL
    if solver == "dual-coordinates" and machine.width <= MOST_COLUMNS:
        solver, passes_first = "newton" if machine.squared else "interior-point", True
    if passes_first:
        tried = (TRIED + TRIED_PER_COLUMN * machine.width) // (1 if effort.tol >= HARD else 4)
        start, passes = dual_coordinates(machine, replace(effort, max_iter=min(effort.max_iter, tried)), start)
        if start.gap <= effort.tol:
            return start, passes, "dual-coordinates"
    return (*_solve(machine, solver, effort, start), solver)


def choose(machine: Machine) -> str:
    most = SPARSE_COLUMNS if isinstance(machine.rows, CSR) else DENSE_COLUMNS
    if machine.width > most and len(machine.visited) > FEW_ROWS:
        return "dual-coordinates"
    return "newton" if machine.squared else "interior-point"


def _solve(machine: Machine, solver: str, effort: Effort, start: Solution | None) -> tuple[Solution, int]:
    if solver == "dual-coordinates":
        return dual_coordinates(machine, effort, start)
    method = newton if solver == "newton" else interior
    if machine.width <= len(machine.visited):
        return method(machine, effort, start)
    turned, steps = method(turn(machine), effort)
    multipliers = np.zeros(len(machine.signs))
    multipliers[machine.visited] = turned.multipliers
    return machine.solution(multipliers), steps


def turn(machine: Machine) -> Machine:
    """The visited rows, turned so that they need no more columns than there are rows."""
    seen = machine.visited
    rows = take_rows(machine.rows, seen)
    if isinstance(rows, CSR):
        matrix = rows_as_matrix(rows, 0, len(seen)).astype(np.float64)
        products = (matrix @ matrix.T).toarray()
    else:
        products, width = np.zeros((len(seen), len(seen))), 4096
        for first in range(0, rows.values.shape[1], width):
            part = rows.values[:, first : first + width].astype(np.float64)
            products += part @ part.T
    lengths, axes = np.linalg.eigh(products)
    values = axes * np.sqrt(np.maximum(lengths, 0.0))
    return replace(machine, rows=Dense(read_only(values)), signs=machine.signs[seen], costs=machine.costs[seen])
