"""Checks of what a loaded estimator has: its parameters, and the fitted attributes that its catalog entry names.

The parameters pass the estimator's own checks. Fitted attributes have the types and shapes that a fit gives them, so that
whatever loads can be shown and saved again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np

from ..catalog import command_line_options
from ..safe_text import brief_repr
from ..validation import check_integer, check_number
from .model import Model
from .strict_json import require
from .values import Unsaved

# The largest name of a solver or of an algorithm's variant.
MAX_WORD_CHARS = 100


# --- parameters ------------------------------------------------------------------------------------------------------------


def check_estimator_parameters(estimator: Any) -> None:
    """Raise `ValueError` or `TypeError` unless the estimator can be fitted with its parameters."""
    from ..estimators.base import seed_of
    from ..estimators.row_weights import check_class_weight

    estimator._check_parameters()
    estimator._check_calibrate()
    if not isinstance(estimator._class_weight, Unsaved | None):
        check_class_weight(estimator._class_weight)
    random_state = getattr(estimator, "random_state", None)
    if not isinstance(random_state, Unsaved | np.random.RandomState | None):  # which would draw a number from a generator
        seed_of(random_state)
    init = getattr(estimator, "init", "zeros")
    if not isinstance(init, str | Unsaved):
        weights = np.asarray(init)
        fits = weights.dtype.kind in "biuf" and weights.ndim in (1, 2) and weights.size > 0
        require(fits and np.isfinite(weights).all(), "the parameter init is not an array of numbers")


def check_init_shape(estimator: Any, n_classes: int, n_features: int) -> None:
    """Raise unless the next `fit` on such rows could start from the parameter init, as the last one did."""
    init = getattr(estimator, "init", "zeros")
    if isinstance(init, str | Unsaved):
        return
    heads, shape = n_classes if n_classes > 2 else 1, np.shape(init)
    full = (1, *shape) if len(shape) == 1 else shape
    fits = full == (heads, n_features) or (full == (heads, n_features + 1) and bool(estimator.fit_intercept))
    require(fits, f"the parameter init has shape {shape}, which does not fit {n_classes} classes and {n_features} features")


def check_model_parameters(parameters: dict[str, Any]) -> None:
    """Check the parameters of a `Model` by the options of the command line, without importing the estimator.

    Prediction does not use them. `Model.estimator` makes the estimator's own checks.
    """
    options = command_line_options()
    for name, value in parameters.items():
        option = options.get(name)
        require(name.isidentifier() and len(name) <= MAX_WORD_CHARS, f"{name!r:.40} is not the name of a parameter")
        if option is None or value is None or isinstance(value, Unsaved):
            continue
        if isinstance(value, str):
            require(value in option.words, f"{name} must not be {value!r:.40}")
        elif option.kind == "int":
            check_integer(name, abs(value) if name == "n_jobs" and type(value) is int else value)
        elif option.kind == "float":
            check_number(name, value, or_equal=True, maximum=float("inf"))
        elif option.kind == "flag":
            require(type(value) is bool or value in (0, 1), f"{name} must be true or false")
        else:
            require(name in ("init", "class_weight"), f"{name} must be text, got {brief_repr(value, 40)}")


# --- fitted attributes -----------------------------------------------------------------------------------------------------


class _Sizes(NamedTuple):
    """What the shapes of fitted attributes depend on."""

    classes: int
    problems: int  # binary problems of a support vector machine; 1 if all classes are solved jointly


def check_attributes(model: Model, attributes: dict[str, Any]) -> None:
    """Raise `InvalidContentError` unless all attributes of the model's estimator are present and as a fit leaves them."""
    classes = len(model.classes)
    joint = attributes.get("_scheme") in ("crammer_singer", "multinomial") and classes > 2
    sizes = _Sizes(classes, 1 if joint or model.coef is None else len(model.coef))
    logistic = model.kind == "SoftMargin" and model.parameters.get("loss") == "logistic"
    for name in _REQUIRED.get(model.kind, ()):
        left_out = logistic and name in ("support_", "multipliers_")
        require(left_out or name in attributes, f"the fitted attribute {name} is missing")
    for name, value in attributes.items():
        valid = _CHECKS.get("solvers" if name == "solver_" and model.kind != "LinearMSE" else name)
        require(valid is None or valid(value, sizes), f"the fitted attribute {name} has the wrong type or shape")
    if "support_" in attributes:
        pairs = list(zip(attributes["support_"], attributes["multipliers_"], strict=True))
        require(all(len(one) == len(other) for one, other in pairs), "support and multipliers have different lengths")


