"""What would make a fitted model again from its rows: whether it was fitted on these, and with which weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..estimators.weighting import row_weights
from ..kernels.linear.schemes import Binary
from ..online.update_log import UpdateLog
from ..svm.not_separable import NotSeparable
from .curves import Data, margins_of
from .fitting import fit_quietly
from .knobs import is_batch
from .machines import each_of
from .request import RequestError

# How far weights may be apart that are the same up to rounding; and margins, which were taken from float32 rows, perhaps.
CLOSE, MARGINS_CLOSE = 1e-6, 1e-4


@dataclass(frozen=True)
class Remade:
    """parameters : the model's own, of classes that are numbered
    weights : of the rows, beside those of their classes; None: they were fitted without
    again : whether a fit with both leads to the same; None: it cannot be told, since every fit draws other rows
    """

    parameters: dict[str, Any]
    weights: Any
    again: bool | None


def remade(model: Any, log: UpdateLog | None, X: Any, codes: Any) -> Remade:
    """X, codes : the rows that a model was fitted on, and the places of their classes among its own."""
    given = dict(model.get_params(deep=False))
    if isinstance(each := given.get("class_weight"), dict):
        given["class_weight"] = {at: each.get(label, 1.0) for at, label in enumerate(model.classes_.tolist())}
    weights = None if log is None else log.problem.labels.weights
    if weights is not None:
        own = row_weights(None, given["class_weight"], X, codes, np.arange(len(model.classes_)))
        own = np.zeros(0) if own is None else own[np.unique(log.rows)] if log is not None and log.is_compact else own
        if np.array_equal(weights, own):
            weights = None
        elif log is not None and log.is_compact:  # those of the other rows are gone
            return Remade(given, None, False)
        else:
            given["class_weight"] = None
    if given.get("random_state", 0) is None and _draws(given):
        return Remade(given, weights, False if model.stop_.reason == "chunk" else None)
    quiet = {name: value for name, value in (("verbose", 0), ("warm_start", False), ("log", True)) if name in given}
    try:
        found = fit_quietly(type(model)(**given | quiet), X, codes, weights)
    except (RequestError, NotSeparable):
        return Remade(given, weights, False)
    return Remade(given, weights, _same(model, log, found))


def check_rows(model: Any, log: UpdateLog | None, X: Any, codes: Any) -> None:
    """Raise where a model was fitted on other rows or labels, as far as it has kept what tells them."""
    kept = _logged(log, X, codes) if log is not None else _at_their_margins(model, X, codes)
    if not kept:
        raise ValueError("X and y must be what it was fitted on")


def is_weighted(model: Any, log: UpdateLog | None) -> bool:
    """Whether rows are known to count differently."""
    return getattr(model, "class_weight", None) is not None or (log is not None and bool(log.problem.labels.weights.size))


def _draws(given: dict[str, Any]) -> bool:
    """Whether rows come in an order that is drawn."""
    return given.get("order", "cyclic") != "cyclic" and not is_batch(given) and given.get("solver") != "minimum"


def _same(model: Any, log: UpdateLog | None, found: Any) -> bool:
    if log is not None:
        other = found.log_
        return np.array_equal(log.rows, other.rows) and bool(np.allclose(log.steps, other.steps, rtol=CLOSE, atol=0.0))
    if "coef_" not in vars(model):
        return False
    mine, its = (np.column_stack([each.intercept_, each.coef_]) for each in (model, found))
    return bool(np.linalg.norm(mine - its) <= CLOSE * np.linalg.norm(mine))


def _logged(log: UpdateLog, X: Any, codes: Any) -> bool:
    problem = log.problem
    if log.is_compact:
        moved, problem = np.unique(log.rows), log.compact().problem
        if not len(moved):
            return True
        if moved[-1] >= len(codes):
            return False
        X, codes = X[moved], codes[moved]
    labels = problem.labels
    own = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes
    rows, mine = sp.csr_array(X), sp.csr_array(problem.matrix())
    return np.array_equal(codes, own) and rows.shape == mine.shape and not (rows != mine).nnz


def _at_their_margins(model: Any, X: Any, codes: Any) -> bool:
    """Whether rows are as far from the planes as the machines say, where a model has such."""
    if not hasattr(model, "canonical_"):
        return True
    known, k = np.array(each_of(model.canonical_)), len(model.classes_)
    if known.shape[1] != len(codes):
        return False
    scheme = "binary" if k == 2 else {"ovo": "pairs", "crammer-singer": "argmax"}.get(model.multiclass, "rest")
    weights = np.column_stack([model.intercept_, model.coef_])
    margins, counted = margins_of(weights, Data(X, codes, k, scheme, 1.0))
    counted = counted & np.isfinite(known)
    apart = abs(np.where(counted, known - margins, 0.0)).max()
    return bool(apart <= MARGINS_CLOSE * (1.0 + abs(np.where(counted, known, 0.0)).max()))
