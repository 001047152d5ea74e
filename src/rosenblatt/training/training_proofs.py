"""What is proved about the training rows: margin, separability and the bound of updates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array, Matrix
from ..certificates.statements import Inseparable
from ..data.table import Data
from .preparation import Prepared, as_matrix
from .request import Request

if TYPE_CHECKING:
    from ..certificates.statements import Certificate
    from ..estimators.base import LinearClassifier

# Without a request, a proof is tried for up to this many values and seconds.
QUICK_PROOF_VALUES, QUICK_PROOF_SECONDS = 1 << 20, 1.0


def training_margin(estimator: LinearClassifier, prepared: Prepared) -> float | None:
    """Return the geometric margin of the worst training row: negative if it is misclassified, None if it is undefined."""
    if "coef_" not in estimator.__dict__ or not np.any(estimator.coef_):
        return None
    if estimator._multiclass == "ovo" and len(prepared.classes) > 2:
        return None
    from ..proofs.margins import margin

    found = float(margin(estimator, prepared.X, prepared.y, space="geometric"))
    return found if math.isfinite(found) else None


def certify_training_rows(request: Request, prepared: Prepared, data: Data) -> Certificate | None:
    """Prove whether the training rows are separable, if `certify` is set in the request or the proof is quick.

    Rows of words are nearly always separable, and the proof takes several times the time of the fit: only a request makes it.
    The proof is about the rows before they were scaled, which rounds them: of three rows on a line, one may then lie beside it.
    """
    X = prepared.X
    values = X.nnz if hasattr(X, "nnz") else X.size
    small = values * max(1, len(prepared.classes) - 1) <= QUICK_PROOF_VALUES and not prepared.recipe.of_text
    if request.certify is False or (request.certify is None and not small):
        return None
    if prepared.rounded is not None:
        if request.certify:
            raise prepared.rounded
        return None
    from ..certificates.exact_arrays import canonical_label

    if request.certify is None and len({canonical_label(label) for label in prepared.classes.tolist()}) < len(prepared.classes):
        return None  # such as 01 and 1, which a certificate does not tell apart
    if prepared.recipe.scales:
        X = as_matrix(prepared.recipe.unscaled().rows(_training_rows(data, prepared)))
    certificate = certify_rows(request, X, prepared.y)
    if certificate.verdict == "undecided" and not request.certify:
        return None
    if isinstance(certificate, Inseparable) and prepared.positions is not None:
        # The proof numbers the training rows; readers look them up in the file.
        clash = tuple(pair._replace(row=int(prepared.positions[pair.row])) for pair in certificate.clash)
        return replace(certificate, clash=clash)
    return certificate


def _training_rows(data: Data, prepared: Prepared) -> Data:
    """The rows of a whole file that were not held out."""
    if prepared.positions is None:
        return data
    chosen = np.zeros(data.n_rows, bool)
    chosen[prepared.positions] = True
    return data.take(chosen)


def certify_rows(request: Request, X: Matrix, y: Array) -> Certificate:
    from ..proofs.certify import certify

    fit_intercept = bool(request.parameters.get("fit_intercept", True))
    return certify(X, y, fit_intercept=fit_intercept, time_limit=None if request.certify else QUICK_PROOF_SECONDS)


def update_bound(
    estimator: LinearClassifier, X: Matrix, y: Array, certificate: Certificate | None, margin: float | None
) -> float | None:
    """Return the largest possible number of updates of this run: an online perceptron from zero on separable rows.

    `margin` is that of the estimator on these rows, see `training_margin`. None if no bound is proved.
    """
    bounded = estimator._bounded_run()
    if bounded is None:
        return None
    from ..proofs.margins import bound_of_run

    return bound_of_run(
        X, y, certificate, estimator if margin is not None and margin > 0.0 else None, update_margin=bounded[0],
        step=bounded[1], fit_intercept=bool(estimator.fit_intercept), intercept_scaling=estimator._intercept_scaling,
    )  # fmt: skip
