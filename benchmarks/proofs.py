"""Separable or not: seconds to a verdict that was checked, beside a linear program alone and a support vector machine.

The others answer less: HiGHS says "feasible" or not in floats, without anything to check; `SVC(C=1e10)` with errors left over
says nothing at all. Each answer is had in a forked process of its own, so that one that does not end can be ended.
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

LIMIT = 20.0  # seconds


def ours(X: Any, y: Any) -> str:
    certificate = rb.certify(X, y)
    if isinstance(certificate, rb.Separable):
        return f"separable, gap {max(certificate.geometric.gap, certificate.augmented.gap):.0e}"
    return f"not separable, {len(certificate.rows)} rows" if isinstance(certificate, rb.Inseparable) else "undecided"


def highs(X: Any, y: Any) -> str:
    """Is there a w with y_i (w.x_i + b) >= 1?"""
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    A = sp.csr_array(sp.diags_array(-signs) @ sp.hstack([sp.csr_array(X), np.ones((X.shape[0], 1))]))
    found = linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(A.shape[0]), bounds=(None, None), method="highs")
    return {0: "feasible", 2: "infeasible"}.get(found.status, f"status {found.status}")


def svc(X: Any, y: Any) -> str:
    model = SVC(C=1e10, kernel="linear", cache_size=1000).fit(X, y)
    return f"{int((model.predict(X) != y).sum())} errors"


CONTESTANTS: dict[str, Callable[[Any, Any], str]] = {"ours": ours, "HiGHS": highs, "SVC": svc}


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    for name, X, y in workloads.two_classes(quick):
        seconds: dict[str, list[float]] = {who: [] for who in CONTESTANTS}
        answers: dict[str, str] = {}
        ours(X[:20], y[:20]) if len(np.unique(y[:20])) == 2 else None  # loads what was compiled
        for _ in range(1 if quick else repeats):
            for who, contestant in CONTESTANTS.items():
                if answers.get(who, "").startswith("no answer"):
                    continue
                took, answers[who] = _within_the_limit(contestant, X, y)
                seconds[who].append(took)
        medians = {who: statistics.median(times) for who, times in seconds.items()}
        yield {"set": name, "shape": X.shape, "seconds": medians, "answers": answers}


def _within_the_limit(contestant: Callable[[Any, Any], str], X: Any, y: Any) -> tuple[float, str]:
    here, there = mp.get_context("fork").Pipe(duplex=False)
    child = mp.get_context("fork").Process(target=_timed, args=(there, contestant, X, y))
    child.start()
    there.close()
    try:
        return here.recv() if here.poll(LIMIT) else (LIMIT, f"no answer in {LIMIT:.0f} s")
    finally:
        child.kill()
        child.join()


def _timed(pipe: Any, contestant: Callable[[Any, Any], str], X: Any, y: Any) -> None:
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    answer = contestant(X, y)
    pipe.send((time.perf_counter() - start, answer))
