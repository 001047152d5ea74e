"""Every command in docs/command-line.md is run, in order, in an empty folder, and prints what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from commands import rosenblatt

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def test_commands_of_the_page_and_what_they_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    count = 0
    for block in blocks:
        for command, printed in re.findall(r"^\$ rosenblatt (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            found = rosenblatt(*shlex.split(command))
            assert found.code == 0, (command, found.err)
            if printed:
                assert _without_times(found.out) == _without_times(printed)
            count += 1
    assert count > 12


def _without_times(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if not line.startswith("time ")]
