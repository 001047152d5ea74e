"""`save` and `load`: load gives back what save was given."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..online.stopping import Stop
from .atomic_file import write_atomically
from .container import FORMAT, Parts, all_finite, pack, read, require
from .model import Model, provenance_now, provenance_of_data
from .state import KINDS, estimator_of, is_estimator, model_of
from .values import decode, encode
from .votes import votes_from_parts, votes_to_parts

# --- Class labels in a file: numbers as an array, text as JSON, in exactly the type they had.


def labels_to_parts(classes: Any) -> Parts:
    kind = classes.dtype.kind
    if kind in "biuf" and classes.dtype.itemsize <= 8 and classes.dtype != np.float16:
        return {}, {"classes": classes}
    if kind == "U":
        return {"text": classes.tolist(), "dtype": classes.dtype.str[1:]}, {}
    if kind == "S":
        return {"text": [label.decode("latin-1") for label in classes.tolist()], "dtype": classes.dtype.str[1:]}, {}
    if kind == "O" and all(type(label) is str for label in classes.tolist()):
        return {"text": classes.tolist(), "dtype": "O"}, {}
    raise TypeError(f"labels must be numbers, text or truth values to be saved, got {classes.tolist()!r:.80}")


def labels_from_parts(told: dict[str, Any], arrays: dict[str, Any]) -> Any:
    classes = arrays["classes"] if "classes" in arrays else _text(told)
    require(classes.ndim == 1 and len(classes) >= 1, "has no classes")
    require(classes.dtype.kind != "f" or all_finite(classes), "has classes that are not finite")
    ascending = all(a < b for a, b in zip(classes[:-1].tolist(), classes[1:].tolist(), strict=True))
    require(ascending, "has classes that are not sorted, or there twice")
    return classes


def _text(told: dict[str, Any]) -> Any:
    require(set(told) == {"text", "dtype"} and isinstance(told["dtype"], str), "has no classes")
    text, dtype = told["text"], told["dtype"]
    require(isinstance(text, list) and all(isinstance(label, str) for label in text), "has classes that are no labels")
    if dtype == "O":
        return np.array(text, object)
    require(re.fullmatch(r"[US][0-9]{1,7}", dtype), "has classes of an unknown type")
    longest = max(map(len, text), default=0)
    require(longest <= int(dtype[1:]) <= max(1 << 16, longest), "has classes that are longer than they should be")
    return np.array([label.encode("latin-1") for label in text] if dtype[0] == "S" else text, dtype)


# ---

__all__ = ["FORMAT", "load", "load_model", "save"]

LoadRecipe = Callable[[dict[str, Any], dict[str, Any]], Any]
_NEEDED = {"object", "kind", "parameters", "classes", "pairs", "votes", "names", "recipe", "stop", "n_iter", "n_updates"}
_ALL = _NEEDED | {"provenance", "more"}


def save(model: Any, path: str | os.PathLike[str], *, data: Any = None) -> None:
    """Write a fitted estimator or a `Model` to one safetensors file, whole or not at all.

    data : (X, y) it was trained on; the file then has their numbers of rows and columns, and their SHA-256.

    It holds numbers and text, no code and no rows: a loaded estimator predicts the same bits and goes on with `partial_fit` and
    `warm_start`, but `log_` is None. A file that was there is replaced only when the new one is safely on disk.

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
    elif is_estimator(model):
        parts = to_parts(model_of(model, data=data), "estimator")
    else:
        raise TypeError(f"rb.save takes a Rosenblatt estimator or a Model, got {type(model).__name__}")
    write_atomically(path, pack(*parts))


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator or `Model` that was saved in a file; a `ModelError` says in a sentence what is wrong with the file."""
    return read(path, lambda meta, arrays: _as_saved(meta, from_parts(meta, arrays)))


def load_model(path: str | os.PathLike[str]) -> Model:
    """As a `Model`, whatever was saved; scikit-learn is not imported."""
    model: Model = read(path, from_parts)
    return model


def _as_saved(meta: dict[str, Any], model: Model) -> Any:
    return model if meta["object"] == "model" else estimator_of(model)


# --- model -> parts --------------------------------------------------------------------------------------------------------


def to_parts(model: Model, what: str) -> Parts:
    classes, arrays = labels_to_parts(model.classes)
    if model.coef is not None:
        arrays.update(coef=model.coef, intercept=model.intercept)
    votes = None
    if model.ballots is not None:
        votes, counted = votes_to_parts(model.ballots)
        arrays.update(counted)
    recipe = None
    if model.recipe is not None:
        recipe, kept = model.recipe.to_parts()
        arrays.update({f"recipe.{name}": array for name, array in kept.items()})
    stop = model.stop
    meta = {
        "object": what,
        "kind": model.kind,
        "parameters": {name: encode(value, f"parameters.{name}", arrays) for name, value in model.parameters.items()},
        "classes": classes,
        "pairs": model.pairs,
        "votes": votes,
        "names": None if model.names is None else list(model.names),
        "recipe": recipe,
        "stop": None if stop is None else {"reason": stop.reason, "sentence": stop.sentence, "heads": list(stop.heads)},
        "n_iter": model.n_iter,
        "n_updates": model.n_updates,
        "provenance": model.provenance,
        "more": None if model.more is None else model.more[0],
    }
    if model.more is not None:
        arrays.update(model.more[1])
    return meta, {name: np.asarray(array) for name, array in arrays.items()}


# --- parts -> model --------------------------------------------------------------------------------------------------------


def from_parts(meta: dict[str, Any], arrays: dict[str, Any], load_recipe: LoadRecipe | None = None) -> Model:
    """A model from what a file holds, after every part of it was looked at."""
    require(set(meta) == _ALL, "has other metadata than a model has")
    require(meta["object"] in ("estimator", "model") and meta["kind"] in KINDS, "is a model of an unknown kind")
    groups = _groups(arrays)
    classes = labels_from_parts(meta["classes"], groups["classes"])
    coef, intercept, votes = groups["coef"].get("coef"), groups["intercept"].get("intercept"), None
    heads = _heads(len(classes), meta["pairs"])
    if meta["votes"] is not None:
        require(coef is None and intercept is None, "is both a plane and a vote")
        votes = votes_from_parts(meta["votes"], groups["vote"])
        one_each = len(votes) == heads and all(ballot.heads == 1 for ballot in votes)
        require(one_each or (len(votes) == 1 and votes[0].heads == heads), "has votes of other classes than it has")
    else:
        require(not groups["vote"], "has votes that it does not speak of")
        _check_planes(coef, intercept, heads)
    more = meta["more"]
    kept = {name: array for group in _ESTIMATOR for name, array in groups[group].items()}
    require(more is None or isinstance(more, dict), "has more than it says")
    require(more is not None or not kept, "has arrays of an estimator without the estimator")
    model = Model(
        kind=meta["kind"],
        parameters=_parameters(meta["parameters"], groups["parameters"]),
        classes=classes,
        coef=coef,
        intercept=intercept,
        pairs=meta["pairs"],
        ballots=votes,
        names=_names(meta["names"]),
        recipe=_recipe(meta["recipe"], groups["recipe"], load_recipe),
        stop=_stop(meta["stop"]),
        n_iter=_counts(meta["n_iter"]),
        n_updates=_counts(meta["n_updates"]),
        provenance=_provenance(meta["provenance"]),
        more=None if more is None else (more, kept),
    )
    require(model.names is None or len(model.names) == model.n_features, "has more or fewer names than features")
    width = model.n_features if model.recipe is None else model.recipe.width
    require(width == model.n_features, f"has a recipe for {width} features, and weights for {model.n_features}")
    return model


_ESTIMATOR = ("belief", "fitted", "run", "stream", "moments", "solutions")
_GROUPS = ("classes", "coef", "intercept", "vote", "parameters", "recipe", *_ESTIMATOR)


def _groups(arrays: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The arrays by the first word of their names."""
    groups: dict[str, dict[str, Any]] = {group: {} for group in _GROUPS}
    for name, array in arrays.items():
        first = name.split(".", 1)[0]
        require(first in groups, f"has an array {name} that no model has")
        # Multipliers of tiny rows may be infinite, as may the margin of w = 0; nothing is predicted from them.
        loose = array.dtype.kind != "f" or name.startswith(("fitted.multipliers_", "fitted.margin_"))
        require(loose or all_finite(array), f"has numbers in {name} that are not finite")
        groups[first][name] = array
    return groups


