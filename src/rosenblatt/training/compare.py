"""Compare algorithms on the same rows: which one makes the fewest errors, and whether the difference could be chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..array_types import BoolArray
from ..catalog import ALGORITHMS
from ..data.readers.read import read
from ..online.run import OutOfRangeError
from ..progress import ProgressCallback
from ..reporting.text import count, join_and, short
from ..svm.not_separable import NotSeparable
from .judgment import Judgment
from .metrics import Confusion
from .preparation import Prepared, hold_out, prepare
from .request import Request
from .train import fit, predict_codes, training_margin

# Work (rows times stored values) up to which algorithms that scan all rows for each update run by default.
MAX_FULL_SCAN_WORK = 1 << 32
# Differences with a smaller p-value are called significant.
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Entry:
    """The result of one algorithm: its errors, or the reason of its failure."""

    algorithm: str
    train: Confusion | None = None
    test: Confusion | None = None
    margin: float | None = None
    n_iter: int | None = None
    updates: int | None = None
    stop: str = ""
    seconds: float = 0.0
    failed: str = ""
    right: BoolArray | None = None  # which test rows are classified correctly

    @property
    def judged(self) -> Confusion | None:
        """The errors that decide: on the test rows, or on the training rows if there are no test rows."""
        return self.train if self.test is None else self.test

    @property
    def rank_key(self) -> tuple[float, float, float]:
        """Deciding error, training error and time; smaller is better."""
        if self.train is None or self.judged is None:
            return (math.inf, math.inf, math.inf)
        return (self.judged.error, self.train.error, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {"algorithm": self.algorithm, "failed": self.failed or None}
        if self.train is None:
            return result
        return result | {
            "training": self.train.to_dict(),
            "test": None if self.test is None else self.test.to_dict(),
            "margin": self.margin,
            "n_iter": self.n_iter,
            "updates": self.updates,
            "stop": self.stop,
            "seconds": self.seconds,
        }


def prepare_comparison(request: Request) -> Prepared:
    """Read the rows of a request and make their features, once for all algorithms."""
    return prepare(request, hold_out(request, read(request.data, request.options)))


def choose_algorithms(prepared: Prepared, names: list[str] | None) -> tuple[list[str], list[str]]:
    """Return the algorithms to run and those left out because they would take too long; names that are given all run."""
    if names is not None:
        return names, []
    X = prepared.X
    work = float(X.shape[0]) * float(X.nnz if hasattr(X, "nnz") else X.size)
    too_much = work > MAX_FULL_SCAN_WORK
    left_out = [name for name, algorithm in ALGORITHMS.items() if too_much and algorithm.make()._scans_for_each_update]
    return [name for name in ALGORITHMS if name not in left_out], left_out


def compare(
    request: Request, prepared: Prepared, names: list[str], before: Callable[[str], ProgressCallback | None] = lambda name: None
) -> Iterator[Entry]:
    """Fit the algorithms one after another; `before` is called with each name and returns the progress callback of its fit."""
    for name in names:
        yield _run(request, prepared, name, before(name))


def _run(request: Request, prepared: Prepared, name: str, watch: ProgressCallback | None) -> Entry:
    try:
        fitted = fit(request.make(name), prepared, watch)
    except NotSeparable:
        return Entry(name, failed="no plane separates the rows")
    except OutOfRangeError as error:
        return Entry(name, failed=error.problem)
    except ValueError as error:
        return Entry(name, failed=str(error))
    estimator, n_classes = fitted.estimator, len(prepared.classes)
    train = Confusion.of(prepared.codes, predict_codes(estimator, prepared.X), n_classes)
    test = right = None
    if prepared.codes_test is not None and prepared.X_test is not None:
        predicted = predict_codes(estimator, prepared.X_test)
        test, right = Confusion.of(prepared.codes_test, predicted, n_classes), predicted == prepared.codes_test
    return Entry(
        name,
        train,
        test,
        margin=training_margin(estimator, prepared),
        n_iter=estimator.n_iter_,
        updates=estimator._updates_made,
        stop=estimator.stop_.reason,
        seconds=fitted.seconds,
        right=right,
    )


# --- The winner


@dataclass(frozen=True)
class Verdict:
    """The best entry, and how it compares with the next.

    Attributes
    ----------
    winner : Entry or None
        None if every algorithm failed.
    second : Entry or None
        The next best entry.
    tied : tuple of str
        Algorithms that are as good as the winner up to `tie_break`.
    tie_break : {"training errors", "time"} or None
        What decided between equal errors; None without a tie.
    gained, lost : int
        Test rows that only the winner, or only the second, classifies correctly.
    p_value : float or None
        McNemar's test of `gained` against `lost`; None without test rows, or with a tie.
    """

    winner: Entry | None = None
    second: Entry | None = None
    tied: tuple[str, ...] = ()
    tie_break: Literal["training errors", "time"] | None = None
    gained: int = 0
    lost: int = 0
    p_value: float | None = None

    @property
    def sentence(self) -> str:
        if self.winner is None or self.winner.judged is None:
            return "no algorithm could learn from these rows"
        errors = self.winner.judged
        rows = "" if self.winner.test is not None else " training rows"
        text = f"best: {self.winner.algorithm}, {count(errors.errors)} of {count(errors.rows)}{rows} wrong"
        if self.tie_break is not None:
            several = len(self.tied) > 1
            preferred = "fastest" if several else "faster one"
            if self.tie_break == "training errors":
                preferred = f"one with the {'fewest' if several else 'fewer'} training errors"
            return f"{text} (tied with {join_and(self.tied, limit=3)}; the {preferred} is preferred)"
        if self.p_value is None or self.second is None or self.second.judged is None:
            return text
        judgment = "significant" if self.p_value < SIGNIFICANCE else "not significant"
        return (
            f"{text} (next: {self.second.algorithm}, {count(self.second.judged.errors)} wrong; "
            f"the difference is {judgment}: McNemar's test, p = {short(self.p_value, 2)})"
        )


def choose_winner(entries: Sequence[Entry]) -> Verdict:
    """Rank the entries by deciding error, then training error, then time, and compare the first two."""
    ranked = sorted((entry for entry in entries if entry.train is not None), key=lambda entry: entry.rank_key)
    if not ranked:
        return Verdict()
    best, others = ranked[0], ranked[1:]
    if not others:
        return Verdict(best)
    second = others[0]
    if second.rank_key[0] == best.rank_key[0]:
        ends = 2 if second.rank_key[1] == best.rank_key[1] else 1
        tied = tuple(entry.algorithm for entry in others if entry.rank_key[:ends] == best.rank_key[:ends])
        return Verdict(best, second, tied, "time" if ends == 2 else "training errors")
    if best.right is None or second.right is None:
        return Verdict(best, second)
    gained, lost = int((best.right & ~second.right).sum()), int((second.right & ~best.right).sum())
    return Verdict(best, second, gained=gained, lost=lost, p_value=mcnemar(gained, lost))


def judge_winner(prepared: Prepared, winner: Entry | None) -> Judgment | None:
    """Judge the rows that decided about the winner, beside the baseline; None if every algorithm failed."""
    if winner is None or winner.judged is None:
        return None
    names = [str(label) for label in prepared.classes.tolist()]
    sizes = np.bincount(prepared.codes, minlength=len(names))
    if winner.test is None:
        return Judgment(winner.judged, names, sizes, "training row", "The algorithms were not tested on other rows")
    return Judgment(winner.judged, names, sizes)


def mcnemar(gained: int, lost: int) -> float:
    """Return the p-value of McNemar's exact test (Psychometrika 12, 1947) on rows that only one of two models gets right.

    It is the probability that a fair coin is at least as uneven; beyond 1,000 rows, by the normal approximation.

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


def best_marks(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the best value of each column, for emphasis in a table."""
    done = [entry for entry in entries if entry.train is not None]
    return {
        "test": min((entry.test.errors for entry in done if entry.test is not None), default=None),
        "train": min((entry.train.errors for entry in done if entry.train is not None), default=None),
        "margin": max((entry.margin for entry in done if entry.margin is not None), default=-np.inf),
    }
