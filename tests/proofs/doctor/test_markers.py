"""Numbers that mark missing cells, and numbers that only look like it."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from commands import rosenblatt
from rosenblatt.proofs.doctor.markers import are_day_numbers, find_marker

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


def test_days_as_numbers() -> None:
    dates = [date(2023, 12, 1) + timedelta(days=k) for k in range(120)]
    cells = np.array([float(f"{each:%Y%m%d}") for each in dates] + [np.nan])
    assert are_day_numbers(cells)
    for wrong in (20240230.0, 20241301.0, 20240100.0, 18991231.0, 20240301.5, 9e7, np.inf):
        assert not are_day_numbers(np.append(cells, wrong))
    assert not are_day_numbers(np.full(9, 20240301.0))
    assert not are_day_numbers(np.full(9, np.nan))


def test_days_as_numbers_are_named_in_every_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = [20_240_101 + int(day) for day in rng.permutation(28)]
    (tmp_path / "rows.csv").write_text("day,label\n" + "".join(f"{day},{'ab'[k % 2]}\n" for k, day in enumerate(days)))
    lines = [json.dumps({"day": day, "label": "ab"[k % 2]}) for k, day in enumerate(days)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    first = str(days[0])
    for name in ("rows.csv", "rows.jsonl"):
        notes = rosenblatt("train", tmp_path / name, "-o", tmp_path / "m", "--json").json["notes"]
        wanted = f"Column 'day' has dates as numbers, such as {first}: write them as 2024-01-{first[-2:]} to have them read as"
        assert any(note.startswith(wanted) for note in notes)
