"""The package from outside: its names, its start-up, its command line."""

from __future__ import annotations

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import rosenblatt as rb
from rosenblatt.catalog import ESTIMATORS
from rosenblatt.cli import main

NAMES = """
    Check Convergence Diagnosis Explanation Finding Inseparable Interval MinimumErrors Model
    ModelError NoMaximum NotSeparable Progress Separable Stop TextHasher Trained Tuned Undecided Update
    UpdateLog Vocabulary certify cluster doctor load load_certificate losses mail margin minimum_errors
    mistake_bound progress_callback radius save save_certificate studio train tune verify
"""


def test_the_public_names_are_these_and_sorted() -> None:
    assert rb.__all__ == sorted([*NAMES.split(), *ESTIMATORS])


def test_type_checkers_see_every_public_name() -> None:
    """The imports for type checkers, which cannot read the catalog, follow from it and from `_MODULES`."""
    modules = rb._MODULES | {name: entry.module.removeprefix("rosenblatt.") for name, entry in ESTIMATORS.items()}
    modules |= {"cluster": "", "losses": "", "mail": ""}  # modules themselves
    wanted = {f"from .{modules[name]} import {name} as {name}" for name in rb.__all__}
    blocks = [node for node in ast.parse(Path(rb.__file__).read_text()).body if isinstance(node, ast.If)]
    found = {ast.unparse(line) for line in blocks[0].body}
    todo = [f"add {line}" for line in sorted(wanted - found)] + [f"remove {line}" for line in sorted(found - wanted)]
    assert not todo, "change the imports under TYPE_CHECKING in src/rosenblatt/__init__.py"


@pytest.mark.parametrize("name", rb.__all__)
def test_every_public_name_is_there_and_named_so(name: str) -> None:
    assert getattr(rb, name).__name__.removeprefix("rosenblatt.") == name
    assert name in dir(rb)
    assert getattr(rb, name).__doc__


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"'rosenblatt'.*'Perceptrom'"):
        rb.Perceptrom  # noqa: B018


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("module", ["rosenblatt", "rosenblatt.cli"])
def test_importing_the_package_imports_nothing_heavy(module: str) -> None:
    heavy = ("sklearn", "numba", "scipy", "numpy", "pandas", "pyarrow", "matplotlib")
    out = run_python(f"import sys, {module}; sys.stdout.write(' '.join(m for m in {heavy} if m in sys.modules))")
    assert out == ""


def test_dir_lists_the_names_before_they_are_loaded() -> None:
    out = run_python("import sys, rosenblatt; sys.stdout.write(' '.join(dir(rosenblatt)))").split()
    assert set(rb.__all__) <= set(out)
    assert out == sorted(out)


def test_star_import_brings_the_public_names() -> None:
    out = run_python("import sys\nfrom rosenblatt import *\nsys.stdout.write(Perceptron.__name__ + Stop.__name__)")
    assert out == "PerceptronStop"


def test_the_package_is_typed() -> None:
    assert (Path(rb.__file__).parent / "py.typed").is_file()


def test_the_version_is_that_of_the_distribution() -> None:
    assert rb.__version__ == importlib.metadata.version("rosenblatt")


def test_the_command_is_installed() -> None:
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="rosenblatt")
    assert entry.load() is main


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_the_commands(flag: str) -> None:
    result = CliRunner().invoke(main, [flag])
    assert result.exit_code == 0
    assert "Usage" in result.output
    assert "demo" in result.output


def test_version_is_printed() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert rb.__version__ in result.output


def test_an_unknown_command_fails_and_is_named() -> None:
    result = CliRunner().invoke(main, ["dream"])
    assert result.exit_code != 0
    assert "dream" in result.output


@pytest.mark.slow
def test_the_demo_trains_reads_proves_compares_and_reports(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--seed", "1", "-o", str(tmp_path)], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    for word in ("last", "pocket", "average", "vote", "stopped", "updates", "the certificate holds", "best: "):
        assert word in result.output
    assert str(tmp_path / "report.html") in result.output
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "breast-cancer.safetensors"}


def test_the_demo_refuses_a_seed_that_is_no_number() -> None:
    result = CliRunner().invoke(main, ["demo", "--seed", "x"])
    assert result.exit_code != 0
    assert "'x'" in result.output
