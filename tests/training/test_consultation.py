"""Notes of a training run on its rows: each thing that is wrong in one line, and nothing about clean rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training_files import write_svmlight

from datasets import data_file
from rosenblatt.data.readers import Options
from rosenblatt.training.consultation import consult
from rosenblatt.training.preparation import hold_out, prepare, read_with_digest
from rosenblatt.training.request import Request
from rosenblatt.training.stream import train_stream
from rosenblatt.training.train import train

N = 200


def clean_columns(n: int = N, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Columns such as files have them, none of which is an id or a leak."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(18, 90, n),
        "price": rng.uniform(1, 99, n).round(2),
        "population": np.exp(rng.normal(11, 1.5, n)).astype(int),
        "zip": rng.integers(10_000, 99_999, n),
        "city": rng.choice(["Ulm", "Bonn", "Kiel"], n),
    }
    noise = rng.normal(size=n)
    return columns, np.where(columns["age"] / 30 + noise > 2, "yes", "no")


def write(path: Path, columns: dict[str, Any], labels: Any) -> str:
    rows = zip(*columns.values(), labels, strict=True)
    path.write_text("\n".join([",".join([*columns, "label"]), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


def notes(path: str, **options: Any) -> list[str]:
    """The notes on the rows of a run in memory, and on columns that are left out."""
    request = Request(path, algorithm="average", **options)
    data, _ = read_with_digest(request)
    prepared = prepare(request, hold_out(request, data))
    return [*(note for note in prepared.notes if "left out" in note), *consult(request, data, prepared)]


def test_clean_rows_have_no_notes(tmp_path: Path) -> None:
    assert notes(write(tmp_path / "rows.csv", *clean_columns())) == []


LEAK = "Column 'paid' alone predicts the label (0 of 200 rows wrong; all other columns together: "


@pytest.mark.parametrize("stream", [False, True])
def test_identifiers_and_leaks_are_named_with_what_to_type(tmp_path: Path, stream: bool) -> None:
    columns, labels = clean_columns()
    columns |= {"the row": np.arange(N), "customer_id": np.random.default_rng(1).permutation(10**6)[:N]}
    columns |= {"paid": np.where(labels == "yes", 5.5, 0.5)}
    path = write(tmp_path / "rows.csv", columns, labels)
    if stream:
        request = Request(path, algorithm="average", parameters={"max_iter": 2})
        found = [note for note in train_stream(request, beside=str(tmp_path / "m")).notes if "exclude it" in note]
    else:
        found = notes(path)
    assert found[:2] == [
        "Column 'the row' numbers the rows: exclude it (--ignore 'the row').",
        "Column 'customer_id' has a different id in every row: exclude it (--ignore customer_id).",
    ]
    assert found[2].startswith(LEAK)
    assert found[2].endswith("exclude it (--ignore paid).")
    assert notes(path, options=Options(ignore=("the row", "customer_id", "paid"))) == []


def test_columns_without_names_are_given_by_position(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{row},{value:.3f},{'ab'[row % 2]}" for row, value in enumerate(rng.normal(size=40))]
    (tmp_path / "rows.data").write_text("\n".join(rows) + "\n")
    assert notes(str(tmp_path / "rows.data")) == ["Column 0 numbers the rows: exclude it (--ignore 0)."]


@pytest.mark.parametrize("n", [12, N])
def test_unique_strings_are_left_out(tmp_path: Path, n: int) -> None:
    columns, labels = clean_columns(n)
    path = write(tmp_path / "rows.csv", {"key": [f"k{i:x}" for i in range(n)], **columns}, labels)
    outcome = train(Request(path, algorithm="average", parameters={"max_iter": 2}, certify=False, holdout=0.0))
    values = f"{n} distinct non-numeric values in {n} rows"
    assert f"Column 'key' was left out: {values}, like an id. To use it: --categorical key" in outcome.notes
    assert "key" not in (outcome.recipe.required or ())
    options = Options(categorical=("key",))
    assert notes(path, holdout=0.0, options=options) == []


def test_copies_of_rows_are_counted_where_they_are_unlikely(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    twice = {name: np.tile(cells, 2) for name, cells in columns.items()}
    (note,) = notes(write(tmp_path / "rows.csv", twice, np.tile(labels, 2)))
    assert note.endswith("equal a training row, which makes the test error optimistic: remove copies from the file.")
    assert "of 80 test rows" in note
    request = Request(str(tmp_path / "rows.csv"), algorithm="average", cv=3, certify=False, parameters={"max_iter": 2})
    folds = "400 of 400 rows (100.0 %) equal another row, which makes the error of the folds optimistic: "
    assert any(note.startswith(folds) for note in train(request).notes)
    few = {"sex": np.tile(["f", "m"], N // 2), "city": columns["city"]}
    assert not any("equal a training" in note for note in notes(write(tmp_path / "few.csv", few, labels)))


def test_equal_rows_with_different_labels_bound_the_error(tmp_path: Path) -> None:
    rows = {"a": np.repeat(np.arange(30) / 7, 2).round(3), "b": np.repeat(np.arange(30) ** 2 % 11, 2)}
    labels = np.where(np.arange(60) % 2 * (np.arange(60) < 10), "x", np.where(np.arange(60) < 40, "y", "x"))
    (note,) = [note for note in notes(write(tmp_path / "rows.csv", rows, labels), holdout=0.0) if "Equal rows" in note]
    assert note == "Equal rows have different labels: every model misclassifies at least 5 of 60 training rows (8.3 %)."


def test_small_classes_and_unscaled_columns(tmp_path: Path) -> None:
    columns, _ = clean_columns()
    labels = np.where(np.arange(N) % 40 == 3, "fraud", "ok")
    path = write(tmp_path / "rows.csv", columns, labels)
    (note,) = notes(path)
    assert note.startswith("Class 'fraud' has only 4 rows of 160; always predicting 'ok' misclassifies only 4")
    assert note.endswith("--class-weight balanced.")
    *_, scales = notes(path, scale="none")
    assert scales.startswith("Column ranges differ by a factor of ")
    assert scales.endswith("and were not scaled, as requested: leave out --scale none.")


def test_sparse_rows_are_consulted_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(3)
    path = write_svmlight(tmp_path / "rows.svm", np.tile(X, (2, 1)), np.tile(rng.integers(0, 2, 60), 2))
    assert any("equal a training row" in note for note in notes(path))


FILES = ("adult.test", "banknote_authentication.csv", "breast-cancer-wisconsin.data", "ionosphere.data", "iris.data",
         "sonar.all-data", "wdbc.data")  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_real_tables_raise_no_false_alarm(name: str) -> None:
    label = "1" if name == "wdbc.data" else None
    found = notes(str(data_file(f"uci/{name}")), options=Options(label=label, missing="mean"))
    ids = ["Column 0 has a different id in every row: exclude it (--ignore 0)."]  # they are
    assert found == (ids if name == "wdbc.data" else [])
