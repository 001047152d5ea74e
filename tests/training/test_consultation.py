"""Notes of a training run on its rows: each thing that is wrong in one line, and nothing about clean rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training_files import write_svmlight

from datasets import data_file
from rosenblatt.data.readers import Options
from rosenblatt.training.consultation import about_classes, consult
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
    return [*(note for note in prepared.notes if "left out" in note), *map(str, consult(request, data, prepared))]


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


def test_a_mark_of_missing_cells_as_a_label_is_named(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    marked = np.where(np.arange(N) % 5 == 0, "-", labels)
    path = write(tmp_path / "rows.csv", columns, marked)
    sentence = "Label '-' (32 training rows) is a class of its own: if it marks missing labels, delete these rows."
    assert notes(path) == [sentence]
    streamed = train_stream(Request(path, algorithm="average", certify=False), str(tmp_path / "cache"))
    assert sentence in map(str, streamed.findings)
    assert notes(write(tmp_path / "signs.csv", columns, np.where(labels == "yes", "+", "-"))) == []


def test_quantities_are_no_classes(tmp_path: Path) -> None:
    columns, _ = clean_columns()
    found = notes(write(tmp_path / "rows.csv", columns, np.arange(N) % 15))
    assert any(
        note.startswith("The labels in column 'label' are 15 different numbers, each a class of its own") for note in found
    )
    with pytest.raises(ValueError, match="the labels have 200 distinct values in 200 rows: these are quantities, ids or texts"):
        train(Request(write(tmp_path / "rows.csv", columns, np.arange(N) * 7)))


def test_what_was_asked_for_is_not_advised(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    labels[:], labels[:4] = "no", "yes"
    path = write(tmp_path / "rows.csv", columns, labels)
    assert any("--class-weight balanced" in note for note in notes(path))
    assert not any("--class-weight balanced" in note for note in notes(path, parameters={"class_weight": "balanced"}))


def test_probabilities_of_weighted_classes_are_named_unless_a_map_is_fitted() -> None:
    def named(algorithm: str, **parameters: object) -> bool:
        request = Request("example:iris", algorithm=algorithm, parameters=parameters)
        found = about_classes(request, np.array(["no", "yes"]), np.array([50, 50]))
        return any("--calibrate sigmoid" in str(finding) for finding in found)

    assert named("logistic", class_weight="balanced")
    assert named("soft-margin", class_weight={"no": 2.0}, loss="logistic")
    assert not named("logistic")
    assert not named("logistic", class_weight="balanced", calibrate="sigmoid")
    assert not named("soft-margin", class_weight="balanced", loss="hinge")


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
    assert note.endswith("equal a training row: if they are copies, the test error is too low. Remove copies from the file.")
    assert "of 80 test rows" in note
    request = Request(str(tmp_path / "rows.csv"), algorithm="average", cv=3, certify=False, parameters={"max_iter": 2})
    folds = "400 of 400 rows (100.0 %) equal another row: if they are copies, the error of the folds is too low."
    assert any(note.startswith(folds) for note in train(request).notes)
    sentences = [f"a longer sentence about word{nr}" for nr in range(N)]
    (note,) = notes(write(tmp_path / "text.csv", {"text": np.tile(sentences, 2)}, np.tile(labels, 2)))
    assert "equal a training row" in note
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


def test_streams_have_the_findings_of_runs_in_memory(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    twice = {name: np.tile(cells, 2) for name, cells in columns.items()}
    labels = np.tile(np.where(np.arange(N) < 20, np.char.upper(labels), labels), 2)
    path = write(tmp_path / "rows.csv", {"nr": np.arange(2 * N), **twice, "age again": twice["age"]}, labels)
    request = Request(path, algorithm="average", parameters={"max_iter": 2}, certify=False, options=Options(ignore=("nr",)))
    cache = str(tmp_path / "cache")
    streamed, again = train_stream(request, cache), train_stream(request, cache)
    found = train(request).findings
    assert {"spellings", "equal_columns", "copied_rows"} <= {each.kind for each in found}
    assert [each.to_dict() for each in streamed.findings] == [each.to_dict() for each in found]
    assert [each.to_dict() for each in again.findings] == [each.to_dict() for each in found]


def test_equal_columns_are_named_unless_they_are_flags(tmp_path: Path) -> None:
    columns, labels = clean_columns()
    rare = (np.arange(N) < 3).astype(int)
    more = {"age2": columns["age"], "age3": columns["age"], "town": columns["city"], "rare": rare, "odd": rare}
    assert notes(write(tmp_path / "rows.csv", columns | more, labels)) == [
        "Columns 'age', 'age2' and 'age3' are equal, and one of them is enough: exclude the others (--ignore age2,age3).",
        "Columns 'city' and 'town' are equal, and one of them is enough: exclude the other (--ignore town).",
    ]


@pytest.mark.parametrize("first", [0, 1])
def test_columns_of_matrices_are_examined_and_can_be_ignored(tmp_path: Path, first: int) -> None:
    rng, y = np.random.default_rng(0), np.arange(N) // 7 % 2
    X = np.column_stack([np.arange(N) + 5.0, rng.normal(size=N).round(6), 3.0 * y + 1.0])
    expected = [
        f"Column {first} numbers the rows: exclude it (--ignore {first}).",
        f"Column {first + 2} repeats the label: each class has its own value. If it is not known before the label, "
        f"exclude it (--ignore {first + 2}).",
    ]
    if first:
        path = write_svmlight(tmp_path / "rows.svm", X, y)
    else:
        path = str(tmp_path / "rows.npz")
        np.savez(path, X=X, y=y)
    assert notes(path) == expected
    ignored = Options(ignore=(str(first), str(first + 2)))
    assert notes(path, options=ignored) == []
    errors = [train(Request(path, algorithm="ridge", options=each, certify=False)).train.error for each in (Options(), ignored)]
    assert errors[0] == 0.0
    assert errors[1] > 0.2
    with pytest.raises(ValueError, match=f"no column '9' to ignore; columns have numbers from {first} to {first + 2}"):
        notes(path, options=Options(ignore=("9",)))


def test_few_classes_more_than_half_of_the_training_rows_are_no_quantities(tmp_path: Path) -> None:
    """200 classes of two rows in the file are 200 of 342 training rows."""
    rng = np.random.default_rng(0)
    path = write(tmp_path / "rows.csv", {"a": rng.normal(size=400)}, [f"c{i % 200}" for i in range(400)])
    found = train(Request(path, algorithm="ridge", certify=False)).notes
    assert any(note.startswith("Classes 'c1', 'c10', ") and "have only 1 row each of 342." in note for note in found)


def test_a_file_of_constants_is_reported_once(tmp_path: Path) -> None:
    outcome = train(Request(write(tmp_path / "rows.csv", {"a": [1] * 60, "b": ["x"] * 60}, np.arange(60) % 3), certify=False))
    assert "All columns are constant: the model can only guess the most frequent class." in outcome.notes
    assert not any("scaled" in note or "Equal rows" in note for note in outcome.notes)


def test_sparse_rows_are_consulted_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(3)
    path = write_svmlight(tmp_path / "rows.svm", np.tile(X, (2, 1)), np.tile(rng.integers(0, 2, 60), 2))
    assert any("equal a training row" in note for note in notes(path))


# What is true of the real tables: their copies and conflicts are those that their descriptions, or a count, have.
COPIES = "{} test rows ({} %) equal a training row: if they are copies, the test error is too low. Remove copies from the file."
CONFLICTS = "Equal rows have different labels: every model misclassifies at least {} training rows ({} %)."
RARE = (
    "Class 1 has only 1,184 rows of 39,800; always predicting -1 misclassifies only 1,184, so accuracy is not informative. "
    "If that class matters, give its rows more weight: --class-weight balanced."
)
TRUE = {
    "uci/spambase.data": [COPIES.format("109 of 920", "11.8")],
    "uci/breast-cancer-wisconsin.data": ["Column 0 identifies the rows: exclude it (--ignore 0)."],
    "uci/wdbc.data": ["Column 0 identifies the rows: exclude it (--ignore 0)."],
    "libsvm/a9a": [CONFLICTS.format("1,050 of 26,048", "4.0")],
    "libsvm/a9a.t": [CONFLICTS.format("364 of 13,025", "2.8")],
    "libsvm/dna.scale": [COPIES.format("30 of 400", "7.5")],
    "libsvm/dna.scale.t": [COPIES.format("12 of 237", "5.1")],
    "libsvm/letter.scale": [COPIES.format("231 of 3,000", "7.7")],
    "libsvm/news20.bz2": [CONFLICTS.format("226 of 12,746", "1.8")],
    "libsvm/svmguide1.t": [COPIES.format("42 of 800", "5.2")],
    "libsvm/w8a": [COPIES.format("3,642 of 9,949", "36.6"), RARE],
}
UCI = ("adult.data", "adult.test", "banknote_authentication.csv", "breast-cancer-wisconsin.data", "ionosphere.data",
       "iris.data", "sonar.all-data", "spambase.data", "wdbc.data")  # fmt: skip
LIBSVM = ("a1a", "a9a.t", "australian", "breast-cancer_scale", "dna.scale", "dna.scale.t", "fourclass", "german.numer",
          "heart", "heart_scale", "letter.scale", "mushrooms", "svmguide1", "svmguide1.t")  # fmt: skip
LARGE = ("a9a", "ijcnn1.trn.bz2", "news20.bz2", "reuters.trn.bz2", "reuters.tst.bz2", "w8a")
FILES = [
    *(f"uci/{name}" for name in UCI), *(f"libsvm/{name}" for name in LIBSVM),
    *(pytest.param(f"libsvm/{name}", marks=pytest.mark.slow) for name in LARGE),
]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_real_tables_raise_no_false_alarm(name: str) -> None:
    options = Options(label="1" if name == "uci/wdbc.data" else None, missing="mean")
    assert notes(str(data_file(name)), options=options) == TRUE.get(name, [])
