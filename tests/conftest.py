"""Tests of parts where little is compiled, or much data goes by, run once: compiled, as all do, and not again as Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

ONCE = ("certificates", "cli", "exports", "mail", "models", "proofs", "real", "recipes", "report", "streams", "training")
TWICE = ("test_features.py", "test_html.py", "test_learner.py")  # of tests/mail: those of its kernels

# Whether a test is in time depends on what else runs; the suite has a limit of its own.
settings.register_profile("rosenblatt", deadline=None)
settings.load_profile("rosenblatt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = Path(item.fspath)
        if (path.parent.name in ONCE and path.name not in TWICE) or path.name == "test_scikit_learn.py":
            item.add_marker(pytest.mark.once)