def _is_amount(value: Any, sizes: _Sizes) -> bool:
    return type(value) in (int, float) and 0 <= value < np.inf


def _is_count(value: Any, sizes: _Sizes) -> bool:
    return type(value) is int and value >= 0


def _is_word(value: Any, sizes: _Sizes) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_WORD_CHARS and value.isprintable()


def _is_scheme(value: Any, sizes: _Sizes) -> bool:
    from ..estimators.soft_margin_parameters import Multiclass

    return value in get_args(Multiclass) and value != "auto"


def _are_words(value: Any, sizes: _Sizes) -> bool:
    return type(value) is list and len(value) == sizes.problems and all(_is_word(each, sizes) for each in value)


def _are_indices(value: Any, sizes: _Sizes) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.ndim == 1 and bool((value >= 0).all())


def _are_errors(value: Any, sizes: _Sizes) -> bool:
    """Errors of pockets; those of a weighted run are floats."""
    fits = isinstance(value, np.ndarray) and value.dtype.kind in "if" and value.shape in ((1,), (sizes.classes,))
    return fits and bool((value >= 0).all())


def _are_shares(value: Any, sizes: _Sizes) -> bool:
    """Errors on held-out rows after each pass: of one run, or one for each class."""
    return type(value) is list and len(value) in (1, sizes.classes) and all(map(_is_shares, value))


def _is_shares(value: Any) -> bool:
    fits = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1 and len(value) > 0
    return fits and bool(((value >= 0) & (value <= 1)).all())


def _are_numbers(value: Any, sizes: _Sizes) -> bool:
    """One number for each binary problem."""
    fits = isinstance(value, np.ndarray) and value.dtype.kind in "fi" and value.shape == (sizes.problems,)
    return fits and not np.isnan(value).any()


def _are_amounts(value: Any, sizes: _Sizes) -> bool:
    return _are_numbers(value, sizes) and bool((value >= 0).all())


def _are_supports(value: Any, sizes: _Sizes) -> bool:
    return type(value) is list and len(value) == sizes.problems and all(_are_indices(each, sizes) for each in value)


def _are_multipliers(value: Any, sizes: _Sizes) -> bool:
    return type(value) is list and len(value) == sizes.problems and all(_is_multiplier(each, sizes) for each in value)


def _is_multiplier(value: Any, sizes: _Sizes) -> bool:
    fits = isinstance(value, np.ndarray) and value.dtype == np.float64 and not np.isnan(value).any()
    return fits and ((value.ndim == 1 and bool((value >= 0).all())) or (value.ndim == 2 and value.shape[1] == sizes.classes))


def _are_certificates(value: Any, sizes: _Sizes) -> bool:
    listed = type(value) is list and len(value) in (1, sizes.classes)
    return listed and all(each is None or is_certificate(each) for each in value)


def _are_absent(value: Any, sizes: _Sizes) -> bool:
    """Proofs, which a file does not hold."""
    return type(value) is list and len(value) == sizes.problems and all(each is None for each in value)


def is_certificate(value: Any) -> bool:
    return type(value).__module__ == "rosenblatt.certificates.statements"


_CHECKS: dict[str, Callable[[Any, _Sizes], bool]] = {
    "mse_": _is_amount, "loss_": _is_amount, "gradient_norm_": _is_amount, "_auto": _is_amount, "_margin_used": _is_amount,
    "rank_": _is_count, "solver_": _is_word, "solvers": _are_words, "_scheme": _is_scheme, "saturated_": _are_indices,
    "pocket_errors_": _are_errors, "margin_": _are_amounts, "gap_": _are_numbers, "dual_gap_": _are_numbers,
    "objective_": _are_amounts, "support_": _are_supports, "multipliers_": _are_multipliers,
    "certificate_": _are_certificates, "proof_": _are_absent, "validation_errors_": _are_shares,
}  # fmt: skip
_REQUIRED = {
    "LinearMSE": ("mse_", "rank_", "solver_"),
    "NonlinearMSE": ("loss_", "gradient_norm_", "saturated_"),
    "MaxMargin": ("support_", "multipliers_", "margin_", "gap_", "solver_"),
    "SoftMargin": ("support_", "multipliers_", "margin_", "gap_", "dual_gap_", "objective_", "solver_", "_scheme"),
}
