"""kill -9 at any moment: what was acknowledged is there, once, and the filter is the replay of its log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from datasets import data_path
from effort import amount

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_killed_many_times(tmp_path: Path) -> None:
    kills = amount(40, 200)
    source = data_path("mail/spamassassin")
    command = [
        sys.executable,
        str(HERE / "killed_while_learning.py"),
        str(tmp_path),
        str(kills),
        str(source) if source.is_dir() else "",
    ]
    there = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": there})
    assert ran.returncode == 0, ran.stderr
    killed, acknowledged, messages, bases = map(int, ran.stdout.split())
    assert killed == kills
    assert acknowledged > kills
    assert messages > 20
    assert bases <= 3  # the one that is used, and what was killed before it was used or removed
