"""Weights of rows, from `sample_weight` and `class_weight`."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..reporting.text import quoted_list, short
from ..validation import ParameterError, ParameterTypeError, check_choice

if TYPE_CHECKING:
    import numpy.typing as npt

ClassWeight: TypeAlias = Literal["balanced"] | Mapping[Any, float] | None


def row_weights(
    sample_weight: npt.ArrayLike | None,
    class_weight: ClassWeight,
    X: Matrix,
    codes: IntArray,
    classes: Array,
    *,
    allow_all_zero: bool = False,
) -> FloatArray | None:
    """Return one weight >= 0 per row, or None if every row has weight 1."""
    if sample_weight is None and class_weight is None:
        return None
    weights: FloatArray = np.ones(len(codes))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, allow_all_zero_weights=True)
        if (weights < 0).any():
            raise ValueError(f"sample_weight must not be negative, got {short(weights.min(), 6)}")
    if class_weight is not None:
        weights = weights * _class_weights_of_rows(class_weight, codes, classes, sample_weight)[codes]
    if not allow_all_zero and not weights.any():
        raise ValueError("sample_weight and class_weight give every row zero weight: there is nothing to learn from")
    return weights


def check_every_class_has_weight(weights: FloatArray | None, codes: IntArray, classes: Array) -> None:
    """Raise an error if all rows of a class have weight 0, for solvers that need rows of every class."""
    if weights is not None and len(present := np.unique(codes[weights > 0])) < len(classes):
        absent = classes[np.setdiff1d(np.arange(len(classes)), present)].tolist()
        raise ValueError(f"every row of class {absent[0]!r} has weight 0: it cannot be separated from the others")


def weights_of_classes(class_weight: ClassWeight, classes: Array, counts: IntArray | FloatArray) -> FloatArray:
    """Return the weight of each class from its number of rows, or from the sum of their weights, as `row_weights` does."""
    given = _checked_class_weight(class_weight)
    check_weighted_classes(class_weight, classes)
    if isinstance(given, str):
        weights: FloatArray = compute_class_weight(given, classes=classes, y=classes, sample_weight=counts.astype(np.float64))
        return weights
    return _given_class_weights(given, classes)


def check_weighted_classes(class_weight: ClassWeight, classes: Array) -> None:
    """Raise an error if a weight is for a class that does not occur while a class that occurs has none, as scikit-learn does.

    Weights for all classes and more are accepted: a part of the rows, as in cross-validation, may lack a class.
    """
    if not isinstance(class_weight, dict):
        return
    labels = dict.fromkeys(classes.tolist())
    unknown = [each for each in class_weight if each not in labels]
    unweighted = [each for each in labels if each not in class_weight]
    if unknown and unweighted:
        raise ValueError(
            f"class_weight has a weight for {unknown[0]!r}, which is not a class, and none for class {unweighted[0]!r}: "
            f"correct it (classes: {quoted_list([str(label) for label in labels])})"
        )


def check_class_weight(class_weight: ClassWeight) -> None:
    """Raise an error unless the weights are None, "balanced" or a dict of numbers."""
    if class_weight is not None and isinstance(given := _checked_class_weight(class_weight), dict):
        _weights_of_labels(given, list(given))


def _checked_class_weight(class_weight: ClassWeight) -> Literal["balanced"] | dict[Any, float]:
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced",), "a dict of class to weight", "None")
    elif not isinstance(class_weight, dict):
        raise ParameterTypeError("class_weight", "None, 'balanced' or a dict of class to weight", class_weight)
    return class_weight


def _class_weights_of_rows(
    class_weight: ClassWeight, codes: IntArray, classes: Array, sample_weight: npt.ArrayLike | None
) -> FloatArray:
    given = _checked_class_weight(class_weight)
    if isinstance(given, str):
        present, each = np.unique(codes), np.ones(len(classes))
        each[present] = compute_class_weight(given, classes=classes[present], y=classes[codes], sample_weight=sample_weight)
        return each
    return _given_class_weights(given, classes)


def _given_class_weights(class_weight: Mapping[Any, float], classes: Array) -> FloatArray:
    return _weights_of_labels(class_weight, classes.tolist())


def _weights_of_labels(class_weight: Mapping[Any, float], labels: list[Any]) -> FloatArray:
    given = [class_weight.get(label, 1.0) for label in labels]
    if not all(isinstance(weight, Real) for weight in given):
        raise TypeError(f"class_weight must map classes to numbers, got {class_weight!r}")
    each = np.array(given, np.float64)
    if not (np.isfinite(each).all() and (each >= 0).all()):
        raise ParameterError("class_weight", "finite and not negative", class_weight)
    return each
