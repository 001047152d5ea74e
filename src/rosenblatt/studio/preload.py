"""Loads compiled code into the process that workers are forked from, so that a new worker answers at once.

Every algorithm is run once, since the first run of each loads its kernels. On a new machine the first run compiles them, which
takes half a minute for all; what `LOAD_SECONDS` leaves is compiled by `load_rest` in a process of its own, or when it is asked
for. None of these runs starts a thread: a forked process has none of the threads of its parent.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time

from ..catalog import ALGORITHMS
from .proof import prove
from .recording import run

POINTS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.5]]
LABELS = ([0, 1, 0, 1, 1], [0, 1, 2, 0, 1])
LOAD_SECONDS = 5.0

left = [
    (answer, {"points": POINTS, "labels": labels, "algorithm": algorithm, "knobs": {}})
    for labels in LABELS
    for algorithm in ALGORITHMS
    for answer in ((run, prove) if algorithm == "perceptron" else (run,))
]


def load_rest(seconds: float = math.inf) -> None:
    """Run what was not run yet, for a limited time. What is compiled is stored on disk, where other processes find it."""
    until = time.perf_counter() + seconds
    while left and time.perf_counter() < until:
        answer, request = left.pop(0)
        with contextlib.suppress(Exception):  # a request with the same fault is answered with it
            answer(request)


load_rest(LOAD_SECONDS)
gc.freeze()  # these objects stay; collections in workers leave their memory shared
