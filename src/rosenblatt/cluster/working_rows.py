"""Tasks of `cluster.certify`: a working set of rows, its certificate, and the rows of the blocks that violate it.

A working set is solved by the search for certificates of one machine. What it proves impossible is impossible for all rows, and
its upper bounds on margins hold for all rows. Its planes are measured on all blocks, whose worst rows join it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..certificates.exact_numbers import as_float
from ..certificates.statements import Ceiling, Certificate, Inseparable, Margin, Pair, Plane, Separable
from ..certificates.time_limit import OutOfTimeError, run_until
from ..certificates.verify import check_certificate
from ..data.problem import rows_as_matrix
from ..progress import without_callback
from ..proofs.certify import LabeledRows, certify_rows
from ..proofs.exact_margins import least_margin, longest_row
from ..proofs.hypothesis import Hypothesis, Space
from ..proofs.prover import SeveralClasses, TwoClasses
from .blocks import Block

VALUES_PER_SLICE = 1 << 22  # of the rows that are checked together

Planes: TypeAlias = tuple[Plane, ...]
Ratio: TypeAlias = tuple[int, int]  # a fraction


class WorkingRows(NamedTuple):
    """Some rows: ascending numbers among all rows, and the classes."""

    X: Matrix
    codes: IntArray
    numbers: IntArray


class Question(NamedTuple):
    """What is to be proved, and until when by `time.time`, which the clocks of different machines share."""

    names: tuple[str, ...]  # the classes as text
    intercept: bool
    deadline: float

    @property
    def seconds(self) -> float:
        """The time left."""
        return self.deadline - time.time()

    def labeled(self, rows: WorkingRows) -> LabeledRows:
        """The rows as the proofs of one machine take them."""
        names: Array = np.array(self.names)
        return LabeledRows(rows.X, names[rows.codes], names, rows.codes)


class Candidate(NamedTuple):
    """Planes to be measured on all rows, and their margin on the working set."""

    planes: Planes
    space: Space
    level: float


class Measured(NamedTuple):
    """What a block says about candidates."""

    least: tuple[Ratio | None, ...]  # the smallest margin of each candidate, times its norm; None: it misclassifies a row
    numbers: IntArray  # of the worst rows below the level of a candidate, the worst one first
    shortfalls: FloatArray  # of the margins of these rows, relative to the level


class Outcome(NamedTuple):
    """What was proved about the working set, with row numbers among all rows."""

    certificate: Certificate
    near: IntArray | None  # the rows to keep, if there are too many


# --- rows ------------------------------------------------------------------------------------------------------------------


def some_of_classes(block: Block, share: float, missing: tuple[int, ...] | None, seed: int) -> WorkingRows:
    """A task: a sample of the rows of each class, at least one; or, if classes are `missing`, the first row of each."""
    generator, chosen = np.random.default_rng((seed, block.number)), []
    for code in range(block.n_classes) if missing is None else missing:
        members = np.flatnonzero(block.codes == code)
        if missing is None:
            chosen.append(generator.choice(members, min(len(members), math.ceil(share * len(members))), replace=False))
        else:
            chosen.append(members[:1])
    return take(block, np.sort(np.concatenate(chosen)))


def take(block: Block, places: IntArray) -> WorkingRows:
    """A copy of the rows at some places of a block."""
    X = rows_as_matrix(block.rows, 0, block.n_rows)[places]
    return WorkingRows(X, block.codes[places].astype(np.intp), block.start + places)


def take_numbered(block: Block, numbers: IntArray) -> WorkingRows:
    """A task: the rows of a block with these numbers."""
    return take(block, numbers - block.start)


def join_rows(parts: list[WorkingRows], kept: IntArray | None) -> WorkingRows:
    """A task: the rows of several sets, each once; `kept`: the numbers of those of the first set that stay."""
    first = parts[0] if kept is None else _rows_at(parts[0], np.flatnonzero(np.isin(parts[0].numbers, kept)))
    matrices = [part.X for part in (first, *parts[1:])]
    X = np.concatenate(matrices) if isinstance(first.X, np.ndarray) else sp.csr_array(sp.vstack(matrices, format="csr"))
    codes, numbers = (np.concatenate([getattr(part, name) for part in (first, *parts[1:])]) for name in ("codes", "numbers"))
    unique, places = np.unique(numbers, return_index=True)
    return WorkingRows(X[places], codes[places], unique)


def classes_of(rows: WorkingRows) -> IntArray:
    """A task: the classes of some rows."""
    return np.unique(rows.codes)


def numbers_of(rows: WorkingRows) -> IntArray:
    """A task: the numbers of some rows."""
    return rows.numbers


def one_of_each_class(rows: WorkingRows) -> WorkingRows:
    """A task: the first row of each class."""
    return _rows_at(rows, np.sort(np.unique(rows.codes, return_index=True)[1]))


def _rows_at(rows: WorkingRows, places: IntArray) -> WorkingRows:
    return WorkingRows(rows.X[places], rows.codes[places], rows.numbers[places])


# --- the certificate of a working set --------------------------------------------------------------------------------------


def solve(rows: WorkingRows, question: Question, refines: bool, most: int) -> Outcome:
    """A task: the certificate of the working set, accepted by the checker; if it has more than `most` rows, those to keep.

    refines : whether margins are computed in fractions if floats leave them inaccurate.
    """
    given = question.labeled(rows)
    with without_callback():  # the rounds are reported
        certificate = certify_rows(given, question.intercept, time.monotonic(), question.seconds, refines=refines)
    near = None
    if isinstance(certificate, Separable) and len(rows.codes) > most:
        near = _near_rows(rows, certificate, most // 2)
    return Outcome(_renumbered(certificate, rows.numbers), near)


def _near_rows(rows: WorkingRows, certificate: Separable, size: int) -> IntArray:
    """The numbers of the rows that decide about the margins, of those nearest to the planes, and of one row of each class."""
    kept = [pair.row for margin in (certificate.augmented, certificate.geometric) for pair in margin.pairs]
    kept += np.unique(rows.codes, return_index=True)[1].tolist()
    for candidate in candidates_of(certificate):
        margins = hypothesis_of(candidate.planes, rows.X.shape[1]).margins(rows.X, rows.codes, candidate.space)
        kept += np.argsort(margins, kind="stable")[:size].tolist()
    numbers: IntArray = rows.numbers[sorted(set(kept))]
    return numbers


def candidates_of(certificate: Separable) -> tuple[Candidate, ...]:
    """The planes of a certificate: those of both spaces, if they differ."""
    augmented, geometric = certificate.augmented, certificate.geometric
    found = (Candidate(geometric.planes, "geometric", geometric.lower),)
    if augmented.planes == geometric.planes:
        return found
    return (Candidate(augmented.planes, "augmented", augmented.lower), *found)


def _renumbered(certificate: Certificate, numbers: IntArray) -> Certificate:
    """The certificate with the numbers of rows among all rows; `about` is still about the working set."""

    def pairs_of(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        return tuple(pair._replace(row=int(numbers[pair.row])) for pair in pairs)

    if isinstance(certificate, Inseparable):
        return replace(certificate, clash=pairs_of(certificate.clash))
    bounds: dict[str, Any] = {}
    for space in ("augmented", "geometric"):
        ceiling: Ceiling = getattr(certificate, space)
        bounds[space] = replace(ceiling, pairs=pairs_of(ceiling.pairs))
    return replace(certificate, **bounds)


# --- all rows --------------------------------------------------------------------------------------------------------------


def measure(
    block: Block, candidates: tuple[Candidate, ...], known: IntArray, size: int, deadline: float
) -> tuple[Measured, WorkingRows] | None:
    """A task: the smallest margins of candidates, and the worst rows that violate them and are not known, `size` of each class
    for each candidate; None if time is up."""
    X, codes = rows_as_matrix(block.rows, 0, block.n_rows), block.codes.astype(np.intp)
    inside = known[(known >= block.start) & (known < block.start + block.n_rows)] - block.start
    least: list[Ratio | None] = []
    shortfalls = np.full(block.n_rows, -np.inf)
    chosen: list[int] = []
    try:
        with run_until(time.monotonic() + deadline - time.time()):
            for planes, space, level in candidates if block.n_rows else ():
                margins = hypothesis_of(planes, X.shape[1]).margins(X, codes, space)
                # Rounding errors are smaller than the level: only margins above its negative may be positive.
                exact = least_margin(X, codes, planes) if margins.min() > -level else Fraction(0)
                least.append(exact.as_integer_ratio() if exact > 0 else None)
                short = (level - margins) / level
                short[inside] = -np.inf
                shortfalls = np.maximum(shortfalls, short)
                for code in np.unique(codes):
                    worst = np.flatnonzero((codes == code) & (short > 0.0))
                    chosen += worst[np.argsort(-short[worst], kind="stable")[:size]].tolist()
    except OutOfTimeError:
        return None
    places = np.array(sorted(set(chosen)), np.int64)
    order = np.argsort(-shortfalls[places], kind="stable")
    return Measured(tuple(least), block.start + places[order], shortfalls[places[order]]), take(block, places)


def measured_of(found: tuple[Measured, WorkingRows] | None) -> Measured | None:
    """A task: what a block says, without its rows."""
    return None if found is None else found[0]


def joining_rows(found: tuple[Measured, WorkingRows], numbers: IntArray) -> WorkingRows:
    """A task: those of the worst rows of a block that join the working set."""
    rows = found[1]
    return _rows_at(rows, np.flatnonzero(np.isin(rows.numbers, numbers)))


def hypothesis_of(planes: Planes, width: int) -> Hypothesis:
    """The planes in floats."""
    weights = np.zeros((len(planes), width))
    for row, plane in enumerate(planes):
        weights[row, list(plane.weights)] = [as_float(weight) for weight in plane.weights.values()]
    return Hypothesis(weights, np.array([as_float(plane.intercept) for plane in planes]), 1.0, None)


# --- the final check -------------------------------------------------------------------------------------------------------


class Checked(NamedTuple):
    """What the checker accepted about some rows: squared margins of both spaces, and the longest row."""

    augmented: Ratio
    geometric: Ratio
    radius_squared: Ratio


def check_planes(block: Block, planes: tuple[Planes, Planes], anchors: WorkingRows, question: Question) -> list[Checked] | None:
    """A task: the certificates of the rows of a block, in slices, each accepted by the checker; None if time is up.

    anchors : one row of each class, which every slice gets, because a certificate is about rows of all classes.
    """
    found: list[Checked] = []
    step = max(1, VALUES_PER_SLICE * block.n_rows // max(1, block.rows.values.size))
    try:
        with run_until(time.monotonic() + question.seconds):
            for start in range(0, block.n_rows, step):
                stop = min(start + step, block.n_rows)
                codes = block.codes[start:stop].astype(np.intp)
                rows = WorkingRows(rows_as_matrix(block.rows, start, stop), codes, np.arange(start, stop))
                found.append(_checked_slice(rows, planes, anchors, question))
    except OutOfTimeError:
        return None
    return found


def _checked_slice(rows: WorkingRows, planes: tuple[Planes, Planes], anchors: WorkingRows, question: Question) -> Checked:
    first = anchors._replace(numbers=-1 - np.arange(len(anchors.codes)))
    given = question.labeled(join_rows([first, rows], None))
    kind = TwoClasses if given.n_classes == 2 else SeveralClasses
    prover = kind(given, question.intercept, math.inf, False)
    # A certificate also has upper bounds. Half of a row of each of two classes is the simplest one.
    ends = [int(np.flatnonzero(given.codes == code)[0]) for code in (0, 1)]
    pairs = [Pair(ends[0], 1, Fraction(1, 2)), Pair(ends[1], 0, Fraction(1, 2))]
    augmented, geometric = (
        prover.margin(own, prover.ceiling(pairs, counted), counted)
        for own, counted in zip(planes, (question.intercept, False), strict=True)
    )
    if not (isinstance(augmented, Margin) and isinstance(geometric, Margin)):
        raise AssertionError("certify found planes that misclassify a row; please report this error")
    radius_squared = longest_row(given.X) + int(question.intercept)
    check = check_certificate(Separable(prover.about, augmented, geometric, radius_squared), lambda: given.data)
    if not check:
        raise AssertionError(f"certify found an incorrect proof; please report this error: {check}")
    squares = (augmented.lower_squared, geometric.lower_squared, radius_squared)
    return Checked(*(square.as_integer_ratio() for square in squares))
