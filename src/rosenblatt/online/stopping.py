"""Why a run ended: the reason as a code, a sentence for people, and the merged reason of several binary problems.

A batch step of length zero can be a proof that no plane separates the rows (Gordan's theorem). If the signed rows that
violate the margin sum to exactly zero, their scores sum to zero for every w, so some of them are at or below zero. For k planes
that are compared with each other, a row of class l with rival z counts as +x for l and -x for z (Kesler's construction), and
the sums of all classes must be zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from ..reporting.text import join_and, percent, plural, short
from ..safe_text import printable

if TYPE_CHECKING:
    from ..array_types import Array, FloatArray, IntArray, Matrix
    from ..certificates.statements import Certificate
    from ..data.problem import Problem
    from ..kernels.linear.schemes import Tape

StopReason: TypeAlias = Literal[
    "separated",
    "passes",
    "updates",
    "norm",
    "tolerance",
    "stalled",
    "steps",
    "rounding",
    "inseparable",
    "impossible",
    "chunk",
    "vanished",
    "solved",
    "validation",
]

# What the binary problems with a given reason did, for the sentence about several of them.
_OUTCOMES: dict[StopReason, str] = {
    "separated": "separated",
    "passes": "reached the pass limit",
    "updates": "reached the update limit",
    "norm": "exceeded w_max",
    "tolerance": "reached the tolerance",
    "stalled": "stopped without progress",
    "steps": "reached the iteration limit",
    "rounding": "reached the limits of rounding",
    "inseparable": "needed slack",
    "impossible": "proved inseparable",
    "chunk": "read the chunk",
    "vanished": "stopped at a zero gradient",
    "solved": "reached the minimum",
    "validation": "were cut back to their best pass",
}
# Passes without progress toward `w_max` or `tol` that end a run without other limits; full scans, where each update takes one.
STALLED_PASSES = 1000
STALLED_SCANS = 10_000
LEAST_PROGRESS = 1e-3
NEVER = 1 << 60  # the time of the last progress of a head that may go on without progress
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
        separated   a full scan found no row that violates the margin; also if a limit was reached at that moment
        passes      the limit on passes or iterations was reached
        updates     the limit on updates was reached
        norm        the norm of the weights exceeded `w_max`
        tolerance   the proven gap is at most `tol`; for batch updates, the step was shorter than `tol`, or zero
        stalled     `w_max` and `tol` were the only limits, for long neither came nearer, and the run would not separate the
                    rows, or only after very many updates
        steps       the limit on the iterations of a solver was reached before `tol`
        rounding    rounding errors prevent a gap below `tol`, or led to more updates than are possible
        inseparable no plane separates the rows, by proof; slack was allowed
        impossible  no plane separates the rows, by proof: `certificate`, or a batch step of exactly zero
        chunk       `partial_fit` has read its rows
        vanished    a pass made no update although every row has a loss: the gradient is zero
        solved      the minimum was computed, directly or up to the stated tolerance
        validation  with `early_stopping`: the error on the held-out rows was smaller after an earlier pass, whose weights
                    are kept
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
        return printable(self.sentence)  # a model file may have any text

    @property
    def separated(self) -> bool:
        """Whether the reason is "separated"."""
        return self.reason == "separated"


def merge_stops(stops: Sequence[Stop], classes: Iterable[object], *, pairs: bool = False, noun: str = "class") -> Stop:
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
        [f"classes {one} and {other}" for one, other in combinations(labels, 2)] if pairs else [f"{noun} {c}" for c in labels]
    )
    sentence = f"{describe_reasons(reasons)}; {names[which]}: {worst.sentence}"
    return Stop(reason, sentence, reasons, worst.certificate, worst.limit, worst.last_updates, worst.gap)


def describe_reasons(reasons: Sequence[StopReason]) -> str:
    """The number of binary problems with each of the reasons, as a clause."""
    counts = Counter(reasons)
    if len(counts) == 1:
        return f"all {len(reasons)} binary problems {_OUTCOMES[reasons[0]]}"
    return f"of {len(reasons)} binary problems, " + join_and([f"{count} {_OUTCOMES[each]}" for each, count in counts.items()])


def pass_limit(passes: int, last_updates: int) -> Stop:
    """The stop of a head at the limit on passes."""
    done, last = plural(passes, "pass", "passes"), plural(last_updates, "update")
    sentence = f"stopped after {done} (the limit); the last one made {last}"
    return Stop("passes", sentence, limit=passes, last_updates=last_updates)


def held_out_stop(passes: int, best_pass: int, error: float, rows: int) -> Stop:
    """The stop of a head that is cut back to its best pass on held-out rows."""
    made, held = plural(passes, "pass", "passes"), plural(rows, "held-out row")
    best = f"was smallest after pass {best_pass} ({percent(error)}), whose weights are kept"
    return Stop("validation", f"stopped after {made}: the error on {held} {best}")


def chunk_stop(classes: int, rows: int, updates: int = 0) -> Stop:
    """The stop of `partial_fit`, by the number of classes so far, and of the chunk's rows of nonzero weight and its updates."""
    if classes < 2:
        return Stop("chunk", "only one class has been seen so far")
    if rows == 0:
        return Stop("chunk", "all rows of the chunk have weight 0")
    return Stop("chunk", f"read the chunk: {plural(rows, 'row')}, {plural(updates, 'update')}")


