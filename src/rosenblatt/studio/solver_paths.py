"""Weights on the way to a solution, for algorithms that keep no log: the page plays these frames as it plays updates.

    SoftMargin    C grows up to the one that was chosen
    MaxMargin     the same, up to the C from which on no row may cross: the largest multiplier of the widest margin
    LinearMSE     the ridge shrinks down to the one that was chosen
    NonlinearMSE  the steps of the minimiser
    AROW          a stretch of rows at a time
The last frame is the model itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..catalog import ALGORITHMS
from ..reporting.story import evenly
from .arrays import finite
from .fitting import Fit, fit_quietly
from .request import Asked, RequestError

# --- What a margin machine says of itself: the street, who holds it, who is inside, and how exactly that is known.


def support_of(model: Any) -> list[int]:
    """The rows that hold a plane, of any machine."""
    found: list[int] = np.unique(np.concatenate(model.support_)).tolist()
    return found


def margin_machine(model: Any) -> dict[str, Any] | None:
    """None where a model has no support vectors. Of several machines the narrowest margin, all their support vectors, each
    row's largest slack, the sum of their objectives, and the widest gap."""
    if not hasattr(model, "support_"):
        return None
    canonical = model.canonical_
    with np.errstate(invalid="ignore"):
        slack = np.nan_to_num(np.maximum(0.0, 1.0 - canonical), nan=0.0, posinf=0.0).max(axis=0)
    objective = float(model.objective_.sum()) if hasattr(model, "objective_") else 0.5 * float(np.square(model.coef_).sum())
    return {
        "margin": finite(float(model.margin_.min())),
        "support": support_of(model),
        "slack": slack.tolist(),
        "objective": finite(objective),
        "gap": finite(float(model.gap_.max())),
    }


# ---

FRAMES = 25
STRETCHES = 200  # frames of AROW, whose steps are small
PASSES = 200  # of a machine on the way, which few need
MACHINES = 150  # on the way, in all
# Numbers that all frames of a path may look at, each as often as it has columns: about a second.
WORK = 4e7

Step = tuple[Any, str]  # a fitted model and its title


class Frames(NamedTuple):
    weights: Any  # frames x heads x (1 + features)
    titles: list[str]
    support: list[list[int]] | None = None
    margin: list[float] | None = None


def one_frame(model: Any) -> Frames:
    return _framed([(model, "solution")])


def path_of(found: Fit, wanted: Asked) -> Frames:
    """The frames of a model that was solved; one, where there is no path or it cannot be gone."""
    make = _PATHS.get(wanted.choice.name)
    if make is None:
        return one_frame(found.model)
    try:
        return make(found, wanted)
    except RequestError:  # numbers that the way there cannot hold, though the end can
        return one_frame(found.model)


def _framed(steps: list[Step], zeros: str | None = None) -> Frames:
    """Frames of fitted models; `zeros`: the title of a frame of zeros before them."""
    weights = np.array([np.column_stack([model.intercept_, model.coef_]) for model, _ in steps])
    titles = [title for _, title in steps]
    if zeros is not None:
        return Frames(np.concatenate([np.zeros_like(weights[:1]), weights]), [zeros, *titles])
    if not hasattr(steps[-1][0], "support_"):
        return Frames(weights, titles)
    margins = [float(model.margin_.min()) for model, _ in steps]
    return Frames(weights, titles, [support_of(model) for model, _ in steps], margins)


def _affordable(wanted: Asked) -> int:
    rows, columns = wanted.rows.shape
    k, scheme = wanted.n_classes, wanted.knobs.get("multiclass")
    machines = 1 if k == 2 or scheme in ("joint", "crammer_singer") else k * (k - 1) // 2 if scheme == "ovo" else k
    return int(np.clip(min(WORK / (rows * k * columns**2), MACHINES / machines), 4, FRAMES))


def _ladder(low: float, high: float, wanted: Asked) -> list[float]:
    steps: list[float] = np.geomspace(low, high, _affordable(wanted)).tolist()
    return steps


def _soft(wanted: Asked, costs: list[float], **parameters: Any) -> list[Step]:
    make = ALGORITHMS["soft-margin"].make
    steps: list[Step] = []
    for C in costs:
        model = fit_quietly(make(**parameters | {"C": C, "max_iter": PASSES}), wanted.rows, wanted.labels)
        if not steps and model.stop_.reason != "tolerance":
            raise RequestError("the way there is as hard as the end")  # and would take as long at every step
        steps.append((model, f"C = {C:.3g}"))
    return steps


