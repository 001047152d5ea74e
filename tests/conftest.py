"""Certificates, proofs and reports are checked once, in the run that measures coverage: little of them is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

HERE = ("certificates", "proofs", "report")

# Whether a test is in time depends on what else runs; the suite has a limit of its own.
settings.register_profile("rosenblatt", deadline=None)
settings.load_profile("rosenblatt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).parent.name in HERE and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.once)
