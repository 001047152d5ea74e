"""All algorithms on the same rows: who errs least, and whether that could be chance."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..catalog import ALGORITHMS
from ..data.readers.read import read
from ..svm.not_separable import NotSeparable
from .metrics import Confusion
from .train import Prepared, Request, fit, labelled, margin_of, predicted, prepare

# Rows times stored values up to which an algorithm that looks at all rows before each update is tried without being asked for.
DEAR = 1 << 32
LOOKS_AT_ALL = ("mistakes",)
# Rows of each class that an algorithm is tried on first.
FEW = 4


@dataclass(frozen=True)
class Entry:
    """One algorithm's line."""

    algorithm: str
    train: Confusion | None = None
    test: Confusion | None = None
    margin: float | None = None
    passes: int | None = None
    updates: int | None = None
    stop: str = ""
    seconds: float = 0.0
    failed: str = ""  # why there is nothing to say about it
    right: Any = None  # of the test rows, which it gets right

    @property
    def merit(self) -> tuple[float, float, float]:
        if self.train is None:
            return (math.inf, math.inf, math.inf)
        judged = self.test or self.train
        return (judged.error, self.train.error, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"algorithm": self.algorithm, "failed": self.failed or None}
        if self.train is None:
            return told
        return told | {
            "training": self.train.to_dict(),
            "test": None if self.test is None else self.test.to_dict(),
            "margin": self.margin,
            "passes": self.passes,
            "updates": self.updates,
            "stop": self.stop,
            "seconds": self.seconds,
        }


def prepared_for(request: Request) -> Prepared:
    return prepare(request, labelled(read(request.data, request.options)))


def chosen(prepared: Prepared, names: list[str] | None) -> tuple[list[str], list[str]]:
    """(algorithms to run, those that would take too long on so many rows)."""
    if names is not None:
        return names, []
    X = prepared.X
    work = float(X.shape[0]) * float(X.nnz if hasattr(X, "nnz") else X.size)
    late = [name for name in LOOKS_AT_ALL if work > DEAR]
    return [name for name in ALGORITHMS if name not in late], late


def compare(
    request: Request, prepared: Prepared, names: list[str], before: Callable[[str], Any] = lambda name: None
) -> Iterator[Entry]:
    for name in names:
        yield _entry(request, prepared, name, before(name))


def _entry(request: Request, prepared: Prepared, name: str, watch: Any) -> Entry:
    _warm_up(request, prepared, name)
    try:
        estimator, _, seconds, _ = fit(request.make(name), prepared.X, prepared.y, watch)
    except NotSeparable:
        return Entry(name, failed="no plane separates the rows")
    except ValueError as wrong:
        return Entry(name, failed=str(wrong).split("; ")[0])
    k = len(prepared.classes)
    train = Confusion.of(prepared.codes, predicted(estimator, prepared.X), k)
    test = right = None
    if prepared.codes_test is not None:
        found = predicted(estimator, prepared.X_test)
        test, right = Confusion.of(prepared.codes_test, found, k), found == prepared.codes_test
    passes, updates = getattr(estimator, "n_iter_", None), getattr(estimator, "n_updates_", None)
    stop = getattr(estimator, "stop_", None)
    return Entry(
        name, train, test, margin_of(estimator, prepared), passes if isinstance(passes, int) else None, updates,
        "" if stop is None else stop.reason, seconds, right=right,
    )  # fmt: skip


def _warm_up(request: Request, prepared: Prepared, name: str) -> None:
    """A fit of a few rows of each class, so that no time has the seconds of a first compilation in it."""
    few = np.sort(np.concatenate([np.flatnonzero(prepared.codes == code)[:FEW] for code in range(len(prepared.classes))]))
    with contextlib.suppress(ValueError):
        fit(request.make(name), prepared.X[few], prepared.y[few])


def verdict(entries: list[Entry]) -> tuple[Entry | None, str]:
    """The winner, and why it is that one."""
    ranked = sorted((entry for entry in entries if entry.train is not None), key=lambda entry: entry.merit)
    if not ranked:
        return None, "no algorithm could learn from these rows"
    best = ranked[0]
    judged, where = (best.test, "test") if best.test is not None else (best.train, "training")
    assert judged is not None
    why = f"{best.algorithm} errs least on the {where} rows: {judged.errors:,} of {judged.rows:,}"
    if len(ranked) == 1:
        return best, why
    second = ranked[1]
    if second.merit[0] == best.merit[0]:
        decided = "fewer training errors" if second.merit[1] > best.merit[1] else "the shorter time"
        return best, f"{why}, as {second.algorithm} does; {decided} decided"
    if best.right is None:
        return best, why
    gained, lost = int((best.right & ~second.right).sum()), int((second.right & ~best.right).sum())
    chance = mcnemar(gained, lost)
    real = "that is hardly chance" if chance < 0.05 else "that could be chance"
    return (
        best,
        f"{why}; {gained:,} rows right that {second.algorithm} gets wrong, {lost:,} the other way: {real} (p = {chance:.2g})",
    )


def mcnemar(gained: int, lost: int) -> float:
    """How often a fair coin is as uneven: the exact test of McNemar, Psychometrika 12 (1947), on rows only one gets right.

    >>> mcnemar(5, 5), round(mcnemar(10, 1), 4)
    (1.0, 0.0117)
    """
    n, few = gained + lost, min(gained, lost)
    if n == 0:
        return 1.0
    if n > 1000:
        z = (abs(gained - lost) - 1.0) / math.sqrt(n)
        return min(1.0, math.erfc(max(0.0, z) / math.sqrt(2.0)))
    return min(1.0, float(2 * sum(math.comb(n, i) for i in range(few + 1)) / 2**n))


def best_marks(entries: list[Entry]) -> dict[str, Any]:
    """The best of each column, for emphasis."""
    done = [entry for entry in entries if entry.train is not None]
    return {
        "test": min((entry.test.errors for entry in done if entry.test is not None), default=None),
        "train": min((entry.train.errors for entry in done if entry.train is not None), default=None),
        "margin": max((entry.margin for entry in done if entry.margin is not None), default=-np.inf),
    }
