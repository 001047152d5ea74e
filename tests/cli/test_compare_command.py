"""rosenblatt compare"""

from __future__ import annotations

import shlex

from commands import rosenblatt


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
