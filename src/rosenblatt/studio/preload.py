"""Loads compiled code into the process that workers are forked from, so that a new worker answers at once.

Every algorithm is run once, since the first run of each loads its kernels. On a new machine the first run compiles them, which
takes half a minute for all; what `LOAD_SECONDS` leaves is compiled when it is asked for. None of these runs starts a thread: a
forked process has none of the threads of its parent.
"""

from __future__ import annotations

import contextlib
import gc
import time

from ..catalog import ALGORITHMS
from .proof import prove
from .recording import run

POINTS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.5]]
LABELS = ([0, 1, 0, 1, 1], [0, 1, 2, 0, 1])
LOAD_SECONDS = 5.0

begun = time.perf_counter()
for labels in LABELS:
    for algorithm in ALGORITHMS:
        for answer in (run, prove) if algorithm == "perceptron" else (run,):
            if time.perf_counter() - begun < LOAD_SECONDS:
                with contextlib.suppress(Exception):  # a request with the same fault is answered with it
                    answer({"points": POINTS, "labels": labels, "algorithm": algorithm, "knobs": {}})

gc.freeze()  # these objects stay; collections in workers leave their memory shared
