"""What `train` does with columns as they come: files of a few lines that gave a majority guess, or nothing, before."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt


def write(path, names, columns, labels):
    rows = [",".join(str(cell) for cell in row) for row in zip(*columns, labels, strict=True)]
    path.write_text("\n".join([",".join([*names, "label"]), *rows]) + "\n")
    return path


def error(data, *options):
    return rosenblatt("train", data, "--label", "label", "-o", data.with_suffix(".model"), "--json", *options).json


def test_a_salary_does_not_give_the_majority_guess(tmp_path):
    """One column of 20,000 to 200,000: all of its values lie on the same side of the intercept."""
    rng = np.random.default_rng(0)
    salary, city = rng.integers(20_000, 200_000, 400), np.array(["north", "south"])[rng.integers(0, 2, 400)]
    labels = np.where(salary + np.where(city == "north", 20_000, 0) > 100_000, "yes", "no")
    alone = error(write(tmp_path / "alone.csv", ["salary"], [salary], labels))
    assert alone["test"]["error"] <= 0.1
    both = error(write(tmp_path / "both.csv", ["salary", "city"], [salary, city], labels))
    assert both["test"]["error"] <= 0.1
    assert "Numeric columns were scaled to mean 0 and standard deviation 1." in both["notes"]


def test_a_unix_time_that_separates_the_classes_is_found(tmp_path):
    rng = np.random.default_rng(1)
    time = 1_700_000_000 + rng.permutation(400) * 60
    labels = np.where(time > np.median(time), "late", "early")
    data = write(tmp_path / "times.csv", ["time", "noise"], [time, rng.normal(size=400)], labels)
    assert error(data)["test"]["error"] <= 0.05


def test_constant_columns_are_dropped_with_a_note(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=100)
    columns = [x, np.full(100, 3.0), np.full(100, "EUR"), np.full(100, "")]
    data = write(tmp_path / "rows.csv", ["x", "version", "currency", "empty"], columns, np.where(x > 0, "a", "b"))
    result = error(data)
    assert "Constant columns dropped: 'version', 'currency', 'empty' (no values)." in result["notes"]
    model = rb.load(data.with_suffix(".model"))
    assert list(model.feature_names) == ["x"]
    new = tmp_path / "new.csv"
    new.write_text("x,version,currency,empty\n1.0,4,USD,7\n-1.0,,,\n")
    found = rosenblatt("predict", data.with_suffix(".model"), new)
    assert (found.out, "model does not use" in found.err) == ("a\nb\n", False)
    new.write_text("x\n1.0\n-1.0\n")
    assert rosenblatt("predict", data.with_suffix(".model"), new).out == "a\nb\n"


def holes(tmp_path):
    rng = np.random.default_rng(3)
    age, city = rng.integers(18, 80, 200), np.array(["Ulm", "Kiel", "Hof"])[rng.integers(0, 3, 200)]
    labels = np.where((age > 50) | (city == "Kiel"), "yes", "no")
    ages, cities = age.astype(object), city.astype(object)
    ages[::10], cities[::20] = "", "NA"
    return write(tmp_path / "rows.csv", ["age", "full", "city"], [ages, rng.normal(size=200).round(3), cities], labels)


@pytest.mark.parametrize("stream", [(), ("--stream",)])
@pytest.mark.parametrize(
    ("options", "note"),
    [
        ((), "'age' 20 (filled with the column median); 'city' 10 (category 'missing')"),
        (("--missing", "mean"), "'age' 20 (filled with the column mean); 'city' 10 (category 'missing')"),
        (("--missing-indicator",), "'age' 20 (filled with the column median and marked by a feature); 'city' 10"),
    ],
)
def test_missing_cells_are_counted_filled_and_learned(tmp_path, options, note, stream):
    data = holes(tmp_path)
    result = error(data, "--holdout", 0, *options, *stream)
    assert any(note in sentence for sentence in result["notes"])
    target = data.with_suffix(".model")
    names = list(rb.load(target).feature_names)
    assert "city=missing" in names
    assert ("age=missing" in names) == ("--missing-indicator" in options)
    new = tmp_path / "new.csv"
    new.write_text("age,full,city\n,0.1,Ulm\n70,,\n,,\n20,0.1,Kiel\n")
    found = rosenblatt("predict", target, new, "--scores", "--json")
    assert found.code == 0
    scores = [json.loads(line)["scores"] for line in found.out.splitlines()]
    filled = json.loads(rosenblatt("export", target, "--json").out)["recipe"]["fill"]
    new.write_text(f"age,full,city\n{filled[0]!r},0.1,Ulm\n70,{filled[1]!r},\n{filled[0]!r},{filled[1]!r},\n20,0.1,Kiel\n")
    again = rosenblatt("predict", target, new, "--scores", "--json")
    if "--missing-indicator" not in options:
        assert [json.loads(line)["scores"] for line in again.out.splitlines()] == scores


def test_missing_cells_are_refused_on_request(tmp_path):
    refused = rosenblatt("train", holes(tmp_path), "--missing", "refuse", "-o", tmp_path / "m")
    assert refused.code == 2
    assert "line 2, column age: the value is missing; use --missing auto" in refused.err
    assert not (tmp_path / "m").exists()
    for command in (["doctor", "--missing", "refuse"], ["certify"]):
        assert "the value is missing" in rosenblatt(*command, tmp_path / "rows.csv").err
    filled = rosenblatt("doctor", tmp_path / "rows.csv", "--time-limit", 1)
    assert (filled.code, "'age' 20 (filled with the column median)" in filled.err) == (0, True)
    assert rosenblatt("compare", tmp_path / "rows.csv", "--algorithms", "average,pa-1").code == 0


def test_columns_without_any_value_do_not_stop_training(tmp_path):
    data = write(tmp_path / "rows.csv", ["a", "x"], [[""] * 8, [1, 5] * 4], "xy" * 4)
    assert "Constant column dropped: 'a' (no values)." in error(data, "--holdout", 0)["notes"]
