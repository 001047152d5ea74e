"""Row weights from `sample_weight` and `class_weight`."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from ..validation import one_of


def row_weights(sample_weight: Any, class_weight: Any, X: Any, codes: Any, classes: Any, *, some: bool = True) -> Any:
    """One weight >= 0 per row, or None where every row weighs 1; `some`: refuse weights that are all zero."""
    if sample_weight is None and class_weight is None:
        return None
    weights = np.ones(len(codes))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, allow_all_zero_weights=True)
        if (weights < 0).any():
            raise ValueError(f"sample_weight must not be negative, got {weights.min():g}")
    if class_weight is not None:
        weights = weights * _of_class(class_weight, codes, classes, sample_weight)[codes]
    if some and not weights.any():
        raise ValueError("sample_weight and class_weight leave every row with weight zero: there is nothing to learn from")
    return weights


def check_every_class_weighs(weights: Any, codes: Any, classes: Any) -> None:
    """For solvers that need rows of all classes."""
    if weights is not None and len(present := np.unique(codes[weights > 0])) < len(classes):
        absent = classes[np.setdiff1d(np.arange(len(classes)), present)].tolist()
        raise ValueError(f"no row of class {absent[0]!r} has a weight over 0: there is nothing to tell from the others")


def weights_of_classes(class_weight: Any, classes: Any, counts: Any) -> Any:
    """The weight of each class, from how many rows it has; as bits, what `row_weights` gives its rows."""
    if _is_balanced(class_weight):
        return compute_class_weight(class_weight, classes=classes, y=classes, sample_weight=counts.astype(np.float64))
    return _given(class_weight, classes)


def _is_balanced(class_weight: Any) -> bool:
    if isinstance(class_weight, str):
        one_of("class_weight", class_weight, ("balanced",), "None or a dict of class to weight")
    elif not isinstance(class_weight, dict):
        raise TypeError(f"class_weight must be None, 'balanced' or a dict of class to weight, got {class_weight!r}")
    return isinstance(class_weight, str)


def _of_class(class_weight: Any, codes: Any, classes: Any, sample_weight: Any) -> Any:
    if _is_balanced(class_weight):
        present, each = np.unique(codes), np.ones(len(classes))
        each[present] = compute_class_weight(
            class_weight, classes=classes[present], y=classes[codes], sample_weight=sample_weight
        )
        return each
    return _given(class_weight, classes)


def _given(class_weight: Any, classes: Any) -> Any:
    given = [class_weight.get(label, 1.0) for label in classes.tolist()]
    if not all(isinstance(weight, Real) for weight in given):
        raise TypeError(f"class_weight must map classes to numbers, got {class_weight!r}")
    each = np.array(given, np.float64)
    if not (np.isfinite(each).all() and (each >= 0).all()):
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}")
    return each
