"""Errors and warnings of fits on several labels a row, which name the label."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..online.stopping import Stop
from ..reporting.text import comma_list, plural
from .training_set import StopWarning

LISTED_LABELS = 5


class LabelError(ValueError):
    """An error in the fit on one label of an indicator matrix; `error` is that of the fit, `label` the name of the column."""

    def __init__(self, label: object, error: ValueError) -> None:
        super().__init__(label, error)
        self.label, self.error = label, error

    def __str__(self) -> str:
        return f"label {self.label!r}: {self.error}"


class ConstantLabelWarning(UserWarning):
    """Labels that all rows have, or none: nothing is learned about them."""

    def __init__(self, labels: list[Any], values: list[bool]) -> None:
        super().__init__(labels, values)
        self.labels, self.values = labels, values

    def __str__(self) -> str:
        parts = []
        for value in (True, False):
            found = [repr(label) for label, given in zip(self.labels, self.values, strict=True) if given == value]
            if found:
                noun = "label" if len(found) == 1 else f"{len(found)} labels:"
                have, predicted = ("all rows have", "every row") if value else ("no row has", "no row")
                parts.append(f"{have} {noun} {comma_list(found, LISTED_LABELS)}, predicted for {predicted}")
        return "; ".join(parts)


def warn_once(found: list[Any], heads: Sequence[Any], names: list[Any]) -> None:
    """Warn of what the fits on single labels warned of, once for each problem, with the number of labels and the first one."""
    from .svm_base import ZeroPlaneWarning

    stopped: dict[str, list[Stop]] = {}
    zero: list[ZeroPlaneWarning] = []
    others: dict[tuple[type[Warning], str], Warning] = {}
    for each in found:
        if isinstance(each, StopWarning):
            stopped.setdefault(each.problem, []).append(each.stop)
        elif isinstance(each, ZeroPlaneWarning):
            zero.append(each)
        else:
            others.setdefault((type(each), str(each)), each)
    for problem, stops in stopped.items():
        which = min(j for j, head in enumerate(heads) if any(head.stop_ is stop for stop in stops))
        about = f"{problem} for {len(stops)} of {plural(len(names), 'label')}"
        first = next(stop for stop in stops if stop is heads[which].stop_)
        stop = replace(first, sentence=f"label {names[which]!r}: {first.sentence}")
        warnings.warn(StopWarning(about, stop), stacklevel=5)
    if zero:
        least = max((each.least_C for each in zero if each.least_C is not None), default=None)
        warnings.warn(ZeroPlaneWarning(len(zero), len(names), "labels", zero[0].loss, least), stacklevel=5)
    for other in others.values():
        warnings.warn(other, stacklevel=5)
