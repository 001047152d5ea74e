"""Names, labels and mails cannot steer the terminal: control sequences in them are printed as escapes."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt import cli

# Writes the clipboard (OSC 52), sets the title by an 8-bit sequence, hides what follows, reverses the text; and markup of rich.
HOSTILE = "\x1b]52;c;ZXZpbA==\x07\x9d0;title\x9c\x1b[8m\u202e[link=http://evil.example]:dog:[/oops]\r"
OWN_SEQUENCES = re.compile(r"\x1b\[[0-9;]*m")  # colors and bold letters


def assert_harmless(text: str) -> None:
    rest = OWN_SEQUENCES.sub("", text).replace("\r\n", "\n").replace("\x1b[?25l", "").replace("\x1b[?25h", "")
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", rest), rest
    assert "\x1b[8m" not in text


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rows = "".join(f'{x},{y},"{"bad " + HOSTILE if x > 2 else "good"}"\n' for x in range(6) for y in range(6))
    path = tmp_path_factory.mktemp("data") / "table.csv"
    path.write_bytes(f'"width{HOSTILE[:-1]}",height,label\n{rows}'.encode())
    return path


@pytest.fixture(scope="module")
def model(table):
    path = table.with_name("model.safetensors")
    assert rosenblatt("train", table, path, "--label", "label", "--holdout", 0).code == 0
    return path


def commands(table: Path, model: Path) -> dict[str, list[object]]:
    labeled = [table, "--label", "label"]
    return {
        "train": ["train", *labeled],
        "show": ["show", model],
        "show --json": ["show", model, "--json"],
        "predict": ["predict", model, table],
        "predict --json": ["predict", model, table, "--json", "--scores"],
        "evaluate": ["evaluate", model, table],
        "certify": ["certify", *labeled],
        "doctor": ["doctor", *labeled],
        "compare": ["compare", *labeled, "--algorithms", "perceptron,average"],
        "convert": ["convert", table, "-", "--to", "csv"],
        "export": ["export", model, "--json"],
        "verify": ["verify", table, table],
        "unknown file": ["predict", f"no{HOSTILE}", table],
    }


@pytest.mark.parametrize("name", list(commands(Path(), Path())))
def test_no_command_passes_control_sequences_to_a_terminal(name, table, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli.console, "_on_terminal", lambda: True)
    found = rosenblatt(*commands(table, model)[name])
    assert found.out + found.err
    assert_harmless(found.out)
    assert_harmless(found.err)


@pytest.mark.parametrize("arguments", [["show"], ["train", "example:xor", "-o"], ["predict"], ["mail", "learn", "--spam"]])
def test_a_name_adds_no_line_to_an_error(arguments, tmp_path):
    name = f"{tmp_path}/no\nrosenblatt: all is well/x"
    found = rosenblatt(*arguments, name, *(["x.csv"] if arguments == ["predict"] else []))
    assert found.code == 2
    assert found.err.count("\n") == 1
    assert not found.err.startswith("rosenblatt: all")


def test_files_and_pipes_get_labels_as_they_are(table, model):
    found = rosenblatt("predict", model, table)
    assert found.out.splitlines()[-1] == f"bad {HOSTILE}".rstrip("\r")  # which the test runner takes for a part of the line end


def test_json_has_the_text_as_it_is(model):
    classes = rosenblatt("show", model, "--json").json["classes"]
    assert classes == [f"bad {HOSTILE}", "good"]


def test_a_real_terminal_gets_no_control_sequences(table, model):
    script = "import sys; from rosenblatt.cli import main; main(sys.argv[1:])"
    for arguments in (["show", str(model)], ["predict", str(model), str(table)]):
        parent, child = pty.openpty()
        with subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=child, stderr=child) as process:
            os.close(child)
            shown = b""
            while True:
                try:
                    shown += os.read(parent, 65536)
                except OSError:  # the terminal is closed when the process has ended
                    break
        os.close(parent)
        assert process.returncode == 0
        text = shown.decode()
        assert "\\x1b]52;c;" in text
        assert_harmless(text)


def test_mails_cannot_steer_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr(cli.console, "_on_terminal", lambda: True)
    home, mail = tmp_path / "home", tmp_path / f"mail{HOSTILE[:6]}.eml"
    text = f"From: a@b.example\nSubject: cheap{HOSTILE}\n\nbuy {HOSTILE} now\n".encode()
    mail.write_bytes(text)
    (tmp_path / "ham.eml").write_bytes(b"From: c@d.example\nSubject: lunch\n\nat noon\n")
    rosenblatt("mail", "learn", "--home", home, "--spam", mail, "--ham", tmp_path / "ham.eml")
    for arguments in (["classify"], ["classify", "--json"], ["classify", "--filter"], ["explain"], ["explain", "--json"]):
        found = rosenblatt("mail", *arguments, "--home", home, mail)
        assert found.out
        assert_harmless(found.out + found.err)
    assert_harmless(rosenblatt("mail", "show", "--home", home).out)


def test_what_the_library_prints_is_harmless():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", f"b{HOSTILE}", "a", f"b{HOSTILE}"])
    model = rb.Perceptron(multiclass="ovr", max_iter=3).fit(np.vstack([X, X]), np.concatenate([y, ["c"] * 4]))
    for text in (str(model.stop_), str(rb.doctor(X, y))):
        assert_harmless(text)


def test_commands_print_through_one_module():
    """`console` is the only module of the command line that writes to standard output or standard error."""
    for path in Path(cli.__file__).parent.rglob("*.py"):
        if path.name == "console.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                used = ast.unparse(node)
                assert used not in ("click.echo", "click.secho", "sys.stdout.buffer", "sys.stdout.write", "sys.stderr.write"), (
                    path
                )
            assert not (isinstance(node, ast.Name) and node.id == "print"), path


def test_json_escapes_are_json():
    from rosenblatt.cli.console import json_text

    text = json_text({"label": HOSTILE, "file": "\udcff"})
    assert json.loads(text) == {"label": HOSTILE, "file": "\udcff"}
    assert_harmless(text)
