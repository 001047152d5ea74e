"""Sentences of the page about a run and its proof, made from codes and fields: `Stop.reason`, limits, certificates.

The page calls rows points and planes lines or curves. The library's own sentences, which also name parameters, are shown as
details.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from ..certificates.statements import Certificate, Inseparable, Separable
from ..estimators.base import LinearClassifier
from ..estimators.svm_base import MarginClassifier
from ..online.stopping import StopReason
from ..proofs.convergence import Convergence
from ..reporting.text import comma_list, count, plural, short
from .run_request import Features

MAX_LISTED_POINTS = 12
SOLVED_CLAUSE = "no further improvement is possible"


# --- Why a run ended


def stop_sentence(model: LinearClassifier, degree: int = 1) -> str:
    """Describe why the run of a fitted model ended; one clause for each reason if several planes were trained separately.

    `degree` is that of the model's features.

    >>> from rosenblatt import Perceptron
    >>> stop_sentence(Perceptron(max_updates=1).fit([[0, 0], [1, 0], [2, 0], [0, 3]], [0, 1, 1, 0]))
    'Stopped after 1 update (the limit).'
    """
    stop = model.stop_
    if len(stop.heads) < 2:
        text = stop_clause(model, stop.reason, degree)
    else:
        counts, total = Counter(stop.heads), len(stop.heads)
        lines = boundary_name(degree, plural=True)
        parts = [
            f"{'all' if n == total else f'{n} of'} {total} {lines}: {stop_clause(model, reason, degree)}"
            for reason, n in counts.most_common()
        ]
        text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def stop_clause(model: LinearClassifier, reason: StopReason, degree: int = 1) -> str:
    """Return the clause for one `Stop.reason`, with the model's own limits."""
    limits = model.get_params(deep=False)
    match reason:
        case "separated":
            return f"every point is on the right side{_required_margin(model)}"
        case "passes" | "steps":
            unit = ("pass", "passes") if model._iterations_are_passes else ("iteration",)
            made = vars(model).get("n_iter_")
            return "stopped at the limit of iterations" if made is None else f"stopped after {plural(made, *unit)} (the limit)"
        case "updates":
            return f"stopped after {plural(limits['max_updates'], 'update')} (the limit)"
        case "norm":
            return f"stopped because |w| exceeded {short(limits['w_max'])}"
        case "stalled":
            return "stopped because it came no nearer to its limits and would not separate the points soon"
        case "tolerance" if isinstance(model, MarginClassifier):
            return f"solved: {SOLVED_CLAUSE}"
        case "tolerance":
            tol = limits.get("tol")
            return f"stopped because the last step was {'zero' if tol is None else f'shorter than the tolerance {short(tol)}'}"
        case "solved":
            return f"solved: {SOLVED_CLAUSE}"
        case "inseparable":
            return "solved with slack: the points are not separable, so some are on the wrong side, at a cost"
        case "impossible":
            what = boundary_name(degree, bool(model.fit_intercept))
            return f"stopped because no {what} can separate the points, which is proved"
        case "rounding":
            return "stopped because rounding errors prevent further improvement"
        case "vanished":
            return "stopped because the gradient is zero: no point moves the weights any more"
        case "chunk":
            return "trained with partial_fit: the last chunk is complete"
        case "validation":
            return "stopped when the error on held-out points no longer fell; the best pass is kept"
    assert_never(reason)


def _required_margin(model: LinearClassifier) -> str:
    margin = model._required_margin
    return f", with y·score over {short(margin)}" if margin > 0.0 else ""


# --- Whether the points are separable


def separability_sentence(certificate: Certificate, features: Features) -> str:
    """Describe what a certificate proves about the points, for boundaries of the features' degree."""
    if isinstance(certificate, Separable):
        return f"Separable: the widest margin is {short(certificate.geometric.lower)}."
    if isinstance(certificate, Inseparable):
        return clash_sentence(certificate, features)
    what = boundary_name(features.degree, certificate.about.intercept)
    return f"Undecided within the time limit: no {what} with a margin above {short(certificate.geometric.upper)} exists."


