"""The errors that equal rows force, and a plane that makes no others.

Problem    rows that are the same point with different labels make every plane err once for each pair of them; is there a plane
           that gets all rows outside of such pairs right?
Update     the plane of the widest margin of those rows, or one half as wide, which does as well: by dual coordinates where
           they are many and sparse, else by nearest points.
Guarantee  a plane whose errors are as many as the pairs has the fewest of all planes: both are counted exactly. Of a point with
           more rows of one label than of the other the surplus is outside of the pairs, so that the plane is on its side; a
           point with as many of both is one error for each pair on either side.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...data.problem import Problem
from ...svm.exact_separation import Patience
from ...svm.hard_margin import by_coordinates, many_and_sparse
from ...svm.nearest_points import approach
from ...svm.signed_rows import SignedRows
from .clashes import Clash
from .exact_signs import Plane, plane_of

HALF = 0.5  # as wide as the widest margin is wide enough
STEPS = 100_000  # of the active set


def plane_for(problem: Problem, left: Any, deadline: float) -> Plane | None:
    """A plane that separates the rows `left`, or nearly; None where there is none, or no time (by `time.monotonic`)."""
    some = np.flatnonzero(left)
    if len(np.unique(np.asarray(problem.labels.signs)[some])) < 2:
        return None
    part, start = replace(problem, visited=some), None
    with np.errstate(all="ignore"):
        if many_and_sparse(part):
            plane, start = by_coordinates(part, HALF, deadline)
            if plane is not None:
                return plane_of(problem, plane.coef, plane.bias)
        rows = SignedRows(part)
        end = approach(rows, tol=HALF, max_steps=STEPS, start=start, patience=Patience(deadline=deadline))
        if end.decision is not None and not end.decision.apart:
            return None
        try:
            found = end.run.result(end.reason if end.decision is None else end.run.adopt(end.decision))
        except ValueError:  # floats do not hold the plane
            return None
    return plane_of(problem, found.coef, found.bias)


def why(twins: list[Clash]) -> str:
    """Why a plane with one error for each of these has the fewest, in a sentence."""
    pairs = sum(len(clash) == 2 for clash in twins)
    parts = [f"a row of {'this pair' if pairs == 1 else f'each of these {pairs:,} pairs'} of equal rows with different labels"]
    zeros = len(twins) - pairs
    parts = [*(parts if pairs else []), *([f"{zeros:,} {'row' if zeros == 1 else 'rows'} of zeros"] if zeros else [])]
    return f"every plane gets {' and '.join(parts)} wrong, and this one gets all others right"
