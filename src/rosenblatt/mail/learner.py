"""The learner of the filter: AROW on sets of columns, in float32, the same bits with and without compiled code."""

from __future__ import annotations

import sys
from copy import copy
from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

MUCH = 1 << 23  # columns from which on it pays to import Numba


class Learner:
    """One weight and one variance for each column; a message is the set of its columns, and has length 1.

    Score      s = sum of w_j over its columns / sqrt(their number); over 0 leans to spam
    Update     AROW, where y s < m, towards y s = m:  see `rules/arow.py`. The margin m is 1 for spam and the fourth root of
               ham_weight for ham, so that what is new, and what is like both, leans to ham. (Scaling r instead does nothing
               above 1: what r is added to is far larger. The root is chosen by measurement: the margin itself is too much.)

    Sums are sequential and in float64; each move is computed in float64 and rounded once. The plain way below is the
    definition; where Numba is loaded already, or there is much to learn, `kernels/sets.py` does the same.
    Columns are sorted, each once: uint32.
    """

    def __init__(self, bits: int, r: float = 0.1, ham_weight: float = 1.0) -> None:
        self.bits, self.r, self.ham_weight = bits, r, ham_weight
        self.weights: Any = np.zeros(1 << bits, np.float32)
        self.variances: Any = np.ones(1 << bits, np.float32)

    def score(self, columns: Any) -> float:
        if "numba" in sys.modules:
            from ..kernels.linear.second_order import UnitSets, score_sets

            indptr, columns, scores = self._one(columns)
            score_sets(UnitSets(columns, indptr), self.weights, scores)
            return float(scores[0])
        return self._score(columns)

    def learn(self, columns: Any, spam: bool) -> float:
        """Learn a message; returns the score that it had before."""
        if "numba" in sys.modules:
            indptr, columns, scores = self._one(columns)
            self._learn_compiled(indptr, columns, np.array([bool(spam)]), scores)
            return float(scores[0])
        return self._learn(columns, spam)

    def learn_many(self, indptr: Any, columns: Any, spam: Any) -> Any:
        """Learn many messages, one after the other; returns the score that each had just before it was learnt.

        The columns of message i are columns[indptr[i]:indptr[i + 1]].
        """
        indptr, columns, scores = self._checked(indptr, columns)
        spam = np.ascontiguousarray(spam, dtype=np.bool_)
        if spam.shape != scores.shape:
            raise ValueError(f"spam must have one entry for each of {len(scores)} messages, got {spam.shape}")
        if not _pays(columns):
            each = zip(pairwise(indptr), spam, strict=True)
            scores[:] = [self._learn(columns[start:stop], bool(label)) for (start, stop), label in each]
        else:
            self._learn_compiled(indptr, columns, spam, scores)
        return scores

    def _learn_compiled(self, indptr: Any, columns: Any, spam: Any, scores: Any) -> None:
        """Learn messages with the AROW kernel of the library, without a bias; writes the scores before each update."""
        from ..kernels.linear.schemes import State
        from ..kernels.linear.second_order import Spread, UnitSets, learn_sets
        from ..online.rules.arow import arow_rule

        no_bias = np.zeros(1)
        state = State(self.weights, no_bias, np.zeros(1, np.int64), no_bias, scores, 0.0)
        learn_sets(UnitSets(columns, indptr), spam, arow_rule(*self._asked()), state, Spread(self.variances, np.zeros(1)))

    # --- the definition ---------------------------------------------------------------------------------------------------

    def _score(self, columns: Any) -> float:
        if not len(columns):
            return 0.0
        return float(np.cumsum(self.weights[columns], dtype=np.float64)[-1]) / float(np.sqrt(len(columns)))

    def _learn(self, columns: Any, spam: bool) -> float:
        score, y = self._score(columns), 1.0 if spam else -1.0
        r, ham_margin = self._asked()
        margin = 1.0 if spam else ham_margin
        if len(columns) and y * score < margin:
            x = 1.0 / float(np.sqrt(len(columns)))
            s = self.variances[columns].astype(np.float64)
            v = float(np.cumsum(s)[-1]) * x * x
            beta = 1.0 / (v + r)
            alpha = (margin - y * score) * beta
            self.weights[columns] += (alpha * y * x) * s
            self.variances[columns] = s - beta * (s * x) ** 2
        return score

    def _asked(self) -> tuple[float, float]:
        """r, and the margin of ham."""
        return float(self.r), sqrt(sqrt(self.ham_weight))

    def _checked(self, indptr: Any, columns: Any) -> tuple[Any, Any, Any]:
        """(indptr, columns, room for the scores) as the kernels want them: they would read whatever memory is asked of them."""
        indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        columns = np.ascontiguousarray(columns, dtype=np.uint32)
        if indptr.ndim != 1 or not len(indptr) or indptr[0] < 0 or indptr[-1] > len(columns) or (np.diff(indptr) < 0).any():
            raise ValueError(f"indptr must rise from 0 to the number of columns, {len(columns)}")
        self._check_inside(columns)
        return indptr, columns, np.zeros(len(indptr) - 1)

    def _one(self, columns: Any) -> tuple[Any, Any, Any]:
        """The same for one message, in a tenth of the time."""
        columns = np.ascontiguousarray(columns, dtype=np.uint32)
        self._check_inside(columns)
        return np.array([0, len(columns)]), columns, np.zeros(1)

    def _check_inside(self, columns: Any) -> None:
        if len(columns) and int(columns.max()) >> self.bits:
            raise IndexError(f"columns must be under 2**{self.bits}, got {int(columns.max())}")


