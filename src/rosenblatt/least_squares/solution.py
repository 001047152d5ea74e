"""What a least-squares solver leaves, and the one solve that all of them try first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..online.stopping import Stop

EPS = float(np.finfo(np.float64).eps)
# The smallest reciprocal condition of a matrix of squares that is still solved by Cholesky.
SAFE = 1e-6


@dataclass(frozen=True)
class Fitted:
    heads: Any  # heads x features
    bias: Any  # one for each head: what is added to the scores
    mse: float  # mean over rows (by their weight) and heads
    rank: int | None  # None: not looked at
    solver: str
    stop: Stop
    total: Any = None  # the squared moments of X - shift, where they were made
    shift: Any = None
    R: Any = None  # or their triangle


def cholesky_solve(gram: Any, right: Any) -> Any | None:
    """gram^-1 right, for a gram of diagonal 1; None where its reciprocal condition is estimated under SAFE."""
    if not (np.isfinite(gram).all() and np.isfinite(right).all()):
        return None
    factor, info = lapack.dpotrf(gram, lower=1)
    if info != 0:
        return None
    rcond, info = lapack.dpocon(factor, float(abs(gram).sum(axis=0).max()), uplo="L")
    if not rcond >= SAFE:
        return None
    return lapack.dpotrs(factor, right, lower=1)[0]
