"""Tests of parts where little is compiled, or much data goes by, run once: compiled, as all do, and not again as Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from browsing import chromium

HERE = Path(__file__).parent
ONCE = ("certificates", "cli", "mail", "models", "proofs", "real", "reporting", "studio", "training")
ONCE_FILES = ("test_cache_files.py", "test_recipe.py", "test_recipe_parts.py", "test_scikit_learn.py")
TWICE_FILES = ("test_features.py", "test_html.py", "test_learner.py")  # of tests/mail: those of its kernels

# Whether a test is in time depends on what else runs; the suite has a limit of its own.
settings.register_profile("rosenblatt", deadline=None)
settings.load_profile("rosenblatt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = Path(item.fspath)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("browser"))  # which keeps two cores busy: two take longer than one
        folder = path.relative_to(HERE).parts[0] if path.is_relative_to(HERE) else ""
        if (folder in ONCE and path.name not in TWICE_FILES) or path.name in ONCE_FILES:
            item.add_marker(pytest.mark.once)


# Not for the whole session: its event loop stays in this thread for as long as it is open, and others start their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened
