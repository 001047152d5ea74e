"""What is proved about the points of a request, and about the perceptron's run on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..certificates.statements import Certificate, Inseparable, Separable, Undecided, clash_in_words
from ..kernels.linear.schemes import Rest
from ..proofs.certify import certify
from ..proofs.convergence import Convergence, convergence
from .arrays import finite, packed
from .code import in_points
from .fitting import fitted
from .request import Asked, asked

# Seconds that a proof is looked for.
PATIENCE = 1.5


def prove(request: Any) -> dict[str, Any]:
    """Whether planes separate the points of a request; a `RequestError` where it cannot be carried out."""
    return proof_of(asked(request))


def proof_of(wanted: Asked, model: Any = None) -> dict[str, Any]:
    """model : the one whose run it is about; None: the request's own."""
    if model is None and wanted.choice.name == "Perceptron":
        model = fitted(wanted).model
    try:
        certificate = certify(wanted.rows, wanted.labels, _intercept(wanted), PATIENCE)
    except ValueError as error:
        return {**_NOTHING, "sentence": f"undecided: {error}"}
    told = _NOTHING | {"verdict": certificate.verdict, "sentence": _sentence(certificate)} | _details(certificate)
    return told | {"convergence": _converged(model, certificate) if wanted.choice.name == "Perceptron" else None}


_NOTHING: dict[str, Any] = {
    "verdict": "undecided", "sentence": "", "margin": None, "geometric": None, "radius": None, "bound": None,
    "plane": None, "clash": None, "convergence": None,
}  # fmt: skip


def _intercept(wanted: Asked) -> bool:
    return bool(wanted.knobs.get("fit_intercept", True))


def _sentence(certificate: Certificate) -> str:
    if isinstance(certificate, Separable):
        return f"separable, margin {certificate.geometric.lower:.3g}"
    if isinstance(certificate, Inseparable):
        return f"not separable: {in_points(clash_in_words(certificate))}"
    return str(certificate)


def _details(certificate: Certificate) -> dict[str, Any]:
    if isinstance(certificate, Separable):
        return {
            "margin": finite(certificate.augmented.lower),
            "geometric": finite(certificate.geometric.lower),
            "radius": finite(certificate.radius),
            "bound": finite(certificate.mistake_bound.upper),
            "plane": _plane(certificate),
        }
    return {"clash": _clash(certificate)} if isinstance(certificate, Inseparable) else {}


def _plane(certificate: Separable) -> list[list[float]] | None:
    """The weights of the widest augmented margin, weight 0 first, of length 1 all together."""
    columns = certificate.about.n_columns
    planes = np.array([[float(each.intercept), *each.coef(columns)] for each in certificate.augmented.planes])
    largest = abs(planes).max()
    if not 0.0 < largest < math.inf:
        return None
    planes /= largest
    unit: list[list[float]] = (planes / np.linalg.norm(planes)).tolist()
    return unit


def _clash(certificate: Inseparable) -> dict[str, Any]:
    weights = dict.fromkeys(certificate.rows, 0.0)
    for pair in certificate.clash:
        weights[pair.row] += float(pair.weight)
    return {"rows": list(weights), "weights": list(weights.values()), "sentence": in_points(clash_in_words(certificate))}


def _converged(model: Any, certificate: Certificate) -> dict[str, Any] | None:
    """The inequalities of the convergence proof along the run; None for one-vs-rest, which is several runs, and where no log
    with all rows was kept."""
    if model.log_ is None or model.log_.is_compact or isinstance(model.log_._problem.labels, Rest):
        return None
    try:
        return _along(convergence(model.log_, model.classes_, model._margin_used, certificate), certificate)
    except ArithmeticError:  # both sides of an inequality may be too large for floats
        return None


def _along(found: Convergence, certificate: Certificate) -> dict[str, Any]:
    bound = found.mistake_bound
    aligned = found.alignments is not None
    return {
        "norms": packed(found.norms_squared, "f64"),
        "norm_bound": packed(found.norm_bound, "f64"),
        "alignments": packed(found.alignments, "f64") if aligned else None,
        "alignment_bound": packed(found.alignment_bound, "f64") if aligned else None,
        "mistakes": found.mistakes,
        "mistake_bound": None if bound is None else finite(bound.upper),
        "holds": found.holds,
        "sentence": _told(found, certificate),
    }


def _told(found: Convergence, certificate: Certificate) -> str:
    text = str(found)
    if isinstance(certificate, Undecided):  # which is not the same as inseparable
        text = text.replace("No u separates the rows", "No u is known that separates the rows")
    return text
