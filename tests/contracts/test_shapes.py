"""Fitted attributes have one type and one number of dimensions, whatever the number of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rosenblatt.catalog import ALGORITHMS

SCHEMES = ("joint", "ovr", "ovo", "crammer_singer")
SWITCHES: dict[str, Any] = {"certify": True, "inseparable": "soft", "random_state": 0}  # every attribute is there

# With two classes, the problem of Crammer and Singer is one binary problem: one multiplier per row instead of one per class.
EXCEPTIONS = {("soft-margin", "crammer_singer"): {"multipliers_"}}


def rows_of(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    y = np.arange(12 * k) % k
    return np.eye(3)[y] * 4.0 + rng.integers(-1, 2, (12 * k, 3)), y


def shape_of(value: object) -> object:
    """The type, and the number of dimensions of an array or the type of the entries of a list."""
    if isinstance(value, np.ndarray):
        return "ndarray", value.ndim, value.dtype
    if isinstance(value, list | tuple):
        return type(value).__name__, frozenset({shape_of(entry) for entry in value})
    return type(value).__name__


def fitted_shapes(model: Any) -> dict[str, object]:
    names = {*vars(model), *dir(type(model))}
    public = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    return {name: shape_of(getattr(model, name)) for name in public if hasattr(model, name)}


def cases() -> list[Any]:
    """Every algorithm under every scheme that it has."""
    found = []
    for name, algorithm in ALGORITHMS.items():
        for scheme in SCHEMES if "multiclass" in algorithm.options else ("",):
            model = algorithm.make(**({"multiclass": scheme} if scheme else {}))
            try:
                model._check_parameters()
            except ValueError:
                continue
            found.append(pytest.param(name, scheme, id=f"{name}-{scheme or 'only'}"))
    return found


@pytest.mark.once
@pytest.mark.parametrize(("name", "scheme"), cases())
def test_two_and_three_classes_have_the_same_attributes(name: str, scheme: str) -> None:
    algorithm = ALGORITHMS[name]
    parameters = {switch: value for switch, value in SWITCHES.items() if switch in algorithm.options}
    parameters |= {"multiclass": scheme} if scheme else {}
    two, three = (fitted_shapes(algorithm.make(**parameters).fit(*rows_of(k))) for k in (2, 3))
    assert set(two) == set(three)
    assert {attribute for attribute in two if two[attribute] != three[attribute]} == EXCEPTIONS.get((name, scheme), set())
    assert {"classes_", "n_features_in_", "n_iter_", "stop_"} <= set(two)
