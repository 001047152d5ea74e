"""A first plane from a sample of the rows, which one worker solves: Newton's method then needs few passes over all rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ..array_types import FloatArray
from ..data.csr import CSRMatrix, vstack
from ..data.problem import make_rows, read_only, take_rows
from ..kernels.linear.rows import CSR, Dense, Rows
from ..svm.limits import SolverLimits
from ..svm.row_blocks import MIN_SAMPLED_ROWS, SAMPLE_DIVISOR, SAMPLE_ROWS_PER_COLUMN, solve_factored
from ..svm.truncated_newton import Solve, minimize
from .block_set import BlockSet
from .blocks import Block, BlockFacts
from .engine import InProcess
from .objectives import MAX_DENSE_COLUMNS, BlockObjective, Head, Loss, head_rows

SAMPLE_TOL = 1e-3  # tolerance for the sample, relative to its objective
MAX_SAMPLE_BYTES = 1 << 26  # of the sample, which one worker holds


def start_from_sample(objective: BlockObjective, v: FloatArray, limits: SolverLimits) -> tuple[FloatArray, Solve | None]:
    """The plane of a sample, and its preconditioner; `v` and None if a sample is not worthwhile."""
    blocks, head, n = objective.blocks, objective.head, objective.blocks.n_rows
    wanted = sample_size(blocks)
    if wanted is None:
        return v, None
    parts = blocks.start(draw, wanted / n, limits.seed)
    task = blocks.engine.submit(solve_sample, parts, blocks.facts, head, objective.loss, n / wanted, limits.tol)
    v, factor = blocks.engine.gather([task])[0]
    return v, None if factor is None else partial(solve_factored, factor)


def sample_size(blocks: BlockSet) -> int | None:
    """The number of rows of a sample; None if a sample is not worthwhile."""
    n, width = blocks.n_rows, blocks.n_features
    wanted = max(n // SAMPLE_DIVISOR, SAMPLE_ROWS_PER_COLUMN * width)
    wanted = min(wanted, int(MAX_SAMPLE_BYTES / (8.0 * max(1.0, blocks.facts.density))))
    few = n < max(MIN_SAMPLED_ROWS, 4 * wanted) or wanted < SAMPLE_ROWS_PER_COLUMN * width
    return None if few or width > MAX_DENSE_COLUMNS else wanted


def draw(block: Block, share: float, seed: int) -> Block:
    """A task: some rows of a block."""
    size = round(share * block.n_rows)
    some = np.sort(np.random.default_rng((seed, block.number)).choice(block.n_rows, size, replace=False))
    weights = block.weights[some] if block.weights.size else block.weights
    return replace(block, rows=take_rows(block.rows, some), codes=block.codes[some], weights=weights, _problems={})


def join(parts: list[Block]) -> Block:
    """The rows of several blocks as one."""
    first = parts[0]
    rows: Rows
    if isinstance(first.rows, CSR):
        matrices = [CSRMatrix.from_kernel(part.rows) for part in parts if isinstance(part.rows, CSR)]
        rows = make_rows(vstack(matrices, first.width), any_order=True)
    else:
        rows = Dense(read_only(np.concatenate([part.rows.values for part in parts])))
    codes, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("codes", "weights"))
    return Block(rows, codes, weights, 0, 0, first.n_classes)


def solve_sample(
    parts: list[Block], facts: BlockFacts, head: Head, loss: Loss, factor: float, tol: float
) -> tuple[FloatArray, FloatArray | None]:
    """A task: the plane of a sample, whose rows cost `factor` times as much, and the factor of its Hessian."""
    block = join(parts)
    head = head._replace(C=head.C * factor)
    v: FloatArray = np.zeros(block.width + 1)
    if len(np.unique(head_rows(block, head).signs)) < 2:
        return v, None
    engine = InProcess()
    blocks = BlockSet(engine, (engine.put(block),), facts, facts.classes, facts.counts, 0.0)
    _, v, _, solve = minimize(BlockObjective(blocks, head, loss), v, SolverLimits(max(SAMPLE_TOL, tol), 100))
    return v, solve.args[0] if isinstance(solve, partial) else None
