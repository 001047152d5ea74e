"""rosenblatt compare"""

from __future__ import annotations

import shlex
import subprocess

import pytest
from click.core import ParameterSource

from commands import rosenblatt
from rosenblatt.cli.compare import command as compare
from rosenblatt.cli.train import command as train


def test_compare():
    result = rosenblatt("compare", "example:xor?rows=60", "--algorithms", "average,pocket,max-margin", "--json").json
    assert [entry["algorithm"] for entry in result["entries"]] == ["average", "pocket", "max-margin"]
    assert result["entries"][2]["failed"] == "no plane separates the rows"
    assert result["winner"] in ("average", "pocket")
    text = rosenblatt("compare", "example:xor?rows=60", "--algorithms", "average,max-margin").out
    assert "best: average, " in text
    assert "max-margin: no plane separates the rows" in text


def test_the_printed_command_trains_the_winner_as_it_was_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my rows.csv").write_text("a;b;c;label\n" + "".join(f"{i};{i * i % 7};{i % 3};{i % 2}\n" for i in range(40)))
    given = ("--label", "label", "--ignore", "c", "--degree", "2", "--header", "--seed", "4", "--cv", "4")
    result = rosenblatt("compare", "my rows.csv", "--algorithms", "average,logistic", *given, "--json").json
    command = shlex.split(result["command"])
    assert command[:4] == ["rosenblatt", "train", "my rows.csv", "--algorithm"]
    trained = rosenblatt(*command[1:], "--json").json
    (entry,) = [entry for entry in result["entries"] if entry["algorithm"] == result["winner"]]
    assert sum(fold["errors"] for fold in trained["folds"]) == entry["test"]["errors"]
    assert trained["training"] == entry["training"]


HOSTILE = ('it\'s "odd" $(touch pwned); `x` rows.csv', "-x.csv", "*?.csv", "\u00e4 & b|c.csv", "--json.csv")
EVERY_OPTION = (
    ("--degree", "2", "--scale", "max", "--cv", "3", "--seed", "7"),
    ("--holdout", "0.3", "--format", "csv", "--label", "-1", "--header", "--ignore", "c", "--ignore", "0"),
    ("--no-header", "--label", "3", "--categorical", "2", "--missing", "mean", "--missing-indicator"),
    ("--decimal", ",", "--thousands", "space", "--sep", ";", "--encoding", "utf-8", "--dates", "ignore", "--max-memory", "1G"),
)


@pytest.mark.parametrize("options", EVERY_OPTION)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_shell_reads_the_printed_command_as_it_was_meant(tmp_path, monkeypatch, name, options):
    monkeypatch.chdir(tmp_path)
    head = "" if "--no-header" in options else "a;b;c;label\n"
    (tmp_path / name).write_text(head + "".join(f"{i};{i * i % 7},5;{i % 3};{i % 2}\n" for i in range(40)))
    found = rosenblatt("compare", "--algorithms", "average", *options, "--", name)
    assert found.code == 0, found.err
    command = found.out.rsplit("train it: ", 1)[1]
    words = subprocess.run(["sh", "-c", command.replace("rosenblatt", "printf '%s\\0'", 1)], capture_output=True, check=True)
    verb, *given = words.stdout.decode().split("\0")[:-1]
    assert verb == "train"
    assert (tmp_path / given[0]).samefile(tmp_path / name)
    assert given[1:3] == ["--algorithm", "average"]
    compared, trained = compare.make_context("compare", [*options, "--", name]), train.make_context("train", list(given))
    typed = [key for key in compared.params if compared.get_parameter_source(key) is ParameterSource.COMMANDLINE]
    assert {key: trained.params[key] for key in typed if key != "data"} == {
        key: compared.params[key] for key in typed if key != "data"
    }
    assert rosenblatt("train", *given).code == 0
    assert not (tmp_path / "pwned").exists()