def _pays(columns: Any) -> bool:
    return "numba" in sys.modules or len(columns) >= MUCH


# --- One side at a time: what keeps a filter that is taught much of one side from forgetting the other.
#
# Problem    whoever teaches a folder of ham and then one of spam, or only ever the spam that came through, moves what both have
#            in common towards the last: after 2,000 hams and then 400 spams, 495 of 500 new hams were called spam.
# Rehearsal  the columns of the last KEPT messages of each side are kept. From the RUN-th message of one side on, each further
#            one is followed by one of the other side, which take turns. Those that still have their margin move nothing.
# Guarantee  which messages are rehearsed follows from the labels in their order alone, so a filter is still the replay of its
#            log, however its messages came; in mail that is mixed anyway little is rehearsed.
# Reference  L.-J. Lin, Self-improving reactive agents based on reinforcement learning, planning and teaching, Machine Learning
#            8, 1992 (experience replay). RUN and KEPT are chosen by measurement: see `docs/mail.md`.

RUN, KEPT = 10, 200


class Woven(NamedTuple):
    """Messages and what is rehearsed between them, as `Learner.learn_many` takes them."""

    indptr: Any
    columns: Any
    spam: Any
    lessons: Any  # which of them are new


class Rehearsal:
    def __init__(self) -> None:
        self.kept: tuple[list[Any], list[Any]] = [], []  # columns of the last hams and spams, the oldest first
        self.side, self.run, self.turn = False, 0, 0  # the last label, how often in a row, how many were rehearsed

    def woven(self, indptr: Any, columns: Any, spam: Any) -> Woven:
        """New messages, each with what is to be learnt again after it; all of them are then known here."""
        sets, labels, lessons = list[Any](), list[bool](), list[int]()
        for (start, stop), label in zip(pairwise(indptr.tolist()), spam.tolist(), strict=True):
            lessons.append(len(sets))
            sets.append(columns[start:stop])
            labels.append(label)
            again = self._after(columns[start:stop], label)
            if again is not None:
                sets.append(again)
                labels.append(not label)
        if len(sets) == len(lessons):
            return Woven(indptr, columns, spam, slice(None))
        ends = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
        return Woven(ends, np.concatenate(sets), np.array(labels), lessons)

    def _after(self, columns: Any, label: bool) -> Any:
        """What is to be learnt again after a message; None where that is nothing."""
        self.run = self.run + 1 if label == self.side else 1
        self.side = label
        own, others = self.kept[label], self.kept[not label]
        own.append(columns.copy())  # not a view that would hold all messages that came with it
        del own[:-KEPT]
        if self.run <= RUN or not others:
            return None
        self.turn += 1
        return others[self.turn % len(others)]

    def copy(self) -> Rehearsal:
        other = copy(self)
        other.kept = self.kept[0].copy(), self.kept[1].copy()
        return other

    # --- in a file -----------------------------------------------------------------------------------------------------------

    def packed(self) -> tuple[dict[str, Any], Any, Any]:
        """Numbers, lengths of the sets (hams, then spams), and their columns."""
        every = [*self.kept[0], *self.kept[1]]
        told = {"hams": len(self.kept[0]), "side": self.side, "run": self.run, "turn": self.turn}
        return told, np.array([len(each) for each in every], np.int64), np.concatenate([np.zeros(0, np.uint32), *every])

    @classmethod
    def unpacked(cls, told: dict[str, Any], lengths: Any, columns: Any) -> Rehearsal:
        """What `packed` gave; a ValueError, KeyError or TypeError where it gave something else."""
        hams, run, turn = (told[name] for name in ("hams", "run", "turn"))
        spams = len(lengths) - hams
        right = lengths.dtype == np.int64 and columns.dtype == np.uint32 and lengths.ndim == columns.ndim == 1
        if not (right and (lengths >= 0).all() and int(lengths.sum()) == len(columns)):
            raise ValueError("the messages that are rehearsed are no sets of columns")
        if not all(type(n) is int and 0 <= n < 1 << 62 for n in (hams, run, turn)) or not 0 <= spams <= KEPT >= hams:
            raise ValueError("the numbers of the messages that are rehearsed are wrong")
        if type(told["side"]) is not bool or set(told) != {"hams", "side", "run", "turn"}:
            raise ValueError("what was learnt last is not told")
        found = cls()
        ends = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        sets = [columns[start:stop].copy() for start, stop in pairwise(ends)]
        found.kept, found.side, found.run, found.turn = (sets[:hams], sets[hams:]), told["side"], run, turn
        return found