# --- limits that may never be reached -------------------------------------------------------------------------------------


class Outlook(NamedTuple):
    """What is known of a run that makes no progress toward its limits."""

    separates: bool  # after a moderate number of updates
    clause: str
    certificate: Certificate | None = None


def unknown_outlook(h: int) -> Outlook:
    """The outlook of any head about whose rows nothing is proved."""
    return Outlook(False, "it is not known whether a plane separates the rows")


class StallWatch:
    """Ends a run whose only limits are `w_max` and `tol`, which runs on inseparable rows need never reach.

    Of such rows the weights stay bounded (H. D. Block and S. A. Levin, Proc. AMS 26, 1970), while a separating plane of margin
    gamma makes them grow by gamma with each update. Progress is a norm that exceeds every one before by a thousandth, or a
    batch step that is shorter by a thousandth. A head without progress for long continues if its outlook is to separate.
    """

    def __init__(self, n_heads: int, unit: str, w_max: float | None, tol: float | None) -> None:
        self.unit, self.w_max, self.tol = unit, w_max, tol  # `unit` is that of the patience: "pass", "update" or "step"
        self.patience = STALLED_PASSES if unit == "pass" else STALLED_SCANS
        self._largest, self._shortest, self._since = np.zeros(n_heads), math.inf, np.zeros(n_heads, np.int64)

    def stops(
        self, at: int, names: Mapping[int, int], norms: FloatArray, step: float, outlook: Callable[[int], Outlook]
    ) -> dict[int, Stop]:
        """The stops of the heads without progress for too long, after `at` passes; `step` is the length of a batch step.

        names : the active heads, each with its position among all heads, which `outlook` takes.
        """
        grown = norms > self._largest * (1.0 + LEAST_PROGRESS)
        self._largest[grown] = norms[grown]
        if step < self._shortest * (1.0 - LEAST_PROGRESS):
            self._shortest = step
            grown = grown | True
        self._since[grown] = at
        stops = {}
        for h in [h for h in names if at - self._since[h] >= self.patience]:
            found = outlook(names[h])
            if found.separates:
                self._since[h] = NEVER
            else:
                stops[h] = self._stop(float(norms[h]), found)
        return stops

    def bounds(self, at: int) -> tuple[int, float, float]:
        """For one head: the updates until it is out of patience, the norm that is progress, and the length of such a step."""
        left = self.patience - (at - int(self._since[0]))
        return left, float(self._largest[0]) * (1.0 + LEAST_PROGRESS), self._shortest * (1.0 - LEAST_PROGRESS)

    def _stop(self, norm: float, outlook: Outlook) -> Stop:
        far = []
        if self.w_max is not None:
            far.append(f"the norm of the weights, {short(norm, 6)}, did not grow toward w_max={short(self.w_max, 6)}")
        if self.tol is not None:
            far.append(f"no step became shorter toward tol={short(self.tol, 6)}")
        long = plural(self.patience, self.unit, "passes" if self.unit == "pass" else f"{self.unit}s")
        sentence = f"stopped because for {long} {join_and(far)}; {outlook.clause}"
        return Stop("stalled", sentence, certificate=outlook.certificate, limit=self.patience)


