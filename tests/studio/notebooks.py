"""Rows and labels that tests of the notebook share, and where a recorded run leads to."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.studio.arrays import unpack

X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[2.0, 0.0], [-2.0, 0.0]], 20, axis=0)
Y = np.repeat(["<b>", "a"], 20)


def ending(recording: Any) -> Any:
    """The weights that a recorded run leads to, made by its moves alone."""
    result, request = recording["run"], recording["request"]
    heads, log = result["heads"], {name: unpack(part) for name, part in result["log"].items() if name != "passes"}
    w = unpack(result["start"]).reshape(heads, -1).copy()
    rows = np.column_stack([np.full(len(request["points"]), result["features"]["x0"]), request["points"]])
    places = {code: at for at, code in enumerate(result["classes"])}
    for row, step, other in zip(log["rows"], log["steps"], log["others"], strict=True):
        own = places[request["labels"][row]]
        if result["scheme"] == "binary":
            w[0] += step * (1 if own else -1) * rows[row]
        else:
            w[own] += step * rows[row]
            w[other] -= step * rows[row]
    return w
