"""The bar says the pass, the updates, the mistakes and the time left, on standard error, where somebody is looking."""

from __future__ import annotations

import io
import re

import pytest

from rosenblatt.cli import console
from rosenblatt.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_tells_where_the_run_is(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with console.bar("learning") as tell:
        tell(Progress(2, 1234, 56, visited=10, rows=20, max_iter=5))
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "pass 3, 1,234 updates, 56 mistakes in this pass" in said


@pytest.mark.parametrize("patience", [0.0, 1e9])
def test_nobody_looking_or_nothing_to_wait_for_is_no_bar(monkeypatch, patience):
    monkeypatch.setattr(console, "PATIENCE", patience)
    terminal = Terminal() if patience else io.StringIO()
    monkeypatch.setattr("sys.stderr", terminal)
    with console.bar("learning") as tell:
        if tell is not None:
            tell(Progress(1))
    assert terminal.getvalue() == ""
