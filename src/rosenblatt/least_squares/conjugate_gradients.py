"""Least squares of sparse rows by conjugate gradients, for all heads at once.

Problem    min over W  |T - A W|^2 + ridge |W|^2; the W of least norm if there are several (A: `augmented_rows.py`).
Update     W += a P, R -= a A P, G = A'R - ridge W, P = G + b P; each head has its own a = |G|^2 / (|A P|^2 + ridge |P|^2)
           and b = |new G|^2 / |G|^2. It starts from W = 0, R = T, P = G.
Guarantee  W stays in the span of the rows of A, so that the limit is the minimum of least norm. The number of iterations to a
           given accuracy is of the order of the condition number of A, with the ridge.
Reference  CGLS: M. Hestenes, E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952), sec. 10; A. Bjorck, Numerical Methods for Least
           Squares Problems (1996), sec. 7.4.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..array_types import FloatArray
from ..progress import Progress, ProgressCallback
from .augmented_rows import inner

# The first iterations are faster than the later ones: from here on, they predict how many there will be.
FIRST_PREDICTION = 10


class Residual(Protocol):
    """T - A W, wherever its entries are: in memory, or with blocks of rows."""

    def curvature(self, P: FloatArray) -> FloatArray:
        """|A P|^2 of each column of a direction P."""

    def advance(self, step: FloatArray) -> None:
        """Move W by a step for each head along the last direction."""

    def gradient(self, W: FloatArray, out: FloatArray) -> None:
        """Write A'(T - A W) to `out`, for the W that the steps led to."""

    def excess(self, gradient: FloatArray, W: FloatArray, tol: float) -> FloatArray:
        """For each head, how far W is from the tolerance: at most 1 where it is reached."""


class System(Protocol):
    """A least squares problem."""

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of W: columns of A x heads."""

    @property
    def unit(self) -> float:
        """The unit of A and of 1/W."""

    @property
    def ridge(self) -> float:
        """The cost of |W|^2."""

    def start(self) -> Residual:
        """The residual of W = 0."""

    def finished(self, heads: FloatArray, w0: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(heads, intercepts)."""

    def mse(self, heads: FloatArray, bias: FloatArray) -> float:
        """The mean squared error over rows and heads."""


class ConjugateGradients:
    """A run that may be continued: the weights W so far, one column for each head, and the number of iterations."""

    def __init__(self, A: System, tol: float) -> None:
        self._ridge, self._tol, self.iterations = A.ridge, tol, 0
        self.W = np.zeros(A.shape)
        self._residual = A.start()
        self._steepest = np.empty_like(self.W)
        self._residual.gradient(self.W, self._steepest)
        self._direction = self._steepest.copy()
        self._slope = inner(self._steepest, self._steepest)
        self._scratch = np.empty_like(self.W)  # new arrays of this size cost more than the products of sparse rows
        self._start = self._excess = self._largest_excess()

    @property
    def reached(self) -> bool:
        """Whether all heads have reached the tolerance."""
        return self._excess <= 1.0

    def run(self, max_iter: int, progress: ProgressCallback | None, worth: float = np.inf) -> bool:
        """Iterate until the tolerance is reached, or `max_iter`, or more than `worth` iterations seem to be needed.

        Return whether the tolerance is reached.
        """
        while not self.reached and self.iterations < max_iter and self._predicted() <= worth:
            if not np.isfinite(self._excess):
                return False  # the rows are not finite, or their sums are not
            self._iterate()
            if progress is not None:
                progress(Progress(self.iterations, max_iter=max_iter, text=f"iteration {self.iterations}"))
        return self.reached

    def _iterate(self) -> None:
        P = self._direction
        curvature = self._residual.curvature(P) + self._ridge * inner(P, P)
        step = np.divide(self._slope, curvature, out=np.zeros_like(curvature), where=curvature > 0.0)
        self.W += np.multiply(step, P, out=self._scratch)
        self._residual.advance(step)
        self._residual.gradient(self.W, self._steepest)
        self._steepest -= np.multiply(self._ridge, self.W, out=self._scratch)
        slope = inner(self._steepest, self._steepest)
        P *= np.divide(slope, self._slope, out=np.zeros_like(slope), where=self._slope > 0.0)
        P += self._steepest
        self._slope = slope
        self.iterations += 1
        self._excess = self._largest_excess()

    def _largest_excess(self) -> float:
        return float(self._residual.excess(self._steepest, self.W, self._tol).max())

    def _predicted(self) -> float:
        """The number of iterations until the tolerance is reached, if the excess goes on to shrink at the rate so far."""
        if self.iterations < FIRST_PREDICTION:
            return 0.0
        gained = np.log(self._start / self._excess)
        return float(self.iterations * np.log(self._start) / gained) if gained > 0.0 else np.inf
