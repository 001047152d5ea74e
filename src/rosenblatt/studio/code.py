"""The Python text that makes the same run."""

from __future__ import annotations

import re
from typing import Any

from .fitting import Fit
from .request import Asked, Features

DRAWN = "# random_state was None: rows come in another order each time, so that this is a run like it; a number repeats one"


def code_of(wanted: Asked, found: Fit, weights: Any = None, drawn: bool = False) -> str:
    """Points, features and a fit, to be run as it is; drawn: every run of it is another."""
    lines = ["import numpy as np", "import rosenblatt as rb", "", *_points(wanted), *_features(wanted.features)]
    given = ", ".join(f"{name}={text}" for name, text in _arguments(wanted, found))
    lines += [DRAWN] if drawn else []
    weighed = "" if weights is None else f", sample_weight={weights.tolist()!r}"
    lines.append(f"model = rb.{wanted.choice.name}({given}).fit(X, y{weighed})")
    lines += ["print(model.stop_)", 'print("training errors:", int((model.predict(X) != y).sum()))']
    return "\n".join(lines) + "\n"


def _points(wanted: Asked) -> list[str]:
    points = ", ".join(f"[{x!r}, {y!r}]" for x, y in wanted.points.tolist())
    labels = ", ".join(map(str, wanted.labels.tolist()))
    return [f"X = np.array([{points}])", f"y = np.array([{labels}])"]


def _features(features: Features) -> list[str]:
    lines = []
    if features.scaled:
        lines.append(f"X = (X - {features.centre!r}) / {features.scale!r}")
    if features.degree > 1:
        names = [" * ".join(f"x{column + 1}" for column in features.polynomial.factors(j)) for j in range(features.width)]
        lines += ["x1, x2 = X.T", f"X = np.column_stack([{', '.join(names)}])"]
    return lines


def _arguments(wanted: Asked, found: Fit) -> list[tuple[str, str]]:
    """What differs from the estimator's own defaults, in its order."""
    own = type(wanted.choice)(wanted.choice.title, wanted.choice.name).options
    given = {name: found.parameters[name] for name in own if name in found.parameters}
    return [
        (name, found.texts.get(name) or _source(value))
        for name, value in given.items()
        if name in found.texts or value != own[name] or type(value) is not type(own[name])
    ]


def _source(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


# --- The library's sentences as the page says them: rows are points there, and limits have no names.

SAID = (
    (r"max_updates=(\d+) updates were made", lambda found: f"{int(found[1]):,} updates were made, as many as allowed"),
    (r"max_iter=(\d+) used up", lambda found: f"{int(found[1]):,} passes were made, as many as allowed"),
    (r"\bover w_max=", lambda found: "over the largest allowed, "),
    (r"\brow(s?)\b", lambda found: f"point{found[1]}"),
)


def in_points(sentence: str) -> str:
    """
    >>> in_points("max_updates=1000 updates were made.")
    '1,000 updates were made, as many as allowed.'
    """
    for pattern, said in SAID:
        sentence = re.sub(pattern, said, sentence)
    return sentence
