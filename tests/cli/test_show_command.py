"""rosenblatt show"""

from __future__ import annotations

import json

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt


def test_show(tmp_path):
    target = tmp_path / "m.safetensors"
    rosenblatt("train", "example:breast-cancer", "-a", "average", "-o", target)
    result = rosenblatt("show", target, "--json", "--features", 3).json
    model = rb.load(target)
    heavy = np.argsort(-abs(model.coef[0]))[:3]
    assert [each["feature"] for each in result["heaviest"]] == [model.feature_names[j] for j in heavy]
    assert result["provenance"]["data"] == "example:breast-cancer"
    assert result["parameters"]["keep"] == "average"
    text = rosenblatt("show", target).out
    assert "Perceptron, 30 features, 2 classes: benign, malignant" in text
    assert [line.split("  ")[0] for line in text.split("\n\n")[0].splitlines() if line[0] != " "] == [
        "model", "parameters", "fit", "work", "intercept", "preprocessing", "test", "baseline", "data", "size", "read with",
        "command", "saved by", "saved at",
    ]  # fmt: skip
    assert "456 rows and 30 columns" in text
    assert "--label class --missing auto" in text


@pytest.mark.parametrize(
    ("algorithm", "work", "weights"),
    [
        ("pocket", "passes, ", "class "),
        ("vote", "passes, ", "no weights to list: the hypotheses of the run vote"),
        ("soft-margin", " iterations\n", "class "),
        ("linear-mse", None, "class "),
    ],
)
def test_show_counts_what_the_algorithm_does(tmp_path, algorithm, work, weights):
    target = tmp_path / "m.safetensors"
    rosenblatt("train", "example:iris", "-a", algorithm, "-o", target)
    text = rosenblatt("show", target).out
    assert ("\nwork " in text) == (work is not None)
    assert work is None or work in text
    assert text.split("\n\n")[1].startswith(weights)


def test_features_without_names_are_counted_from_0_and_those_of_svmlight_files_as_there(tmp_path):
    target, data = tmp_path / "m.safetensors", tmp_path / "rows.svm"
    rb.save(rb.Perceptron(fit_intercept=False).fit([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], [1, 0]), target)
    assert [each["feature"] for each in rosenblatt("show", target, "--json").json["heaviest"]] == ["0"]
    data.write_text("1 1:1\n-1 1:-1\n" * 5)
    rosenblatt("train", data, "--holdout", 0, "-o", target)
    assert [each["feature"] for each in rosenblatt("show", target, "--json").json["heaviest"]] == ["1"]


def test_one_class_and_huge_weights_are_shown(tmp_path):
    target = tmp_path / "m.safetensors"
    rb.save(rb.Perceptron().partial_fit([[1.0]], ["a"]), target)
    assert "1 class: a" in rosenblatt("show", target).out
    rb.save(rb.Model("Perceptron", {}, np.array([0, 1]), np.array([[1e308, -1e300]]), np.zeros(1)), target)
    assert rosenblatt("show", target).code == 0
    rb.save(rb.PassiveAggressive(C=float("inf")).fit([[0.0], [1.0]], ["a", "b"]), target)
    assert rosenblatt("show", target, "--json").json["parameters"]["C"] == "inf"


def test_features_that_the_l1_penalty_left_are_counted(tmp_path):
    lines = [f"{i % 2},{(7 * i) % 11},{(5 * i) % 13},{'yes' if i % 2 else 'no'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    options = ("--algorithm", "logistic", "--penalty", "l1", "--C", "0.3", "-o", tmp_path / "m.rb", "--scale", "none")
    trained = rosenblatt("train", tmp_path / "t.csv", *options)
    assert trained.code == 0, trained.err
    assert "1 of 3 features used" in trained.out
    shown = rosenblatt("show", tmp_path / "m.rb")
    assert "1 of 3 features used" in shown.out
    assert json.loads(rosenblatt("show", tmp_path / "m.rb", "--json").out)["features_used"] == 1
