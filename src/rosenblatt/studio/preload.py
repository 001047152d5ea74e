"""Loads compiled code into the process that workers are forked from, so that a new worker answers at once.

Every algorithm is run once, since the first run of each loads, or compiles, its kernels. None of these runs starts a thread: a
forked process has none of the threads of its parent.
"""

from __future__ import annotations

import contextlib
import gc

from ..catalog import ALGORITHMS
from .proof import prove
from .recording import run

POINTS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.5]]
LABELS = ([0, 1, 0, 1, 1], [0, 1, 2, 0, 1])

for labels in LABELS:
    for algorithm in ALGORITHMS:
        for answer in (run, prove) if algorithm == "perceptron" else (run,):
            with contextlib.suppress(Exception):  # a request with the same fault is answered with it
                answer({"points": POINTS, "labels": labels, "algorithm": algorithm, "knobs": {}})

gc.freeze()  # these objects stay; collections in workers leave their memory shared
