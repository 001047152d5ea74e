"""`save` and `load`: `load` returns the object that `save` was given.

`to_parts` turns a `Model` into metadata and arrays; `from_parts` checks every part of a file before it makes a `Model` of it.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ..array_types import Array, MatrixLike
from ..atomic_file import write_atomically
from ..catalog import ESTIMATORS, application_hook, is_estimator
from ..certificates.digit_budget import shared_budget
from ..data.readers import MISSING_CHOICES
from ..data.readers.kinds import form_from_json
from ..online.stopping import Stop, StopReason
from ..probabilities.maps import INVALID_MAP, ProbabilityMap, map_of_arrays
from .attributes import check_model_parameters
from .card.record import record_from_json
from .container import FORMAT, Arrays, Meta, Parts, all_finite, pack, read
from .model import Model, RecipeLike
from .provenance import provenance_now, provenance_of_data
from .state import estimator_of, model_of
from .strict_json import InvalidContentError, require
from .values import check_label_width, decode, decode_classes, encode, encode_classes
from .votes import StoredVote, votes_from_parts, votes_to_parts

if TYPE_CHECKING:
    import numpy.typing as npt
    from sklearn.pipeline import Pipeline

    from ..estimators.base import LinearClassifier

__all__ = ["FORMAT", "load", "load_model", "save"]

STOP_NUMBERS = ("limit", "last_updates", "gap")  # attributes of a `Stop` that may be absent
_KEYS = {
    "object", "kind", "parameters", "classes", "pairs", "votes", "probabilities", "names", "recipe", "stop", "n_iter",
    "n_updates", "provenance", "more",
}  # fmt: skip
_STOP_REASONS: tuple[Any, ...] = get_args(StopReason)
# Groups of arrays, by the first part of their names; the state groups belong to the estimator.
_STATE_GROUPS = ("gaussian", "fitted", "run", "stream", "moments", "solutions")
_GROUPS = ("classes", "coef", "intercept", "vote", "probabilities", "parameters", "recipe", *_STATE_GROUPS)
# Multipliers of tiny rows may be infinite, as may the margin of w = 0; no prediction uses them.
_MAY_BE_INFINITE = ("fitted.multipliers_", "fitted.margin_")


@shared_budget()
def save(
    model: LinearClassifier | Pipeline | Model,
    path: str | os.PathLike[str],
    *,
    data: tuple[MatrixLike, npt.ArrayLike] | None = None,
) -> None:
    """Save a fitted estimator, a scikit-learn Pipeline of transformers and an estimator, or a `Model` to one safetensors file.

    The file holds numbers and text, no code and no training rows, except that a vote (`keep="vote"`) is made of the rows that
    moved the weights. A loaded estimator predicts the same bits and continues with `partial_fit` and `warm_start`; its `log_`
    is None. The file is written completely or not at all: an existing file is replaced after the new one is on disk.

    Parameters
    ----------
    model : LinearClassifier, sklearn.pipeline.Pipeline or Model
        A fitted Rosenblatt estimator, a fitted Pipeline of such an estimator and the transformers that docs/model-files.md
        lists, or a model.
    path : str or path-like
        The file to write.
    data : tuple (X, y), default=None
        The training data. If given, the file records the number of rows and columns and their SHA-256.

    Raises
    ------
    TypeError
        If `model` is neither a Rosenblatt estimator nor a Pipeline nor a `Model`, or if a step of a Pipeline cannot be stored.
    ValueError
        If the estimator is not fitted, or the model is too large for a file.
    OSError
        If the file cannot be written.

    See Also
    --------
    load : Load a saved model.
    Model : A fitted classifier without scikit-learn.

    Examples
    --------
    >>> import rosenblatt as rb, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "and.safetensors")
    >>> rb.save(rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]), path)
    >>> rb.load(path).predict([[1, 1], [1, 0]]).tolist()
    [1, 0]
    """
    if isinstance(model, Model):
        digest = {} if data is None else provenance_of_data(*data)
        parts = to_parts(replace(model, provenance={**model.provenance, **provenance_now(), **digest}), "model")
    elif is_estimator(model) and model.multilabel_:
        from .several_labels import labels_to_parts

        parts = labels_to_parts(model, data, to_parts)
    elif is_estimator(model):
        parts = to_parts(model_of(model, data=data), "estimator")
    elif type(model).__name__ == "Pipeline" and type(model).__module__ == "sklearn.pipeline":
        from .pipeline_reader import check_parts
        from .pipelines import pipeline_to_parts

        parts = pipeline_to_parts(model, {} if data is None else provenance_of_data(*data), to_parts)
        check_parts(*parts, from_parts)
    else:
        part = next((name for name in ("best_estimator_", "model", "estimator") if hasattr(model, name)), None)
        hint = "" if part is None else f"; save its {part}"
        raise TypeError(f"rb.save expects a Rosenblatt estimator, a Pipeline or a Model, got {type(model).__name__}{hint}")
    write_atomically(path, pack(*parts))


def load(path: str | os.PathLike[str]) -> LinearClassifier | Pipeline | Model:
    """Load a saved estimator, Pipeline or `Model`.

    Parameters
    ----------
    path : str or path-like
        A file written by `save` or by `rosenblatt train`; "-" reads standard input.

    Returns
    -------
    LinearClassifier, sklearn.pipeline.Pipeline or Model
        What was saved. Files written by `rosenblatt train` contain a `Model`.

    Raises
    ------
    ModelError
        If the file cannot be read, is damaged, or is not a model file. The message names the file and the problem.

    See Also
    --------
    save : Save a fitted estimator or a model.

    Examples
    --------
    >>> import rosenblatt as rb, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "or.safetensors")
    >>> rb.save(rb.LinearMSE().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "yes"]), path)
    >>> rb.load(path).predict([[0, 0], [1, 0]]).tolist()
    ['no', 'yes']
    """
    return read(path, _as_saved)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Load a file as a `Model`, even if an estimator was saved; scikit-learn is not imported."""
    return read(path, from_parts)


