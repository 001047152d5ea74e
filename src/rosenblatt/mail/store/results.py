"""What a filter says that it has done."""

from __future__ import annotations

from typing import NamedTuple


class Learned(NamedTuple):
    new: int = 0
    known: int = 0  # learnt before, with the same label: nothing changed
    moved: int = 0  # learnt before with the other label, which was taken back
    kept: int = 0  # learnt before with the other label, and left as they are: their texts were folded away
    both: int = 0  # given twice in one command, with both labels: the last one counts
    unmixed: str = ""  # why they are not mixed with what was learnt before, where they should be: see Filter.learn


class Unlearned(NamedTuple):
    known: bool  # it had been learnt; else nothing changed
    exact: bool = True  # the filter is now that of the other messages alone; False: its text was folded away, nothing changed


class Relearned(NamedTuple):
    was: bool | None  # spam, ham, not learnt
    now: bool | None
    folded: bool = False  # it should have been moved, but its text was folded away: nothing changed
