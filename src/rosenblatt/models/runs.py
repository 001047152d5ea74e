"""A run so far as arrays, so that `partial_fit` and `warm_start` go on from a file as they would have gone on without it.

Kept are the weights, their counts, the clock and the sums of the average; not the log, which would hold training rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .container import Parts, all_finite, require

if TYPE_CHECKING:
    from ..online.history import Run


def to_parts(run: Run, keep: str, coef: Any | None) -> Parts:
    """Weights that are the model's own, to the bit, are not stored twice."""
    state, sums = run.state, run.sums
    if keep == "average" and sums is None and len(run.classes) > 1:
        sums = run._sums()
    same = coef is not None and coef.dtype == state.w.dtype and np.array_equal(coef, run.heads)
    meta = {
        "x0": float(state.x0),
        "dense": bool(run.dense),
        "seen": int(run.seen),
        "logged": bool(run.logged and not run.logs),  # nothing moved so far
        "own_weights": not same,
    }
    arrays = {"bias": state.bias, "counts": state.counts, "sqnorms": state.sqnorms, "durations": run.durations}
    if not same:
        arrays["w"] = state.w
    if sums is not None:
        arrays.update({"sums.w": sums.w, "sums.bias": sums.bias})
    return meta, {f"run.{name}": array for name, array in arrays.items()}


def from_parts(meta: dict[str, Any], arrays: dict[str, Any], classes: Any, coef: Any | None, width: int) -> Run:
    from ..kernels.linear.schemes import State
    from ..online.history import Run

    told = {name.removeprefix("run."): array for name, array in arrays.items()}
    dense, k = meta["dense"] is True, len(classes)
    w = told["w"] if meta["own_weights"] else _laid_out(coef, dense, k)
    heads = 1 if k == 2 else k
    shape = (width,) if k == 2 else (heads, width) if dense else (width, heads)
    require(w.dtype in (np.float64, np.float32) and w.shape == shape, "has a run with weights of another shape")
    bias, counts, durations = (told[name] for name in ("bias", "counts", "durations"))
    require(bias.dtype == np.float64 and bias.shape == (heads,), "has a run with another bias")
    require(counts.dtype == durations.dtype == np.int64, "has a run with other counts")
    require(counts.shape == durations.shape == told["sqnorms"].shape, "has a run with other counts")
    require(counts.ndim == 1 and len(counts) in (1, heads) and (counts >= 0).all(), "has a run with other counts")
    require(
        (durations >= 0).all() and type(meta["seen"]) is int and meta["seen"] >= 0, "has a run that saw fewer rows than none"
    )
    require(told["sqnorms"].dtype == np.float64, "has a run with other norms")
    finite = [w, bias, told["sqnorms"], *(told[name] for name in ("sums.w", "sums.bias") if name in told)]
    require(all(map(all_finite, finite)) and np.isfinite(float(meta["x0"])), "has a run with weights that are not finite")
    state = State(np.ascontiguousarray(w), bias, counts, told["sqnorms"], np.zeros(heads), float(meta["x0"]))
    sums = None
    if "sums.w" in told:
        require(
            told["sums.w"].shape == w.shape and told["sums.bias"].shape == bias.shape, "has a run with sums of another shape"
        )
        require(told["sums.w"].dtype == told["sums.bias"].dtype == np.float64, "has a run with other sums")
        sums = State(np.ascontiguousarray(told["sums.w"]), told["sums.bias"], *state[2:])
    return Run(classes, state, dense, meta["seen"], durations, sums, (), meta["logged"] is True)


def _laid_out(coef: Any, dense: bool, k: int) -> Any:
    require(coef is not None, "has a run without weights")
    return np.array(coef[0] if k == 2 else coef if dense else coef.T, order="C")
