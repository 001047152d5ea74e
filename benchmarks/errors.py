"""The least training errors of any plane: what is found, what is proved, in how many seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rosenblatt as rb

from . import workloads

SETS = ("fourclass", "heart_scale", "breast-cancer_scale", "australian", "german.numer", "banknote_authentication")
LIMIT = 60.0  # seconds


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    for name, X, y in workloads.two_classes(quick=True):
        if name not in SETS:
            continue
        works = {name: X}
        if name.startswith("banknote"):
            works = {f"{name}, columns 0 and 1": X[:, :2], name: X}
        for work, rows in works.items():
            found = rb.minimum_errors(rows, y, time_limit=5.0 if quick else LIMIT)
            kind = "in whole numbers" if found.exact else "HiGHS' bound"
            yield {
                "set": work, "shape": rows.shape, "errors": found.errors, "lower": found.lower, "optimal": found.optimal,
                "proof": kind, "seconds": found.seconds,
            }  # fmt: skip
