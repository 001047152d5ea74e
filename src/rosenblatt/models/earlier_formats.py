"""Upgrade of model files of earlier formats.

Format 1 had other names for some parameters, and stored the attributes of a single binary problem without a list around them.
Format 2 stored a single certificate without a list around it. Both joined the solvers of several binary problems in one text.
The sentences of their stops are rebuilt from codes, because both formats counted rows from 0 and used other words. They did not
store the single step of direct least squares.
Format 3 and those before it named the mean and variance of AROW's weights `belief`, and the counts of a vote `ballots`.
Format 5 and those before it stored less of a recipe, see `_upgrade_recipe`, and had no maps from scores to probabilities.
Notes of recipes are sentences in all formats. Those in earlier words are translated; their numbers and names are kept.
No other module uses these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..online.stopping import describe_reasons

_PARAMETER_NAMES = {"max_passes": "max_iter", "ridge": "alpha"}
_MULTICLASS = {"argmax": "joint", "crammer-singer": "crammer_singer"}
_INTERCEPT = {
    "free": {"fit_intercept": True, "penalize_intercept": False},
    "penalized": {"fit_intercept": True, "penalize_intercept": True},
    "none": {"fit_intercept": False, "penalize_intercept": False},
}
_GAUSSIAN, _VOTE_COUNTS = re.compile(r"^belief\."), re.compile(r"^(vote\.\d+\.)ballots$")
_SVM_KINDS = ("MaxMargin", "SoftMargin")
_LIST_ATTRIBUTES = {
    "MaxMargin": ("support_", "multipliers_", "proof_"),
    "SoftMargin": ("support_", "multipliers_"),
    "Perceptron": ("certificate_",),
}
_NUMBER_ATTRIBUTES = ("margin_", "gap_", "dual_gap_", "objective_", "pocket_errors_")
_STOP_SENTENCES = {
    "separated": "separated",
    "passes": "stopped at the limit on passes",
    "updates": "stopped at the limit on updates",
    "norm": "stopped because the norm of the weights exceeded w_max",
    "tolerance": "reached the tolerance",
    "steps": "stopped at the limit on iterations",
    "rounding": "stopped by rounding errors",
    "inseparable": "no plane separates the rows; slack was allowed",
    "impossible": "the rows were proved inseparable",
    "chunk": "read the chunk",
    "vanished": "the gradient vanished",
    "solved": "reached the minimum",
}
# Notes of recipes in earlier words, and in those of `preprocessing/recipe_fit.py`.
_DIVIDED = "Columns of numbers were divided by their largest absolute values"
_SCALED = "Numeric columns were scaled by their largest absolute values, "
_RECIPE_NOTES = (
    (
        _DIVIDED + r": the widest range is (\S+) times the narrowest\.",
        _SCALED + r"because their ranges differ \1-fold.",
    ),
    (_DIVIDED + r", as asked\.", _SCALED + "as requested."),
    (
        r"Columns of numbers were brought to mean 0 and deviation 1, as asked\.",
        "Numeric columns were scaled to mean 0 and standard deviation 1, as requested.",
    ),
    (
        r"Column (.+) is text: a bag of (\S+) words that are in two rows or more\.",
        r"Column \1 is text: \2 words that occur in at least two rows.",
    ),
    (
        r"Column (.+) is text: a bag of (\S+) words that are in two rows or more, of the first (\S+) different ones\.",
        r"Column \1 is text: \2 words that occur in at least two rows, of the first \3 distinct words.",
    ),
    (r"Columns of names became one feature for each value: (.+)", r"Categorical columns were one-hot encoded: \1"),
    (
        r"Column ('[^']+') numbers the rows, it seems: leave it out with --ignore\.",
        r"Column \1 looks like a row id. To exclude it: --ignore \1",
    ),
    (
        r"Column (.+) numbers the rows, it seems: leave it out with --ignore\.",
        r"Columns \1 look like row ids. To exclude them: --ignore",
    ),
    (r"1 missing cells of (.+) get the column's mean\.", r"1 missing cell of \1 filled with the column mean."),
    (r"(\S+) missing cells of (.+) get the column's mean\.", r"\1 missing cells of \2 filled with the column mean."),
)


def upgrade(version: int, meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Change metadata and arrays of an earlier format in place. Unexpected values are left for the reader to reject."""
    if version < 3:
        _upgrade_to_3(meta, arrays)
    more = meta.get("more")
    if isinstance(more, dict) and "belief" in more:
        more["gaussian"] = more.pop("belief")
    recipe = meta.get("recipe")
    if version < 6 and isinstance(recipe, dict) and recipe.get("kind") != "mail":
        _upgrade_recipe(recipe, arrays)
    if version < 6:
        for each in _models_in(meta):
            each.setdefault("probabilities", None)
    if isinstance(recipe, dict) and isinstance(recipe.get("notes"), list):
        recipe["notes"] = [_upgrade_note(note) for note in recipe["notes"]]
    for name in list(arrays):
        arrays[_VOTE_COUNTS.sub(r"\1counts", _GAUSSIAN.sub("gaussian.", name))] = arrays.pop(name)