def _as_saved(meta: Meta, arrays: Arrays) -> LinearClassifier | Pipeline | Model:
    if meta.get("object") == "pipeline":
        from .pipeline_reader import pipeline_from_parts

        return pipeline_from_parts(meta, arrays, from_parts)
    if meta.get("object") == "labels":
        from .several_labels import labels_from_parts

        return labels_from_parts(meta, arrays, from_parts)
    model = from_parts(meta, arrays)
    return model if meta["object"] == "model" else estimator_of(model)


# --- model -> parts --------------------------------------------------------------------------------------------------------


def to_parts(model: Model, saved_as: Literal["model", "estimator"]) -> Parts:
    """Return the metadata and the arrays of a model's file."""
    classes, arrays = encode_classes(model.classes)
    if model.coef is not None and model.intercept is not None:
        arrays.update(coef=model.coef, intercept=model.intercept)
    votes = None
    if model.votes is not None:
        votes, stored = votes_to_parts(model.votes)
        arrays.update(stored)
    if model.probability_map is not None:
        arrays.update({f"probabilities.{name}": array for name, array in model.probability_map.to_arrays().items()})
    recipe = None
    if model.recipe is not None:
        recipe, stored = model.recipe.to_parts()
        arrays.update({f"recipe.{name}": array for name, array in stored.items()})
    meta = {
        "object": saved_as,
        "kind": model.kind,
        "parameters": {name: encode(value, f"parameters.{name}", arrays) for name, value in model.parameters.items()},
        "classes": classes,
        "pairs": model.pairs,
        "votes": votes,
        "probabilities": None if model.probability_map is None else model.probability_map.kind,
        "names": None if model.names is None else list(model.names),
        "recipe": recipe,
        "stop": None if model.stop is None else _stop_to_meta(model.stop),
        "n_iter": model.n_iter,
        "n_updates": model.n_updates,
        "provenance": model.provenance,
        "more": None if model.more is None else model.more[0],
    }
    if model.more is not None:
        arrays.update(model.more[1])
    check_label_width(classes, _total_bytes(arrays))
    return meta, {name: np.asarray(array) for name, array in arrays.items()}


# --- parts -> model --------------------------------------------------------------------------------------------------------


