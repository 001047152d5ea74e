"""The margin histogram: how far every training row is on its side of the plane, or on the wrong one.

Two classes   y (w.x + b)/|w|, the distance from the plane.
More          own score less the best rival's, over sqrt(2) times the length of all weights, as `rb.margin` has it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..charts import Bars, Chart, Mark, Rule, nice_axis
from ..story import Facts, length
from ..text import count, percent, plural, short

BINS = 44


def margins_of(facts: Facts) -> Any:
    """One margin for each training row."""
    scores, codes = facts.scores, facts.codes
    here = np.flatnonzero(codes >= 0)
    codes = codes[here]
    norm = 1.0 if facts.planes is None else length(facts.planes[0])
    if scores.ndim == 1:
        return scores[here] * (2.0 * codes - 1.0) / (norm or 1.0)
    scores, at = scores[here], np.arange(len(here))
    own = scores[at, codes]
    scores[at, codes] = -np.inf
    return (own - scores.max(axis=1)) / ((norm or 1.0) * math.sqrt(2.0))


def margins(facts: Facts) -> Chart | None:
    if not facts.has_rows or facts.model is None:
        return None
    found = margins_of(facts)
    low, high = (float(edge) for edge in np.quantile(found, [0.002, 0.998]))
    low, high = min(low, 0.0), max(high, 0.0)
    low, high = (
        (float(found.min()) if found.min() > 1.5 * low else low),
        (float(found.max()) if found.max() < 1.5 * high else high),
    )
    low, high = min(low, 0.0), max(high, 0.0)
    if not high > low:
        low, high = -1.0, 1.0
    # Zero is an edge, so that no bar is of both kinds.
    width = (high - low) / BINS
    first, last = math.floor(low / width - 1e-9), math.ceil(high / width + 1e-9)
    edges = np.arange(first, last + 1) * width
    heights = np.histogram(np.clip(found, edges[0], edges[-1]), edges)[0]
    on_plane = found == 0.0
    if first < 0 and on_plane.any():  # a row on the plane is counted with the wrong ones
        heights[-first] -= int(on_plane.sum())
        heights[-first - 1] += int(on_plane.sum())
    n_wrong = int((found <= 0.0).sum())
    marks: list[Mark] = []
    for tone, label, of in (
        ("bad", "wrong side", edges[1:] <= 1e-12 * width),
        ("good", "right side", edges[:-1] >= -1e-12 * width),
    ):
        some = np.flatnonzero(of & (heights > 0))
        if not len(some):
            continue
        titles = [f"{plural(heights[i], 'row')} from {short(edges[i])} to {short(edges[i + 1])}" for i in some]
        marks.append(
            Bars(
                edges[some].tolist(), edges[some + 1].tolist(), [0.0] * len(some), heights[some].tolist(), tone, label, titles
            )
        )  # fmt: skip
    marks.append(Rule(x=0.0, text="", dashed=False, tone="ink"))
    smallest = float(found.min())
    if smallest > 0.0:
        marks.append(Rule(x=smallest, text=f"smallest {short(smallest)}", tone="ink"))
    label = "distance from the plane" if facts.k == 2 else "margin over the best rival"
    if facts.planes is None:
        label = "score over the best rival"
    x, y = nice_axis(label, float(edges[0]), float(edges[-1])), nice_axis("rows", 0.0, 1.06 * float(heights.max()), whole=True)
    return Chart("margins", "Margins", _caption(facts, found, n_wrong, smallest), tuple(marks), x, y)


def _caption(facts: Facts, found: Any, n_wrong: int, smallest: float) -> str:
    middle = short(float(np.median(found)))
    of = (
        "the average of the run, since votes have no one plane,"
        if facts.votes
        else "the plane"
        if facts.k == 2
        else "the model"
    )
    if smallest > 0.0:
        return (
            f"All {count(len(found))} training rows are on their side; the nearest is {short(smallest)} away,"
            f" half of them {middle} or more."
        )
    return (
        f"Of {count(len(found))} training rows, {of} has {count(n_wrong)} ({percent(n_wrong / len(found))}) on the wrong side;"
        f" half of all rows have a margin over {middle}."
    )
