"""The section of a report about the certificate: the proof, and the updates of the run against the mistake bound."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ..certificates.exact_numbers import as_float
from ..certificates.statements import Separable
from ..kernels.linear.schemes import Rest
from .story import Story
from .svg_elements import escape_text
from .text import count, percent, short

BOUND = "R\N{SUPERSCRIPT TWO}/\N{GREEK SMALL LETTER GAMMA}\N{SUPERSCRIPT TWO}"
# Bounds up to this one are printed to the last digit.
MAX_EXACT_BOUND = 1e9
BADGES = {
    "separable": ("t2", "Proved: separable"),
    "inseparable": ("t1", "Proved: not separable"),
    "undecided": ("t7", "Undecided"),
}


def proof_section(story: Story) -> Iterator[str]:
    """Yield the HTML of the section; nothing without a certificate."""
    certificate = story.certificate
    if certificate is None:
        return
    tone, badge = BADGES[certificate.verdict]
    yield f'<section class="card" id="certificate"><h2>Proof</h2><p class="badge {tone}">{badge}</p>'
    for line in str(certificate).splitlines():
        text = " ".join(line.split()).replace("R^2/gamma^2", BOUND)
        yield f"<p>{escape_text(text[:1].upper() + text[1:])}</p>"
    bound = run_bound(story)
    if bound is not None:
        made = story.estimator.n_updates_
        share = made / bound
        yield f'<div class="meter" aria-hidden="true"><i style="width:{min(100.0, 100.0 * share):.2f}%"></i></div>'
        yield f"<p>{escape_text(bound_sentence(made, bound))}</p>"
    yield "</section>"


def bound_sentence(made: int, bound: float) -> str:
    """Compare the updates of a run with the bound.

    >>> bound_sentence(51, 1024.0)
    'At most 1,024 updates are possible; this run made 51 (5.0 %).'
    """
    possible = count(np.floor(bound)) if bound < MAX_EXACT_BOUND else short(bound)
    return f"At most {possible} updates are possible; this run made {count(made)} ({percent(made / bound)})."


def run_bound(story: Story) -> float | None:
    """Return (R^2 + 2b/rho)/gamma^2 if it applies to this run: an online perceptron from zero, constant steps, no row weights.

    With more than two classes the term is b/rho instead of 2b/rho; see `proofs/margins.py`. None if it does not apply.
    """
    certificate, model = story.certificate, story.estimator
    bounded, log = model._bounded_run(), model._update_log
    if not isinstance(certificate, Separable) or bounded is None:
        return None
    if model.intercept_scaling != 1.0 or bool(model.fit_intercept) != certificate.about.intercept:
        return None
    labels = None if log is None else log.record.problem.labels
    if labels is not None and (labels.weights.size or isinstance(labels, Rest) or log.record.start.w.any()):
        return None
    margin, step = bounded
    share = Fraction(margin) / Fraction(step) * (2 if len(model.classes_) == 2 else 1)
    bound = as_float((certificate.radius_squared + share) / certificate.augmented.lower_squared)
    return bound if bound < np.inf else None
