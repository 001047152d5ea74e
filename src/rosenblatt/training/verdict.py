"""The winner of a comparison: how far the others are behind, whether that may be chance, and what winning does to its error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from ..array_types import BoolArray, FloatArray, IntArray
from ..reporting.text import count, join_and, percent, plural
from .compare import Comparison, Entry
from .judgment import Judgment

CONFIDENCE = 0.95


class Difference(NamedTuple):
    """How many more rows one algorithm gets wrong than another, as a share of the rows, with its interval."""

    share: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval does not contain 0."""
        return self.low > 0.0 or self.high < 0.0


def difference(wrong: BoolArray, other: BoolArray, comparisons: int = 1, fold: IntArray | None = None) -> Difference:
    """Return the difference of two errors on the same rows, with an interval corrected for several comparisons.

    All intervals together hold with 95 % probability (Bonferroni). They count the rows that one of the two alone gets right:
    Agresti and Min, Statistics in Medicine 24 (2005). That is the chance of the test rows alone. With the
    fold of each row, the interval also contains that of the differences of the folds, whose training rows overlap: Nadeau and
    Bengio, Machine Learning 52 (2003). It then holds for the algorithms, trained on other rows of the same kind.

    >>> wrong = np.arange(100) < 12
    >>> [round(each, 3) for each in difference(wrong, np.zeros(100, bool))]
    [0.12, 0.052, 0.183]
    >>> [round(each, 3) for each in difference(wrong, np.zeros(100, bool), fold=np.arange(100) // 10)]
    [0.12, -0.208, 0.448]
    """
    n = len(wrong)
    more, less = int((wrong & ~other).sum()) + 0.5, int((other & ~wrong).sum()) + 0.5
    middle, share = (more - less) / (n + 2.0), (more - less) / n
    error = math.sqrt(max(0.0, more + less - (more - less) ** 2 / (n + 2.0))) / (n + 2.0)
    level = 1.0 - (1.0 - CONFIDENCE) / (2.0 * comparisons)
    reach = NormalDist().inv_cdf(level) * error
    low, high = middle - reach, middle + reach
    if fold is not None:
        reach = _reach_of_folds(wrong.astype(np.float64) - other, fold, level)
        low, high = min(low, share - reach), max(high, share + reach)
    return Difference(share, max(-1.0, low), min(1.0, high))


def _reach_of_folds(each: FloatArray, fold: IntArray, level: float) -> float:
    """Half of the corrected interval of a mean over folds: its variance is (1/K + 1/(K - 1)) times that of the folds."""
    from scipy.special import stdtrit

    means = np.bincount(fold, each) / np.bincount(fold)
    k = len(means)
    return float(stdtrit(k - 1, level)) * math.sqrt((1.0 / k + 1.0 / (k - 1)) * float(means.var(ddof=1)))


