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

import numpy as np

from ..progress import Progress, ProgressCallback
from .augmented_rows import AugmentedRows, inner

# The first iterations are faster than the later ones: from here on, they predict how many there will be.
FIRST_PREDICTION = 10


class ConjugateGradients:
    """A run that may be continued: the weights W so far, one column for each head, and the number of iterations."""

    def __init__(self, A: AugmentedRows, tol: float) -> None:
        self._A, self._tol, self.iterations = A, tol, 0
        self.W = np.zeros((A.problem.n_features + 1, A.right.shape[1]))
        self._left = A.right.copy()
        self._steepest = A.transposed(self._left)
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
        A, P = self._A, self._direction
        products = A.times(P)
        curvature = inner(products, products) + A.ridge * inner(P, P)
        step = np.divide(self._slope, curvature, out=np.zeros_like(curvature), where=curvature > 0.0)
        self.W += np.multiply(step, P, out=self._scratch)
        self._left -= np.multiply(step, products, out=products)
        A.transposed(self._left, out=self._steepest)
        self._steepest -= np.multiply(A.ridge, self.W, out=self._scratch)
        slope = inner(self._steepest, self._steepest)
        P *= np.divide(slope, self._slope, out=np.zeros_like(slope), where=self._slope > 0.0)
        P += self._steepest
        self._slope = slope
        self.iterations += 1
        self._excess = self._largest_excess()

    def _largest_excess(self) -> float:
        return float(self._A.excess(self._left, self._steepest, self.W, self._tol).max())

    def _predicted(self) -> float:
        """The number of iterations until the tolerance is reached, if the excess goes on to shrink at the rate so far."""
        if self.iterations < FIRST_PREDICTION:
            return 0.0
        gained = np.log(self._start / self._excess)
        return float(self.iterations * np.log(self._start) / gained) if gained > 0.0 else np.inf
