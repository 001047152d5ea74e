"""`predict` and `evaluate` on files unlike the training file: counts on standard error, a report, and exit code 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import rosenblatt
from rosenblatt.training.stream import train_stream  # noqa: F401  imports what the commands need

ROWS = "age,town,label\n" + "".join(f"{20 + i % 50},{('Rome', 'Paris')[i % 2]},{'xy'[i % 50 > 25]}\n" for i in range(60))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drift")
    (path / "rows.csv").write_text(ROWS)
    train = ("train", path / "rows.csv", "-a", "average", "--no-certify", "--holdout", "0")
    assert rosenblatt(*train, "-o", path / "m.model").code == 0
    assert rosenblatt(*train, "--missing", "refuse", "-o", path / "strict.model").code == 0
    return path


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_everything_unusual_is_in_one_short_table(folder: Path, command: str) -> None:
    new = folder / "new.csv"
    new.write_text("note,age,town,label\n-,999,Rome,x\n-,,Oslo,y\n-,30,Oslo,x\n-,31,Rome,x\n")
    found = rosenblatt(command, folder / "m.model", new, "--drift", folder / "drift.json")
    assert found.code == 0
    assert found.err.splitlines()[:5] == [
        f"ignored 1 column of {new} that the model does not use: 'note'",
        f"{new} differs from the training rows:",
        "  column  missing  far outside  unseen",
        "  age           1            1          999 is far from the training rows: 20 to 69",
        "  town                               2  unseen: 'Oslo'",
    ]
    report = json.loads((folder / "drift.json").read_text())
    assert (report["rows"], report["training_rows"], report["extra_columns"]) == (4, 60, ["note"])
    assert [column["name"] for column in report["columns"]] == ["age", "town"]


def test_the_training_file_itself_is_not_unusual(folder: Path) -> None:
    found = rosenblatt("predict", folder / "m.model", folder / "rows.csv")
    assert found.err.splitlines()[1:] == []
    assert found.err.startswith("accuracy")


@pytest.mark.parametrize(("missing", "usual"), [(20, True), (32, True), (50, False)])
def test_cells_that_miss_as_in_training_are_one_line(tmp_path: Path, missing: int, usual: bool) -> None:
    """20 of 120 cells are missing in training: up to 32 of 120 are chance (z below 2.326), 50 are not."""
    lines = ROWS.splitlines()[1:] * 2
    for name, holes in (("rows", 20), ("new", missing)):
        cut = [line[2:] if i < holes else line for i, line in enumerate(lines)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,town,label", *cut]) + "\n")
    train = ("train", tmp_path / "rows.csv", "-a", "average", "--no-certify", "--holdout", "0")
    assert rosenblatt(*train, "-o", tmp_path / "m.model").code == 0
    notes = rosenblatt("predict", tmp_path / "m.model", tmp_path / "new.csv").err.splitlines()
    assert (notes[0] == f"Missing cells, not more often than in training: 'age' {missing}.") == usual
    assert any("differs from the training rows" in note for note in notes) != usual


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_column_that_the_file_lacks_counts_as_missing(folder: Path, kind: str, command: str) -> None:
    new = folder / f"lacks.{kind}"
    new.write_text("town,label\nRome,x\nParis,y\n" if kind == "csv" else '{"town": "Rome", "label": "x"}\n')
    found = rosenblatt(command, folder / "m.model", new)
    n = "2 rows" if kind == "csv" else "1 row"
    assert (found.code, found.err.splitlines()[0]) == (0, f"{new} lacks the column 'age': its cells are missing in all {n}")
    found = rosenblatt(command, folder / "strict.model", new)
    assert (found.code, found.out) == (2, "")
    assert "missing column required by the model: age" in found.err


def test_a_file_with_less_than_half_of_the_columns_is_refused(folder: Path) -> None:
    new = folder / "other.csv"
    new.write_text("size,label\n1,x\n2,y\n")
    found = rosenblatt("predict", folder / "m.model", new)
    assert found.code == 2
    assert "missing columns required by the model: age, town (columns: size, label)" in found.err
    assert rosenblatt("train", folder / "rows.csv", "--test", new, "-o", folder / "n.model").code == 2


def test_a_report_replaces_no_input_and_needs_columns(folder: Path) -> None:
    for wrong in (folder / "m.model", folder / "report.txt", folder / "none" / "drift.json"):
        before = (folder / "m.model").read_bytes()
        found = rosenblatt("predict", folder / "m.model", folder / "rows.csv", "--drift", wrong)
        assert (found.code, found.out) == (2, "")
        assert (folder / "m.model").read_bytes() == before
    same = folder / "both.json"
    found = rosenblatt("predict", folder / "m.model", folder / "rows.csv", "--drift", same, "-o", same)
    assert found.code == 2
    assert not same.exists()
