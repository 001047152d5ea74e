"""The cache of compiled kernels: used when nothing changed, dropped when any kernel or rule was edited."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rosenblatt
from rosenblatt.kernels.compile import SOURCES, digest_of_sources, operation

SCRIPT = textwrap.dedent(
    """
    import json, sys
    import rosenblatt as rb
    from rosenblatt.kernels.linear.sweeps import online

    model = rb.Perceptron(order="cyclic", max_iter=1).fit([[1.0], [-1.0]], [1, 0])
    stats = online.stats
    json.dump(
        {
            "home": rb.__file__,
            "step": model.log_.steps[0],
            "hits": sum(stats.cache_hits.values()),
            "misses": sum(stats.cache_misses.values()),
        },
        sys.stdout,
    )
    """
)


OWN_RULE = textwrap.dedent(
    """
    from typing import NamedTuple
    import rosenblatt as rb
    from rosenblatt.kernels.linear.rules import step

    class Rule(NamedTuple):
        margin: float

    @step.of(Rule)
    def _(rule, margin, sqnorm, weight):
        return 5.0

    rb.PassiveAggressive._rule = lambda self, problem: Rule(0.0)
    assert rb.PassiveAggressive(max_iter=1).fit([[1.0], [-1.0]], [1, 0]).log_.steps[0] == 5.0
    """
)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, without anything compiled."""
    home = Path(rosenblatt.__file__).parent
    shutil.copytree(home, tmp_path / "rosenblatt", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return tmp_path


def run(folder: Path, script: str = SCRIPT, **more: str) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "COV_", "COVERAGE"))}
    environment |= {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"NUMBA_OPT": "0"} | more  # machine code that is fast to compile: only the cache is tested
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert Path(found["home"]).is_relative_to(folder)
    return found


def edit(path: Path, old: str, new: str) -> None:
    source = path.read_text()
    assert source.count(old) == 1
    path.write_text(source.replace(old, new))


@pytest.mark.slow
def test_an_edited_source_recompiles_and_an_unedited_one_does_not(copied: Path) -> None:
    first = run(copied)
    assert first["step"] == 1.0
    assert first["hits"] == 0
    assert first["misses"] > 0

    again = run(copied)
    assert again["step"] == 1.0
    assert again["hits"] > 0
    assert again["misses"] == 0

    edit(copied / "rosenblatt/online/rules/perceptron.py", "return weight", "return 2.0 * weight")
    edit(copied / "rosenblatt/kernels/linear/schemes.py", "tape.steps[used] = tau", "tape.steps[used] = 3.0 * tau")
    edited = run(copied)
    assert edited["step"] == 6.0
    assert edited["misses"] > 0


@pytest.mark.slow
@pytest.mark.thorough
def test_a_cache_with_a_class_of_an_old_name_is_not_used(copied: Path) -> None:
    assert run(copied)["step"] == 1.0
    for path in (copied / "rosenblatt").rglob("*.py"):
        path.write_text(path.read_text().replace("PerceptronRule", "RosenblattRule"))
    assert run(copied)["step"] == 1.0  # the cache holds a pickled class of the old name


@pytest.mark.slow
@pytest.mark.thorough
def test_a_rule_outside_the_package_is_not_cached(copied: Path) -> None:
    run(copied)
    (copied / "own_rule.py").write_text(OWN_RULE)
    run(copied, "import own_rule\n" + SCRIPT)
    (copied / "own_rule.py").unlink()
    assert run(copied)["misses"] == 0  # the cache refers to no class that is gone


@pytest.mark.slow
@pytest.mark.thorough
def test_without_a_place_for_a_cache_kernels_are_compiled_all_the_same(copied: Path) -> None:
    for path in [copied / "rosenblatt/online/rules", *(copied / "rosenblatt/kernels").rglob("")]:
        (path / "__pycache__").touch()  # a file: no folder can be made there, not even by root
    (copied / "file").touch()
    nowhere = str(copied / "file" / "none")
    for _ in range(2):
        found = run(copied, NUMBA_CACHE_DIR="", HOME=nowhere, XDG_CACHE_HOME=nowhere)
        assert found["step"] == 1.0
        assert found["hits"] == 0


@pytest.mark.slow
@pytest.mark.thorough
def test_a_cache_that_cannot_be_read_or_written_any_more_is_none(copied: Path) -> None:
    run(copied)
    for path in (copied / "cache").rglob("*"):
        if path.is_file():
            path.unlink()
            path.mkdir()
    found = run(copied)
    assert found["step"] == 1.0
    assert found["hits"] == 0


def test_the_digest_covers_every_kernel_and_rule() -> None:
    assert [folder.name for folder in SOURCES] == ["kernels", "rules"]
    for folder in SOURCES:
        assert (folder / "__init__.py").is_file()
    assert len(digest_of_sources()) == 64


def test_the_digest_changes_with_a_name_and_with_a_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(**files: str) -> str:
        folder = tmp_path / "-".join(files)
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        monkeypatch.setattr("rosenblatt.kernels.compile.SOURCES", (folder,))
        digest_of_sources.cache_clear()
        return digest_of_sources()

    try:
        found = [digest(a="1"), digest(a="2"), digest(b="1"), digest(a="1", b="1")]
        assert len(set(found)) == 4
        assert digest(a="1") == found[0]
    finally:
        digest_of_sources.cache_clear()


def test_a_body_with_too_few_arguments_is_an_error_that_names_operation_and_type() -> None:
    class Rule(NamedTuple):
        margin: float

    @operation
    def step(rule: Any, margin: float, sqnorm: float, weight: float) -> Any:
        """The stub."""

    with pytest.raises(TypeError, match=r"step of Rule has 3 arguments \(rule, margin, weight\): give it 4 "):

        @step.of(Rule)
        def _(rule: Any, margin: float, weight: float) -> float:
            return weight

    assert step.bodies == {}
