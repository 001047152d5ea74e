"""Tables as people save them train, predict and evaluate on their numbers; each case once gave another model in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

import rosenblatt as rb
from commands import rosenblatt

ROWS = range(1, 41)


def table(folder: Path, name: str, header: str, row: str, encoding: str = "utf-8") -> Path:
    """A file of rows of which half are labeled yes: {n} is the number of the row, {label} its label."""
    path = folder / name
    lines = [header, *(row.format(n=n, label="yes" if n >= 20 else "no") for n in ROWS)]
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


SILENT = {  # what was a category, an id or an error: columns that decide the label alone
    "decimal commas": ("x;label", "{n},5;{label}"),
    "decimal commas and pipes": ("x|label", "{n},5|{label}"),
    "thousands": ("x;label", '"{n},500.25";{label}'),
    "points between thousands": ("x;label", "{n}.500,25;{label}"),
    "blanks": ("x;label", "{n}\xa0500;{label}"),
    "apostrophes": ("x,label", "{n}'500,{label}"),
    "percent": ("x,label", "{n} %,{label}"),
    "dollars": ("x,label", '"${n},500",{label}'),
    "euros": ("x;label", "{n},50 €;{label}"),
    "accounts": ("x,label", "({n}),{label}"),
    "dates": ("x,label", "2{n:03}-02-03,{label}"),
    "local dates": ("x,label", "3.2.2{n:03},{label}"),
}


@pytest.mark.parametrize("case", SILENT)
def test_formatted_columns_are_numbers(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    header, row = SILENT[case]
    data = table(tmp_path, "rows.csv", header, row)
    found = rosenblatt("train", data, "--holdout", "0", "--algorithm", "max-margin")
    assert found.code == 0, found
    model = rb.load(tmp_path / "rows.safetensors")
    assert model.n_features < 8  # parts of dates, but not a feature per value
    assert "training   error 0.00 %" in found.out
    lines = data.read_text().splitlines()
    one = tmp_path / "one.csv"
    for number in (1, 40):  # a single row reads as in training
        one.write_text(f"{lines[0]}\n{lines[number]}\n")
        assert rosenblatt("predict", "rows.safetensors", one).out.strip() == lines[number].rpartition(lines[0][1])[2]
    assert "(0 wrong)" in rosenblatt("evaluate", "rows.safetensors", data).out


@pytest.mark.parametrize("case", ["points between thousands", "dollars", "percent"])
def test_streams_have_the_same_weights(tmp_path, case):
    data = table(tmp_path, "rows.csv", *SILENT[case])
    common = ("--holdout", "0", "--order", "cyclic", "--max-iter", "3")
    for model, more in (("whole", ()), ("stream", ("--stream",))):
        assert rosenblatt("train", data, tmp_path / model, *common, *more).code == 0
    whole, stream = rb.load(tmp_path / "whole"), rb.load(tmp_path / "stream")
    assert (whole.coef == stream.coef).all()
    assert whole.provenance["reading"] == stream.provenance["reading"]


def test_options_say_how_a_file_is_written(tmp_path):
    data = table(tmp_path, "rows.txt", "x:größe:label", "{n},250:5:{label}", "windows-1252")
    arguments = ("--sep", ":", "--holdout", "0")
    by_default = rosenblatt("train", data, tmp_path / "m", *arguments)
    assert "1,234 in 'x' was read as 1234; change it with --decimal ," in by_default.out.replace("\n          ", "")
    assert "not UTF-8, read as windows-1252; change it with --encoding" in by_default.out.replace("\n          ", "")
    given = rosenblatt("train", data, tmp_path / "m", *arguments, "--decimal", ",", "--encoding", "latin-1")
    assert given.code == 0
    assert "change it with --encoding" not in given.out
    assert rb.load(tmp_path / "m").provenance["reading"]["forms"]["x"]["decimal"] == ","
    for option, value, message in (
        ("--sep", "ab", "--sep: must be a comma, a semicolon, a tab, a blank or another mark, got 'ab'"),
        ("--encoding", "utf8000", "--encoding: unknown encoding 'utf8000'"),
        ("--decimal", ";", "--decimal: ';' is not one of"),
        ("--dates", "ydm", "--dates: 'ydm' is not one of"),
    ):
        wrong = rosenblatt("train", data, tmp_path / "m", option, value)
        assert wrong.code == 2
        assert message in wrong.err
    both = rosenblatt("train", data, tmp_path / "m", "--decimal", ",", "--thousands", ",")
    assert (both.code, both.err) == (2, "rosenblatt: decimal and thousands must differ, got ',' for both\n")


def test_dates_may_be_left_out(tmp_path):
    data = table(tmp_path, "rows.csv", "when,x,label", "2024-01-05,{n},{label}")
    found = rosenblatt("train", data, tmp_path / "m", "--dates", "ignore")
    assert "dates left out: 'when'" in found.out
    assert rb.load(tmp_path / "m").recipe.required == ("x",)
