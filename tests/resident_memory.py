"""The memory that a process holds now, to see whether something leaks."""

from __future__ import annotations

import contextlib
import gc
import os
import re
from pathlib import Path

import pytest


def resident_mb(process: int | str = "self") -> float:
    """Resident memory of a process in MB, after a collection of this one's garbage; skips the test without /proc."""
    status = Path(f"/proc/{process}/statm")
    if not status.exists():
        pytest.skip("needs /proc")
    gc.collect()
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def family_mb() -> float:
    """Memory of this process and all its descendants in MB, shared pages counted once; skips the test without /proc."""
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("needs /proc")
    gc.collect()
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # ended by now
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    family = {os.getpid()}
    while more := {each for each, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(_proportional_kb(each) for each in family) / 2**10


def _proportional_kb(process: int) -> int:
    with contextlib.suppress(OSError):
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text(), re.M)
        return int(found[1]) if found else 0
    return 0
