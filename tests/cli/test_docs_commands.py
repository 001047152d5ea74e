"""Every command on two pages of docs/ is run, in order, in an empty folder, and prints what the page shows.

`python tests/cli/test_docs_commands.py` writes into the pages what the commands print now.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from commands import rosenblatt
from rosenblatt.training import training_proofs

DOCS = Path(__file__).parents[2] / "docs"
# Pages, and the least number of commands on them.
PAGES = {"command-line.md": 12, "first-model.md": 12}
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
# Durations and sizes of rounding errors, which differ from machine to machine.
TIME = re.compile(r"\b[0-9.,]+ m?s\b|\b[0-9.]+e-1[0-9]\b")


def refreshed(page: str, folder: Path) -> str:
    """The text of a page with what its commands print in a folder; a command below which nothing is shown prints nothing."""
    for example in (DOCS / "examples").glob("*.csv"):
        shutil.copy(example, folder)
    text = (DOCS / page).read_text(encoding="utf-8")
    return BLOCK.sub(
        lambda block: COMMAND.sub(lambda found: f"$ {found[1]}\n{_shown(found[1], found[2], folder)}", block[0]), text
    )


def _shown(command: str, before: str, folder: Path) -> str:
    """What a command prints to standard output and standard error, if something is shown; only then may it fail."""
    program, pipe, rest = command.partition(" | ")
    name, *arguments = shlex.split(program)
    if name == "node" and shutil.which(name) is None:
        return before
    if name != "rosenblatt":
        printed = _shell(command, folder)
    else:
        found = rosenblatt(*arguments)
        assert found.code == 0 or before, (command, found.err)
        printed = found.err + _shell(rest, folder, found.out) if pipe else found.shown
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines()) if before else ""


def _shell(command: str, folder: Path, given: str = "") -> str:
    return subprocess.run(command, shell=True, cwd=folder, check=True, input=given, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_page_and_what_they_print(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training_proofs, "QUICK_PROOF_SECONDS", 60.0)  # whatever else runs
    text = (DOCS / page).read_text(encoding="utf-8")
    assert _without_times(refreshed(page, tmp_path)) == _without_times(text)
    assert sum(len(COMMAND.findall(block)) for block in BLOCK.findall(text)) > PAGES[page]


def _without_times(text: str) -> list[str]:
    """The lines, without durations, whose number of characters also moves what stands behind them."""
    return [" ".join(TIME.sub("(time)", line).split()) for line in text.splitlines()]


if __name__ == "__main__":
    for each in PAGES:
        with tempfile.TemporaryDirectory() as empty:
            os.chdir(empty)
            written = refreshed(each, Path(empty))
            (DOCS / each).write_text(written, encoding="utf-8")
