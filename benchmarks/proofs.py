"""Separability: the time to a checked verdict, compared with a linear program and a support vector machine.

The others prove less: HiGHS reports "feasible" or "infeasible" in floats, without a proof to check; training errors of
`SVC(C=1e10)` prove nothing. Every method runs in a forked process, which is killed at the time limit.
"""

from __future__ import annotations

import multiprocessing as mp
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.svm import SVC

import rosenblatt as rb

from . import workloads

TIME_LIMIT_S = 20.0
QUICK_LIMIT_S = 2.0  # with --quick: ten sets and three methods take a minute at most


def ours(X: Any, y: Any) -> str:
    certificate = rb.certify(X, y)
    if isinstance(certificate, rb.Separable):
        return f"separable, gap {max(certificate.geometric.gap, certificate.augmented.gap):.0e}"
    return f"not separable, {len(certificate.rows)} rows" if isinstance(certificate, rb.Inseparable) else "undecided"


def highs(X: Any, y: Any) -> str:
    """Whether a w with y_i (w.x_i + b) >= 1 exists, as a linear program."""
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    A = sp.csr_array(sp.diags_array(-signs) @ sp.hstack([sp.csr_array(X), np.ones((X.shape[0], 1))]))
    found = linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(A.shape[0]), bounds=(None, None), method="highs")
    return {0: "feasible", 2: "infeasible"}.get(found.status, f"status {found.status}")


def svc(X: Any, y: Any) -> str:
    model = SVC(C=1e10, kernel="linear", cache_size=1000).fit(X, y)
    return f"{int((model.predict(X) != y).sum())} errors"


METHODS: dict[str, Callable[[Any, Any], str]] = {"ours": ours, "HiGHS": highs, "SVC": svc}


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    limit_s = QUICK_LIMIT_S if quick else TIME_LIMIT_S
    if not workloads.DATA.is_dir():
        yield {"set": "proofs", "skipped": workloads.missing("libsvm/ and uci/")}
    for work, X, y in workloads.two_classes(quick):
        seconds: dict[str, list[float]] = {name: [] for name in METHODS}
        answers: dict[str, str | None] = {}
        ours(X[:20], y[:20]) if len(np.unique(y[:20])) == 2 else None  # loads the compiled kernels
        for _ in range(1 if quick else repeats):
            for name, method in METHODS.items():
                if name in answers and answers[name] is None:
                    continue
                elapsed, answers[name] = _run_with_limit(method, X, y, limit_s)
                seconds[name].append(elapsed)
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        shown = {name: answer or f"no answer in {limit_s:.0f} s" for name, answer in answers.items()}
        yield {"set": work, "shape": X.shape, "seconds": medians, "answers": shown}


def _run_with_limit(method: Callable[[Any, Any], str], X: Any, y: Any, limit_s: float) -> tuple[float, str | None]:
    """The time and the answer of a method; no answer if it was killed at the time limit."""
    here, there = mp.get_context("fork").Pipe(duplex=False)
    child = mp.get_context("fork").Process(target=_timed, args=(there, method, X, y))
    child.start()
    there.close()
    try:
        return here.recv() if here.poll(limit_s) else (limit_s, None)
    finally:
        child.kill()
        child.join()


def _timed(pipe: Any, method: Callable[[Any, Any], str], X: Any, y: Any) -> None:
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    answer = method(X, y)
    pipe.send((time.perf_counter() - start, answer))
