"""Paths of batch solvers: weights on the way to a solution, which the page plays like updates.

    cost        C grows to the chosen value (SoftMargin)
    widest      C grows until no row may cross the margin: the largest multiplier of the widest margin (MaxMargin)
    penalty     alpha shrinks to the chosen value (LinearMSE)
    iterations  the iterations of the minimizer (NonlinearMSE)
    chunks      the rows in small chunks (AROW)
An estimator declares its path as `_path`; without one, the page shows its solution. The last frame is the fitted model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..array_types import FloatArray
from ..estimators.base import LinearClassifier, SolutionPath
from ..estimators.max_margin import MaxMargin
from ..estimators.soft_margin import SoftMargin
from ..estimators.svm_base import MarginClassifier
from ..reporting.story import evenly
from ..reporting.text import short
from .arrays import finite
from .fitting import Fit, fit_quietly
from .run_request import RequestError, RunRequest

MAX_FRAMES = 25
CHUNK_FRAMES = 200  # frames of a path of chunks, whose steps are small
PATH_MAX_PASSES = 200  # passes of an SVM problem on a path
PATH_MAX_PROBLEMS = 150  # binary SVM problems on a path
PATH_MULTIPLY_ADDS = 4e7  # work for all frames of a path: about a second

# --- Summary of a margin


def support_of(model: MarginClassifier) -> list[int]:
    """Return the support vectors of all binary problems, as rows; none of a logistic loss, to which every row contributes."""
    if isinstance(model, SoftMargin) and model.loss == "logistic":
        return []
    rows: list[int] = np.unique(np.concatenate(model.support_)).tolist()
    return rows


def describe_margin(model: LinearClassifier) -> dict[str, Any] | None:
    """Return margin, support vectors, slack, objective and gap of an SVM; None for other models.

    "support" has the rows with a positive multiplier, "on_margin" all rows on the margin of a hard margin. With several binary
    problems: the narrowest margin, the rows of all of them, each row's largest slack, the sum of the objectives and the largest
    gap.
    """
    if not isinstance(model, MarginClassifier):
        return None
    canonical = model.canonical_
    with np.errstate(invalid="ignore"):
        slack = np.nan_to_num(np.maximum(0.0, 1.0 - canonical), nan=0.0, posinf=0.0).max(axis=0)
    return {
        "margin": finite(float(model.margin_.min())),
        "support": support_of(model),
        "on_margin": None if not isinstance(model, MaxMargin) else np.unique(np.concatenate(model.on_margin_)).tolist(),
        "slack": slack.tolist(),
        "objective": finite(model._objective),
        "gap": finite(float(model.gap_.max())),
    }


# --- Paths


class Step(NamedTuple):
    """A fitted model on a path, with the title of its frame."""

    model: Any
    title: str


class Frames(NamedTuple):
    """Weights with a title for each frame; support vectors and margins for SVMs."""

    weights: FloatArray  # frames x heads x (1 + features)
    titles: list[str]
    support: list[list[int]] | None = None
    margin: list[float] | None = None


def one_frame(model: LinearClassifier) -> Frames:
    """Return the path that consists of the solution alone."""
    return _frames([Step(model, "solution")])


def path_of(fit: Fit, request: RunRequest) -> Frames:
    """Return the path that an estimator declares; the solution alone if it declares none or the path cannot be computed."""
    if fit.model._path is None:
        return one_frame(fit.model)
    try:
        return _PATHS[fit.model._path](fit, request)
    except RequestError:  # numbers on the path may overflow although the solution does not
        return one_frame(fit.model)


def _frames(steps: list[Step], zeros: str | None = None) -> Frames:
    """Return frames of fitted models; `zeros` is the title of a frame of zeros before them."""
    weights = np.array([np.column_stack([model.intercept_, model.coef_]) for model, _ in steps])
    titles = [title for _, title in steps]
    if zeros is not None:
        return Frames(np.concatenate([np.zeros_like(weights[:1]), weights]), [zeros, *titles])
    if not isinstance(steps[-1].model, MarginClassifier):
        return Frames(weights, titles)
    margins = [float(model.margin_.min()) for model, _ in steps]
    return Frames(weights, titles, [support_of(model) for model, _ in steps], margins)


def _frame_count(request: RunRequest) -> int:
    """Return how many frames can be computed in about a second."""
    rows, columns = request.rows.shape
    k, scheme = request.n_classes, request.knobs.get("multiclass")
    problems = (
        1
        if k == 2 or scheme in ("joint", "crammer_singer", "multinomial")
        else k * (k - 1) // 2
        if scheme in ("auto", "ovo")
        else k
    )
    return int(np.clip(min(PATH_MULTIPLY_ADDS / (rows * k * columns**2), PATH_MAX_PROBLEMS / problems), 4, MAX_FRAMES))


def _geometric_values(low: float, high: float, request: RunRequest) -> list[float]:
    steps: list[float] = np.geomspace(low, high, _frame_count(request)).tolist()
    return steps


def _soft_margin_steps(request: RunRequest, costs: list[float], **parameters: Any) -> list[Step]:
    """Fit soft margins for growing C; raise `RequestError` if the first is already too hard."""
    steps: list[Step] = []
    for C in costs:
        model = fit_quietly(SoftMargin(**parameters | {"C": C, "max_iter": PATH_MAX_PASSES}), request.rows, request.labels)
        if not steps and model.stop_.reason != "tolerance":
            raise RequestError("the path is too expensive")  # every step would take as long
        steps.append(Step(model, f"C = {short(C)}"))
    return steps


def _growing_cost(fit: Fit, request: RunRequest) -> Frames:
    C = float(fit.model.C)
    before = _soft_margin_steps(request, _geometric_values(min(1e-3, C / 100.0), C, request)[:-1], **fit.parameters)
    return _frames([*before, Step(fit.model, f"C = {short(C, 6)}")])


def _up_to_widest_margin(fit: Fit, request: RunRequest) -> Frames:
    model = fit.model
    largest = max(float(np.max(each, initial=0.0)) for each in model.multipliers_)
    if not 1e-100 < largest < 1e100:
        return one_frame(model)
    shared = {"fit_intercept": model.fit_intercept, "multiclass": model.multiclass}
    before = _soft_margin_steps(request, _geometric_values(1e-4 * largest, largest, request), **shared)
    hard = all(proof is None for proof in model.proof_)
    crossed = "not separable: points may cross" if request.n_classes == 2 else "some classes not separable: points may cross"
    return _frames([*before, Step(model, "widest margin" if hard else crossed)])


def _shrinking_penalty(fit: Fit, request: RunRequest) -> Frames:
    chosen, total = float(fit.model.alpha), float(np.square(request.rows).sum())
    if not 0.0 < total < np.inf or chosen >= 10.0 * total:
        return one_frame(fit.model)
    alphas = _geometric_values(max(chosen, 1e-5 * total), 10.0 * total, request)[:0:-1]
    make = request.choice.make
    models = [fit_quietly(make(**fit.parameters | {"alpha": alpha}), request.rows, request.labels) for alpha in alphas]
    steps = [Step(model, f"alpha = {short(alpha)}") for model, alpha in zip(models, alphas, strict=True)]
    return _frames([*steps, Step(fit.model, f"alpha = {short(chosen, 6)}")])


def _iterations(fit: Fit, request: RunRequest) -> Frames:
    last, frames = int(fit.model.n_iter_), _frame_count(request)
    counts = range(1, last) if last <= frames else np.unique(np.geomspace(1, last, frames).astype(int))[:-1]
    return _frames([*_shortened_runs(fit, request, counts, "step"), Step(fit.model, f"step {last}")], "start")


def _chunks(fit: Fit, request: RunRequest) -> Frames:
    passes = int(fit.model.n_iter_)
    if fit.model.order == "cyclic":
        steps = _weights_of_chunks(fit, request, passes)
        if np.array_equal(steps[-1][0], fit.model.coef_):
            weights = np.array([np.column_stack([bias, coef]) for coef, bias, _ in steps])
            titles = ["start", *(title for _, _, title in steps)]
            return Frames(np.concatenate([np.zeros_like(weights[:1]), weights]), titles)
    counts = (evenly(passes, MAX_FRAMES) + 1)[:-1]
    return _frames([*_shortened_runs(fit, request, counts, "pass"), Step(fit.model, f"pass {passes}")], "start")


def _weights_of_chunks(fit: Fit, request: RunRequest, passes: int) -> list[tuple[FloatArray, FloatArray, str]]:
    """Return (coef, intercept, title) after each chunk of rows; streaming the rows of all passes makes the same run."""
    model, classes = request.choice.make(**fit.parameters), np.unique(request.labels)
    n, steps = len(request.labels), []
    cuts = np.unique(np.linspace(0, n, max(2, CHUNK_FRAMES // passes + 1)).round().astype(int))
    for p in range(passes):
        for start, stop in itertools.pairwise(cuts):
            model.partial_fit(request.rows[start:stop], request.labels[start:stop], classes=classes)
            steps.append((model.coef_, model.intercept_, f"pass {p + 1}, point {stop}"))
    return steps


def _shortened_runs(fit: Fit, request: RunRequest, counts: Iterable[int], unit: str) -> list[Step]:
    """Fit the same run with lower limits of passes or iterations."""
    models = [
        fit_quietly(request.choice.make(**fit.parameters | {"max_iter": int(p)}), request.rows, request.labels) for p in counts
    ]
    return [Step(model, f"{unit} {p}") for model, p in zip(models, counts, strict=True)]


_PATHS: dict[SolutionPath, Callable[[Fit, RunRequest], Frames]] = {
    "chunks": _chunks,
    "cost": _growing_cost,
    "iterations": _iterations,
    "penalty": _shrinking_penalty,
    "widest": _up_to_widest_margin,
}
