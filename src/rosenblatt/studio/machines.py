"""What a margin machine says of itself: the street, who holds it, who is inside, and how exactly that is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import finite


def each_of(value: Any) -> list[Any]:
    """One entry for each machine."""
    return value if isinstance(value, list) else [value]


def support_of(model: Any) -> list[int]:
    """The rows that hold a plane, of any machine."""
    found: list[int] = np.unique(np.concatenate(each_of(model.support_))).tolist()
    return found


def margin_machine(model: Any) -> dict[str, Any] | None:
    """None where a model has no support vectors. Of several machines the narrowest margin, all their support vectors, each
    row's largest slack, the sum of their objectives, and the widest gap."""
    if not hasattr(model, "support_"):
        return None
    canonical = np.array(each_of(model.canonical_))
    with np.errstate(invalid="ignore"):
        slack = np.nan_to_num(np.maximum(0.0, 1.0 - canonical), nan=0.0, posinf=0.0).max(axis=0)
    objective = sum(each_of(model.objective_)) if hasattr(model, "objective_") else 0.5 * float(np.square(model.coef_).sum())
    return {
        "margin": finite(min(each_of(model.margin_))),
        "support": support_of(model),
        "slack": slack.tolist(),
        "objective": finite(objective),
        "gap": finite(max(each_of(model.gap_))),
    }
