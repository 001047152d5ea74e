"""Early stopping of the learners that make passes: their parameters, the rows held out, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.problem import Problem, read_only
from ..kernels.linear.schemes import Binary
from ..online.held_out import HeldOut
from ..validation import ParameterError, ParameterTypeError, check_flag, check_integer
from .base import StreamingObstacle

# Mixed into the seed of the row order, so that the rows held out do not depend on it.
HELD_OUT_SEED = 0x5EED


def check_without_early_stopping(model: EarlyStopping) -> None:
    """Raise an error if an estimator holds out rows, which chunks of a stream cannot be scored on."""
    if model.early_stopping:
        raise AttributeError(
            "partial_fit visits each row once, but early_stopping=True scores held-out rows after several passes: use fit"
        )


class EarlyStopping:
    """Mixin of the estimators that make passes over the rows: the parameters of early stopping."""

    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5

    validation_errors_: list[FloatArray]

    def _check_early_stopping(self) -> None:
        """Raise an error for a bad parameter."""
        check_flag("early_stopping", self.early_stopping)
        check_integer("n_iter_no_change", self.n_iter_no_change)
        fraction = self.validation_fraction
        if isinstance(fraction, bool) or not isinstance(fraction, (int, float, np.integer, np.floating)):
            raise ParameterTypeError("validation_fraction", "a number", fraction)
        if not 0.0 < fraction < 1.0:
            raise ParameterError("validation_fraction", "greater than 0 and less than 1", fraction)

    def _early_stopping_obstacle(self) -> StreamingObstacle | None:
        """Return why rows on disk cannot be fitted."""
        if self.early_stopping:
            return StreamingObstacle("scans held-out rows after each pass", "early_stopping", True, (False,))
        return None

    def _set_validation_errors(self, errors: list[FloatArray] | None) -> None:
        """Set the fitted attribute; a fit that held out no rows has none."""
        self.__dict__.pop("validation_errors_", None)
        if errors is not None:
            self.validation_errors_ = errors

    def _held_out(
        self, problem: Problem, classes: Array, seed: int, keep: str = "last", vote_count: str = "lifetime"
    ) -> HeldOut:
        """Return the rows to hold out: a share of each class, at least one row."""
        codes = (problem.labels.signs > 0).astype(np.int64) if isinstance(problem.labels, Binary) else problem.labels.codes
        used = np.arange(problem.n_rows) if problem.visited is None else problem.visited
        noun = "1 row" if problem.visited is None else "1 row with a weight above 0"
        rows = stratified_share(codes[used], classes, float(self.validation_fraction), seed, noun)
        weights = problem.labels.weights
        return HeldOut(used[rows], weights[used[rows]] if weights.size else None, int(self.n_iter_no_change), keep, vote_count)


def without_rows(problem: Problem, held: HeldOut) -> Problem:
    """Return the problem with a weight of 0 for the rows held out, so that a run does not visit them."""
    labels = problem.labels
    weights = labels.weights.copy() if labels.weights.size else np.ones(problem.n_rows)
    weights[held.rows] = 0.0
    return replace(problem, labels=labels._replace(weights=read_only(weights)), visited=np.flatnonzero(weights))


def stratified_share(codes: IntArray, classes: Array, share: float, seed: int, noun: str = "1 row") -> IntArray:
    """Return the positions of a share of the rows of each class, ascending: at least one row, and never all of a class."""
    rng, chosen = np.random.default_rng((HELD_OUT_SEED, seed)), []
    for code in range(len(classes)):
        rows = np.flatnonzero(codes == code)
        if not len(rows):
            continue  # all rows of the class have weight 0
        if len(rows) == 1:
            raise ValueError(
                f"class {classes.tolist()[code]!r} has {noun}, but early_stopping=True holds out at least one and needs 2: "
                "add rows, leave the class out, or use early_stopping=False"
            )
        size = min(max(1, round(share * len(rows))), len(rows) - 1)
        chosen.append(rng.permutation(rows)[:size])
    found: IntArray = np.sort(np.concatenate(chosen))
    return found
