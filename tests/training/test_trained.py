"""`rb.train` makes the model of `rosenblatt train` from files, data frames and arrays; models read files and frames alike."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.cli.options import about_training_data
from rosenblatt.training.request import Request
from rosenblatt.training.trained import READING

RNG = np.random.default_rng(0)
N = 120


def pets() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "born": pd.date_range("2020-01-01", periods=N, freq="9D"),
            "kind": RNG.choice(["cat", "dog", "hare"], N),
            "weight": RNG.normal(10.0, 3.0, N).round(1),
            "name": [f"{RNG.choice(['old', 'big', 'red'])} {RNG.choice(['sir', 'lady'])} {n} pet" for n in range(N)],
        }
    )
    frame["indoors"] = np.where((frame.kind == "cat") ^ (RNG.random(N) < 0.1), "yes", "no")
    frame.loc[[3, 50], "weight"] = np.nan
    frame.loc[7, "kind"] = None
    return frame


PETS = pets()


def weights(model: Any) -> Any:
    return model.coef, model.intercept, model.feature_names


def assert_equal(one: Any, other: Any) -> None:
    for mine, others in zip(weights(one), weights(other), strict=True):
        np.testing.assert_array_equal(mine, others)


def test_the_model_is_that_of_the_command(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    PETS.to_csv("pets.csv", index=False)
    found = rosenblatt("train", "pets.csv", "--ignore", "born", "--json")
    trained = rb.train("pets.csv", ignore=["born"])
    assert_equal(trained.model, rb.load("pets.safetensors"))
    printed = found.json
    assert trained.to_dict()["test"] == printed["test"]
    assert (trained.error, trained.baseline) == (printed["test"]["error"], printed["baseline"]["error"])
    assert [field for field, _, _ in (line.partition("  ") for line in str(trained).splitlines()) if field][:2] == [
        "data", "algorithm",
    ]  # fmt: skip
    tests = PETS.tail(40)
    rosenblatt("predict", "pets.safetensors", "pets.csv", "-o", "predicted.txt")
    labels = Path("predicted.txt").read_text().split()
    assert trained.model.predict("pets.csv").tolist() == trained.model.predict(Path("pets.csv")).tolist() == labels
    assert trained.model.predict(tests).tolist() == labels[-40:]
    explained = trained.model.explain("pets.csv", row=5)
    assert explained.score == pytest.approx(trained.model.scores("pets.csv")[5, 0])


@pytest.mark.parametrize("make", ["pandas", "pyarrow", "apart"])
def test_a_data_frame_is_read_as_a_file_is(tmp_path: Path, make: str) -> None:
    import pyarrow as pa

    PETS.to_parquet(tmp_path / "pets.parquet", index=False)
    of_file = rb.train(str(tmp_path / "pets.parquet"), label="indoors").model
    frames = {"pandas": PETS.set_index(np.arange(N) * 2), "pyarrow": pa.table(PETS)}
    if make == "apart":
        trained = rb.train(PETS.drop(columns="indoors"), PETS.indoors)
    else:
        trained = rb.train(frames[make], label="indoors")
    assert_equal(trained.model, of_file)
    assert "data frame" in str(trained.model.card()) or trained.model.provenance["data"] == "data frame"
    rb.save(trained.model, tmp_path / "pets.safetensors")
    later = PETS.drop(columns="indoors")[["name", "weight", "kind", "born"]]
    np.testing.assert_array_equal(rb.load(tmp_path / "pets.safetensors").predict(later), of_file.predict(PETS))


def test_arrays_and_tests_of_every_kind(tmp_path: Path) -> None:
    X = RNG.normal(size=(200, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, "a", "b")
    dense, sparse = rb.train(X[:150], y[:150], test=(X[150:], y[150:])), rb.train(csr_array(X[:150]), y[:150], cv=3)
    assert sparse.error is not None
    assert (dense.outcome.test.rows, sum(fold.rows for fold in sparse.outcome.folds)) == (50, 150)
    assert dense.error == (dense.model.predict(X[150:]) != y[150:]).mean() < 0.1
    of_frame = rb.train(PETS.head(80), label="indoors", test=PETS.tail(40))
    assert of_frame.outcome.test.rows == 40
    assert of_frame.error == (of_frame.model.predict(PETS.tail(40)) != PETS.indoors.tail(40)).mean()
    PETS.tail(40).to_csv(tmp_path / "test.csv", index=False)
    assert rb.train(PETS.head(80), label="indoors", test=tmp_path / "test.csv").error == of_frame.error
    assert rb.train(PETS, label="indoors", test=PETS).warnings[0].startswith("The test file is the training file")


def test_labels_keep_their_types() -> None:
    X = RNG.normal(size=(80, 2))
    truth = X[:, 0] > 0
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "truth": truth})
    trained = [
        rb.train(X, truth),
        rb.train(frame, label="truth", test=frame.tail(30)),
        rb.train(frame[["a", "b"]], frame.truth),
    ]
    for each in trained:
        assert each.model.classes.tolist() == [False, True]
        assert (each.predict(X if each is trained[0] else frame) == truth).mean() > 0.9
    assert rb.train(X, truth + 1).model.classes.tolist() == [1, 2]
    assert rb.train(X, np.where(truth, "b", "a").astype(object)).model.classes.tolist() == ["a", "b"]


def test_one_column_may_be_named_without_a_list() -> None:
    frame = pd.DataFrame({"a": np.arange(60) % 7, "b": np.arange(60) % 5, "ab": np.arange(60) % 3, "l": np.arange(60) % 2})
    assert list(rb.train(frame, label="l", ignore="ab").model.feature_names) == ["a", "b"]
    assert list(rb.train(frame, label="l", ignore=0).model.feature_names) == ["b", "ab"]
    assert list(rb.train(frame, label="l", categorical=["a"], ignore=["b", 2]).model.feature_names)[:1] == ["a=0"]


def test_a_model_compares_rows_with_its_training_rows(tmp_path: Path) -> None:
    trained = rb.train(PETS, label="indoors", threshold=0.4, positive="yes")
    trained.save(tmp_path / "pets.safetensors")
    later = PETS.drop(columns="weight").assign(kind="fox")
    found = rb.load(tmp_path / "pets.safetensors").drift(later)
    assert found["missing_columns"] == ["weight"]
    columns = {column["name"]: column for column in found["columns"]}
    assert (
        columns["kind"]["file"]["unseen"] == N if "unseen" in columns["kind"]["file"] else columns["kind"]["drift"] == "large"
    )
    with pytest.raises(ValueError, match="stores no columns of its training rows"):
        rb.Model("Perceptron", {}, np.array([0, 1]), np.zeros((1, 2)), np.zeros(1)).drift(np.eye(2))
    with pytest.raises(ValueError, match=r"column weight: 'heavy' is not a number$"):
        trained.predict(PETS.assign(weight="heavy"))


def test_parameters_reach_the_algorithm_and_the_reader(tmp_path: Path) -> None:
    (tmp_path / "pets.txt").write_text("Pets\n" + PETS.to_csv(sep="|", index=False, decimal=","))
    trained = rb.train(tmp_path / "pets.txt", skip_lines=1, sep="|", dates="ignore", algorithm="pocket", max_iter=3, holdout=0)
    assert (trained.estimator.max_iter, trained.estimator.keep, trained.error) == (3, "pocket", None)
    assert not any(name.startswith("born") for name in trained.model.feature_names)
    assert any("'weight'" in note and "decimal comma" in note for note in trained.notes)
    assert repr(trained) == "<Trained: pocket perceptron, 120 rows, not tested>"


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: rb.train(PETS, label="x"), ValueError, "there is no column 'x' of labels"),
        (lambda: rb.train(PETS, PETS.indoors), ValueError, "the labels are given apart, but the frame has a column 'indoors'"),
        (lambda: rb.train(PETS.drop(columns="indoors"), [1, 2]), ValueError, "has 120 rows, but there are 2 labels"),
        (lambda: rb.train(np.eye(4)), ValueError, "arrays have no label column: give the labels as y"),
        (lambda: rb.train(np.eye(4), [0, 1]), ValueError, "y must have one label for each of the 4 rows, got the shape"),
        (lambda: rb.train("example:iris", [0]), ValueError, "name the label column of a file with label"),
        (lambda: rb.train(np.eye(4), [0, None, 1, float("nan")]), ValueError, "y has 2 missing labels, the first in row 2"),
        (lambda: rb.train(np.eye(4), [0.0, 0.5, 1, 1]), ValueError, "these numbers have fractions"),
        (lambda: rb.train(np.eye(4), np.array([0, "b", 1, "b"], object)), ValueError, "labels of one type, such as text"),
        (lambda: rb.train(PETS, "indoors"), TypeError, "to name the label column: label='indoors'"),
        (lambda: rb.train(PETS, label="indoors", test=0.3), TypeError, "to hold out a share of the rows: holdout=0.3"),
        (
            lambda: rb.train(PETS, label="indoors", tune=True, budget="5s"),
            TypeError,
            "budget must be a number of seconds, got '5s'",
        ),
        (
            lambda: rb.train(PETS, label="indoors", random_state=None),
            TypeError,
            "random_state must be a whole number, got None",
        ),
        (lambda: rb.train(PETS, target="indoors"), TypeError, "no parameter 'target'; did you mean 'label'?"),
        (lambda: rb.train(PETS.assign(kind=pd.interval_range(0, N)), label="indoors"), ValueError, "values of type interval"),
        (lambda: rb.save(rb.train("example:iris"), "x"), TypeError, "got Trained; save its model"),
        (lambda: rb.train("example:iris", algorthm="pocket"), TypeError, "no parameter 'algorthm'; did you mean 'algorithm'?"),
        (lambda: rb.train("example:iris", holdout=1.5), ValueError, "^holdout must be at least 0 and less than 1, got 1.5"),
        (lambda: rb.train("example:iris", budget=3), ValueError, "^budget limits the time of tune: add tune"),
        (lambda: rb.train(PETS, label="indoors", missing="refuse"), ValueError, "value is missing; use missing='auto' to fill"),
        (lambda: rb.train(PETS.assign(kind=3j), label="indoors"), ValueError, "column kind"),
        (lambda: rb.train(pd.concat([PETS, PETS.kind], axis=1), label="indoors"), ValueError, "two columns have the same name"),
    ],
)
def test_errors_name_parameters(call: Any, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence) as caught:
        call()
    assert "--" not in str(caught.value)


def test_texts_become_the_requested_features() -> None:
    model = rb.train(PETS, label="indoors", text=["name"], text_features="words-2:counts", ignore=["born"]).model
    assert any(name.startswith("name:") and " " in name for name in model.feature_names)


def test_every_option_of_the_command_is_a_parameter() -> None:
    own = set(inspect.signature(rb.train).parameters)
    fields = {field.name for field in dataclasses.fields(Request)} - {"options", "parameters"}
    assert fields - own == {"seed"}

    @about_training_data
    def command() -> None: ...

    reading = {option.name for option in command.__click_params__}  # type: ignore[attr-defined]
    assert reading - own == set(READING)
