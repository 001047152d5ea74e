"""What `show` and model cards say about a model: its planes, its heaviest weights, its work, and how its files are read."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Array
from ..data.readers.kinds import describe_forms, form_from_json
from ..reporting.text import count, plural

if TYPE_CHECKING:
    from .model import Model

# Parameters that do not affect the learned weights.
HIDDEN_PARAMETERS = frozenset({"verbose", "warm_start", "log", "n_jobs"})


def plane_names(model: Model) -> list[Any]:
    """What a positive score of each plane favors: a class, or for a pair of classes the second one."""
    classes: list[Any] = model.classes.tolist()
    if model.coef is None:
        return []
    if model.pairs:
        return [f"{other} (not {one})" for one, other in itertools.combinations(classes, 2)]
    return classes[-1:] if len(model.coef) == 1 else classes  # a stream may have one class so far


def heaviest(model: Model, count: int) -> list[dict[str, Any]]:
    """The features with the largest weights of each plane, and the class that a positive weight favors."""
    if model.coef is None or count == 0:
        return []
    names, found = model.feature_names or range(model.n_features), []
    for head, weights in zip(plane_names(model), model.coef, strict=True):
        for j in np.argsort(-abs(weights), kind="stable")[:count].tolist():
            if weights[j] != 0.0:
                found.append({"class": head, "feature": str(names[j]), "weight": float(weights[j])})
    return found


def intercepts(model: Model) -> list[dict[str, Any]]:
    """The intercept of each plane, and the class that it favors if it is positive."""
    if model.intercept is None:
        return []
    named = zip(plane_names(model), model.intercept.tolist(), strict=True)
    return [{"class": head, "intercept": intercept} for head, intercept in named]


def shown_parameters(parameters: dict[str, Any]) -> str:
    """The parameters that are set, without those that do not affect the weights."""
    shown = {name: value for name, value in parameters.items() if value is not None and name not in HIDDEN_PARAMETERS}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def describe_scheme(parameters: Mapping[str, Any], pairs: bool, k: int) -> str:
    """Return what `multiclass="auto"` chose for k classes; nothing for two classes or if the scheme was set.

    >>> describe_scheme({"multiclass": "auto"}, True, 4), describe_scheme({"multiclass": "ovr"}, False, 4)
    ('multiclass=auto chose pairs of classes, which vote: 6 planes', '')
    >>> describe_scheme({"multiclass": "auto", "loss": "logistic", "penalty": "l2"}, False, 4)
    'multiclass=auto chose one problem for all classes: 4 planes'
    """
    if parameters.get("multiclass") != "auto" or k < 3:
        return ""
    if pairs:
        return f"multiclass=auto chose pairs of classes, which vote: {count(k * (k - 1) // 2)} planes"
    joint = parameters.get("loss") == "logistic" and parameters.get("penalty", "l2") == "l2"
    scheme = "one problem for all classes" if joint else "each class against the rest"
    return f"multiclass=auto chose {scheme}: {count(k)} planes"


def count_used(parameters: Mapping[str, Any], coef: Array | None) -> int | None:
    """Return the number of features with a weight other than zero after the L1 penalty; None for other models."""
    return None if parameters.get("penalty") != "l1" or coef is None else int(coef.any(axis=0).sum())


def describe_selection(used: int | None, features: int) -> str:
    """Return how many features the L1 penalty left.

    >>> describe_selection(12, 300), describe_selection(None, 300)
    ('12 of 300 features used', '')
    """
    return "" if used is None else f"{count(used)} of {plural(features, 'feature')} used"


def count_work(passes: int | None, updates: int | None) -> str:
    """Return the passes and updates of an online learner, or the iterations of a solver; nothing for a direct solver.

    >>> count_work(10, 2000), count_work(14, 0), count_work(1, None)
    ('10 passes, 2,000 updates', '14 iterations', '')
    """
    if passes is None:
        return ""
    if updates:
        return f"{plural(passes, 'pass', 'passes')}, {plural(updates, 'update')}"
    return plural(passes, "iteration") if passes > 1 else ""


def reading_options(reading: dict[str, Any]) -> tuple[str, list[str]]:
    """How files are read for a model, as options of the command line, and the forms of its columns in sentences.

    >>> reading_options({"label": "class", "missing": "auto", "zero_based": False})
    ('--label class --missing auto', [])
    """
    rest = {name: value for name, value in reading.items() if name != "forms" and value is not False}
    forms = {name: form_from_json(form) for name, form in reading.get("forms", {}).items()}
    return " ".join(_as_option(name, value) for name, value in rest.items()), describe_forms(forms)


def _as_option(name: str, value: object) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option} {shlex.quote(str(value))}"
