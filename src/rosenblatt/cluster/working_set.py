"""Which rows of a problem with the hinge loss a solver needs: those near the margin, and two rows in place of the others.

Rows far above the margin have no loss, and are left out. Rows far below it are on the linear part of the hinge, where the loss
of all rows of a class is that of their mean with their total cost: the mean stands for them.

Guarantee  the smaller problem is a relaxation, whichever rows are left out or averaged: by convexity, its objective is at most
           that of all rows at every plane, and the multiplier of a mean, shared out by cost, is feasible for all rows. So its
           dual objective is a bound for all rows. It has the same minimum if its plane has no row on the wrong side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.csr import CSRMatrix, vstack
from ..data.problem import make_rows, read_only, take_rows
from ..kernels.linear.row_blocks import combine, score
from ..kernels.linear.rows import CSR, Dense, Rows
from ..svm.interior_point import rough_plane
from ..svm.problem import BinarySVM
from ..svm.ties import TIE
from .blocks import Block
from .interior_point import KeptRows
from .objectives import Head, head_rows

LOW, UNCLEAR, HIGH = 0, 1, 2  # marks of rows: left out, kept, in the mean of its class
# Distances from the margin are counted in bins: their exponent and the first bits of their fraction.
BIN_SHIFT = 48
FIRST_BIN, LAST_BIN = (int(np.float64(2.0**power).view(np.int64)) >> BIN_SHIFT for power in (-32, 16))


class Plane(NamedTuple):
    """A plane."""

    w: FloatArray
    intercept: float


class Look(NamedTuple):
    """What the rows are at some planes."""

    losses: FloatArray  # of each plane, and of each plane with its intercept lowered by TIE
    ties: IntArray  # rows on each plane
    inside: int  # rows inside the margin of the first plane
    wrong: int  # rows on another side of this margin than their mark says
    bins: IntArray  # rows that are not kept, by their distance from this margin


class Size(NamedTuple):
    """The kept rows, and the means of the others."""

    rows: int
    values: int  # stored values of the kept rows
    cost: float  # of all rows
    costs: FloatArray  # of the rows in the means, by class: +1, -1
    totals: FloatArray  # the sum of C_i x_i over these rows, by class


def bins_of(distances: FloatArray) -> IntArray:
    """The bin of each distance."""
    found: IntArray = np.clip(distances.view(np.int64) >> BIN_SHIFT, FIRST_BIN, LAST_BIN) - FIRST_BIN
    return found


def bin_of_count(bins: IntArray, count: int) -> int:
    """The bin up to which there are at least `count` rows; -1 for no rows."""
    return -1 if count <= 0 else min(int(np.searchsorted(np.cumsum(bins), count)), len(bins) - 1)


def join_rows(parts: Sequence[Rows], width: int) -> Rows:
    """Several parts as one, in float64: means are as exact as sums."""
    if isinstance(parts[0], CSR):
        matrices = [CSRMatrix.from_kernel(part) for part in parts if isinstance(part, CSR)]
        joined = vstack(matrices, width)
        values = joined.values.astype(np.float64, copy=False)
        return make_rows(CSRMatrix(values, joined.indices, joined.indptr, joined.width))
    return Dense(read_only(np.concatenate([part.values for part in parts], dtype=np.float64)))


def mean_rows(size: Size, head: Head, sparse: bool) -> KeptRows | None:
    """The means of the rows below the margin, one row for each class; None if there are none."""
    some = np.flatnonzero(size.costs > 0.0)
    if not len(some):
        return None
    values = np.ascontiguousarray(size.totals[some] / size.costs[some, None])
    rows = make_rows(CSRMatrix.from_dense(values)) if sparse else Dense(read_only(values))
    return KeptRows(rows, np.array([1.0, -1.0])[some], size.costs[some], head.x0, values.shape[1])


# --- tasks ---------------------------------------------------------------------------------------------------------------


def draw_rows(block: Block, head: Head, shares: tuple[float, float], seed: int) -> tuple[KeptRows, FloatArray]:
    """A share of the rows of each class (+1, -1) of a block, and the cost of all of its rows by class."""
    wanted, signs, costs = head_rows(block, head)
    random = np.random.default_rng((seed, block.number))
    drawn, total = [], np.zeros(2)
    for i, (sign, share) in enumerate(zip((1.0, -1.0), shares, strict=True)):
        own = np.flatnonzero(signs == sign)
        total[i] = costs[own].sum()
        size = int(share * len(own) + random.random())  # small blocks have their share on average
        drawn.append(random.choice(own, min(size, len(own)), replace=False))
    some = np.sort(np.concatenate(drawn))
    return KeptRows(take_rows(block.rows, wanted[some]), signs[some], costs[some], head.x0, block.width), total


def sample_plane(parts: list[tuple[KeptRows, FloatArray]], free: bool) -> tuple[Plane, int, int] | None:
    """A task: the plane of a sample whose classes cost as much as all rows, its number of rows, and the number of steps.

    None if the sample lacks a class.
    """
    drawn = [kept for kept, _ in parts]
    costs, signs = (np.concatenate([getattr(kept, name) for kept in drawn]) for name in ("costs", "signs"))
    for sign, total in zip((1.0, -1.0), np.sum([total for _, total in parts], axis=0).tolist(), strict=True):
        own = signs == sign
        if not own.any():
            return None
        costs[own] *= total / costs[own].sum()
    rows = join_rows([kept.rows for kept in drawn], drawn[0].width)
    svm = BinarySVM(rows, signs.astype(np.int8), costs, False, drawn[0].x0, free)
    w, b, steps = rough_plane(svm, svm.visited, costs, float(costs.sum()))
    return Plane(w, b), len(costs), steps


def margins_of(block: Block, head: Head, plane: Plane) -> FloatArray:
    """The margins of the rows."""
    wanted, signs, _ = head_rows(block, head)
    margins = np.empty(len(wanted))
    score(block.rows, wanted, plane.w, plane.intercept, margins)
    margins *= signs
    return margins


def look(block: Block, marks: IntArray | None, head: Head, planes: tuple[Plane, ...]) -> Look:
    """What the rows are at some planes; without marks, no row is kept and none is on the wrong side."""
    _, signs, costs = head_rows(block, head)
    losses, ties = np.zeros((2, len(planes))), np.zeros(len(planes), np.int64)
    inside = wrong = 0
    bins = np.zeros(LAST_BIN - FIRST_BIN + 1, np.int64)
    for i, plane in enumerate(planes):
        margins = margins_of(block, head, plane)
        losses[0, i] = costs @ np.maximum(0.0, 1.0 - margins)
        losses[1, i] = costs @ np.maximum(0.0, 1.0 - (margins - TIE * signs))
        ties[i] = int((abs(margins) <= TIE).sum())
        if i == 0:
            inside = int((margins < 1.0).sum())
            others = abs(1.0 - margins)
            if marks is not None:
                wrong = int(_wrong(marks, margins).sum())
                others = others[marks != UNCLEAR]
            bins += np.bincount(bins_of(others), minlength=len(bins))
    return Look(losses, ties, inside, wrong, bins)


def _wrong(marks: IntArray, margins: FloatArray) -> IntArray:
    found: IntArray = ((marks == LOW) & (margins < 1.0)) | ((marks == HIGH) & (margins > 1.0))
    return found


def mark_all(block: Block, head: Head) -> IntArray:
    """Marks that keep every row."""
    return np.full(len(head_rows(block, head).wanted), UNCLEAR, np.int8)


def mark(block: Block, head: Head, plane: Plane, last_bin: int) -> IntArray:
    """Marks that keep the rows up to a bin of distances from the margin."""
    margins = margins_of(block, head, plane)
    marks = np.where(margins < 1.0, HIGH, LOW).astype(np.int8)
    marks[bins_of(abs(1.0 - margins)) <= last_bin] = UNCLEAR
    return marks


def release(block: Block, marks: IntArray, head: Head, plane: Plane, last_bin: int) -> IntArray:
    """Marks that keep the rows on the wrong side, too, and those up to a bin of distances."""
    margins = margins_of(block, head, plane)
    marks = marks.copy()
    marks[_wrong(marks, margins) | (bins_of(abs(1.0 - margins)) <= last_bin)] = UNCLEAR
    return marks


def keep(block: Block, marks: IntArray, head: Head) -> KeptRows:
    """The rows that are kept."""
    wanted, signs, costs = head_rows(block, head)
    some = np.flatnonzero(marks == UNCLEAR)
    return KeptRows(take_rows(block.rows, wanted[some]), signs[some], costs[some], head.x0, block.width)


def size_of(block: Block, marks: IntArray, head: Head) -> Size:
    """The number of rows that are kept, and the sums of the others."""
    wanted, signs, costs = head_rows(block, head)
    kept = marks == UNCLEAR
    rows = int(kept.sum())
    values = rows * block.width
    if isinstance(block.rows, CSR):
        values = int(np.diff(block.rows.indptr)[wanted[kept]].sum())
    sums, totals = np.zeros(2), np.zeros((2, block.width))
    for i, sign in enumerate((1.0, -1.0)):
        some = (marks == HIGH) & (signs == sign)
        sums[i] = costs[some].sum()
        combine(block.rows, wanted[some], costs[some], totals[i])
    return Size(rows, values, float(costs.sum()), sums, totals)


def fixed_rows(block: Block, marks: IntArray, head: Head) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """The kept rows, counted over all blocks; the rows in the means, their signs and their costs."""
    wanted, signs, costs = head_rows(block, head)
    high = marks == HIGH
    return block.start + wanted[marks == UNCLEAR], block.start + wanted[high], signs[high], costs[high]
