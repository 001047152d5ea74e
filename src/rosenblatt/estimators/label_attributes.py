"""The fitted attributes of an estimator of several labels, gathered from the fits on single labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..array_types import Array, FloatArray, Matrix

if TYPE_CHECKING:
    from ..online.stopping import Stop
    from .base import LinearClassifier

# Arrays with one entry, or one row, for each binary problem: those of the labels are joined.
JOINED = ("coef_", "intercept_", "variances_", "objective_", "gap_", "dual_gap_", "margin_", "pocket_errors_")
# Attributes that an estimator of several labels sets itself, or that are about one set of rows.
OWN = ("classes_", "stop_", "n_iter_", "n_features_in_", "feature_names_in_")
# Fitted attributes whose names do not end with an underscore.
PRIVATE = (
    "_auto", "_classes_fixed", "_convergence", "_gaussian", "_margin_rows", "_margin_used", "_margins", "_moments", "_n_rows",
    "_offset", "_run", "_scheme", "_solutions", "_sparse_labels", "_stream", "_support_rows", "_votes",
)  # fmt: skip


@dataclass(frozen=True)
class ConstantLabel:
    """What is predicted of a label that all training rows have, or none: that every row has it, or none.

    Attributes
    ----------
    value : bool
        Whether all rows have the label.
    n_features_in_ : int
        The number of columns of X.
    """

    value: bool
    n_features_in_: int

    stop_: ClassVar[Stop | None] = None
    n_iter_: ClassVar[int] = 0
    n_updates_: ClassVar[int] = 0

    @property
    def coef_(self) -> FloatArray:
        """Weights of zero."""
        return np.zeros((1, self.n_features_in_))

    @property
    def intercept_(self) -> FloatArray:
        """1 if all rows have the label, else -1."""
        return np.array([1.0 if self.value else -1.0])

    def _scores(self, X: Matrix) -> FloatArray:
        return np.full((X.shape[0], 1), self.intercept_[0])


def forget_fit(estimator: LinearClassifier) -> None:
    """Remove the attributes of the last fit, whatever its labels were, but not those of the rows of this one."""
    kept = ("n_features_in_", "feature_names_in_")
    for name in list(estimator.__dict__):
        public = name.endswith("_") and not name.startswith("_")
        if (public and name not in kept) or name in PRIVATE:
            del estimator.__dict__[name]


def gathered_attributes(heads: Sequence[LinearClassifier | ConstantLabel]) -> dict[str, Any]:
    """Return the attributes of all labels: arrays and lists with one entry for each label, and the sum of the updates."""
    fitted = [vars(head) for head in heads if not isinstance(head, ConstantLabel)]
    names = [name for name in fitted[0] if name.endswith("_") and not name.startswith("_") and name not in OWN]
    found = {name: _gathered(name, heads) for name in names if all(name in each for each in fitted)}
    if "n_updates_" in found:
        found["n_updates_"] = int(found["n_updates_"].sum())
    if "_scheme" in fitted[0]:
        found["_scheme"] = "ovr"
    return found


def _gathered(name: str, heads: Sequence[LinearClassifier | ConstantLabel]) -> Any:
    values = [None if isinstance(head, ConstantLabel) else vars(head)[name] for head in heads]
    some = next(value for value in values if value is not None) if any(value is not None for value in values) else None
    if name in JOINED and isinstance(some, np.ndarray):
        rows = [_constant(name, head, some) if value is None else value for head, value in zip(heads, values, strict=True)]
        return np.concatenate(rows).astype(np.result_type(*(value for value in values if value is not None)), copy=False)
    if isinstance(some, list) and len(some) == 1:
        empty = some[0][:0] if isinstance(some[0], np.ndarray) else None
        return [empty if value is None else value[0] for value in values]
    if isinstance(some, int | float) and not isinstance(some, bool):
        return np.array([(0 if isinstance(some, int) else np.nan) if value is None else value for value in values])
    return values


def _constant(name: str, head: Any, like: Array) -> Array:
    """The entry of a label that is constant: its weights are zero, and so is what they cost."""
    if name in ("coef_", "intercept_"):
        found: Array = getattr(head, name)
        return found
    return np.full(like.shape, np.inf if name == "margin_" else 0, like.dtype)
