"""The pocket: the hypothesis of a run with the fewest training errors.

Gallant, IEEE Transactions on Neural Networks 1 (1990). By definition, all rows are classified after every update. Here the
hypotheses are processed in blocks, with one matrix product per block, and the rows with the smallest margins under the best
hypothesis so far come first: a hypothesis is dropped when it has as many errors as the best one has in total. The hypotheses
have the bits of the run, and the result is that of the definition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..array_types import FloatArray, IntArray, Matrix
from ..data.problem import as_heads, copy_state, read_only, rows_as_matrix, take_rows
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, State
from ..kernels.linear.walks import count_errors, count_errors_joint, count_wrong
from ..parallel import in_order, one_blas_thread
from .readings import ProductBuffers, products, walk_of_log
from .update_log import UpdateLog

# Hypotheses and rows per block: smaller blocks measured slower. For fewer rows there are more hypotheses.
HYPOTHESES_PER_BLOCK = 512
ROWS_PER_BLOCK = 1024
# The largest number of weights of the hypotheses in a block.
MAX_WEIGHTS_PER_BLOCK = 1 << 24


@dataclass
class Pocket:
    """The best hypothesis of a run."""

    state: State
    errors: float  # the number of training errors, or their total weight
    update: int  # the number of updates before it


def pocket(log: UpdateLog, n_jobs: int = 1, beat: float = np.inf) -> Pocket:
    """The hypothesis among w_0..w_T with the fewest training errors; the first one of several.

    A row on the plane is an error; errors are counted by the weight of their rows. If none has fewer than `beat`, the result
    has that many.
    """
    log = log._whole()
    record = log._record
    state, edges = copy_state(record.start), record.edges
    size = HYPOTHESES_PER_BLOCK * max(1, ROWS_PER_BLOCK // max(1, record.problem.n_rows))
    if record.grouped or _as_planes(log) or isinstance(record.problem.rows, Dense):  # the block holds vectors with all columns
        size = max(1, min(size, MAX_WEIGHTS_PER_BLOCK // max(1, record.problem.n_features * state.bias.size)))
    best, order = Pocket(copy_state(state), beat, 0), None
    with one_blas_thread():
        for first in range(0, max(1, len(edges) - 1), size):
            block = edges[first : first + size + 1]
            found = _best_of(log, state, block, order, best.errors, n_jobs)
            if found is not None:
                best = Pocket(found.state, found.errors, first + found.update)
                order = np.argsort(_margins(log, best.state), kind="stable")
            record.advance(state, block)
    return best


def errors_of_every_hypothesis(log: UpdateLog, n_jobs: int = 1) -> FloatArray:
    """The training errors of each of w_0..w_T, or their total weight, counted as for the pocket."""
    log = log._whole()
    record = log._record
    state, edges, parts = copy_state(record.start), record.edges, []
    with one_blas_thread():
        for first in range(0, max(1, len(edges) - 1), HYPOTHESES_PER_BLOCK):
            block = edges[first : first + HYPOTHESES_PER_BLOCK + 1]
            parts.append(_errors_of(log, state, block, None, np.inf, n_jobs)[0][min(first, 1) :])
            record.advance(state, block)
    return np.concatenate(parts)


def _best_of(log: UpdateLog, start: State, block: IntArray, order: IntArray | None, beat: float, n_jobs: int) -> Pocket | None:
    """The first hypothesis of a block with the fewest errors, if it has fewer than `beat`."""
    errors, alive = _errors_of(log, start, block, order, beat, n_jobs)
    if not len(alive):
        return None
    first = int(alive[errors[alive].argmin()])
    state = copy_state(start)
    log._record.advance(state, block[: first + 1])
    return Pocket(state, float(errors[first]), first)


def _errors_of(
    log: UpdateLog, start: State, block: IntArray, order: IntArray | None, beat: float, n_jobs: int
) -> tuple[FloatArray, IntArray]:
    """Errors of the hypotheses of a block, and which of them have fewer than `beat`; the others are not counted to the end."""
    n_rows, counter = log._record.problem.n_rows, (_PlaneCounter if _as_planes(log) else _WalkCounter)(log, start, block)
    starts, errors, alive = range(0, n_rows, ROWS_PER_BLOCK), np.zeros(len(block)), np.arange(len(block))

    def count(at: int) -> FloatArray:
        rows = slice(at, at + ROWS_PER_BLOCK) if order is None else order[at : at + ROWS_PER_BLOCK]
        return counter.errors(_taken(log, rows), rows, alive)

    for first in range(0, len(starts), n_jobs):
        for some in in_order(count, starts[first : first + n_jobs], n_jobs):
            errors[alive] += some
        alive = alive[errors[alive] < beat]
        if not len(alive):
            break
    return errors, alive


def _as_planes(log: UpdateLog) -> bool:
    """Whether to build the hypotheses as dense planes; sparse rows of many columns would need too much memory."""
    record = log._record
    narrow = isinstance(record.problem.rows, Dense) or record.problem.n_features <= 4 * record.problem.density
    return isinstance(record.problem.labels, Binary) and narrow


def _taken(log: UpdateLog, rows: IntArray | slice) -> Matrix:
    if isinstance(rows, slice):
        return log._record.problem.matrix(rows.start, rows.stop)
    return rows_as_matrix(take_rows(log._record.problem.rows, rows), 0, len(rows))


class _PlaneCounter:
    """Counts the errors of binary hypotheses that are built as planes; dropped hypotheses cost nothing.

    Only the sign of a score matters: products are computed in float32, twice as fast, and again in float64 if the bound on
    their rounding error, (d + 8) eps |w| |x|, leaves the sign undecided.
    """

    def __init__(self, log: UpdateLog, start: State, block: IntArray) -> None:
        self.planes, self.shifts = log._record.planes(copy_state(start), block)
        self.problem, self.rough, self.sizes = log._record.problem, _float32(self.planes), _lengths(self.planes)

    def errors(self, X: Matrix, rows: IntArray | slice, alive: IntArray) -> FloatArray:
        signs, weights = self.problem.signs[rows].astype(np.float32), self.problem.labels.weights
        weights, errors = weights[rows] if weights.size else weights, np.zeros(len(alive))
        X = np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray())
        with np.errstate(over="ignore", invalid="ignore"):
            rough = self.rough[alive] @ _float32(X).T
            doubts = self._doubts(alive, float(_lengths(X).max()))
        count_wrong(self.planes[alive], self.shifts[alive], read_only(X), rough, doubts, signs, weights, errors)
        return errors

    def _doubts(self, alive: IntArray, longest: float) -> FloatArray:
        """A bound on the error of a float32 score for each plane, doubled."""
        d, sizes, float32 = self.planes.shape[1], self.sizes[alive], np.finfo(np.float32)
        largest = sizes * longest + abs(self.shifts[alive])  # no term of a score is larger
        vanished = 2 * d * float32.tiny * (sizes + longest + 1.0)  # underflow in float32
        fits = np.maximum(largest, np.maximum(sizes, longest)) < 0.1 * float32.max
        return np.where(fits, (d + 8) * float32.eps * largest + vanished, np.inf)


def _float32(array: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False)


def _lengths(rows: FloatArray) -> FloatArray:
    """The length of each row; infinite if its square overflows."""
    with np.errstate(over="ignore"):
        lengths: FloatArray = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return lengths


class _WalkCounter:
    """Counts the errors of joint or wide hypotheses along their walk.

    Consecutive hypotheses differ by one row in at most two heads, which takes much less memory than planes.
    """

    def __init__(self, log: UpdateLog, start: State, block: IntArray) -> None:
        self.walk = walk_of_log(log, start, block)
        self.buffers, self.labels = ProductBuffers(self.walk.vectors, ROWS_PER_BLOCK), log._record.problem.labels

    def errors(self, X: Matrix, rows: IntArray | slice, alive: IntArray) -> FloatArray:
        labels, weights = self.labels, self.labels.weights
        binary = isinstance(labels, Binary)
        truth = np.ascontiguousarray((labels.signs if isinstance(labels, Binary) else labels.codes)[rows])
        scores, bias, found = self.walk.scores_and_products(X, self.buffers.own)
        weights, errors = weights[rows] if weights.size else weights, np.zeros(len(self.walk))
        (count_errors if binary else count_errors_joint)(found, self.walk.moves, truth, weights, scores, bias, errors)
        return errors[alive]


def _margins(log: UpdateLog, state: State) -> FloatArray:
    """The margin of every row."""
    problem, labels = log._record.problem, log._record.problem.labels
    heads = as_heads(state.w, problem.rows).astype(np.float64)
    blocks = [problem.matrix(start, start + ROWS_PER_BLOCK) for start in range(0, problem.n_rows, ROWS_PER_BLOCK)]
    scores = np.concatenate([products(heads, X) for X in blocks], axis=1) + state.x0 * state.bias[:, None]
    if isinstance(labels, Binary):
        margins: FloatArray = labels.signs * scores[0]
        return margins
    own = np.take_along_axis(scores, labels.codes[None].astype(np.int64), axis=0)[0]
    np.put_along_axis(scores, labels.codes[None].astype(np.int64), -np.inf, axis=0)
    margins = own - scores.max(axis=0)
    return margins
