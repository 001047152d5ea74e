"""Numbers that mark missing cells, and numbers that only look like it."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.proofs.doctor.markers import find_marker

AGES = np.random.default_rng(0).integers(18, 91, 200).astype(float)


@pytest.mark.parametrize("marker", [-9.0, -99.0, -999.0, 999.0, 9_999.0, -999_999.0])
def test_runs_of_nines_far_from_all_other_cells_are_markers(marker: float) -> None:
    cells = AGES if marker != -9.0 else np.arange(200.0) % 3
    cells = np.where(np.arange(200) % 20 == 0, marker, cells)
    others = cells[cells != marker]
    assert find_marker(cells) == (marker, 10, others.min(), others.max())


@pytest.mark.parametrize(
    "cells",
    [
        AGES,
        np.where(np.arange(200) < 2, -999.0, AGES),  # two cells may be mistakes
        np.where(np.arange(200) < 9, -500.0, AGES),  # an outlier without nines
        np.where(np.arange(200) < 9, 99.0, AGES),  # near the others
        np.append(np.linspace(0, 41_310, 115), [99_999.0] * 85),  # all incomes above a limit
        np.repeat([5.0, 999.0], 100),  # two values are no range
        np.full(200, np.nan),
    ],
)
def test_other_numbers_are_no_markers(cells: np.ndarray) -> None:
    assert find_marker(cells) is None
