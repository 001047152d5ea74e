"""Why a run ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Stop:
    """Why a run ended: `reason` in a word, `sentence` for a person; `heads` has the words of one-vs-rest runs, class by class.

    separated   no row is at or under the margin; said only after a look at every row
    passes      the passes allowed are used up
    updates     the updates allowed are used up
    norm        the norm of the weights passed `w_max`
    tolerance   a batch step was shorter than `tol`, or nothing at all; a proven gap is at most `tol`
    steps       the steps allowed to a solver are used up
    rounding    floats cannot tell how to make a gap smaller that is over `tol`; or more updates were made than are possible
    inseparable no plane separates the rows, by proof, and they were allowed to cross it
    impossible  no plane separates the rows: `certificate` proves it, or those that ask for a step sum to exactly zero
    chunk       `partial_fit` is through with its rows
    vanished    every row would move the weights, but none by more than nothing: the gradient is zero
    solved      the minimum was computed: by a direct method, or until its stated tolerance

    `certificate` is what was proved about the rows, where a proof was asked for; `rb.verify` checks it.
    """

    reason: str
    sentence: str
    heads: tuple[str, ...] = ()
    certificate: Any = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.reason}: {self.sentence}"

    @property
    def separated(self) -> bool:
        return self.reason == "separated"


def together(stops: list[Stop]) -> Stop:
    """One stop for one-vs-rest: separated (or solved) if all are, else the commonest reason among those that are not."""
    words = tuple(stop.reason for stop in stops)
    if len(stops) == 1:
        return stops[0]
    solved = "solved" in words
    held = [stop for stop in stops if stop.reason not in ("separated", "solved")]
    if not held and solved:
        return Stop("solved", f"all {len(stops)} one-vs-rest problems were solved; classes_[0]: {stops[0].sentence}", words)
    if not held:
        return Stop("separated", f"all {len(stops)} one-vs-rest runs ended with a pass without a mistake.", words)
    reason = Counter(stop.reason for stop in held).most_common(1)[0][0]
    which = next(h for h, stop in enumerate(stops) if stop.reason == reason)
    done = f"{len(stops) - len(held)} of {len(stops)} one-vs-rest " + (
        "problems were solved" if solved else "runs separated their class"
    )
    return Stop(reason, f"{done}; classes_[{which}]: {stops[which].sentence}", words, stops[which].certificate)
