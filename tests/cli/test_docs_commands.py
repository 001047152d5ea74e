"""Every command that the documentation shows is run, in order, in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from commands import rosenblatt

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
NO = ("doctor",)


def test_commands_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ rosenblatt (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) > 12
    for command in commands:
        found = rosenblatt(*shlex.split(command))
        assert found.code == 0, (command, found.err)
