"""Rows as a search for planes sees them: signed, centred, of size one; copied where that is little, else in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.rows import Dense
from ..problem import Problem
from .signs import BLOCK

ROOM = 1 << 25  # bytes, or a tenth of the rows
FAR = 1000  # as a power of two: weights beyond it are near the end of what floats hold


class Space:
    """z_i = y_i ((x_i - centre) 2^-exponent, 1), without the last where planes go through the origin."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.free = problem, problem.x0 != 0
        self.signs = np.asarray(problem.labels.signs, np.float64)
        self.step = max(1, int(BLOCK / (8 * max(1.0, problem.density))))
        self.room = int(max(ROOM, 0.1 * problem.rows.values.nbytes))
        self.centre, extent = self._extent()
        self.exponent = np.where(extent > 0, np.frexp(extent)[1], 0)
        self.width = len(self.centre) + int(self.free)
        self.near = self._copy() if 8 * self.width * problem.n_rows <= self.room else None

    def _extent(self) -> tuple[Any, Any]:
        problem = self.problem
        low, high = np.full(problem.n_features, np.inf), np.full(problem.n_features, -np.inf)
        for start in range(0, problem.n_rows, self.step):
            block = problem.matrix(start, start + self.step)
            least, most = block.min(axis=0), block.max(axis=0)
            if not isinstance(problem.rows, Dense):
                least, most = least.toarray().ravel(), most.toarray().ravel()
            np.minimum(low, least, out=low)
            np.maximum(high, most, out=high)
        # Sparse rows stay sparse only where they are.
        centre = low / 2 + high / 2 if self.free and isinstance(problem.rows, Dense) else np.zeros_like(low)
        return centre, np.maximum(high - centre, centre - low)

    def _copy(self) -> Any:
        """Columns first, so that a line along a column is a row of it."""
        out = np.ones((self.width, self.problem.n_rows))
        for start in range(0, self.problem.n_rows, self.step):
            block = self.problem.matrix(start, start + self.step).astype(np.float64)
            block = block if isinstance(self.problem.rows, Dense) else block.toarray()
            out[: len(self.centre), start : start + self.step] = np.ldexp(block - self.centre, -self.exponent).T
        return out * self.signs

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
        d = len(self.centre)
        shift = max(0, int((-self.exponent).max(initial=0)) - FAR)
        with np.errstate(over="ignore", under="ignore"):
            coef = np.ldexp(lines[..., :d], -self.exponent - shift)
            if not self.free:
                return coef, np.zeros(lines.shape[:-1])
            bias = lines[..., d] - lines[..., :d] @ np.ldexp(self.centre, -self.exponent)
            return coef, np.ldexp(bias, -shift)

    def rows(self, wanted: Any) -> Any:
        """Some rows z_i, without their signs, as lines."""
        if self.near is not None:
            return (self.near[:, wanted] * self.signs[wanted]).T
        parts = [self.problem.matrix(i, i + 1) for i in wanted.tolist()]
        rows = np.array([(part if isinstance(self.problem.rows, Dense) else part.toarray())[0] for part in parts], np.float64)
        scaled = np.ldexp(rows - self.centre, -self.exponent)
        return np.column_stack([scaled, np.ones(len(rows))]) if self.free else scaled
