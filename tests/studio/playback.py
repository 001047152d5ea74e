"""A run played from its record alone, as the page plays it, in plain loops that share nothing with the library."""

from __future__ import annotations

import base64
import itertools
import struct
from typing import Any

import numpy as np

LETTERS = {"f64": "d", "f32": "f", "i32": "i"}


def numbers(packed: dict[str, str]) -> Any:
    ((kind, text),) = packed.items()
    raw = base64.b64decode(text, validate=True)
    letter = LETTERS[kind]
    return np.array(struct.unpack(f"<{len(raw) // struct.calcsize(letter)}{letter}", raw))


def phi(run: dict[str, Any], points: Any) -> Any:
    """Rows (x_0, phi_1, phi_2, ...)."""
    features = run["features"]
    z = (np.asarray(points, float) - features["center"]) / features["scale"]
    columns = [z[:, 0] ** a * z[:, 1] ** b for a, b in features["exponents"]]
    return np.column_stack([np.full(len(z), float(features["x0"])), *columns])


def played(run: dict[str, Any], points: Any, labels: Any) -> Any:
    """w_0..w_T, (T + 1) x heads x (1 + features)."""
    P, heads = phi(run, points), run["heads"]
    if run["log"] is None:
        return numbers(run["frames"]["weights"]).reshape(-1, heads, P.shape[1])
    own = [run["classes"].index(label) for label in labels]
    rows, steps, others, edges = (numbers(run["log"][name]) for name in ("rows", "steps", "others", "edges"))
    w = numbers(run["start"]).reshape(heads, P.shape[1])
    every = [w.copy()]
    for first, last in itertools.pairwise(edges):
        for row, step, other in zip(rows[first:last], steps[first:last], others[first:last], strict=True):
            if run["scheme"] == "binary":
                w[0] += step * (1 if own[row] == 1 else -1) * P[row]
            elif run["scheme"] == "joint":
                w[own[row]] += step * P[row]
                w[other] -= step * P[row]
            else:
                w[other] += step * (1 if own[row] == other else -1) * P[row]
        every.append(w.copy())
    return np.array(every)


def wrong(run: dict[str, Any], w: Any, points: Any, labels: Any, slack: float = 0.0) -> int:
    """How many rows are wrong, on the plane included; with `slack`, also those that are right by no more than that."""
    scores, count = phi(run, points) @ w.T, 0
    for score, label in zip(scores, labels, strict=True):
        own = run["classes"].index(label)
        if run["scheme"] == "binary":
            count += not (1 if own == 1 else -1) * score[0] > slack
        elif run["scheme"] == "pairs":
            count += pair_winner(run, score) != own
        else:
            count += not score[own] > max(np.delete(score, own)) + slack
    return count


def pair_winner(run: dict[str, Any], score: Any) -> int:
    votes, total = np.zeros(len(run["classes"])), np.zeros(len(run["classes"]))
    for (a, b), s in zip(run["pairs"], score, strict=True):
        votes[b if s > 0 else a] += 1
        total[a] -= s
        total[b] += s
    return int(np.argmax(votes + total / (3 * (abs(total) + 1))))
