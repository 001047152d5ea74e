"""The learner of the mail filter: AROW on sets of columns, and the rehearsal of earlier messages.

`Learner` defines the updates in plain NumPy. If Numba is loaded already, or there is much to learn, it calls the AROW kernel
of the library (`kernels/linear/second_order.py`), which gives the same bits.

`Rehearsal` keeps a filter that learns many messages of one class in a row from forgetting the other.

Problem    Learning a folder of ham and then one of spam, or only the spam that was not recognized, moves the weights of
           shared features toward the last class: after 2,000 hams and then 400 spams, 495 of 500 new hams were called spam.
Rehearsal  The columns of the last KEPT_PER_CLASS messages of each class are kept. From the RUN_LENGTH-th message in a row of
           one class on, each further one is followed by the next kept message of the other class. A rehearsed message that
           still has its margin changes nothing.
Guarantee  The rehearsed messages follow from the labels in their order alone, so the filter remains the replay of its log and
           does not depend on how messages arrived. In mixed mail little is rehearsed.
Reference  L.-J. Lin, Self-improving reactive agents based on reinforcement learning, planning and teaching, Machine Learning
           8, 1992 (experience replay). RUN_LENGTH and KEPT_PER_CLASS are chosen by measurement: see `docs/mail.md`.
"""

from __future__ import annotations

import sys
from copy import copy
from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..array_types import BoolArray, FloatArray, IntArray

NUMBA_FROM_COLUMNS = 1 << 23  # below this number the import of Numba takes longer than it saves
RUN_LENGTH = 10  # messages of one class in a row before rehearsal starts
KEPT_PER_CLASS = 200  # messages of each class that are kept for rehearsal


