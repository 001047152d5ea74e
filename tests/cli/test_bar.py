"""The progress bar shows pass, updates on standard error, if that is a terminal."""

from __future__ import annotations

import io
import re

import pytest

from rosenblatt.cli import console
from rosenblatt.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_shows_the_pass_and_its_updates(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(console, "BAR_DELAY_S", 0.0)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with console.bar("learning") as update:
        update(Progress(2, 1234, 56, visited=10, rows=20, max_iter=5))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "pass 3: 56 updates, 1,234 in total" in text


@pytest.mark.parametrize("delay", [0.0, 1e9])
def test_no_bar_without_a_terminal_or_for_fast_work(monkeypatch, delay):
    monkeypatch.setattr(console, "BAR_DELAY_S", delay)
    terminal = Terminal() if delay else io.StringIO()
    monkeypatch.setattr("sys.stderr", terminal)
    with console.bar("learning") as update:
        if update is not None:
            update(Progress(1))
    assert terminal.getvalue() == ""
