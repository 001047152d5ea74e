"""Proofs for the page: whether the points of a request are separable, and the convergence proof along a perceptron's run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..certificates.statements import Certificate, Inseparable, Separable
from ..estimators.base import LinearClassifier
from ..kernels.linear.schemes import Rest
from ..online.training_rows import MissingRowsError
from ..proofs.certify import certify
from ..proofs.convergence import Convergence, convergence
from .arrays import finite, pack
from .fitting import fit_request
from .run_request import RunRequest, parse_request
from .texts import clash_sentence, convergence_sentence, separability_sentence

TIME_LIMIT_S = 1.5

_EMPTY: dict[str, Any] = {
    "verdict": "undecided", "sentence": "", "margin": None, "geometric": None, "radius": None, "bound": None,
    "plane": None, "clash": None, "convergence": None,
}  # fmt: skip


def prove(request: object) -> dict[str, Any]:
    """Answer a request of the page for a proof; raise `RequestError` if the request is not valid."""
    return proof_of(parse_request(request))


def proof_of(request: RunRequest, model: LinearClassifier | None = None) -> dict[str, Any]:
    """Certify the points of a request and, for a perceptron, check the convergence proof along its run.

    Parameters
    ----------
    request : RunRequest
        Points, features and algorithm.
    model : LinearClassifier, default=None
        The fitted model whose run is checked; by default the request is fitted.
    """
    if model is None and request.choice.estimator._has_convergence:
        model = fit_request(request).model
    try:
        certificate = certify(
            request.rows, request.labels, fit_intercept=request.knobs.get("fit_intercept", True), time_limit=TIME_LIMIT_S
        )
    except ValueError as error:
        return {**_EMPTY, "sentence": f"Undecided: {error}"}
    found = _EMPTY | {"verdict": certificate.verdict, "sentence": separability_sentence(certificate, request.features)}
    found |= _details(certificate, request)
    return found | {"convergence": _convergence(model, certificate) if model is not None and model._has_convergence else None}


def _details(certificate: Certificate, request: RunRequest) -> dict[str, Any]:
    if isinstance(certificate, Separable):
        return {
            "margin": finite(certificate.augmented.lower),
            "geometric": finite(certificate.geometric.lower),
            "radius": finite(certificate.radius),
            "bound": finite(certificate.mistake_bound.upper),
            "plane": _unit_plane(certificate),
        }
    return {"clash": _clash(certificate, request)} if isinstance(certificate, Inseparable) else {}


def _unit_plane(certificate: Separable) -> list[list[float]] | None:
    """Return the weights of the widest augmented margin, weight 0 first, scaled to length 1 over all heads."""
    columns = certificate.about.n_columns
    planes = np.array([[float(each.intercept), *each.coef(columns)] for each in certificate.augmented.planes])
    largest = abs(planes).max()
    if not 0.0 < largest < math.inf:
        return None
    planes /= largest
    unit: list[list[float]] = (planes / np.linalg.norm(planes)).tolist()
    return unit


def _clash(certificate: Inseparable, request: RunRequest) -> dict[str, Any]:
    weights = dict.fromkeys(certificate.rows, 0.0)
    for pair in certificate.clash:
        weights[pair.row] += float(pair.weight)
    sentence = clash_sentence(certificate, request.features)
    return {"rows": list(weights), "weights": list(weights.values()), "sentence": sentence}


def _convergence(model: LinearClassifier, certificate: Certificate) -> dict[str, Any] | None:
    """Return both sides of the proof's inequalities along the run.

    None for one-vs-rest, which is several runs, and without a log that has kept all rows.
    """
    log = model._update_log
    if log is None or isinstance(log._record.labels, Rest):
        return None
    try:
        log = log._whole()
    except MissingRowsError:
        return None
    try:
        return _inequalities(
            convergence(log, model.classes_, model._required_margin, certificate, model._constant_step), certificate
        )
    except ArithmeticError:  # both sides of an inequality may be too large for floats
        return None


def _inequalities(convergence: Convergence, certificate: Certificate) -> dict[str, Any]:
    bound, alignments, alignment_bound = convergence.mistake_bound, convergence.alignments, convergence.alignment_bound
    return {
        "norms": pack(convergence.norms_squared, "f64"),
        "norm_bound": pack(convergence.norm_bound, "f64"),
        "alignments": None if alignments is None else pack(alignments, "f64"),
        "alignment_bound": None if alignment_bound is None else pack(alignment_bound, "f64"),
        "mistakes": convergence.mistakes,
        "mistake_bound": None if bound is None else finite(bound.upper),
        "holds": convergence.holds,
        "sentence": convergence_sentence(convergence, certificate),
    }
