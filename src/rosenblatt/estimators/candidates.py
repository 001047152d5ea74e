"""The candidates of a search, and the order in which they are tried: from coarse to fine along the costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import IntArray
from ..validation import ParameterProblem
from .trials import LARGEST_COST, PATH_PARAMETER

if TYPE_CHECKING:
    from .base import LinearClassifier


@dataclass(frozen=True)
class Candidate:
    """Parameters to try. Candidates of one group differ in the cost C alone."""

    parameters: dict[str, Any]
    group: int
    round: int

    @property
    def cost(self) -> float:
        return min(float(self.parameters.get(PATH_PARAMETER, 1.0)), LARGEST_COST)


def candidates_of(grid: Mapping[str, Sequence[Any]]) -> list[Candidate]:
    """Return all combinations of a grid, in the order in which ties between them are decided."""
    names = [name for name in grid if name != PATH_PARAMETER]
    costs = sorted(grid[PATH_PARAMETER]) if PATH_PARAMETER in grid else [None]
    rounds = np.argsort(coarse_to_fine(len(costs)))
    found = []
    for group, values in enumerate(product(*(grid[name] for name in names))):
        fixed = dict(zip(names, values, strict=True))
        for place, cost in enumerate(costs):
            parameters = fixed if cost is None else {**fixed, PATH_PARAMETER: cost}
            found.append(Candidate(parameters, group, group if cost is None else int(rounds[place])))
    return found


def coarse_to_fine(n: int) -> IntArray:
    """Return 0, ..., n - 1 with the middle first, then the middle of each half, and so on.

    >>> coarse_to_fine(7).tolist()
    [3, 1, 5, 0, 2, 4, 6]
    """
    order, pieces = [], [(0, n)]
    while pieces:
        order += [(start + end) // 2 for start, end in pieces]
        halves = [half for start, end in pieces for half in ((start, (start + end) // 2), ((start + end) // 2 + 1, end))]
        pieces = [(start, end) for start, end in halves if start < end]
    return np.array(order, dtype=np.int64)


def in_search_order(candidates: Sequence[Candidate]) -> list[int]:
    """Return the positions of the candidates in the order in which they are tried: round by round."""
    return sorted(range(len(candidates)), key=lambda place: (candidates[place].round, place))


def accepted_by(
    make: Callable[[Mapping[str, Any]], LinearClassifier], candidates: Sequence[Candidate]
) -> tuple[list[Candidate], dict[str, int]]:
    """Return the candidates whose parameters go together, and how many do not, by the reason.

    Raises the first error if there are none, and that of a value which is not accepted at all.
    """
    found, errors = [], []
    for candidate in candidates:
        try:
            make(candidate.parameters)._check_parameters()
            found.append(candidate)
        except ParameterProblem:
            raise
        except ValueError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return found, dict(Counter(map(str, errors)))


def untried(grid: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return the parameters to take if no candidate was tried: the first of each list, and C nearest to 1."""
    return {
        name: min(values, key=lambda cost: abs(math.log(min(cost, LARGEST_COST)))) if name == PATH_PARAMETER else values[0]
        for name, values in grid.items()
    }
