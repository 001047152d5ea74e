"""One side at a time: what keeps a filter that is taught much of one side from forgetting the other.

Problem    whoever teaches a folder of ham and then one of spam, or only ever the spam that came through, moves what both have
           in common towards the last: after 2,000 hams and then 400 spams, 495 of 500 new hams were called spam.
Rehearsal  the columns of the last KEPT messages of each side are kept. From the RUN-th message of one side on, each further one
           is followed by one of the other side, which take turns. Those that still have their margin move nothing.
Guarantee  which messages are rehearsed follows from the labels in their order alone, so a filter is still the replay of its
           log, however its messages came; in mail that is mixed anyway little is rehearsed.
Reference  L.-J. Lin, Self-improving reactive agents based on reinforcement learning, planning and teaching, Machine Learning 8,
           1992 (experience replay). RUN and KEPT are chosen by measurement: see `docs/mail.md`.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

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
