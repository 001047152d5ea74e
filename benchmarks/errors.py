"""The fewest training errors of any plane: errors found, lower bound proved, and time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rosenblatt as rb

from . import workloads

SETS = ("fourclass", "heart_scale", "breast-cancer_scale", "australian", "german.numer", "banknote_authentication")
TIME_LIMIT_S = 60.0


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    if not workloads.DATA.is_dir():
        yield {"set": "errors", "skipped": workloads.missing("libsvm/ and uci/")}
    for name, X, y in workloads.two_classes(quick=True):
        if name not in SETS:
            continue
        works = {name: X}
        if name.startswith("banknote"):
            works = {f"{name}, columns 0 and 1": X[:, :2], name: X}
        for work, rows in works.items():
            found = rb.minimum_errors(rows, y, time_limit=5.0 if quick else TIME_LIMIT_S)
            kind = "in integers" if found.exact else "bound of HiGHS"
            yield {
                "set": work, "shape": rows.shape, "errors": found.errors, "lower": found.lower, "optimal": found.optimal,
                "proof": kind, "seconds": found.seconds,
            }  # fmt: skip