def _soft_margin(found: Fit, wanted: Asked) -> Frames:
    C = float(found.model.C)
    before = _soft(wanted, _ladder(min(1e-3, C / 100.0), C, wanted)[:-1], **found.parameters)
    return _framed([*before, (found.model, f"C = {C:g}")])


def _max_margin(found: Fit, wanted: Asked) -> Frames:
    model = found.model
    largest = max(float(np.max(each, initial=0.0)) for each in model.multipliers_)
    if not 1e-100 < largest < 1e100:
        return one_frame(model)
    intercept = "free" if model.fit_intercept else "none"
    before = _soft(wanted, _ladder(1e-4 * largest, largest, wanted), intercept=intercept, multiclass=model.multiclass)
    hard = all(proof is None for proof in model.proof_)
    crossed = "not separable: points may cross" if wanted.n_classes == 2 else "not separable one by one: points may cross"
    return _framed([*before, (model, "widest margin" if hard else crossed)])


def _linear_mse(found: Fit, wanted: Asked) -> Frames:
    chosen, total = float(found.model.alpha), float(np.square(wanted.rows).sum())
    if not 0.0 < total < np.inf or chosen >= 10.0 * total:
        return one_frame(found.model)
    ridges = _ladder(max(chosen, 1e-5 * total), 10.0 * total, wanted)[:0:-1]
    make = wanted.choice.make
    models = [fit_quietly(make(**found.parameters | {"alpha": r}), wanted.rows, wanted.labels) for r in ridges]
    steps = [(model, f"ridge = {ridge:.3g}") for model, ridge in zip(models, ridges, strict=True)]
    return _framed([*steps, (found.model, f"ridge = {chosen:g}")])


def _nonlinear_mse(found: Fit, wanted: Asked) -> Frames:
    most, frames = int(found.model.n_iter_), _affordable(wanted)
    counts = range(1, most) if most <= frames else np.unique(np.geomspace(1, most, frames).astype(int))[:-1]
    return _framed([*_shorter(found, wanted, counts, "step"), (found.model, f"step {most}")], "start")


def _arow(found: Fit, wanted: Asked) -> Frames:
    passes = int(found.model.n_iter_)
    if found.model.order == "cyclic":
        steps = _stretches(found, wanted, passes)
        if np.array_equal(steps[-1][0], found.model.coef_):
            weights = np.array([np.column_stack([bias, coef]) for coef, bias, _ in steps])
            titles = ["start", *(title for _, _, title in steps)]
            return Frames(np.concatenate([np.zeros_like(weights[:1]), weights]), titles)
    counts = (evenly(passes, FRAMES) + 1)[:-1]
    return _framed([*_shorter(found, wanted, counts, "pass"), (found.model, f"pass {passes}")], "start")


def _stretches(found: Fit, wanted: Asked, passes: int) -> list[tuple[Any, Any, str]]:
    """(coef, intercept, title) after each stretch of rows: a stream of the passes' rows is the same run."""
    model, classes = wanted.choice.make(**found.parameters), np.unique(wanted.labels)
    n, steps = len(wanted.labels), []
    cuts = np.unique(np.linspace(0, n, max(2, STRETCHES // passes + 1)).round().astype(int))
    for p in range(passes):
        for start, stop in itertools.pairwise(cuts):
            model.partial_fit(wanted.rows[start:stop], wanted.labels[start:stop], classes=classes)
            steps.append((model.coef_, model.intercept_, f"pass {p + 1}, row {stop}"))
    return steps


def _shorter(found: Fit, wanted: Asked, counts: Any, what: str) -> list[Step]:
    """The same run, ended earlier."""
    models = [
        fit_quietly(wanted.choice.make(**found.parameters | {"max_iter": int(p)}), wanted.rows, wanted.labels) for p in counts
    ]
    return [(model, f"{what} {p}") for model, p in zip(models, counts, strict=True)]


_PATHS: dict[str, Callable[[Fit, Asked], Frames]] = {
    "AROW": _arow,
    "LinearMSE": _linear_mse,
    "MaxMargin": _max_margin,
    "NonlinearMSE": _nonlinear_mse,
    "SoftMargin": _soft_margin,
}