@dataclass(frozen=True)
class Verdict:
    """The best entry, and how it compares with the others.

    Attributes
    ----------
    winner : Entry or None
        None if every algorithm failed.
    others : tuple of Entry
        The other entries, best first.
    tied : tuple of str
        Algorithms that are as good as the winner up to `tie_break`.
    tie_break : {"training errors", "time"} or None
        What decided between equal errors; None without a tie.
    differences : dict of str to Difference
        For each other algorithm, its error minus that of the winner. The intervals are corrected for all pairs of algorithms,
        because any of them could have won.
    error_of_choice : float or None
        The error of choosing the best algorithm on all folds but one, and testing it on that one; None without folds.
    """

    winner: Entry | None = None
    others: tuple[Entry, ...] = ()
    tied: tuple[str, ...] = ()
    tie_break: Literal["training errors", "time"] | None = None
    differences: dict[str, Difference] = field(default_factory=dict)
    error_of_choice: float | None = None

    @property
    def sentence(self) -> str:
        if self.winner is None or self.winner.judged is None:
            return "no algorithm could learn from these rows"
        errors = self.winner.judged
        rows = "" if self.winner.test is not None else " training rows"
        text = f"best: {self.winner.algorithm}, {count(errors.errors)} of {count(errors.rows)}{rows} wrong"
        if self.tie_break is None:
            return text
        several = len(self.tied) > 1
        preferred = "fastest" if several else "faster one"
        if self.tie_break == "training errors":
            preferred = f"one with the {'fewest' if several else 'fewer'} training errors"
        return f"{text} (tied with {join_and(self.tied, limit=3)}; the {preferred} is preferred)"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the user should know about the victory, in sentences."""
        if self.winner is None or self.winner.judged is None or not self.differences:
            return ()
        equal = [name for name, each in self.differences.items() if not each.clear]
        pairs = plural(_pairs(len(self.differences) + 1), "pair")
        found = []
        if equal:
            chance = f"may be chance: its 95 % interval, corrected for {pairs}, contains 0"
            if len(equal) > 1:
                chance = f"may be chance: their 95 % intervals, corrected for {pairs}, contain 0"
            found.append(f"The difference{'s'[: len(equal) > 1]} from {join_and(equal, limit=6)} {chance}.")
        else:
            found.append(f"All differences are clear: no 95 % interval, corrected for {pairs}, contains 0.")
        n = len(self.differences) + 1
        optimism = f"The error of the winner is optimistic: it is the best of {n}, chosen on the same rows"
        if self.error_of_choice is not None:
            optimism += f". Choosing on the other folds and testing on each gives {percent(self.error_of_choice, 2)}"
        elif self.winner.test is not None:
            found.append("The intervals count the chance of the test rows alone; folds show that of the training rows, too.")
        return (*found, f"{optimism}.")

    def to_dict(self) -> dict[str, Any]:
        differences = {name: each._asdict() for name, each in self.differences.items()}
        winner = None if self.winner is None else self.winner.algorithm
        remarks = list(self.remarks)
        return {
            "winner": winner, "why": self.sentence, "differences": differences, "error_of_choice": self.error_of_choice,
            "remarks": remarks,
        }  # fmt: skip


def choose_winner(entries: Sequence[Entry], fold: IntArray | None = None) -> Verdict:
    """Rank the entries by deciding error, then training error, then time, and compare the first with all others."""
    ranked = sorted((entry for entry in entries if entry.train is not None), key=lambda entry: entry.rank_key)
    if not ranked:
        return Verdict()
    best, others = ranked[0], ranked[1:]
    tied: tuple[str, ...] = ()
    tie_break: Literal["training errors", "time"] | None = None
    if others and others[0].rank_key[0] == best.rank_key[0]:
        ends = 2 if others[0].rank_key[1] == best.rank_key[1] else 1
        tied = tuple(entry.algorithm for entry in others if entry.rank_key[:ends] == best.rank_key[:ends])
        tie_break = "time" if ends == 2 else "training errors"
    pairs = _pairs(len(ranked))
    differences = {
        entry.algorithm: difference(entry.wrong, best.wrong, pairs, fold)
        for entry in others
        if entry.wrong is not None and best.wrong is not None
    }
    return Verdict(best, tuple(others), tied, tie_break, differences, _error_of_choice(ranked, fold))


def _pairs(algorithms: int) -> int:
    return max(1, algorithms * (algorithms - 1) // 2)


def _error_of_choice(ranked: Sequence[Entry], fold: IntArray | None) -> float | None:
    """The share of rows that the best algorithm of the other folds gets wrong, over all folds (Tibshirani, AOAS 3, 2009)."""
    wrong = [entry.wrong for entry in ranked if entry.wrong is not None]
    if fold is None or len(wrong) < 2:
        return None
    errors = 0
    for number in np.unique(fold).tolist():
        mine = fold == number
        chosen = min(wrong, key=lambda each: int(each[~mine].sum()))
        errors += int(chosen[mine].sum())
    return errors / len(fold)


def judge_winner(rows: Comparison, winner: Entry | None) -> Judgment | None:
    """Judge the rows that decided about the winner, beside the baseline; None if every algorithm failed."""
    if winner is None or winner.judged is None:
        return None
    whole = rows.whole
    names = [str(label) for label in whole.classes.tolist()]
    sizes = np.bincount(whole.codes, minlength=len(names))
    if winner.test is None:
        return Judgment(winner.judged, names, sizes, "training row", "The algorithms were not tested on other rows")
    return Judgment(winner.judged, names, sizes)


def best_marks(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the best value of each column, for emphasis in a table."""
    done = [entry for entry in entries if entry.train is not None]
    return {
        "test": min((entry.test.errors for entry in done if entry.test is not None), default=None),
        "train": min((entry.train.errors for entry in done if entry.train is not None), default=None),
        "margin": max((entry.margin for entry in done if entry.margin is not None), default=-np.inf),
    }
