"""The readings of a run: which hypothesis of a log predicts, and where the log finds the rows that this needs.

A fitted model keeps no training rows, except those that a vote is made of. Its log finds the rows in the X of `fit` as long as
the caller keeps it, and `reading(keep, X, y)` takes them again when it is gone.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import validate_data

from ..array_types import Matrix, MatrixLike
from ..data.indicators import Indicator, read_indicator
from ..data.problem import heads_of
from ..online.history import History
from ..online.training_rows import OTHER_VALUES, ChangedRowsError, MissingRowsError
from .base import LinearClassifier
from .label_attributes import ConstantLabel
from .row_reference import RowReference, as_rows

if TYPE_CHECKING:
    import numpy.typing as npt

Model = TypeVar("Model", bound=LinearClassifier)


def hypothesis_of(run: History, keep: str, n_features: int, n_jobs: int) -> dict[str, Any]:
    """Return the fitted attributes of a reading that has one plane per head."""
    x0 = run.state.x0
    if len(run.classes) < 2:
        return {"coef_": np.zeros((1, n_features)), "intercept_": np.zeros(1)}
    if keep == "pocket":
        pockets = run.pockets(n_jobs)
        states = [found.state for found in pockets]
        heads = np.concatenate([heads_of(state.w, run.dense) for state in states])
        bias = np.concatenate([state.bias for state in states])
        return {"coef_": heads, "intercept_": bias * x0, "pocket_errors_": np.array([found.errors for found in pockets])}
    state = run.average() if keep == "average" else run.state
    return {"coef_": heads_of(state.w, run.dense), "intercept_": state.bias * x0}


def run_found_in(model: LinearClassifier, run: History, X: MatrixLike, y: npt.ArrayLike) -> History:
    """Return the run of a model with rows that are given again, after checking that they are the same."""
    origin = run.logs[0][1]._record.origin if len(run.logs) == 1 else None
    if origin is None:
        raise ValueError("reading(keep, X, y) needs the log of a whole run: use fit with log=True, not partial_fit")
    with np.errstate(over="ignore", invalid="ignore"):
        _, labels = validate_data(model, X, y, accept_sparse="csr", dtype=None, reset=False, ensure_all_finite=False)
    codes, any_order = np.minimum(np.searchsorted(run.classes, labels), len(run.classes) - 1), model._takes_unsorted_columns
    rows = as_rows(X, any_order)
    codes = np.where(run.classes[codes] == labels, codes, -1)
    found = run.found_in(origin.found_in(rows, codes, RowReference(X, rows, any_order)))
    try:
        found.check_rows(whole=True)
    except ChangedRowsError:
        raise ChangedRowsError(OTHER_VALUES) from None
    return found


def with_rows(model: LinearClassifier, rows: Matrix, labels: npt.ArrayLike) -> LinearClassifier:
    """Return a model whose log finds all training rows: the model itself, or a copy that finds them in `rows`.

    The caller keeps `rows` as long as it uses the copy.
    """
    log = model._update_log
    if log is None:
        return model
    try:
        log._whole()
        return model
    except MissingRowsError:
        origin = log._record.origin
        same_type = rows if origin is None else rows.astype(origin.dtype, copy=False)
        nameless: Any = without_names(model)
        found: LinearClassifier = nameless.reading(model._keep, same_type, labels)
        return found


def without_names(model: Model) -> Model:
    """Return a copy of a model that does not warn about missing feature names."""
    nameless = copy.copy(model)
    nameless.__dict__.pop("feature_names_in_", None)
    return nameless


def label_reading(model: Model, keep: str, X: MatrixLike | None, y: npt.ArrayLike | None) -> Model:
    """Return another reading of the runs of an estimator of several labels."""
    labels = None if y is None else read_indicator(y)
    heads: list[Any] = []
    for j, head in enumerate(model.estimators_):
        column = None if labels is None else labels.column(j)
        heads.append(head if isinstance(head, ConstantLabel) else cast(Any, head).reading(keep, X, column))
    other = copy.copy(model)
    cast(Any, other).keep = keep
    other._set_labels(heads, Indicator(model.classes_, model._sparse_labels, None))
    return other
