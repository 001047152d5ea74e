"""Reductions of multiclass problems to binary ones: each class against the rest, or each pair of classes.

Reference  one against one: S. Knerr, L. Personnaz and G. Dreyfus, Single-layer learning revisited (1990); the votes of pairs
           are counted in `scores.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..data.problem import Problem, Rows, make_rows, read_only
from ..kernels.linear.rows import CSR, Dense
from ..kernels.linear.schemes import Binary


@dataclass(frozen=True)
class Head:
    """A binary problem; `positive` and `negative` are class codes, and `negative` is None for "the rest"."""

    problem: Problem
    positive: int
    negative: int | None

    def about(self, classes: Array) -> str:
        """A clause for error messages; empty if there are only two classes."""
        if len(classes) == 2:
            return ""
        other = "the rest" if self.negative is None else f"class {classes[self.negative]!s}"
        return f" of class {classes[self.positive]!s} from {other}"


def heads(
    X: Matrix | Rows, codes: IntArray, n_classes: int, scheme: str, *, weights: FloatArray | None = None, x0: float = 1.0
) -> list[Head]:
    """The binary problems of a scheme, "ovr" or "ovo", on the same rows. Two classes give one problem."""
    rows = X if isinstance(X, Dense | CSR) else make_rows(X)
    weights = np.zeros(0) if weights is None else np.ascontiguousarray(weights, np.float64)
    heavy = weights > 0 if weights.size else np.ones(len(codes), bool)
    everything = None if heavy.all() else np.flatnonzero(heavy)

    def head(positive: int, negative: int | None, visited: IntArray | None) -> Head:
        signs = np.where(codes == positive, 1, -1).astype(np.int8)
        return Head(Problem(rows, Binary(read_only(signs), read_only(weights)), x0, visited), positive, negative)

    if n_classes == 2:
        return [head(1, 0, everything)]
    if scheme == "ovr":
        return [head(h, None, everything) for h in range(n_classes)]
    pairs = combinations(range(n_classes), 2)
    return [head(j, i, np.flatnonzero(heavy & ((codes == i) | (codes == j)))) for i, j in pairs]
