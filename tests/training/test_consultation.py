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
    columns |= {"paid": np.where(labels == "yes", 5.5, 0.5) + np.arange(N) % 3}
    path = write(tmp_path / "rows.csv", columns, labels)
    if stream:
        request = Request(path, algorithm="average", parameters={"max_iter": 2})
        found = [note for note in train_stream(request, beside=str(tmp_path / "m")).notes if "exclude it" in note]
    else:
        found = notes(path)
    assert found[:2] == [
        "Column 'the row' numbers the rows: exclude it (--ignore 'the row').",
        "Column 'customer_id' identifies the rows: exclude it (--ignore customer_id).",
    ]
    assert found[2].startswith(LEAK)
    assert found[2].endswith("exclude it (--ignore paid).")
    assert notes(path, options=Options(ignore=("the row", "customer_id", "paid"))) == []


@pytest.mark.parametrize(
    ("name", "cells", "fact"),
    [
        ("status", {"yes": "gone", "no": "here"}, "repeats the label: each class has its own value"),
        ("refund", {"yes": 1, "no": 0}, "repeats the label: each class has its own value"),
        ("left_on", {"yes": "2024-05-17", "no": ""}, "is filled in the rows of one class alone"),
    ],
)
def test_a_copy_of_the_label_is_named_even_if_the_others_tell_it_too(tmp_path: Path, name: str, cells: Any, fact: str) -> None:
    labels = np.repeat(["yes", "no"], 20)
    columns = {"tells": np.where(labels == "yes", 3, 7) + np.arange(40) % 5 / 9, name: [cells[label] for label in labels]}
    found = notes(write(tmp_path / "rows.csv", columns, labels), options=Options(missing="auto"))
    advice = f"If it is not known before the label, exclude it (--ignore {name})."
    assert [note for note in found if "label" in note] == [f"Column {name!r} {fact}. {advice}"]


def test_numbers_for_missing_cells_are_named(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    columns["age"][:5] = -999
    (note,) = notes(write(tmp_path / "rows.csv", columns, labels))
    assert note.startswith("Column 'age' has -999 in 5 rows, far from all others (18 to 89): if it marks missing cells, leave")


def test_spellings_of_labels_and_categories_are_named(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    columns["city"][:40] = "bonn"
    labels[:20] = ["Yes" if label == "yes" else label for label in labels[:20]]
    assert notes(write(tmp_path / "rows.csv", columns, labels))[:2] == [
        "Labels that differ in case alone are different classes: 'Yes' and 'yes'. Write them alike.",
        "Categories of column 'city' that differ in case alone are different ones: 'Bonn' and 'bonn'. Write them alike.",
    ]


def test_spellings_of_labels_hide_no_copy_of_the_label(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    columns["left"] = np.where(labels == "yes", 25, 0)
    labels[:20] = ["Yes" if label == "yes" else label for label in labels[:20]]
    found = notes(write(tmp_path / "rows.csv", columns, labels))
    assert any(note.startswith("Column 'left' repeats the label") for note in found)


def test_quantities_are_no_classes(tmp_path: Path) -> None:
    columns, _ = clean_columns()
    found = notes(write(tmp_path / "rows.csv", columns, np.arange(N) % 15))
    assert any(
        note.startswith("The labels in column 'label' are 15 different numbers, each a class of its own") for note in found
    )
    with pytest.raises(ValueError, match="the labels have 200 distinct values in 200 rows: these are quantities, ids or texts"):
        notes(write(tmp_path / "rows.csv", columns, np.arange(N) * 7))


def test_what_was_asked_for_is_not_advised(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    labels[:], labels[:4] = "no", "yes"
    path = write(tmp_path / "rows.csv", columns, labels)
    assert any("--class-weight balanced" in note for note in notes(path))
    assert not any("--class-weight balanced" in note for note in notes(path, parameters={"class_weight": "balanced"}))


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


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (
            [f"{i} years" for i in range(18, 38)] * 10,
            "Column 'x' has numbers with 'years', read as categories: write the numbers",
        ),
        ([f"{i}k" for i in range(N)], "Column 'x' was left out: its cells are numbers with 'k'. To use it, write the numbers"),
        (
            [f"10.0.{i}.{200 - i}" for i in range(N)],
            "Column 'x' was left out: 160 distinct non-numeric values in 160 rows, like",
        ),
    ],
)
def test_strings_with_digits(tmp_path: Path, cells: list[str], note: str) -> None:
    columns, labels = clean_columns()
    outcome = train(Request(write(tmp_path / "rows.csv", {"x": cells, **columns}, labels), certify=False))
    assert any(each.startswith(note) for each in outcome.notes)


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
    ids = ["Column 0 identifies the rows: exclude it (--ignore 0)."]  # they are
    assert found == (ids if name in ("wdbc.data", "breast-cancer-wisconsin.data") else [])
