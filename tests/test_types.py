"""Type checkers find a wrong choice, and take the right ones."""

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
RIGHT = """
import rosenblatt as rb

rb.Perceptron(keep="average", multiclass="ovr", order="cyclic", max_iter=None, margin="auto")
rb.PassiveAggressive(variant="PA-II", keep="last")
rb.SoftMargin(C=1.0, loss="squared_hinge", multiclass="crammer_singer", penalize_intercept=True)
"""
WRONG = {
    "keep": 'rb.Perceptron(keep="avg")',
    "multiclass": 'rb.Perceptron(multiclass="argmax")',
    "variant": 'rb.PassiveAggressive(variant="PA-III")',
    "loss": 'rb.SoftMargin(loss="squared-hinge")',
    "positional": 'rb.Perceptron("average")',
    "unknown": "rb.LinearMSE(ridge=1.0)",
}
CODE = RIGHT + "\n".join(WRONG.values()) + "\n"
WRONG_LINES = list(range(RIGHT.count("\n") + 1, CODE.count("\n") + 1))


@pytest.fixture
def snippet(tmp_path: Path) -> Path:
    path = tmp_path / "snippet.py"
    path.write_text(CODE)
    return path


def test_mypy_finds_wrong_choices(snippet: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--strict", str(snippet)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == WRONG_LINES, done.stdout + done.stderr


def test_pyright_finds_wrong_choices(snippet: Path) -> None:
    if not PYRIGHT.exists() or shutil.which("node") is None:
        pytest.skip("no pyright here: scripts/test installs it if npm is there")
    settings = {"include": [str(snippet)], "extraPaths": [str(ROOT / "src")], "pythonPlatform": "Linux"}
    (snippet.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "-p", str(snippet.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}
    assert sorted(errors) == WRONG_LINES, done.stdout
