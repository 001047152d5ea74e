"""Equal rows with different labels, found by digests of all rows: no plane separates them.

Update     every row gets a number of 64 bits, a digest of its columns and values. The numbers are divided into ranges that fit
           into the memory of a task. In each range the tree merges the blocks, and keeps one row for each number and class.
Guarantee  if there are such rows, two of them are found. Rows that are found may differ, with probability 2^-64 for a pair: the
           caller compares them.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TypeAlias

import numpy as np

from ..array_types import Array, IntArray
from ..data.problem import rows_as_matrix
from ..svm.signed_rows import keys
from .block_set import BlockSet
from .blocks import Block
from .tree import submit_tree

BYTES_PER_ROW = 24  # of a digest, a class and a row number
MAX_TABLE_BYTES = 1 << 27  # of the rows that one task merges
ROWS_PER_SLICE = 1 << 12
ZERO_ROW = np.uint64(0)  # the digest of a row of zeros

# Digests, classes and row numbers; sorted, one row for each digest and class.
Table: TypeAlias = tuple[Array, IntArray, IntArray]


def find_equal_rows(blocks: BlockSet, zeros: bool, deadline: float) -> list[int]:
    """Two rows with equal digests and different labels, by their numbers; or none.

    zeros : a row of zeros is returned alone, because it is a clash of its own.
    deadline : by `time.time`; rows that are not read until then are left out.
    """
    engine = blocks.engine
    digests = blocks.start(digests_of_rows, deadline)  # blocks are read once
    n_ranges = max(1, math.ceil(BYTES_PER_ROW * blocks.n_rows / MAX_TABLE_BYTES))
    for place in range(n_ranges):
        if time.time() >= deadline:
            break
        parts = [partial(engine.submit, rows_of_range, each, place, n_ranges) for each in digests]
        found: list[int] = engine.gather([engine.submit(first_clash, submit_tree(engine, parts, merge), zeros)])[0]
        if found:
            return found
    return []


def digests_of_rows(block: Block, deadline: float) -> Table:
    """A task: the digests, classes and numbers of all rows; of none after the deadline."""
    out = np.empty(block.n_rows, np.uint64)
    for start in range(0, block.n_rows, ROWS_PER_SLICE):
        if time.time() >= deadline:
            return out[:0], out[:0].astype(np.int64), out[:0].astype(np.int64)
        here = rows_as_matrix(block.rows, start, min(start + ROWS_PER_SLICE, block.n_rows))
        digests = b"".join(key[:8] if key else bytes(8) for key in keys(here))
        out[start : start + here.shape[0]] = np.frombuffer(digests, "<u8")
    return out, block.codes.astype(np.int64), block.start + np.arange(block.n_rows)


def rows_of_range(table: Table, place: int, n_ranges: int) -> Table:
    """A task: the rows of a block whose digests are in one of the ranges."""
    wanted = np.flatnonzero(table[0] % np.uint64(n_ranges) == place)
    digests, codes, numbers = (part[wanted] for part in table)
    return _reduced(digests, codes, numbers)


def merge(left: Table, right: Table) -> Table:
    """The rows of neighboring blocks in one table."""
    digests, codes, numbers = (np.concatenate(pair) for pair in zip(left, right, strict=True))
    return _reduced(digests, codes, numbers)


def _reduced(digests: Array, codes: IntArray, numbers: IntArray) -> Table:
    """The first row for each digest and class."""
    order = np.lexsort((numbers, codes, digests))
    digests, codes, numbers = digests[order], codes[order], numbers[order]
    first = np.ones(len(order), bool)
    first[1:] = (digests[1:] != digests[:-1]) | (codes[1:] != codes[:-1])
    return digests[first], codes[first], numbers[first]


def first_clash(table: Table, zeros: bool) -> list[int]:
    """A task: the numbers of two rows of a clash, the second as small as possible; or of a row of zeros."""
    digests, _, numbers = table
    if zeros and len(digests) and digests[0] == ZERO_ROW:
        return [int(numbers[digests == ZERO_ROW].min())]
    shared = np.flatnonzero(digests[1:] == digests[:-1])
    if not len(shared):
        return []
    later = np.maximum(numbers[shared], numbers[shared + 1])
    at = int(shared[np.argmin(later)])
    return sorted((int(numbers[at]), int(numbers[at + 1])))
