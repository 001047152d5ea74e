"""What is counted while the training rows go by once: constant memory, and the same bits however the rows are cut into chunks.

Maxima and counts do not depend on the order. Means and deviations do in their last bits, so that rows are gathered into blocks
of a fixed number of rows first: a block's mean and sum of squares by NumPy, blocks joined in order by the update of Chan, Golub
and LeVeque, "Algorithms for computing the sample variance", 1983.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .polynomial import Polynomial
from .sparse import to_dense

BLOCK = 4096  # rows
CELLS = 1 << 18  # a block of wide rows has fewer, so that it stays in a cache
SAMPLE = 1_000  # rows that say what a column is like


class Moments:
    """Of each feature of dense rows: how many cells are there, their mean, largest absolute value and, if wanted, deviation."""

    def __init__(self, columns: int, degree: int, deviations: bool = False) -> None:
        self.polynomial, self._spread = Polynomial(columns, degree), deviations
        width = self.polynomial.width
        self._block = np.empty((max(1, min(BLOCK, CELLS // max(1, width))), columns))
        self._filled = 0
        self.rows = 0
        self.counts = np.zeros(width, np.int64)
        self._means, self._squares, self.largest = np.zeros(width), np.zeros(width), np.zeros(width)

    def add(self, X: Any) -> None:
        self.rows += len(X)
        at = 0
        while at < len(X):
            taken = min(len(X) - at, len(self._block) - self._filled)
            self._block[self._filled : self._filled + taken] = X[at : at + taken]
            at += taken
            self._filled += taken
            if self._filled == len(self._block):
                self._fold()

    def finish(self) -> None:
        self._fold()

    @property
    def means(self) -> Any:
        """Zero where there is none, or it passed the largest float."""
        return np.where(np.isfinite(self._means), self._means, 0.0)

    @property
    def deviations(self) -> Any:
        """Zero where a feature is constant; infinite where its squares passed the largest float."""
        with np.errstate(invalid="ignore"):
            found = np.sqrt(self._squares / np.maximum(self.counts, 1))
        found[~np.isfinite(found)] = np.inf
        # What rounding leaves of a constant is no deviation.
        return np.where(found <= 1e-12 * self.largest, 0.0, found)

    def _fold(self) -> None:
        if not self._filled:
            return
        X = self.polynomial.expand(self._block[: self._filled])
        self._filled = 0
        with np.errstate(all="ignore"):
            self.largest = np.fmax(self.largest, np.fmax(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0)))
            sums = X.sum(axis=0)
            whole = not np.isnan(sums).any()
            present: Any = True if whole else ~np.isnan(X)
            here = np.full(X.shape[1], len(X)) if whole else present.sum(axis=0)
            mean = (sums if whole else X.sum(axis=0, where=present)) / np.maximum(here, 1)
            total = self.counts + here
            gap = np.where(here > 0, mean - self._means, 0.0)
            share = here / np.maximum(total, 1)
            if self._spread:
                squares = np.square(X - mean).sum(axis=0, where=present)
                self._squares = self._squares + squares + gap * gap * (self.counts * share)
            self._means = self._means + gap * share
            self.counts = total


class Largest:
    """The largest absolute value of each feature of sparse rows, whose width may grow on the way."""

    def __init__(self, degree: int) -> None:
        self.degree, self.rows, self._stored = degree, 0, 0
        self.polynomial = Polynomial(0, 1)
        self.largest = np.zeros(0)

    def add(self, S: Any) -> None:
        self.rows += S.shape[0]
        self._stored += len(S.values)
        if S.width > self.polynomial.columns:
            self._widen(S.width)
        if self.degree == 1:
            np.maximum.at(self.largest, S.indices, abs(S.values))
            return
        step = max(1, CELLS // max(1, self.polynomial.width))
        for start in range(0, S.shape[0], step):
            part = to_dense(S, start, min(start + step, S.shape[0]), self.polynomial.columns)
            self.largest = np.fmax(self.largest, abs(self.polynomial.expand(part)).max(axis=0, initial=0))

    @property
    def density(self) -> float:
        """Of all cells, those that are stored."""
        return self._stored / max(1, self.rows * self.polynomial.columns)

    def _widen(self, columns: int) -> None:
        wider = Polynomial(columns, self.degree)
        largest = np.zeros(wider.width)
        if self.polynomial.columns:
            largest[self.polynomial.places_in(wider)] = self.largest
        self.polynomial, self.largest = wider, largest


class First:
    """The first cells of a column of numbers: do they look like somebody's numbering?"""

    def __init__(self) -> None:
        self._cells = np.zeros(0)

    def add(self, cells: Any) -> None:
        if len(self._cells) < SAMPLE:
            self._cells = np.concatenate([self._cells, cells[: SAMPLE - len(self._cells)]])

    @property
    def like_an_id(self) -> bool:
        cells = self._cells
        if len(cells) <= 100 or not np.isfinite(cells).all() or (cells != np.round(cells)).any():
            return False
        return len(np.unique(cells)) == len(cells)
