"""Estimators of several labels a row in a model file: the parts of each label's binary model, side by side.

The metadata are `object` "labels", `kind` and `parameters` as those of a model, `labels` (the names of the columns, or their
number), `sparse` (whether the indicator matrix of the fit was), `width` and `names` (the features), `heads` (for each label the
metadata of its binary estimator, or true or false for a label that all rows had, or none) and `provenance`. The arrays of
label j are named `head.j.*`. docs/model-files.md describes the format.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Array, MatrixLike
from ..catalog import ESTIMATORS
from .attributes import check_estimator_parameters
from .container import Arrays, Meta, Parts
from .model import Model
from .provenance import provenance_now, provenance_of_data
from .state import as_python, estimator_of, model_of
from .strict_json import require
from .values import decode, encode

if TYPE_CHECKING:
    from ..estimators.base import LinearClassifier

KEYS = {"object", "kind", "parameters", "labels", "sparse", "width", "names", "heads", "provenance"}


def labels_to_parts(
    estimator: LinearClassifier, data: tuple[MatrixLike, Any] | None, to_parts: Callable[[Model, Any], Parts]
) -> Parts:
    """Return the metadata and the arrays of a fitted estimator's file; `data` are its training data, if known."""
    from ..estimators.label_attributes import ConstantLabel

    check_estimator_parameters(estimator)
    arrays: Arrays = {}
    heads: list[Any] = []
    for j, head in enumerate(estimator.estimators_):
        if isinstance(head, ConstantLabel):
            heads.append(head.value)
            continue
        unnamed = copy.copy(head)
        unnamed.__dict__.pop("feature_names_in_", None)  # the names are stored once
        meta, own = to_parts(model_of(unnamed), "estimator")
        arrays.update({f"head.{j}.{name}": array for name, array in own.items()})
        heads.append(meta | {"provenance": {}})
    given, names = estimator.classes_, vars(estimator).get("feature_names_in_")
    parameters = as_python(estimator.get_params(deep=False))
    return {
        "object": "labels",
        "kind": type(estimator).__name__,
        "parameters": {name: encode(value, f"parameters.{name}", arrays) for name, value in parameters.items()},
        "labels": given.tolist() if given.dtype.kind == "U" else len(given),
        "sparse": bool(estimator._sparse_labels),
        "width": int(estimator.n_features_in_),
        "names": None if names is None else [str(name) for name in names],
        "heads": heads,
        "provenance": provenance_now() | ({} if data is None else _provenance_of(*data)),
    }, arrays


def _provenance_of(X: MatrixLike, Y: Any) -> Meta:
    """The size and digest of rows whose label is the text of their indicators, such as 0110."""
    from ..data.indicators import read_indicator

    labels = read_indicator(Y)
    columns = np.stack([labels.column(j) for j in range(len(labels))], axis=1)
    return provenance_of_data(X, ["".join(map(str, row)) for row in columns.tolist()])


def labels_from_parts(meta: Meta, arrays: Arrays, from_parts: Callable[[Meta, Arrays], Model]) -> LinearClassifier:
    """Check every part of a file and return the estimator."""
    require(set(meta) == KEYS and isinstance(meta["provenance"], dict), "the metadata have missing or unknown keys")
    require(meta["kind"] in ESTIMATORS and isinstance(meta["parameters"], dict), "unknown kind of model")
    names, heads, width = _labels(meta["labels"]), meta["heads"], meta["width"]
    require(type(meta["sparse"]) is bool and type(width) is int and 0 < width < 1 << 31, "the metadata of labels are invalid")
    require(isinstance(heads, list) and len(heads) == len(names), "the number of models differs from the number of labels")
    require(any(isinstance(head, dict) for head in heads), "no label has a model")
    groups: list[Arrays] = [{} for _ in heads]
    own: Arrays = {}
    for name, array in arrays.items():
        group, _, rest = name.partition(".")
        place, _, part = rest.partition(".")
        if group == "parameters":
            own[name] = array
            continue
        known = group == "head" and place.isascii() and place.isdigit() and str(int(place)) == place and int(place) < len(heads)
        require(known, f"unknown array {name}")
        groups[int(place)][part] = array
    kind = ESTIMATORS[meta["kind"]].load(meta["kind"])
    parameters = {name: decode(value, own) for name, value in meta["parameters"].items()}
    unknown = sorted(set(parameters) - set(kind._get_param_names()))
    require(not unknown and not own, "the file has unknown parameters, or arrays of parameters that none refers to")
    estimator = kind(**parameters)
    check_estimator_parameters(estimator)
    estimator.n_features_in_ = width
    _set_names(estimator, meta["names"], width)
    return _assembled(
        estimator, [_head(*each, meta, from_parts) for each in zip(heads, groups, strict=True)], names, meta["sparse"]
    )


def _labels(given: Any) -> Array:
    """The names of the labels."""
    if type(given) is int and 0 < given < 1 << 31:
        return np.arange(given)
    text = isinstance(given, list) and len(given) > 0 and all(isinstance(name, str) for name in given)
    require(text and len(set(given)) == len(given), "the names of the labels are invalid")
    return np.array(given)


def _set_names(estimator: Any, names: Any, width: int) -> None:
    if names is None:
        return
    text = isinstance(names, list) and len(names) == width and all(isinstance(name, str) for name in names)
    require(text, "the names of the features are invalid")
    estimator.feature_names_in_ = np.array(names, object)


def _head(given: Any, arrays: Arrays, meta: Meta, from_parts: Callable[[Meta, Arrays], Model]) -> Any:
    """The fitted estimator of a label, or a constant."""
    from ..estimators.label_attributes import ConstantLabel

    if type(given) is bool:
        require(not arrays, "a label that is constant has arrays")
        return ConstantLabel(given, meta["width"])
    require(isinstance(given, dict) and given.get("object") == "estimator", "the model of a label is invalid")
    model = from_parts(given, arrays)
    require(model.kind == meta["kind"] and model.classes.tolist() == [0, 1], "the model of a label is of another kind")
    require(model.n_features == meta["width"] and model.names is None, "the model of a label has other features")
    head = estimator_of(model)
    head._is_label = True
    return head


def _assembled(estimator: LinearClassifier, heads: list[Any], names: Array, sparse: bool) -> LinearClassifier:
    from ..data.indicators import Indicator

    estimator._set_labels(heads, Indicator(names, sparse, None))
    return estimator
