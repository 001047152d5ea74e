"""The certificate in words, and what it says about this run: its updates against the mistake bound."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from ..certificates.statements import Separable, as_float
from ..kernels.linear.schemes import Rest
from .story import Story
from .svg import clean
from .text import count, percent, plural, short

BOUND = "R\N{SUPERSCRIPT TWO}/\N{GREEK SMALL LETTER GAMMA}\N{SUPERSCRIPT TWO}"
BADGES = {
    "separable": ("t2", "Proved: separable"),
    "inseparable": ("t1", "Proved: not separable"),
    "undecided": ("t7", "Undecided"),
}


def proof(story: Story) -> Iterator[str]:
    certificate = story.certificate
    if certificate is None:
        return
    tone, badge = BADGES[certificate.verdict]
    yield f'<section class="card" id="certificate"><h2>What is proved</h2><p class="badge {tone}">{badge}</p>'
    for line in str(certificate).splitlines():
        text = " ".join(line.split()).replace("R^2/gamma^2", BOUND)
        yield f"<p>{clean(text[:1].upper() + text[1:])}</p>"
    bound = bound_of_run(story)
    if bound is not None:
        made = story.estimator.n_updates_
        share = made / bound
        yield f'<div class="meter" aria-hidden="true"><i style="width:{min(100.0, 100.0 * share):.2f}%"></i></div>'
        yield f"<p>{clean(sentence(made, bound))}</p>"
    yield "</section>"


def sentence(made: int, bound: float) -> str:
    """
    >>> sentence(51, 1024.0)
    'This run made 51 updates, 5.0 % of the 1,024 that the bound allows.'
    """
    most = count(np.floor(bound)) if bound < 1e9 else short(bound)
    return f"This run made {plural(made, 'update')}, {percent(made / bound)} of the {most} that the bound allows."


def bound_of_run(story: Story) -> float | None:
    """(R^2 + 2b/rho)/gamma^2, where it is about this run: a perceptron from zero, online, constant steps, unweighted rows.

    With more than two classes b/rho stands for 2b/rho; see proofs/margins.py.
    """
    certificate, model = story.certificate, story.estimator
    if not isinstance(certificate, Separable) or type(model).__name__ != "Perceptron":
        return None
    log: Any = getattr(model, "log_", None)
    plain = (
        model.update == "online"
        and isinstance(model.step, Real)
        and isinstance(model.margin, Real)
        and isinstance(model.init, str)
        and model.init == "zeros"
        and model.class_weight is None
        and not model.warm_start
        and model.intercept_scaling == 1.0
        and bool(model.fit_intercept) == certificate.about.intercept
        and (model.multiclass == "joint" or len(model.classes_) == 2)
    )
    if not plain:
        return None
    if log is not None and (log._problem.labels.weights.size or isinstance(log._problem.labels, Rest) or log._start.w.any()):
        return None
    share = Fraction(float(model.margin)) / Fraction(float(model.step)) * (2 if len(model.classes_) == 2 else 1)
    bound = as_float((certificate.radius_squared + share) / certificate.augmented.lower_squared)
    return bound if bound < np.inf else None
