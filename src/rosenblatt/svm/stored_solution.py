"""A solution of a soft margin as a model file has it: with the multipliers of the support vectors alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray
from .crammer_singer import CrammerSinger
from .multinomial import Multinomial
from .problem import Solution


@dataclass(frozen=True)
class StoredSolution:
    """A solution without the multipliers that are zero; `expand` returns the solution with all of them.

    >>> stored = StoredSolution(3, np.array([2]), np.array([0.5]), Solution(np.ones(1), 0.0, np.zeros(0), 1.0, 1.0,
    ...                                                                      np.zeros(0), np.ones(3)))
    >>> stored.expand(3).multipliers.tolist(), stored.expand(4).multipliers.tolist()
    ([0.0, 0.0, 0.5], [])
    """

    n_rows: int
    support: IntArray  # ascending
    found: FloatArray  # their multipliers, one or k each
    rest: Solution | CrammerSinger | Multinomial  # without multipliers

    @property
    def primal(self) -> float:
        return self.rest.primal

    @property
    def dual(self) -> float:
        return self.rest.dual

    @property
    def costs(self) -> FloatArray | None:
        return self.rest.costs if isinstance(self.rest, Solution) else None

    def expand(self, rows: int) -> Any:
        """Return the solution to start from; without multipliers if the fit has another number of rows."""
        if rows != self.n_rows:
            return self.rest
        multipliers = np.zeros((rows, *self.found.shape[1:]))
        multipliers[self.support] = self.found
        return replace(self.rest, multipliers=multipliers)
