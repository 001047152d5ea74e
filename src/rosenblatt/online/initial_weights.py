"""The weights a run starts from."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..array_types import Array, FloatArray
from ..data.problem import Problem, as_heads, zero_state
from ..kernels.linear.schemes import Binary, State
from .history import History

Init: TypeAlias = Literal["zeros", "sum"] | npt.ArrayLike


def initial_state(problem: Problem, classes: Array, init: Init, fit_intercept: bool, before: History | None) -> State:
    """Return zeros, the sum of all signed rows, a given array, or the weights the previous run ended with."""
    start = zero_state(problem, len(classes))
    heads = as_heads(start.w, problem.rows)
    if before is not None:
        if not np.array_equal(classes, before.classes) or before.heads.shape != heads.shape:
            raise ValueError(
                f"warm_start continues a run on classes {before.classes.tolist()} and {before.heads.shape[1]} features, "
                f"got classes {classes.tolist()} and {heads.shape[1]} features"
            )
        heads[...], start.bias[...] = before.heads, before.state.bias
    elif isinstance(init, str):
        if init == "sum":
            heads[...], start.bias[...] = _signed_sum(problem, len(classes))
    else:
        _from_array(_as_numbers(init), heads, start, fit_intercept)
    return start


def _signed_sum(problem: Problem, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Return sum_n y_n x_n for each head, with y_n = +1 on rows of the head's class and -1 on the others."""
    labels = problem.labels
    codes = (labels.signs > 0).astype(np.int64) if isinstance(labels, Binary) else labels.codes
    own = np.arange(1, 2) if isinstance(labels, Binary) else np.arange(n_classes)
    signs = np.where(codes == own[:, None], 1.0, -1.0)
    if labels.weights.size:
        signs = signs * labels.weights
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.asarray(signs @ problem.matrix())
    if not (abs(total) <= np.finfo(problem.rows.values.dtype).max).all():
        raise ValueError("init='sum' overflowed: scale the features")
    return total, signs.sum(axis=1) * problem.x0


def _as_numbers(init: Init) -> Array:
    try:
        array = np.asarray(init)
    except ValueError:
        raise ValueError(f"init must be 'zeros', 'sum' or an array with rows of one length, got {init!r:.80}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"init must be 'zeros', 'sum' or an array of real numbers, got {array.tolist()!r:.80}")
    return array


def _from_array(init: Array, heads: FloatArray, start: State, fit_intercept: bool) -> None:
    k, d = heads.shape
    if not (abs(init) <= np.finfo(heads.dtype).max).all():
        raise ValueError(
            f"init must be 'zeros', 'sum' or an array of finite {heads.dtype.name} numbers, got {init.tolist()!r:.80}"
        )
    full = init[None] if init.ndim == 1 else init
    if full.shape == (k, d + 1) and fit_intercept:
        start.bias[...], full = full[:, 0], full[:, 1:]
    if full.shape != (k, d):
        with_bias = f" or {(k, d + 1)} with weight 0 first" if fit_intercept else ""
        raise ValueError(f"init must have shape {(k, d)}{with_bias}, got {init.shape}")
    heads[...] = full
