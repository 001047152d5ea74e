"""Python source code that repeats a run of the page."""

from __future__ import annotations

from dataclasses import replace

from ..array_types import FloatArray
from .fitting import Fit
from .run_request import Features, RunRequest

RANDOM_ORDER_COMMENT = "# random_state is None: every run visits the rows in another order; set a number to repeat one"


def code_of(request: RunRequest, fit: Fit, weights: FloatArray | None = None, unseeded: bool = False) -> str:
    """Return a script with the points, their features and the fit.

    Parameters
    ----------
    request : RunRequest
        Points, features and algorithm.
    fit : Fit
        The estimator's parameters.
    weights : ndarray, default=None
        Sample weights.
    unseeded : bool, default=False
        Whether the rows are visited in a random order without a seed; the script then has a comment about it.
    """
    lines = ["import numpy as np", "import rosenblatt as rb", "", *_point_lines(request), *_feature_lines(request.features)]
    arguments = ", ".join(f"{name}={text}" for name, text in _arguments(request, fit))
    lines += [RANDOM_ORDER_COMMENT] if unseeded else []
    weighted = "" if weights is None else f", sample_weight={weights.tolist()!r}"
    lines.append(f"model = rb.{request.choice.name}({arguments}).fit(X, y{weighted})")
    lines += ["print(model.stop_)", 'print("training errors:", int((model.predict(X) != y).sum()))']
    return "\n".join(lines) + "\n"


def _point_lines(request: RunRequest) -> list[str]:
    points = ", ".join(f"[{x!r}, {y!r}]" for x, y in request.points.tolist())
    labels = ", ".join(map(str, request.labels.tolist()))
    return [f"X = np.array([{points}])", f"y = np.array([{labels}])"]


def _feature_lines(features: Features) -> list[str]:
    lines = []
    if features.scaled:
        lines.append(f"X = (X - {features.center!r}) / {features.scale!r}")
    if features.degree > 1:
        names = [" * ".join(f"x{column + 1}" for column in features.polynomial.factors(j)) for j in range(features.width)]
        lines += ["x1, x2 = X.T", f"X = np.column_stack([{', '.join(names)}])"]
    return lines


def _arguments(request: RunRequest, fit: Fit) -> list[tuple[str, str]]:
    """Return the parameters that differ from the estimator's defaults, in its order."""
    defaults = replace(request.choice, parameters={}).options
    given = {name: fit.parameters[name] for name in defaults if name in fit.parameters}
    return [
        (name, fit.sources.get(name) or _literal(value))
        for name, value in given.items()
        if name in fit.sources or value != defaults[name] or type(value) is not type(defaults[name])
    ]


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
