"""The memory that a process holds now, to see whether something leaks."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest


def resident_mb(process: int | str = "self") -> float:
    """Resident memory of a process in MB, after a collection of this one's garbage; skips the test without /proc."""
    status = Path(f"/proc/{process}/statm")
    if not status.exists():
        pytest.skip("needs /proc")
    gc.collect()
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
