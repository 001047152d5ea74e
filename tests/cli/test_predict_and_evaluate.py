"""Predicted labels and scores equal the library's; measures match their definitions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.data.cache import Cache
from rosenblatt.training.cached_fits import fit_from_cache
from rosenblatt.training.request import Request
from rosenblatt.training.stream import train_stream

NAMES = ["setosa", "versicolor", "virginica"]


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """(folder with a model of all three kinds, X, labels)."""
    folder = tmp_path_factory.mktemp("flowers")
    assert rosenblatt("train", "example:iris", "-o", folder / "m.safetensors").code == 0
    assert rosenblatt("convert", "example:iris", folder / "iris.csv").code == 0
    X, y = load_iris(return_X_y=True)
    return folder, X, np.array(NAMES)[y]


def test_labels_scores_and_share(flowers):
    folder, _, y = flowers
    model = rb.load(folder / "m.safetensors")
    found = rosenblatt("predict", folder / "m.safetensors", folder / "iris.csv")
    labels = found.out.splitlines()
    correct = sum(np.array(labels) == y)
    assert f"accuracy {correct / 1.5:.2f} % on {folder / 'iris.csv'} ({correct} of 150)" in found.err
    with_scores = rosenblatt("predict", folder / "m.safetensors", folder / "iris.csv", "--scores").out.splitlines()
    from rosenblatt.data.readers.read import read

    scores = model.scores(read(str(folder / "iris.csv")))
    assert [line.split("\t")[0] for line in with_scores] == labels
    assert [[float(cell) for cell in line.split("\t")[1:]] for line in with_scores] == scores.tolist()
    lines = rosenblatt("predict", folder / "m.safetensors", folder / "iris.csv", "--scores", "--json").out.splitlines()
    assert json.loads(lines[0]) == {"label": labels[0], "scores": dict(zip(NAMES, scores[0].tolist(), strict=True))}


def test_output_file_and_standard_input(flowers, tmp_path):
    folder, *_ = flowers
    direct = rosenblatt("predict", folder / "m.safetensors", folder / "iris.csv").out
    assert rosenblatt("predict", folder / "m.safetensors", folder / "iris.csv", "-o", tmp_path / "labels").out == ""
    assert (tmp_path / "labels").read_text() == direct
    text = (folder / "iris.csv").read_bytes()
    assert rosenblatt("predict", folder / "m.safetensors", "-", "--format", "csv", input=text).out == direct


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_swapped_files_are_suspected_only_if_the_other_one_is_a_model(flowers, command):
    folder, *_ = flowers
    swapped = rosenblatt(command, folder / "iris.csv", folder / "m.safetensors")
    assert swapped.code == 2
    assert "iris.csv: not a Rosenblatt model file" in swapped.err
    assert "(were the arguments swapped?)" in swapped.err
    for arguments in ((command, folder / "iris.csv", folder / "iris.csv"), ("show", folder / "iris.csv")):
        refused = rosenblatt(*arguments)
        assert "not a Rosenblatt model file" in refused.err
        assert "swapped" not in refused.err


def test_evaluation_against_its_definition(flowers):
    folder, _, y = flowers
    result = rosenblatt("evaluate", folder / "m.safetensors", folder / "iris.csv", "--json").json
    labels = np.array(rosenblatt("predict", folder / "m.safetensors", folder / "iris.csv").out.split())
    assert result["errors"] == int((labels != y).sum())
    for k, name in enumerate(NAMES):
        assert result["confusion"][k] == [int(((y == name) & (labels == other)).sum()) for other in NAMES]
        assert result["classes"][k]["recall"] == pytest.approx(np.mean(labels[y == name] == name))
    from rosenblatt.data.readers.read import read

    scores = rb.load(folder / "m.safetensors").scores(read(str(folder / "iris.csv")))
    areas = [roc_auc_score(y == name, scores[:, k]) for k, name in enumerate(NAMES)]
    assert result["auc"] == pytest.approx(np.mean(areas))
    text = rosenblatt("evaluate", folder / "m.safetensors", folder / "iris.csv").out
    assert "as setosa" in text
    assert "recall" in text


def test_labels_unknown_to_the_model(flowers, tmp_path):
    folder, *_ = flowers
    lines = (folder / "iris.csv").read_text().replace("virginica", "tulip")
    (tmp_path / "other.csv").write_text(lines)
    refused = rosenblatt("evaluate", folder / "m.safetensors", tmp_path / "other.csv")
    assert refused.code == 2
    assert "'tulip'" in refused.err
    predicted = rosenblatt("predict", folder / "m.safetensors", tmp_path / "other.csv")
    assert predicted.code == 0  # labels are not needed there
    assert f"no accuracy: {tmp_path / 'other.csv'}, line " in predicted.err
    assert "label 'tulip' is unknown to the model" in predicted.err


def test_missing_columns(flowers, tmp_path):
    folder, *_ = flowers
    (tmp_path / "few.csv").write_text("sepal length (cm),more\n1,2\n")
    refused = rosenblatt("predict", folder / "m.safetensors", tmp_path / "few.csv")
    assert refused.code == 2
    assert "petal length (cm)" in refused.err


def test_no_model(tmp_path):
    (tmp_path / "m").write_bytes(b"junk")
    for name in ("m", "absent"):
        found = rosenblatt("predict", tmp_path / name, "example:iris")
        assert found.code == 2
        assert str(tmp_path / name) in found.err
        assert found.err.count("\n") == 1


@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_models_made_in_python_read_files(tmp_path, names):
    X, y = np.array([[0.0, 1], [1, 0], [2, 3], [3, 2]]), np.array(["u", "u", "v", "v"])
    model = rb.Perceptron(max_iter=None).fit(X, y)
    if names:
        import pandas as pd

        model = rb.Perceptron(max_iter=None).fit(pd.DataFrame(X, columns=names), y)
    rb.save(model, tmp_path / "m.safetensors")
    (tmp_path / "rows.svm").write_text("1 2:1 9:5\n1 1:1\n2 1:2 2:3\n2 1:3 2:2\n")
    (tmp_path / "rows.csv").write_text("b,a\n1,0\n0,1\n3,2\n2,3\n" if names else "a,b\n0,1\n1,0\n2,3\n3,2\n")
    for name in ("rows.svm", "rows.csv"):
        found = rosenblatt("predict", tmp_path / "m.safetensors", tmp_path / name)
        assert found.out.split() == y.tolist(), (name, found)
    assert rosenblatt("show", tmp_path / "m.safetensors").code == 0


def test_a_model_may_come_from_standard_input(flowers):
    folder, *_ = flowers
    direct = rosenblatt("predict", folder / "m.safetensors", folder / "iris.csv").out
    piped = rosenblatt("predict", "-", folder / "iris.csv", input=(folder / "m.safetensors").read_bytes())
    assert piped.out == direct


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_values_that_training_did_not_have_are_reported(tmp_path, command):
    towns, data, model = ["Rome", "Paris", "Oslo"] * 4, tmp_path / "towns.csv", tmp_path / "m.safetensors"
    data.write_text("a,town,label\n" + "".join(f"{i % 5},{town},{'xy'[i % 2]}\n" for i, town in enumerate(towns)))
    assert rosenblatt("train", data, model, "--holdout", "0").code == 0
    assert "differs" not in rosenblatt(command, model, data).err
    new = tmp_path / "new.csv"
    new.write_text("a,town,label\n1,Rome,x\n2,Berlin,y\n3,Bonn,x\n")
    found = rosenblatt(command, model, new)
    table = ["  column  unseen", "  town         2  unseen: 'Berlin', 'Bonn'"]
    assert (found.code, found.err.splitlines()[:3]) == (0, [f"{new} differs from the training rows:", *table])


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_columns_that_the_model_does_not_use_are_counted(tmp_path, kind):
    data, model, new = tmp_path / "rows.csv", tmp_path / "m.safetensors", tmp_path / f"new.{kind}"
    data.write_text("a,b,label\n" + "1,2,x\n3,1,y\n" * 20)
    assert rosenblatt("train", data, model, "--holdout", "0").code == 0
    new.write_text("a,b,extra\n1,2,z\n" if kind == "csv" else '{"a": 1, "b": 2, "extra": "z"}\n')
    found = rosenblatt("predict", model, new)
    assert (found.out, found.err) == ("x\n", f"ignored 1 column of {new} that the model does not use: 'extra'\n")
    assert "ignored" not in rosenblatt("predict", model, data).err


def test_class_weights_of_a_class_that_does_not_exist_are_refused_in_streams_too(tmp_path):
    data = tmp_path / "rows.csv"
    data.write_text("a,b,label\n" + "1,2,x\n3,1,y\n" * 20)
    train_stream(Request(str(data), holdout=0.0), str(tmp_path / "cache"))
    cache, model = Cache.open(tmp_path / "cache"), rb.Perceptron(order="cyclic", class_weight={"x": 2.0, "Y": 3.0})
    with pytest.raises(ValueError, match="weight for 'Y', which is not a class, and none for class 'y'"):
        fit_from_cache(model, cache)
    fit_from_cache(rb.Perceptron(order="cyclic", class_weight={"x": 2.0}), cache)