def _models_in(meta: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The metadata of the model of a file, or of the estimators of its Pipeline."""
    if meta.get("object") != "pipeline":
        yield meta
        return
    parts: list[Any] = [meta.get("steps")]
    while parts:
        part = parts.pop()
        if isinstance(part, dict) and set(part) == {"model", "place"} and isinstance(part["model"], dict):
            yield part["model"]
        elif isinstance(part, dict | list):
            parts += part.values() if isinstance(part, dict) else part


def _upgrade_to_3(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    kind, parameters, more = meta.get("kind"), meta.get("parameters"), meta.get("more")
    if isinstance(parameters, dict):
        meta["parameters"] = _upgrade_parameters(kind, parameters)
    if kind in _SVM_KINDS and isinstance(meta.get("n_iter"), list):
        meta["n_iter"] = max(meta["n_iter"], default=0)
    if kind == "LinearMSE" and meta.get("n_iter") is None and not _is_iterative(more):
        meta["n_iter"] = 1
    if isinstance(meta.get("stop"), dict):
        _upgrade_stop(meta["stop"])
    if isinstance(more, dict) and isinstance(more.get("fitted"), dict):
        _upgrade_fitted(kind, more["fitted"], arrays)


def _is_iterative(more: object) -> bool:
    """Whether least squares were solved by LSMR, whose number of iterations was not stored."""
    fitted = more.get("fitted") if isinstance(more, dict) else None
    return isinstance(fitted, dict) and fitted.get("solver_") == "lsmr"


def _upgrade_parameters(kind: object, old: dict[str, Any]) -> dict[str, Any]:
    new = {_PARAMETER_NAMES.get(name, name): value for name, value in old.items()}
    if isinstance(new.get("multiclass"), str):
        new["multiclass"] = _MULTICLASS.get(new["multiclass"], new["multiclass"])
    if kind == "SoftMargin" and new.get("intercept") in _INTERCEPT:
        new.update(_INTERCEPT[new.pop("intercept")])
    return new


def _upgrade_stop(stop: dict[str, Any]) -> None:
    reason, heads = str(stop.get("reason")), stop.get("heads")
    if isinstance(heads, list) and heads and set(map(str, heads)) <= _STOP_SENTENCES.keys():
        stop["sentence"] = describe_reasons(heads)
    elif reason in _STOP_SENTENCES:
        stop["sentence"] = _STOP_SENTENCES[reason]


def _upgrade_recipe(recipe: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Missing numbers were filled by means, missing categories had no feature, and columns were neither dates nor dropped.

    Features of text were single words that occur or do not.
    """
    scale = "standard" if "recipe.shift" in arrays else "max" if "recipe.divide" in arrays else "none"
    recipe.update({"rows": None, "constant": [], "dates": [], "scale": scale} | recipe)
    if "recipe.means" in arrays:
        arrays["recipe.fill"] = arrays.pop("recipe.means")
    if isinstance(recipe.get("strings"), list):
        blocks = enumerate(recipe["strings"])
        recipe["strings"] = [_upgrade_strings(block, place, arrays) for place, block in blocks]


def _upgrade_strings(block: object, place: int, arrays: dict[str, Any]) -> object:
    if isinstance(block, list) and block[1:2] == ["names"]:
        return [*block, False]
    if isinstance(block, list) and len(block) == 3 and block[1] == "words":
        if f"recipe.words{place}" in arrays:
            arrays[f"recipe.grams{place}.0"] = arrays.pop(f"recipe.words{place}")
        return [block[0], "text", [["words", 1, 1, "binary", block[2]]]]
    return block


def _upgrade_note(note: object) -> object:
    for old, new in _RECIPE_NOTES:
        if isinstance(note, str) and (found := re.fullmatch(old, note)):
            return found.expand(new)
    return note


def _upgrade_fitted(kind: object, fitted: dict[str, Any], arrays: dict[str, Any]) -> None:
    if isinstance(fitted.get("_scheme"), str):
        fitted["_scheme"] = _MULTICLASS.get(fitted["_scheme"], fitted["_scheme"])
    for name in _LIST_ATTRIBUTES.get(str(kind), ()):
        if name in fitted and not _is_list(fitted[name]):
            fitted[name] = {"list": [fitted[name]]}
    for name in _NUMBER_ATTRIBUTES:
        if name in fitted and f"fitted.{name}" not in arrays:
            values = fitted[name]["list"] if _is_list(fitted[name]) else [fitted[name]]
            arrays[f"fitted.{name}"] = np.array([float(each["float"]) if isinstance(each, dict) else each for each in values])
            fitted[name] = {"array": f"fitted.{name}"}
    if kind in _SVM_KINDS and isinstance(fitted.get("solver_"), str) and _is_list(fitted.get("support_")):
        # With several solvers, the file does not tell which problem had which.
        solver = "unknown" if " and " in fitted["solver_"] else fitted["solver_"].replace(" ", "-")
        fitted["solver_"] = {"list": [solver] * len(fitted["support_"]["list"])}


def _is_list(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"list"}