# --- a step of length zero -----------------------------------------------------------------------------------------------


def zero_step_stop(problem: Problem, violations: Tape) -> Stop:
    """Why a run ends with a step of length zero although rows violate the margin."""
    rows = len(violations.rows)
    if problem.pages is not None or problem.labels.weights.size or not _sum_is_exactly_zero(problem, violations):
        return unproved_zero_step(rows)
    try:
        problem.check_exact()
    except ValueError as error:
        return unproved_zero_step(rows, error)
    return proved_zero_step(rows)


def unproved_zero_step(rows: int, error: ValueError | None = None) -> Stop:
    """The stop at a zero step that may be due to rounding; `error` says why."""
    sentence = f"stopped because the step is zero although {plural(rows, 'row')} violate the margin"
    return Stop("tolerance", sentence if error is None else f"{sentence}; nothing is proved: {error}")


def proved_zero_step(rows: int) -> Stop:
    """The stop at a step that is zero without rounding."""
    found = plural(rows, "row")
    return Stop("impossible", f"no plane separates the rows: the {found} that violate the margin sum to exactly zero")


def _sum_is_exactly_zero(problem: Problem, violations: Tape) -> bool:
    values = problem.matrix()[violations.rows]
    return all(_cancels(problem, values, signs) for _, signs in signs_of_planes(problem, violations))


def signs_of_planes(problem: Problem, violations: Tape) -> Iterable[tuple[int, IntArray]]:
    """The planes that move, each with its number and +1, -1 or 0 for each row that violates the margin."""
    from ..kernels.linear.schemes import Binary, Joint  # Numba takes long to load, and a model file needs only the class `Stop`

    labels = problem.labels
    if isinstance(labels, Binary):
        return [(0, labels.signs[violations.rows])]
    assert isinstance(labels, Joint)
    own, rivals = labels.codes[violations.rows], violations.others
    planes = np.union1d(own, rivals).tolist()
    return ((c, (own == c).astype(np.int8) - (rivals == c).astype(np.int8)) for c in planes)


def _cancels(problem: Problem, values: Matrix, signs: IntArray) -> bool:
    """Whether the signed rows sum to zero in every column; `math.fsum` is zero only if the exact sum is."""
    if problem.x0 and int(signs.sum(dtype=np.int64)) != 0:
        return False
    try:
        return all(math.fsum(column) == 0.0 for _, column in signed_columns(values, signs))
    except OverflowError:
        return False


def signed_columns(values: Matrix, signs: IntArray) -> Iterable[tuple[int, Array]]:
    """The columns that have values, each with its number and its values times the signs of their rows."""
    if isinstance(values, np.ndarray):
        return enumerate((values * signs[:, None]).T)
    # Not by way of CSC, which would round the sum of repeated columns.
    signed = values.data * np.repeat(signs, np.diff(values.indptr))
    order = np.argsort(values.indices, kind="stable")
    columns = values.indices[order]
    edges = np.flatnonzero(np.diff(columns)) + 1
    firsts = columns[np.concatenate([[0], edges])] if len(columns) else columns
    return zip(firsts.tolist(), np.split(signed[order], edges), strict=False)
