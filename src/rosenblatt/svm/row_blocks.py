"""Products with the rows A_i = y_i (x_i, x_0) of a binary SVM, in blocks; X is copied only if it is small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from ..array_types import Array, BoolArray, FloatArray, IntArray
from ..kernels.linear.row_blocks import add_pairs, combine, combine_twice, gather, score
from ..kernels.linear.rows import CSR, EPS, Dense, Rows
from ..parallel import in_order
from .problem import BinarySVM

BLOCK_BYTES = 1 << 18  # half of the cache of a core
MAX_HELD_BYTES = 1 << 21  # smaller dense A are held as one array, for which NumPy's products take less time
BLOCKS_PER_TASK = 64  # blocks that one thread sums
MIN_SAMPLED_ROWS = 4000  # smaller problems are not sampled
SAMPLE_DIVISOR = 16  # a sample has one row in 16
SAMPLE_ROWS_PER_COLUMN = 20  # a sample has at least this many rows per column
MAX_LOST_SHARE = 1e-9  # of an objective, in rounding errors of a bound


class Blocks:
    """Some rows of a binary SVM, with their signs."""

    def __init__(self, rows: Rows, wanted: IntArray, signs: Array, x0: float, width: int) -> None:
        self.rows, self.wanted, self.x0, self.width = rows, wanted, float(x0), width
        self.signs = signs.astype(np.float64)
        small = isinstance(rows, Dense) and len(wanted) * (width + 1) * 8 <= MAX_HELD_BYTES
        self._held = self.block() if small else None

    def pick(self, mask: BoolArray) -> Blocks:
        """The rows where `mask` is true."""
        return Blocks(self.rows, self.wanted[mask], self.signs[mask], self.x0, self.width)

    def block(self) -> FloatArray:
        """A as one array, for few rows."""
        out = np.empty((len(self.wanted), self.width + 1))
        gather(self.rows, self.wanted, self.signs, self.x0, out)
        return out

    def sum(self, coefs: FloatArray) -> FloatArray:
        """A^T coefs"""
        if self._held is not None:
            found: FloatArray = coefs @ self._held
            return found
        signed = coefs * self.signs
        total = np.zeros(self.width + 1)
        combine(self.rows, self.wanted, signed, total[:-1])
        total[-1] = self.x0 * signed.sum()
        return total

    def product(self, v: FloatArray) -> FloatArray:
        """A v"""
        if self._held is not None:
            found: FloatArray = self._held @ v
            return found
        out = np.empty(len(self.wanted))
        score(self.rows, self.wanted, v[:-1], self.x0 * float(v[-1]), out)
        out *= self.signs
        return out

    def gram(self, weights: FloatArray, n_jobs: int = 1) -> FloatArray:
        """The upper triangle of A^T diag(weights) A, weights >= 0; the same bits on any number of threads.

        BLAS must be limited to one thread.
        """
        if self._held is not None:
            part = self._held * np.sqrt(weights)[:, None]
            triangle: FloatArray = dsyrk(1.0, part.T)
            return triangle
        work = self._sparse if isinstance(self.rows, CSR) else self._dense
        total = np.zeros((self.width + 1, self.width + 1), order="F")
        for part in in_order(lambda span: work(weights, *span), self._spans(), n_jobs):
            total += part
        if isinstance(self.rows, CSR):
            total[:-1, -1] = total[-1, :-1]
        return total

    def _spans(self) -> Iterator[tuple[int, int]]:
        size = BLOCKS_PER_TASK * self._block
        return ((start, min(start + size, len(self.wanted))) for start in range(0, len(self.wanted), size))

    @property
    def _block(self) -> int:
        return max(16, BLOCK_BYTES // (8 * (self.width + 1)))

    def _sparse(self, weights: FloatArray, start: int, stop: int) -> FloatArray:
        assert isinstance(self.rows, CSR)
        H = np.zeros((self.width + 1, self.width + 1))
        add_pairs(self.rows, self.wanted[start:stop], weights[start:stop], self.x0, H)
        return H

    def _dense(self, weights: FloatArray, start: int, stop: int) -> FloatArray:
        H = np.zeros((self.width + 1, self.width + 1), order="F")
        block = np.empty((self._block, self.width + 1))
        roots = np.sqrt(weights[start:stop])
        for first in range(start, stop, self._block):
            last = min(first + self._block, stop)
            part = block[: last - first]
            gather(self.rows, self.wanted[first:last], roots[first - start : last - start], self.x0, part)
            H = dsyrk(1.0, part.T, beta=1.0, c=H, overwrite_c=1)
        return H


def signed_blocks(svm: BinarySVM, wanted: IntArray) -> Blocks:
    """The wanted rows of a binary SVM."""
    return Blocks(svm.rows, wanted, svm.signs[wanted], svm.x0, svm.width)


def penalty_diagonal(svm: BinarySVM) -> FloatArray:
    """The diagonal of P: 0 for a free intercept, else 1; without an intercept, 1 keeps its weight at zero."""
    penalty = np.ones(svm.width + 1)
    penalty[-1] = 0.0 if svm.free and svm.x0 != 0.0 else 1.0
    return penalty


def draw_sample(svm: BinarySVM, seed: int) -> tuple[IntArray, FloatArray] | None:
    """Random rows, and costs that give each class its total cost; None if a sample is not worthwhile."""
    return sample_of_classes(svm.visited, svm.signs[svm.seen], svm.costs[svm.seen], svm.width, seed)


def sample_of_classes(
    seen: IntArray, labels: Array, costs: FloatArray, width: int, seed: int
) -> tuple[IntArray, FloatArray] | None:
    """Random rows of those `seen`, whose labels and costs are given, and costs as above."""
    size = max(len(seen) // SAMPLE_DIVISOR, SAMPLE_ROWS_PER_COLUMN * width)
    if len(seen) < max(MIN_SAMPLED_ROWS, 4 * size):
        return None
    some = np.sort(np.random.default_rng(seed).choice(len(seen), size, replace=False))
    shares, own = costs[some].copy(), labels[some]
    for label in np.unique(labels).tolist():
        part, total = shares[own == label].sum(), costs[labels == label].sum()
        if part == 0.0:
            return None
        shares[own == label] *= total / part
    return seen[some], shares


def sum_rows(rows: Rows, wanted: IntArray, coefs: FloatArray, width: int, longest: float, value: float) -> FloatArray:
    """sum_r coefs[r] x_i over the wanted rows, whose length is at most `longest`.

    If rounding errors could change half of its square by more than a small share of `value`, it is summed with twice the
    digits.
    """
    total = np.zeros(width)
    combine(rows, wanted, coefs, total)
    lost = np.sqrt(len(wanted)) * EPS * longest * float(abs(coefs).sum())
    if lost * (float(np.linalg.norm(total)) + 0.5 * lost) <= MAX_LOST_SHARE * value:
        return total
    total, rest = np.zeros(width), np.zeros(width)
    combine_twice(rows, wanted, coefs, total, rest)
    return total + rest


def add_to_diagonal(H: FloatArray, diagonal: FloatArray) -> None:
    """Add to the diagonal of a matrix in place."""
    H.reshape(-1, order="A")[:: len(H) + 1] += diagonal


def cholesky_factor(H: FloatArray) -> FloatArray:
    """A Cholesky factor of the matrix with this upper triangle; a nearly singular one gets a small diagonal shift."""
    for shift in (0.0, 1e-14, 1e-11, 1e-8):
        shifted = H + shift * float(np.diag(H).max()) * np.eye(len(H)) if shift else H
        factor, failed = dpotrf(shifted, lower=0, clean=0)
        if not failed:
            found: FloatArray = factor
            return found
    raise ValueError("the scales of the features differ too much for float64: scale the features")


def solve_factored(factor: FloatArray, right: FloatArray) -> FloatArray:
    """The solution of a system whose matrix has this Cholesky factor."""
    found: FloatArray = dpotrs(factor, right, lower=0)[0]
    return found