def _heads(k: int, pairs: Any) -> int:
    require(type(pairs) is bool and (not pairs or k > 2), "has pairs of fewer than three classes")
    return 1 if k <= 2 else k * (k - 1) // 2 if pairs else k


def _check_planes(coef: Any, intercept: Any, heads: int) -> None:
    require(coef is not None and intercept is not None, "has no weights")
    require(coef.dtype in (np.float64, np.float32) and coef.ndim == 2, "has weights that are no matrix of floats")
    require(intercept.dtype in (np.float64, np.float32) and intercept.ndim == 1, "has intercepts that are no floats")
    require(len(coef) == len(intercept) == heads, f"has {len(coef)} planes where its classes need {heads}")


def _parameters(told: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    require(isinstance(told, dict), "has no parameters")
    return {name: decode(value, arrays) for name, value in told.items()}


def _names(told: Any) -> tuple[str, ...] | None:
    if told is None:
        return None
    require(isinstance(told, list) and all(isinstance(name, str) for name in told), "has names that are no text")
    return tuple(told)


def _recipe(told: Any, arrays: dict[str, Any], load_recipe: LoadRecipe | None) -> Any:
    if told is None:
        require(not arrays, "has arrays of a recipe without the recipe")
        return None
    require(isinstance(told, dict), "has a recipe that is none")
    if load_recipe is None:  # by name: a mail filter is above models, and knows them
        from importlib import import_module

        mail = told.get("kind") == "mail"
        home, name = ("mail.store.state", "MailRecipe") if mail else ("preprocessing.recipe", "Recipe")
        load_recipe = getattr(import_module(f"rosenblatt.{home}"), name).from_parts
    assert load_recipe is not None
    return load_recipe(told, {name.removeprefix("recipe."): array for name, array in arrays.items()})


def _stop(told: Any) -> Stop | None:
    if told is None:
        return None
    require(isinstance(told, dict) and set(told) == {"reason", "sentence", "heads"}, "does not say why its run ended")
    words = [told["reason"], told["sentence"], *told["heads"]]
    require(all(isinstance(word, str) for word in words), "does not say why its run ended")
    return Stop(told["reason"], told["sentence"], tuple(told["heads"]))


def _counts(told: Any) -> Any:
    for number in told if isinstance(told, list) else [] if told is None else [told]:
        require(type(number) is int and number >= 0, "has counts that are no whole numbers")
    return told


def _provenance(told: Any) -> dict[str, Any]:
    require(isinstance(told, dict), "does not say where it comes from")
    return dict(told)
