"""Options, groups and order of the tests, and what coverage does not look at.

`--thorough` adds the tests marked `thorough` and gives Hypothesis its full number of examples.

Two workers share the tests file by file: tests of one file call the same kernels, so that each kernel is compiled by one
worker. The contracts call nearly all kernels of learners: one worker runs them first, while the other runs tests of mail,
which have other kernels. Then groups that take long start first. Tests in the browser wait for it half of the time:
`scripts/test` runs them in a process of their own beside the others, selected by the marker `browser`.

Coverage makes Python half as fast, so it measures less than what runs. These run without it: all but a few cases of a
parametrized test; tests marked `slow` or `thorough`; tests in the browser and contracts, which repeat what tests of single
modules cover; those that `--covered-later` names, which run again with their kernels as plain Python; Numba's compiler; and
pytest's rewriting of assertions.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite
from hypothesis import settings
from numba.core.dispatcher import _FunctionCompiler

import effort
from chromium_browser import chromium

HERE = Path(__file__).parent
MEASURED_CASES = 3  # cases of a parametrized test that run with coverage
collect_ignore_glob = ["*conftest.py"]  # for doctests: they have none, and all have the same module name
# Files and folders in the order in which they start, after the tests in the browser: see above.
FIRST = (
    "contracts", "cli/mail", "mail", "certificates", "studio/test_runs.py", "svm", "real", "online", "estimators", "kernels",
    "studio", "proofs", "cli", "training", "models",
)  # fmt: skip

# The time limit of a single example would depend on what else runs; the suite has a limit of its own.
settings.register_profile("brief", deadline=None, max_examples=15)
settings.register_profile("thorough", deadline=None)


def undisturbed(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler without coverage and garbage collections; the tracer sees this frame begin and end, as it expects."""

    @functools.wraps(compiler)
    def call(*args: Any) -> Any:
        tracer, collects = sys.gettrace(), gc.isenabled()
        sys.settrace(None)
        gc.disable()
        try:
            return compiler(*args)
        finally:
            if collects:
                gc.enable()
            sys.settrace(tracer)
            sys._getframe().f_trace = tracer

    return call


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run long tests, too, and more examples of each property")
    parser.addoption(
        "--few-cases", action="store_true", help="run only those cases of parametrized tests that coverage measures"
    )
    parser.addoption(
        "--covered-later", action="append", default=[], metavar="PATH",
        help="run tests of this file or folder without coverage, if a run with kernels as plain Python includes them",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    effort.THOROUGH = config.getoption("--thorough")
    settings.load_profile("thorough" if effort.THOROUGH else "brief")
    _FunctionCompiler.compile = undisturbed(_FunctionCompiler.compile)
    rewrite._rewrite_test = undisturbed(rewrite._rewrite_test)
    gc.disable()  # until the end of the collection, which keeps what it makes


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not effort.THOROUGH:
        deselect(config, items, lambda item: item.get_closest_marker("thorough"))
    measured = set(measured_cases(items))
    if config.getoption("--few-cases") and not effort.THOROUGH:
        deselect(config, items, lambda item: item.nodeid not in measured)
    later = [config.rootpath / path for path in config.getoption("--covered-later")]
    for item in items:
        if uses_browser(item):
            item.add_marker(pytest.mark.browser)
        repeats = uses_browser(item) or item.path.is_relative_to(HERE / "contracts")  # what tests of single modules cover
        runs_again = any(map(item.path.is_relative_to, later)) and not item.get_closest_marker("once")
        long_test = item.get_closest_marker("slow") or item.get_closest_marker("thorough")
        if item.nodeid not in measured or repeats or runs_again or long_test:
            item.add_marker(pytest.mark.no_cover)
    if hasattr(config, "workerinput"):  # shared by several workers
        items.sort(key=rank)


def pytest_collection_finish() -> None:
    """Exclude modules and tests, which live as long as the process, from every later garbage collection."""
    gc.enable()
    gc.collect()
    gc.freeze()


def deselect(config: pytest.Config, items: list[pytest.Item], condition: Callable[[pytest.Item], object]) -> None:
    dropped = [item for item in items if condition(item)]
    items[:] = [item for item in items if not condition(item)]
    config.hook.pytest_deselected(items=dropped)


def measured_cases(items: list[pytest.Item]) -> Iterator[str]:
    """Yield some cases of each parametrized test, evenly spread, because neighbors are similar; and all other tests."""
    cases: dict[str, list[str]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item.nodeid)
    for names in cases.values():
        last = len(names) - 1
        yield from (names[k * last // (MEASURED_CASES - 1)] for k in range(MEASURED_CASES))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, one worker runs the contracts, and one all browser tests, so that only one browser is started."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            if path.startswith("tests/contracts/"):
                return "contracts"
            return "browser" if "/test_page_" in path or path.endswith("_browser.py") else path

    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def rank(item: pytest.Item) -> int:
    """The position of a test's group in the order: slow groups come first, so that both workers stay busy until the end."""
    if uses_browser(item):
        return 0
    path = item.path.relative_to(HERE).as_posix() if item.path.is_relative_to(HERE) else ""
    return next((n for n, start in enumerate(FIRST, 1) if path.startswith(start)), len(FIRST) + 1)


@pytest.fixture(scope="session", autouse=True)
def no_new_files_in_the_repository() -> Iterator[None]:
    """Tests write into folders of their own: commands write a model into the current folder unless `-o` names another file."""
    before = visible_files(HERE.parent)
    yield
    assert visible_files(HERE.parent) <= before, "a test has written into the folder of the repository"


def visible_files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}


SHARED = contextlib.ExitStack()  # closes the browser
SHARED_BROWSER: list[Any] = []


@pytest.fixture
def browser() -> Any:
    """One browser for all tests in a row that use it."""
    if not SHARED_BROWSER:
        SHARED_BROWSER.append(SHARED.enter_context(chromium()))
    return SHARED_BROWSER[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the browser before a test without it: its event loop stays in this thread, and other tests start their own."""
    yield
    if SHARED_BROWSER and not uses_browser(nextitem):
        SHARED_BROWSER.clear()
        SHARED.close()


def uses_browser(item: pytest.Item | None) -> bool:
    return "browser" in getattr(item, "fixturenames", ())