def from_parts(meta: Meta, arrays: Arrays) -> Model:
    """Check every part of a file and return the model."""
    require(meta.get("object") != "pipeline", "a scikit-learn Pipeline, which only Python can use: load it with rb.load")
    require(
        meta.get("object") != "labels", "an estimator of several labels a row, which only Python can use: load it with rb.load"
    )
    require(set(meta) == _KEYS, "the metadata have missing or unknown keys")
    require(meta["object"] in ("estimator", "model") and meta["kind"] in ESTIMATORS, "unknown kind of model")
    groups = _group_arrays(arrays)
    require(isinstance(meta["classes"], dict), "the class labels are missing")
    check_label_width(meta["classes"], _total_bytes(arrays))
    classes = decode_classes(meta["classes"], groups["classes"])
    coef, intercept = groups["coef"].get("coef"), groups["intercept"].get("intercept")
    votes = _votes_or_planes(meta, groups["vote"], coef, intercept, _count_heads(len(classes), meta["pairs"]))
    more = meta["more"]
    state = {name: array for group in _STATE_GROUPS for name, array in groups[group].items()}
    require(more is None or isinstance(more, dict), "the state of the estimator is not an object")
    require(more is not None or not state, "the file has arrays of an estimator, but the estimator is missing")
    model = Model(
        kind=meta["kind"],
        parameters=_parameters(meta["parameters"], groups["parameters"]),
        classes=classes,
        coef=coef,
        intercept=intercept,
        pairs=meta["pairs"],
        votes=votes,
        probability_map=_probability_map(meta["probabilities"], groups["probabilities"], len(classes)),
        names=_names(meta["names"]),
        recipe=_recipe(meta["recipe"], groups["recipe"]),
        stop=_stop(meta["stop"]),
        n_iter=_count(meta["n_iter"]),
        n_updates=_count(meta["n_updates"]),
        provenance=_provenance(meta["provenance"]),
        more=None if more is None else (more, state),
    )
    check_model_parameters(model.parameters)
    require(model.n_features > 0, "the weights have no features")
    named = model.names is None or len(model.names) == model.n_features
    require(named, "the number of feature names differs from the number of features")
    width = model.n_features if model.recipe is None else model.recipe.width
    require(width == model.n_features, f"the recipe makes {width} features, but the weights have {model.n_features}")
    return model


def _group_arrays(arrays: Arrays) -> dict[str, Arrays]:
    """Group arrays by the first part of their names; all floats must be finite."""
    groups: dict[str, Arrays] = {group: {} for group in _GROUPS}
    for name, array in arrays.items():
        first = name.split(".", 1)[0]
        if first not in groups:
            raise InvalidContentError(f"unknown array {name}")
        if array.dtype.kind == "f" and not name.startswith(_MAY_BE_INFINITE) and not all_finite(array):
            raise InvalidContentError(f"array {name} contains NaN or infinity")
        groups[first][name] = array
    return groups


def _total_bytes(arrays: Arrays) -> int:
    return sum(np.asarray(array).nbytes for array in arrays.values())


def _count_heads(k: int, pairs: Any) -> int:
    require(type(pairs) is bool and (not pairs or k > 2), "pairs of classes need at least three classes")
    return 1 if k <= 2 else k * (k - 1) // 2 if pairs else k


def _votes_or_planes(
    meta: Meta, arrays: Arrays, coef: Array | None, intercept: Array | None, heads: int
) -> tuple[StoredVote, ...] | None:
    """Return the votes of a voted perceptron, or None after checking the weights of any other model."""
    if meta["votes"] is None:
        require(not arrays, "the file has arrays of votes, but the metadata do not mention votes")
        _check_planes(coef, intercept, heads)
        return None
    require(coef is None and intercept is None, "the file has both weights and votes")
    votes = votes_from_parts(meta["votes"], arrays)
    one_each = len(votes) == heads and all(vote.heads == 1 for vote in votes)
    require(one_each or (len(votes) == 1 and votes[0].heads == heads), "the votes do not match the classes")
    return votes


