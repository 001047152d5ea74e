"""The benchmarks without their data files: they report what is missing, and numbers can go to standard output."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

benchmarks = pytest.importorskip("benchmarks.__main__", reason="benchmarks are in the checkout only")
workloads = pytest.importorskip("benchmarks.workloads")


def test_parts_without_data_are_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(workloads, "DATA", tmp_path / "none")
    parts = ["hashing", "proofs", "errors", "sms", "calibration"]
    found = CliRunner().invoke(benchmarks.main, [*parts, "--quick", "--json", "-"])
    assert found.exit_code == 0
    numbers = json.loads(found.stdout)
    assert [[str(tmp_path) in row["skipped"] for row in numbers[part]] for part in parts] == [[True]] * 5
    assert "skipped" in found.stderr


@pytest.mark.thorough
def test_the_page_is_measured() -> None:
    """The benchmark finds what it waits for on the page."""
    pytest.importorskip("playwright.sync_api")
    studio = pytest.importorskip("benchmarks.studio")
    if shutil.which("chromium") is None:
        pytest.skip("no chromium here")
    found = list(studio.measure(1, quick=True))
    assert len(found) == 6
    assert all(row.get("seconds", row.get("frames")) > 0 for row in found)


def test_misses_at_the_same_loss_of_ham() -> None:
    mail = pytest.importorskip("benchmarks.mail")
    scores = np.array([0.9, 0.8, 0.2, 0.1, 0.9, 0.85, 0.5, 0.1])
    spam = np.arange(8) >= 4  # ham at 0.9, 0.8, 0.2, 0.1
    assert [mail.missed_at(scores, spam, loss) for loss in (0.0, 0.25, 0.5)] == [1.0, 0.5, 0.25]


def test_plain_training_is_measured_on_every_table_of_the_data() -> None:
    plain_training = pytest.importorskip("benchmarks.plain_training")
    if not workloads.DATA.is_dir():
        pytest.skip("no data")
    found = {f"{path.parent.name}/{path.name}" for folder in ("uci", "libsvm") for path in (workloads.DATA / folder).iterdir()}
    assert found == {name for table in plain_training.TABLES for name in (table.path, table.test) if name is not None}
