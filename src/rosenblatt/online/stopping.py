"""Why a run ended: the reason as a code, a sentence for people, and the merged reason of several binary problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..reporting.text import join_and

if TYPE_CHECKING:
    from ..certificates.statements import Certificate

StopReason: TypeAlias = Literal[
    "separated",
    "passes",
    "updates",
    "norm",
    "tolerance",
    "steps",
    "rounding",
    "inseparable",
    "impossible",
    "chunk",
    "vanished",
    "solved",
]

# What the binary problems with a given reason did, for the sentence about several of them.
_OUTCOMES: dict[StopReason, str] = {
    "separated": "separated",
    "passes": "reached the pass limit",
    "updates": "reached the update limit",
    "norm": "exceeded w_max",
    "tolerance": "reached the tolerance",
    "steps": "reached the iteration limit",
    "rounding": "reached the limits of rounding",
    "inseparable": "needed slack",
    "impossible": "proved inseparable",
    "chunk": "read the chunk",
    "vanished": "stopped at a zero gradient",
    "solved": "reached the minimum",
}
# The merged reason is the most severe one; among reasons of the same severity, the most common one.
_SEVERITY: dict[StopReason, int] = {"separated": 0, "solved": 0, "inseparable": 2, "rounding": 3, "steps": 4}
_OTHER_SEVERITY = 1


@dataclass(frozen=True)
class Stop:
    """Why a fit ended.

    `str(stop)` is the sentence. Programs should read `reason` and the numbers, not the sentence.

    Parameters
    ----------
    reason : str
        One of these codes:

        =========== ================================================================================================
        separated   a full scan found no row that violates the margin
        passes      the limit on passes or iterations was reached
        updates     the limit on updates was reached
        norm        the norm of the weights exceeded `w_max`
        tolerance   the proven gap is at most `tol`; for batch updates, the step was shorter than `tol`, or zero
        steps       the limit on the iterations of a solver was reached before `tol`
        rounding    rounding errors prevent a gap below `tol`, or led to more updates than are possible
        inseparable no plane separates the rows, by proof; slack was allowed
        impossible  no plane separates the rows, by proof: `certificate`, or a batch step of exactly zero
        chunk       `partial_fit` has read its rows
        vanished    a pass made no update although every row has a loss: the gradient is zero
        solved      the minimum was computed, directly or up to the stated tolerance
        =========== ================================================================================================
    sentence : str
        The reason as a sentence, without a period at its end.
    heads : tuple of str, default=()
        With several binary problems, the reason of each one, in their order.
    certificate : certificate or None, default=None
        What was proved about the rows, if a proof was requested; `rb.verify` checks it.
    limit : float or None, default=None
        The limit that was reached: passes, updates, iterations, or the norm `w_max`.
    last_updates : int or None, default=None
        Updates made in the last pass, for the reason "passes".
    gap : float or None, default=None
        What a solver reduces to `tol`: the relative duality gap, or the largest partial derivative.

    Attributes
    ----------
    separated : bool
        Whether the reason is "separated".

    See Also
    --------
    UpdateLog : The updates of the run.
    Inseparable : A proof that no plane separates the rows.

    Notes
    -----
    Model files store everything but the certificate. Older files lack the numbers, which are then None.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.Perceptron(order="cyclic", max_iter=3).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    >>> print(model.stop_)
    stopped after 3 passes (the limit); the last one made 1 update
    >>> model.stop_.reason, model.stop_.limit, model.stop_.last_updates
    ('passes', 3, 1)
    """

    reason: StopReason
    sentence: str
    heads: tuple[StopReason, ...] = ()
    certificate: Certificate | None = field(default=None, repr=False, compare=False)
    limit: float | None = field(default=None, repr=False, compare=False)
    last_updates: int | None = field(default=None, repr=False, compare=False)
    gap: float | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return self.sentence

    @property
    def separated(self) -> bool:
        """Whether the reason is "separated"."""
        return self.reason == "separated"


def merge_stops(stops: Sequence[Stop], classes: Iterable[object], *, pairs: bool = False) -> Stop:
    """The stop of several binary problems: one for each of the labels `classes`, or one for each pair of them."""
    if len(stops) == 1:
        return stops[0]
    reasons = tuple(stop.reason for stop in stops)
    counts = Counter(reasons)
    # Of equally severe and common reasons, the first one.
    reason = max(counts, key=lambda each: (_SEVERITY.get(each, _OTHER_SEVERITY), counts[each]))
    which = reasons.index(reason)
    worst = stops[which]
    labels = list(classes)
    names = (
        [f"classes {one} and {other}" for one, other in combinations(labels, 2)] if pairs else [f"class {c}" for c in labels]
    )
    sentence = f"{describe_reasons(reasons)}; {names[which]}: {worst.sentence}"
    return Stop(reason, sentence, reasons, worst.certificate, worst.limit, worst.last_updates, worst.gap)


def describe_reasons(reasons: Sequence[StopReason]) -> str:
    """The number of binary problems with each of the reasons, as a clause."""
    counts = Counter(reasons)
    if len(counts) == 1:
        return f"all {len(reasons)} binary problems {_OUTCOMES[reasons[0]]}"
    return f"of {len(reasons)} binary problems, " + join_and([f"{count} {_OUTCOMES[each]}" for each, count in counts.items()])