def clash_sentence(proof: Inseparable, features: Features) -> str:
    """Name the points that no boundary of this degree can separate, and their position if it can be drawn."""
    n, what = len(proof.rows), boundary_name(features.degree, proof.about.intercept)
    rivals = {pair.rival for pair in proof.clash}
    if len(rivals) > 2:
        these = f"these {n} points of {len(rivals)} classes"
        lines = boundary_name(features.degree, proof.about.intercept, plural=True)
        return f"No {lines} can separate {these}: {points_list(proof.rows)}."
    if not proof.about.intercept and n == 1:
        return f"No {what} can separate these: point {proof.rows[0] + 1} is at the origin."
    if proof.about.intercept and n == 2:
        first, second = (row + 1 for row in proof.rows)
        return f"No {what} can separate these: points {first} and {second} are at the same place, with different classes."
    if features.degree > 1 or not proof.about.intercept:
        return f"No {what} can separate these {n} points: {points_list(proof.rows)}."
    # Weights balance between the classes: with two rivals, a row against one of them belongs to the other.
    smaller, larger = sorted(
        ([pair.row + 1 for pair in proof.clash if pair.rival == rival] for rival in rivals), key=lambda rows: (len(rows), rows)
    )
    return f"No {what} can separate these: {_position(smaller, larger)}."


def _position(smaller: Sequence[int], larger: Sequence[int]) -> str:
    """Describe how the convex hulls of two groups of points meet."""
    shape = "-".join(map(str, larger))
    match len(smaller), len(larger):
        case 1, 2:
            return f"point {smaller[0]} lies on the segment {shape}"
        case 1, 3:
            return f"point {smaller[0]} lies inside the triangle {shape}"
        case 1, _:
            return f"point {smaller[0]} lies inside the polygon {shape}"
        case 2, 2:
            return f"the segments {smaller[0]}-{smaller[1]} and {shape} cross"
    rows = sorted([*smaller, *larger])
    return f"the convex hulls of the two classes overlap at points {points_list([row - 1 for row in rows])}"


def boundary_name(degree: int, intercept: bool = True, *, plural: bool = False) -> str:
    """
    >>> boundary_name(1), boundary_name(1, intercept=False), boundary_name(2, plural=True)
    ('line', 'line through the origin', 'curves of degree 2')
    """
    one, many, suffix = ("line", "lines", "") if degree == 1 else ("curve", "curves", f" of degree {degree}")
    return (many if plural else one) + suffix + ("" if intercept else " through the origin")


def points_list(rows: Sequence[int]) -> str:
    """List rows as points, counted from 1.

    >>> points_list([0, 4])
    '1, 5'
    """
    return comma_list([row + 1 for row in rows], MAX_LISTED_POINTS)


# --- The convergence proof along a run


def convergence_sentence(convergence: Convergence, certificate: Certificate) -> str:
    """Compare both sides of the inequalities of the convergence proof at the end of a run."""
    parts = [f"The run made {plural(convergence.mistakes, 'update')}"]
    bound = convergence.mistake_bound
    if bound is not None and math.isfinite(bound.upper):
        parts[0] += f"; at most {count(math.floor(bound.upper))} are possible"
    parts.append(f"|w|^2 is {short(convergence.norms_squared[-1], 6)}, at most {short(convergence.norm_bound[-1], 6)}")
    if convergence.alignments is None or convergence.alignment_bound is None:
        proved = isinstance(certificate, Inseparable)
        parts.append(f"No separating w* {'exists' if proved else 'is known'}, so the number of updates has no bound")
    else:
        parts.append(f"w.w* is {short(convergence.alignments[-1], 6)}, at least {short(convergence.alignment_bound[-1], 6)}")
    parts.append("The inequalities hold at every update" if convergence.holds else "AN INEQUALITY DOES NOT HOLD")
    return f"{'. '.join(parts)}."