def _check_planes(coef: Array | None, intercept: Array | None, heads: int) -> None:
    require(coef is not None and intercept is not None, "the weights are missing")
    assert coef is not None
    assert intercept is not None
    floats = (np.float64, np.float32)
    require(coef.dtype in floats and coef.ndim == 2, "the weights are not a matrix of floats")
    require(intercept.dtype in floats and intercept.ndim == 1, "the intercepts are not a vector of floats")
    fits = len(coef) == len(intercept) == heads
    require(fits, f"the file has {len(coef)} planes and {len(intercept)} intercepts, but its classes need {heads}")


def _probability_map(kind: Any, arrays: Arrays, n_classes: int) -> ProbabilityMap | None:
    if kind is None:
        require(not arrays, "the file has arrays of a map to probabilities, but the metadata do not mention it")
        return None
    require(isinstance(kind, str) and n_classes > 1, INVALID_MAP)
    named = {name.removeprefix("probabilities."): array for name, array in arrays.items()}
    try:
        return map_of_arrays(kind, named, 1 if n_classes == 2 else n_classes)
    except ValueError as error:
        raise InvalidContentError(str(error)) from None


def _parameters(encoded: Any, arrays: Arrays) -> dict[str, Any]:
    require(isinstance(encoded, dict), "the parameters are missing")
    left = dict(arrays)
    parameters = {name: decode(value, left) for name, value in encoded.items()}
    require(not left, "the file has arrays of parameters that no parameter refers to")
    return parameters


def _names(names: Any) -> tuple[str, ...] | None:
    if names is None:
        return None
    require(isinstance(names, list) and all(isinstance(name, str) for name in names), "a feature name is not text")
    return tuple(names)


def _recipe(meta: Any, arrays: Arrays) -> RecipeLike | None:
    if meta is None:
        require(not arrays, "the file has arrays of a recipe, but the recipe is missing")
        return None
    require(isinstance(meta, dict), "the recipe is not an object")
    from ..preprocessing.recipe import Recipe

    kind: type[RecipeLike] = application_hook("mail recipe") if meta.get("kind") == "mail" else Recipe
    return kind.from_parts(meta, {name.removeprefix("recipe."): array for name, array in arrays.items()})


def _stop_to_meta(stop: Stop) -> dict[str, Any]:
    numbers = {name: encode(getattr(stop, name), "", {}) for name in STOP_NUMBERS if getattr(stop, name) is not None}
    return {"reason": stop.reason, "sentence": stop.sentence, "heads": list(stop.heads), **numbers}


def _stop(meta: Any) -> Stop | None:
    if meta is None:
        return None
    invalid, texts = "the reason why the run ended is invalid", {"reason", "sentence", "heads"}
    require(isinstance(meta, dict) and texts <= set(meta) <= {*texts, *STOP_NUMBERS}, invalid)
    require(isinstance(meta["sentence"], str) and isinstance(meta["heads"], list), invalid)
    require(all(reason in _STOP_REASONS for reason in (meta["reason"], *meta["heads"])), invalid)
    numbers = {name: decode(meta[name], {}) for name in STOP_NUMBERS if name in meta}
    require(all(type(number) in (int, float) and not math.isnan(number) for number in numbers.values()), invalid)
    _count(numbers.get("last_updates"))
    require(numbers.get("limit", 0) >= 0, invalid)
    return Stop(meta["reason"], meta["sentence"], tuple(meta["heads"]), **numbers)


def _count(number: Any) -> int | None:
    valid = number is None or (type(number) is int and number >= 0)
    require(valid, "a count of iterations or updates is not a whole number")
    return None if number is None else int(number)


def _provenance(meta: Any) -> dict[str, Any]:
    require(isinstance(meta, dict), "the provenance is missing")
    reading = meta.get("reading", {})
    valid = isinstance(reading, dict) and isinstance(reading.get("label", ""), str)
    valid = valid and isinstance(reading.get("zero_based", False), bool)
    valid = valid and reading.get("missing", "mean") in MISSING_CHOICES
    require(valid, "the options for reading files are invalid")
    forms = reading.get("forms", {})
    require(isinstance(forms, dict), "the options for reading files are invalid")
    for form in forms.values():
        form_from_json(form)
    record_from_json(meta.get("training"))
    return dict(meta)
