"""Rows of a machine in blocks: A_i = y_i (x_i, x_0), their weighted squares, sums and products, without a copy of X."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.blas import dsyrk

from ..data.problem import Rows
from ..kernels.linear.blocks import add_pairs, combine, gather, score
from ..kernels.linear.rows import CSR
from ..parallel import in_order, one_blas_thread
from .problem import Machine

BLOCK_BYTES = 1 << 18  # half of a core's own cache
STRETCH = 64  # blocks that one thread takes at a time, and adds up by itself
SMALL = 4000  # rows of which no sample is worth taking
SAMPLE = 16  # a sample has one row of so many,
PER_COLUMN = 20  # but so many for each column


class Blocks:
    """Some rows of a machine, with their signs."""

    def __init__(self, rows: Rows, wanted: Any, signs: Any, x0: float, width: int) -> None:
        self.rows, self.wanted, self.x0, self.width = rows, wanted, float(x0), width
        self.signs = signs.astype(np.float64)

    def pick(self, some: Any) -> Blocks:
        """The rows where `some` is true."""
        return Blocks(self.rows, self.wanted[some], self.signs[some], self.x0, self.width)

    def block(self) -> Any:
        """A, as one array: for few rows."""
        out = np.empty((len(self.wanted), self.width + 1))
        gather(self.rows, self.wanted, self.signs, self.x0, out)
        return out

    def sum(self, coefs: Any) -> Any:
        """A^T coefs"""
        signed = coefs * self.signs
        total = np.zeros(self.width + 1)
        combine(self.rows, self.wanted, signed, total[:-1])
        total[-1] = self.x0 * signed.sum()
        return total

    def product(self, v: Any) -> Any:
        """A v"""
        out = np.empty(len(self.wanted))
        score(self.rows, self.wanted, v[:-1], self.x0 * float(v[-1]), out)
        out *= self.signs
        return out

    def gram(self, weights: Any, n_jobs: int = 1) -> Any:
        """A^T diag(weights) A, weights >= 0; the same bits on any number of threads."""
        work = self._sparse if isinstance(self.rows, CSR) else self._dense
        total = np.zeros((self.width + 1, self.width + 1))
        with one_blas_thread():
            for part in in_order(lambda span: work(weights, *span), self._spans(), n_jobs):
                total += part
        upper = np.triu(total)
        if isinstance(self.rows, CSR):
            upper[:-1, -1] = total[-1, :-1]
        return upper + np.triu(upper, 1).T

    def _spans(self) -> Iterator[tuple[int, int]]:
        stretch = STRETCH * self._block
        return ((start, min(start + stretch, len(self.wanted))) for start in range(0, len(self.wanted), stretch))

    @property
    def _block(self) -> int:
        return max(16, BLOCK_BYTES // (8 * (self.width + 1)))

    def _sparse(self, weights: Any, start: int, stop: int) -> Any:
        H = np.zeros((self.width + 1, self.width + 1))
        add_pairs(self.rows, self.wanted[start:stop], weights[start:stop], self.x0, H)
        return H

    def _dense(self, weights: Any, start: int, stop: int) -> Any:
        H = np.zeros((self.width + 1, self.width + 1), order="F")
        block = np.empty((self._block, self.width + 1))
        roots = np.sqrt(weights[start:stop])
        for first in range(start, stop, self._block):
            last = min(first + self._block, stop)
            part = block[: last - first]
            gather(self.rows, self.wanted[first:last], roots[first - start : last - start], self.x0, part)
            H = dsyrk(1.0, part.T, beta=1.0, c=H, overwrite_c=1)
        return H


def blocks_of(machine: Machine, wanted: Any) -> Blocks:
    return Blocks(machine.rows, wanted, machine.signs[wanted], machine.x0, machine.width)


def penalty_of(machine: Machine) -> Any:
    """The diagonal of P: a free intercept costs nothing. Without an intercept its place holds itself at zero."""
    penalty = np.ones(machine.width + 1)
    penalty[-1] = 0.0 if machine.free and machine.x0 != 0.0 else 1.0
    return penalty


def sample_of(machine: Machine, seed: int) -> tuple[Any, Any] | None:
    """Some rows, and costs under which each class weighs as much as it does as a whole; None where it does not pay."""
    seen = machine.visited
    size = max(len(seen) // SAMPLE, PER_COLUMN * machine.width)
    if len(seen) < max(SMALL, 4 * size):
        return None
    wanted = np.sort(np.random.default_rng(seed).choice(seen, size, replace=False))
    costs, y = machine.costs[wanted].copy(), machine.signs[wanted]
    for side in (1, -1):
        part, whole = costs[y == side].sum(), machine.costs[seen][machine.signs[seen] == side].sum()
        if part == 0.0:
            return None
        costs[y == side] *= whole / part
    return wanted, costs


def factored(H: Any) -> Any:
    """A Cholesky factor for `cho_solve`; directions that nothing holds get a little of their own."""
    scale = float(np.diag(H).max())
    for shift in (0.0, 1e-14, 1e-11, 1e-8):
        try:
            return cho_factor(H + shift * scale * np.eye(len(H)) if shift else H, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise ValueError("the features are scaled too differently for float64: scale them")
