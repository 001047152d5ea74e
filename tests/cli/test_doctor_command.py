"""rosenblatt doctor"""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

import rosenblatt as rb
from commands import rosenblatt

PYTHON = ("max_iter", "w_max", "class_weight=", "time_limit", "Perceptron(", "Scaler", "X.drop", "np.delete", "X has")


def test_doctor():
    assert "No plane separates" in rosenblatt("doctor", "example:xor?rows=40").out
    assert rosenblatt("doctor", "example:xor?rows=40", "--json").json["verdict"] == "inseparable"


def test_the_advice_of_the_doctor_is_a_command_that_reads_the_same_data(tmp_path):
    data = tmp_path / "my rows.csv"
    data.write_text("a,b,c\n" + "".join(f"{i},{i * 7 % 5},{'xy'[i > 9]}\n" for i in range(20)))
    found = rosenblatt("doctor", data, "--label", "c", "--ignore", "b", "--header", "--json").json["findings"][-1]
    command = shlex.split(found["sentence"].split("`")[1])
    assert command[:3] == ["rosenblatt", "train", str(data)]
    assert command[3:8] == ["--label", "c", "--header", "--ignore", "b"]
    assert rosenblatt(*command[1:], "-o", tmp_path / "m.safetensors").code == 0
    words = rosenblatt("doctor", "example:xor?rows=40").out
    assert "No plane separates" in words
    assert "no plane separates these" not in words
    assert "-a pocket` (or -a average or -a soft-margin), which" in " ".join(words.split())


def test_advice_names_options_on_the_command_line_and_parameters_in_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 120
    y = (np.arange(n) % 30 == 3).astype(int)
    X = np.column_stack([np.arange(n), rng.normal(size=n) * 1e6, rng.normal(size=n), np.full(n, 7.0), 3.0 * y])
    X[3, 4] = X[5, 4]
    X[[3, 5], 0], X[3] = 3, X[5]
    names = ["row", "wide", "x", "constant", "paid"]
    rows = [",".join(map(repr, [*values, label])) for values, label in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join([",".join([*names, "label"]), *rows]) + "\n")
    words = " ".join(rosenblatt("doctor", tmp_path / "rows.csv", "--time-limit", "2").out.split())
    assert not any(name in words for name in PYTHON)
    assert "such as --max-iter; the weights stay bounded and may never reach --w-max" in words
    assert "exclude it (--ignore constant)" in words
    assert "--class-weight balanced" in words
    found = str(rb.doctor(X, y, feature_names=names, time_limit=2.0))
    assert " --" not in found
    assert "-a " not in found
    assert "max_iter" in found
    assert "exclude it (X.drop(columns='constant'))" in " ".join(found.split())


def test_ids_and_leaks_are_findings(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    columns = {"row": np.arange(60), "x": rng.normal(size=60), "status": np.where(y, "open", "closed")}
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join([",".join([*columns, "label"]), *rows]) + "\n")
    words = " ".join(rosenblatt("doctor", tmp_path / "rows.csv", "--time-limit", "2").out.split())
    assert "Column 'row' numbers the rows: exclude it (--ignore row)." in words
    assert "Column 'status' repeats the label: each class has its own value." in words
    found = rb.doctor(np.column_stack([columns["row"], columns["x"], y]), y, time_limit=2.0)
    assert [str(one) for one in found.of("identifiers")] == ["Column 0 numbers the rows: exclude it (np.delete(X, 0, axis=1))."]
    assert found.of("leak")[0].evidence["column"] == 2


def test_the_advice_leaves_row_numbers_out_and_the_scale_to_the_default(tmp_path):
    data = tmp_path / "rows.csv"
    rows = (f"{i},{i * 7 % 5},{1000 * (i * 11 % 13)},{'xy'[i * i % 3 % 2]}\n" for i in range(40))
    data.write_text("nr,a,b,label\n" + "".join(rows))
    found = rosenblatt("doctor", data).out
    advice = found[found.index("Try:") :]
    assert "--ignore nr" in advice
    assert "--scale" not in advice
    assert "Training scales columns unless --scale none is given." in " ".join(found.split())


def test_what_is_advised_can_be_typed_and_ids_are_named_once(tmp_path: Path) -> None:
    """A constant category is a column of the file; an id has no scale; dates ascend by nature."""
    rng = np.random.default_rng(0)
    rows = [
        f"{7 * i},2024-01-{i % 28 + 1:02d}T{i // 28:02d}:00,DE,{value:.3f},{['yes', 'Yes', 'no'][i % 3]}"
        for i, value in enumerate(rng.normal(size=90))
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["nr,created,country,x,label", *rows]) + "\n")
    report = rosenblatt("doctor", tmp_path / "rows.csv", "--time-limit", "2", "--json").json["findings"]
    found = {kind: [each["sentence"] for each in report if each["kind"] == kind] for kind in ("identifiers", "constant")}
    assert found["identifiers"] == ["Column 'nr' numbers the rows: exclude it (--ignore nr)."]
    assert len(found["constant"]) == 1
    assert "'country' " in found["constant"][0]
    assert "country=DE" not in found["constant"][0]
    assert not any("'nr'" in each["sentence"] for each in report if each["kind"] in ("scales", "offset"))
    (spelled,) = (each["sentence"] for each in report if each["kind"] == "spellings")
    assert spelled == "Labels that differ in case alone are different classes: 'Yes' and 'yes'. Write them alike."
    command = shlex.split(report[-1]["sentence"].split("`")[1])
    assert rosenblatt(*command[1:], "-o", tmp_path / "m.safetensors").code == 0
    ordered = [f"{i % 13},2024-{1 + i // 28:02d}-{i % 28 + 1:02d},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "days.csv").write_text("\n".join(["x,created,label", *ordered]) + "\n")
    report_of_days = " ".join(rosenblatt("doctor", tmp_path / "days.csv", "--time-limit", "2").out.split())
    assert "numbers the rows" not in report_of_days
    assert "adding information: training subtracts the mean unless --scale none is given." in report_of_days
