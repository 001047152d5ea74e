"""`train --algorithm logistic --C inf`: a fit without a penalty, or what separates the rows of the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from commands import rosenblatt


def clinic(path: Path, marked: float) -> Path:
    """Rows of an age and a mark; the share `marked` of the rows with the mark are ill."""
    rng = np.random.default_rng(0)
    rare, age = rng.random(200) < 0.15, rng.normal(50.0, 9.0, 200).round(1)
    ill = np.where(rng.random(200) < np.where(rare, marked, 0.5), "yes", "no")
    lines = [f"{a},{'ja' if r else 'nein'},{label}" for a, r, label in zip(age, rare, ill, strict=True)]
    path.write_text("\n".join(["age,mark,ill", *lines]) + "\n")
    return path


def test_a_separating_category_is_named_with_the_rows_of_the_file(tmp_path: Path) -> None:
    path = clinic(tmp_path / "clinic.csv", marked=1.0)
    done = rosenblatt("train", path, "-o", tmp_path / "m.rb", "--algorithm", "logistic", "--C", "inf")
    assert done.code == 2
    assert "clinic.csv" in done.err
    assert "quasi-complete separation: column 'mark" in done.err
    first = int(done.err.split(" rows (")[1].split(",")[0])
    assert path.read_text().splitlines()[first].split(",")[1:] == ["ja", "yes"]
    assert not (tmp_path / "m.rb").exists()


def test_where_classes_overlap_a_model_is_trained(tmp_path: Path) -> None:
    path = clinic(tmp_path / "clinic.csv", marked=0.6)
    done = rosenblatt("train", path, "-o", tmp_path / "m.rb", "--algorithm", "logistic", "--C", "inf")
    assert done.code == 0, done.err
    assert rosenblatt("predict", tmp_path / "m.rb", path, "--proba").code == 0
