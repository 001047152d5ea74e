"""Pyright finds the wrong choices of `typed_choices.py` as well; `mypy` checks that module in every run of `scripts/test`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.thorough, pytest.mark.once]
ROOT = Path(__file__).resolve().parents[1]
PYRIGHT = ROOT / "node_modules" / ".bin" / "pyright"
CHOICES = ROOT / "tests" / "typed_choices.py"


def test_pyright_finds_wrong_choices(tmp_path: Path) -> None:
    if not PYRIGHT.exists() or shutil.which("node") is None:
        pytest.skip("no pyright here: scripts/test installs it if npm is there")
    copy = shutil.copy(CHOICES, tmp_path)
    settings = {
        "include": [copy], "extraPaths": [str(ROOT / "src")], "pythonPlatform": "Linux",
        "enableTypeIgnoreComments": False,
    }  # fmt: skip
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}
    lines = CHOICES.read_text().splitlines()
    assert errors == {number for number, line in enumerate(lines, 1) if "# type: ignore" in line}, done.stdout
