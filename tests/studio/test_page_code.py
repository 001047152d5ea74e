"""The page's modules: their own tests in Node, and their types as TypeScript sees them; skipped where these are absent."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TSC = ROOT / "node_modules" / ".bin" / "tsc"

pytestmark = pytest.mark.slow


def node() -> str:
    program = shutil.which("node")
    if program is None:
        pytest.skip("no node here")
    return program


def test_the_modules_pass_their_own_tests() -> None:
    files = sorted(map(str, (ROOT / "tests" / "studio" / "page").glob("*.test.js")))
    assert len(files) >= 7
    done = subprocess.run([node(), "--test", *files], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_the_types_are_right() -> None:
    if not TSC.exists():
        pytest.skip("no TypeScript here: scripts/test installs it where there is npm")
    done = subprocess.run([node(), TSC, "-p", "jsconfig.json"], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_the_model_of_the_page_imports_nothing() -> None:
    page = ROOT / "src" / "rosenblatt" / "studio" / "page"
    for name in ("state.js", "player.js", "geometry.js"):
        lines = (page / "model" / name).read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line.startswith(("import ", "export {", "export *"))] == []
    for path in page.rglob("*.js"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("import "):
                assert line.rstrip(";").endswith('"') is False or '"./' in line or '"../' in line, (path, line)
