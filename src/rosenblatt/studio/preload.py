"""Loads compiled code into the process that workers are forked from, so that a new worker answers at once.

Only algorithms that start no threads are run: a forked process has none of them.
"""

from __future__ import annotations

import contextlib

from .recording import run

POINTS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.5]]
LABELS = ([0, 1, 0, 1, 1], [0, 1, 2, 0, 1])

for labels in LABELS:
    for algorithm in ("perceptron", "pocket"):
        with contextlib.suppress(Exception):  # a request with the same fault is answered with it
            run({"points": POINTS, "labels": labels, "algorithm": algorithm, "knobs": {"max_updates": 20}})