class Learner:
    """AROW with one weight and one variance per column; a message is the set of its columns, scaled to length 1.

    Score      s = (sum of w_j over the columns) / sqrt(number of columns); a positive score means spam
    Update     AROW, if y s < m, toward y s = m: see `online/rules/arow.py`. The margin m is 1 for spam and the fourth root
               of ham_weight for ham, so that unknown and ambiguous messages are scored as ham. (Scaling r instead has no effect
               above 1, because the variance that r is added to is far larger. The root is chosen by measurement: ham_weight
               itself is too large a margin.)

    Sums are sequential and in float64; each update is computed in float64 and rounded once to float32. Columns are uint32,
    sorted and distinct.
    """

    def __init__(self, bits: int, r: float = 0.1, ham_weight: float = 1.0) -> None:
        self.bits, self.r, self.ham_weight = bits, r, ham_weight
        self.weights: npt.NDArray[np.float32] = np.zeros(1 << bits, np.float32)
        self.variances: npt.NDArray[np.float32] = np.ones(1 << bits, np.float32)

    def score(self, columns: IntArray) -> float:
        """Score a message."""
        if "numba" in sys.modules:
            from ..kernels.linear.second_order import UnitSets, score_sets

            indptr, columns, scores = self._one_row(columns)
            score_sets(UnitSets(columns, indptr), self.weights, scores)
            return float(scores[0])
        return self._score(columns)

    def learn(self, columns: IntArray, spam: bool) -> float:
        """Learn a message; returns its score before the update."""
        if "numba" in sys.modules:
            indptr, columns, scores = self._one_row(columns)
            self._learn_compiled(indptr, columns, np.array([bool(spam)]), scores)
            return float(scores[0])
        return self._learn(columns, spam)

    def learn_many(self, indptr: IntArray, columns: IntArray, spam: BoolArray) -> FloatArray:
        """Learn messages in their order; returns the score of each just before its update.

        The columns of message i are columns[indptr[i]:indptr[i + 1]].
        """
        indptr, columns, scores = self._validated(indptr, columns)
        spam = np.ascontiguousarray(spam, dtype=np.bool_)
        if spam.shape != scores.shape:
            raise ValueError(f"spam must have one entry for each of {len(scores)} messages, got {spam.shape}")
        if "numba" in sys.modules or len(columns) >= NUMBA_FROM_COLUMNS:
            self._learn_compiled(indptr, columns, spam, scores)
        else:
            rows = zip(pairwise(indptr), spam, strict=True)
            scores[:] = [self._learn(columns[start:stop], bool(label)) for (start, stop), label in rows]
        return scores

    def _learn_compiled(self, indptr: IntArray, columns: IntArray, spam: BoolArray, scores: FloatArray) -> None:
        """Learn messages with the AROW kernel of the library, without a bias; writes the score before each update."""
        from ..kernels.linear.schemes import State
        from ..kernels.linear.second_order import Spread, UnitSets, learn_sets
        from ..online.rules.arow import arow_rule

        no_bias = np.zeros(1)
        state = State(self.weights, no_bias, np.zeros(1, np.int64), no_bias, scores, 0.0)
        rule = arow_rule(float(self.r), self._ham_margin())
        learn_sets(UnitSets(columns, indptr), spam, rule, state, Spread(self.variances, np.zeros(1)))

    # --- the definition ---------------------------------------------------------------------------------------------------
    #
    # In NumPy, because Numba takes long to import. The kernels `score_sets` and `learn_sets` give the same bits:
    # `tests/mail/test_learner.py` compares them.

    def _score(self, columns: IntArray) -> float:
        if not len(columns):
            return 0.0
        return float(np.cumsum(self.weights[columns], dtype=np.float64)[-1]) / float(np.sqrt(len(columns)))

    def _learn(self, columns: IntArray, spam: bool) -> float:
        score, y = self._score(columns), 1.0 if spam else -1.0
        margin = 1.0 if spam else self._ham_margin()
        if len(columns) and y * score < margin:
            x = 1.0 / float(np.sqrt(len(columns)))
            s = self.variances[columns].astype(np.float64)
            v = float(np.cumsum(s)[-1]) * x * x
            beta = 1.0 / (v + float(self.r))
            alpha = (margin - y * score) * beta
            self.weights[columns] += (alpha * y * x) * s
            self.variances[columns] = s - beta * (s * x) ** 2
        return score

    def _ham_margin(self) -> float:
        return sqrt(sqrt(self.ham_weight))

    # --- validation: the kernels do not check indices -----------------------------------------------------------------------

    def _validated(self, indptr: IntArray, columns: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """(indptr, columns, array for the scores) in the types of the kernels."""
        indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        columns = np.ascontiguousarray(columns, dtype=np.uint32)
        if indptr.ndim != 1 or not len(indptr) or indptr[0] < 0 or indptr[-1] > len(columns) or (np.diff(indptr) < 0).any():
            raise ValueError(f"indptr must rise from 0 to the number of columns, {len(columns)}")
        self._check_range(columns)
        return indptr, columns, np.zeros(len(indptr) - 1)

    def _one_row(self, columns: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """The same for one message, in a tenth of the time."""
        columns = np.ascontiguousarray(columns, dtype=np.uint32)
        self._check_range(columns)
        return np.array([0, len(columns)]), columns, np.zeros(1)

    def _check_range(self, columns: IntArray) -> None:
        if len(columns) and int(columns.max()) >> self.bits:
            raise IndexError(f"columns must be under 2**{self.bits}, got {int(columns.max())}")


class Interleaved(NamedTuple):
    """New messages with the rehearsed ones between them, in the form that `Learner.learn_many` takes."""

    indptr: IntArray
    columns: IntArray
    spam: BoolArray
    new: slice | list[int]  # positions of the new messages


class Rehearsal:
    """The messages of each class that are kept for rehearsal, and the position in their turn."""

    def __init__(self) -> None:
        self.kept: tuple[list[IntArray], list[IntArray]] = [], []  # columns of the last hams and spams, the oldest first
        self.side, self.run, self.turn = False, 0, 0  # the last label, its run length, the number of rehearsed messages

    def interleave(self, indptr: IntArray, columns: IntArray, spam: BoolArray) -> Interleaved:
        """Add the messages to rehearse between new ones; records the new ones."""
        sets, labels, new = list[IntArray](), list[bool](), list[int]()
        for (start, stop), label in zip(pairwise(indptr.tolist()), spam.tolist(), strict=True):
            new.append(len(sets))
            sets.append(columns[start:stop])
            labels.append(label)
            rehearsed = self._record(columns[start:stop], label)
            if rehearsed is not None:
                sets.append(rehearsed)
                labels.append(not label)
        if len(sets) == len(new):
            return Interleaved(indptr, columns, spam, slice(None))
        ends = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
        return Interleaved(ends, np.concatenate(sets), np.array(labels), new)

    def _record(self, columns: IntArray, label: bool) -> IntArray | None:
        """Record a message; returns the message to rehearse after it, or None."""
        self.run = self.run + 1 if label == self.side else 1
        self.side = label
        own, others = self.kept[label], self.kept[not label]
        own.append(columns.copy())  # a view would keep the arrays of the whole batch in memory
        del own[:-KEPT_PER_CLASS]
        if self.run <= RUN_LENGTH or not others:
            return None
        self.turn += 1
        return others[self.turn % len(others)]

    def copy(self) -> Rehearsal:
        other = copy(self)
        other.kept = self.kept[0].copy(), self.kept[1].copy()
        return other

    # --- in a snapshot --------------------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], IntArray, IntArray]:
        """(numbers, lengths of the sets (hams, then spams), their columns)"""
        sets = [*self.kept[0], *self.kept[1]]
        numbers = {"hams": len(self.kept[0]), "side": self.side, "run": self.run, "turn": self.turn}
        lengths = np.array([len(each) for each in sets], np.int64)
        return numbers, lengths, np.concatenate([np.zeros(0, np.uint32), *sets])

    @classmethod
    def from_parts(cls, numbers: dict[str, Any], lengths: IntArray, columns: IntArray) -> Rehearsal:
        """The inverse of `to_parts`; raises ValueError, KeyError or TypeError for anything else."""
        hams, run, turn = (numbers[name] for name in ("hams", "run", "turn"))
        spams = len(lengths) - hams
        right = lengths.dtype == np.int64 and columns.dtype == np.uint32 and lengths.ndim == columns.ndim == 1
        if not (right and (lengths >= 0).all() and int(lengths.sum()) == len(columns)):
            raise ValueError("the rehearsed messages are not sets of columns")
        if not all(type(n) is int and 0 <= n < 1 << 62 for n in (hams, run, turn)) or not 0 <= spams <= KEPT_PER_CLASS >= hams:
            raise ValueError("the counts of the rehearsed messages are wrong")
        if type(numbers["side"]) is not bool or set(numbers) != {"hams", "side", "run", "turn"}:
            raise ValueError("the last label of the rehearsal is missing")
        found = cls()
        ends = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        sets = [columns[start:stop].copy() for start, stop in pairwise(ends)]
        found.kept, found.side, found.run, found.turn = (sets[:hams], sets[hams:]), numbers["side"], run, turn
        return found
