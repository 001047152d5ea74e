"""Numbers up to the largest float in the sentences of `rosenblatt train`."""

from __future__ import annotations

import numpy as np

from commands import rosenblatt


def test_huge_numbers_are_written_shortly_and_are_no_ids(tmp_path):
    values = np.random.default_rng(0).normal(size=(160, 2)) * [1e300, 1.0]
    lines = [f"{a!r},{b!r},{'xy'[row % 2]}" for row, (a, b) in enumerate(values.tolist())]
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(["a,b,class", *lines]) + "\n")
    found = rosenblatt("train", data, "-o", tmp_path / "m.safetensors")
    assert found.code == 0
    assert "because their ranges differ 8.23e299-fold." in found.out
    assert "row id" not in found.out
