"""Rows as a search for planes sees them: signed, centred, of size one. Where a copy of them is small, it is also turned and
stretched so that scores change as much along one line as along another; else rows are looked at in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.problem import Problem
from ...kernels.linear.rows import Dense
from .exact_signs import BLOCK

ROOM = 1 << 25  # bytes, or a tenth of the rows
TURNED = 2e8  # rows x columns x the fewer of them: so much work to turn them takes a tenth of a second
FLAT = 1e-13  # directions in which rows extend less than so much of the longest are left out
FAR = 1000  # as a power of two: weights beyond it are near the end of what floats hold


class Space:
    """z_i = y_i ((x_i - centre) 2^-exponent, 1), without the last where planes go through the origin.

    A line is a vector v; a step of 1 along it adds (z_i . `back` v) to the score of row i, if there is `back`, else z_i . v.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.free = problem, problem.x0 != 0
        self.signs = np.asarray(problem.labels.signs, np.float64)
        self.step = max(1, int(BLOCK / (8 * max(1.0, problem.density))))
        self.room = int(max(ROOM, 0.1 * problem.rows.values.nbytes))
        n, self.width = problem.n_rows, problem.n_features + int(self.free)
        small = 8 * self.width * n <= self.room
        turned = small and n * self.width * min(n, self.width) <= TURNED
        self.centre, extent = self._extent(self.free and (turned or isinstance(problem.rows, Dense)))
        self.exponent = np.where(extent > 0, np.frexp(extent)[1], 0)
        self.varies = extent > 0
        self.near: Any = self._copy() if small else None
        self.back: Any = None
        self.along: Any = None
        if turned:
            self._turn()

    def _extent(self, centred: bool) -> tuple[Any, Any]:
        problem = self.problem
        low, high = np.full(problem.n_features, np.inf), np.full(problem.n_features, -np.inf)
        for start in range(0, problem.n_rows, self.step):
            block = problem.matrix(start, start + self.step)
            least, most = block.min(axis=0), block.max(axis=0)
            if not isinstance(problem.rows, Dense):
                least, most = least.toarray().ravel(), most.toarray().ravel()
            np.minimum(low, least, out=low)
            np.maximum(high, most, out=high)
        centre = low / 2 + high / 2 if centred else np.zeros_like(low)
        return centre, np.maximum(high - centre, centre - low)

    def _copy(self) -> Any:
        """Columns first, so that a line along a column is a row of it."""
        out = np.ones((self.width, self.problem.n_rows))
        for start in range(0, self.problem.n_rows, self.step):
            block = self.problem.matrix(start, start + self.step).astype(np.float64)
            block = block if isinstance(self.problem.rows, Dense) else block.toarray()
            out[: len(self.centre), start : start + self.step] = np.ldexp(block - self.centre, -self.exponent).T
        return out * self.signs

    def _turn(self) -> None:
        """near = axes lengths rows: the rows of the last are orthogonal and of one length, and take the place of `near`."""
        axes, lengths, rows = np.linalg.svd(self.near, full_matrices=False)
        if not lengths[0] > 0:
            return
        kept = lengths > FLAT * lengths[0]
        stretch, axes = lengths[kept] / np.sqrt(self.problem.n_rows), axes[:, kept]
        self.near, self.back, self.along = rows[kept] * np.sqrt(self.problem.n_rows), axes / stretch, axes * stretch
        self.width = int(kept.sum())

    def columns(self, some: int, rng: Any) -> Any:
        """So many lines at most, each along a column as it came."""
        m = self.width if self.along is None else len(self.along)
        chosen = rng.permutation(m)[:some]
        if self.along is not None:
            return self.along[chosen]
        lines = np.zeros((len(chosen), m))
        lines[np.arange(len(chosen)), chosen] = 1.0
        return lines

    def products(self, lines: Any) -> Any:
        """What a step of 1 along each line adds to the signed score of each row: lines x rows."""
        if self.near is not None:
            return np.ascontiguousarray(lines @ self.near)
        coef, bias = self.weights(lines)
        out = np.empty((len(lines), self.problem.n_rows))
        for start in range(0, self.problem.n_rows, self.step):
            block = self.problem.matrix(start, start + self.step).astype(np.float64, copy=False)
            out[:, start : start + self.step] = (block @ coef.T).T + bias[:, None]
        out *= self.signs
        return out

    def weights(self, lines: Any) -> tuple[Any, Any]:
        """Lines, or one, as weights and biases of the rows as they came, but for a common power of two."""
        lines = lines if self.back is None else lines @ self.back.T
        d = len(self.centre)
        shift = max(0, int((-self.exponent).max(initial=0)) - FAR)
        with np.errstate(over="ignore", under="ignore"):
            slopes = np.where(self.varies, lines[..., :d], 0.0)  # rounding must not move a bias by a constant's size
            coef = np.ldexp(slopes, -self.exponent - shift)
            if not self.free:
                return coef, np.zeros(lines.shape[:-1])
            bias = lines[..., d] - slopes @ np.where(self.varies, np.ldexp(self.centre, -self.exponent), 0.0)
            return coef, np.ldexp(bias, -shift)

    def rows(self, wanted: Any) -> Any:
        """Some rows z_i, with or without their signs, as lines."""
        if self.near is not None:
            return self.near[:, wanted].T
        parts = [self.problem.matrix(i, i + 1) for i in wanted.tolist()]
        rows = np.array([(part if isinstance(self.problem.rows, Dense) else part.toarray())[0] for part in parts], np.float64)
        scaled = np.ldexp(rows - self.centre, -self.exponent)
        return np.column_stack([scaled, np.ones(len(rows))]) if self.free else scaled
