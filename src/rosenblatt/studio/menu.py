"""The menu of algorithms, made from the catalog: their knobs with range, default and help text, and the entry of a model."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin

import numpy as np

from ..catalog import ALGORITHMS, Algorithm, EstimatorEntry, Option

if TYPE_CHECKING:
    from ..estimators.base import LinearClassifier

# The longest run that the page plays.
MAX_UPDATES = 10_000

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Knob:
    """A parameter with its range and texts.

    In `KNOBS`, a default of None stands for the estimator's own; a number may be left empty if that is None or "auto". Choices
    are those of the estimator's annotation, a `Literal`. A knob is shown for algorithms that move the weights in one of its
    `ways`, if `where` is true of all their parameters.
    """

    name: str
    title: str
    help: str
    kind: Literal["number", "choice", "flag", "weights"] = "number"
    default: Any = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    optional: bool = False
    choices: tuple[tuple[Any, str], ...] = ()
    ways: tuple[str, ...] = ("online", "batch", "solver")
    where: Callable[[Options], bool] = lambda _: True

    def to_json(self) -> dict[str, Any]:
        """Return the knob for the page."""
        return {
            "name": self.name, "title": self.title, "help": self.help, "kind": self.kind, "default": self.default,
            "low": self.low, "high": self.high, "log": self.log, "whole": self.whole, "optional": self.optional,
            "choices": [{"value": value, "title": title} for value, title in self.choices],
        }  # fmt: skip


# Knobs of parameters that several estimators have. Those of a single one are made from its entry in the catalog.
KNOBS = {
    knob.name: knob
    for knob in (
        Knob(
            "step", "step ρ", "How far one update moves the weights.",
            low=0.001, high=1000.0, log=True, ways=("online", "batch"),
        ),
        Knob(
            "schedule", "schedule of ρ", "Constant steps, or steps that shrink with the number k of the update.",
            kind="choice", default="constant", ways=("online", "batch"),
            choices=(("constant", "constant"), ("1/k", "ρ/k"), ("1/sqrt(k)", "ρ/√k")),
        ),
        Knob("start", "w₀, w₁, …", "The first weights, w₀ first.", kind="weights", optional=True),
        Knob(
            "order", "order of points",
            "Which point comes next: in turn; shuffled in each pass; drawn at random; drawn from the misclassified points.",
            kind="choice", default="cyclic", ways=("online",),
            choices=(("cyclic", "cyclic"), ("permuted", "permuted"), ("random", "random"), ("mistakes", "mistakes only")),
        ),
        Knob(
            "max_updates", "stop after … updates", "The run stops after this many updates at the latest.",
            default=1000, low=1, high=MAX_UPDATES, log=True, whole=True, ways=("online", "batch"),
        ),
        Knob(
            "max_iter", "stop after … passes", "The run stops after this many passes over the points; empty: no limit.",
            low=1, high=10_000, log=True, whole=True,
        ),
        Knob(
            "tol", "tolerance", "The run stops after a step shorter than this; empty: no limit.",
            low=1e-9, high=10.0, log=True,
            ways=("batch", "solver"),
        ),
        Knob("C", "C", "The cost of a point inside the margin.", low=0.001, high=1000.0, log=True,
             where=lambda options: options.get("variant") != "PA"),
        Knob(
            "multiclass", "several classes",
            "How more than two classes are learned: all in one run; each against the rest; each pair, by votes (automatic).",
            kind="choice",
            choices=(
                ("joint", "together"), ("auto", "automatic"), ("ovr", "against the rest"), ("ovo", "in pairs"),
                ("crammer_singer", "Crammer-Singer"), ("multinomial", "multinomial"),
            ),
        ),
        Knob("fit_intercept", "intercept", "If off, the line passes through the origin.", kind="flag"),
        Knob(
            "vote_count", "weight of a vote", "The points that a line survived; with or without the point that created it.",
            kind="choice", choices=(("lifetime", "lifetime"), ("survivals", "survivals")),
            where=lambda options: options.get("keep") == "vote",
        ),
    )
}  # fmt: skip
EXTRA_KNOBS = {"schedule": "step", "start": "init"}  # knobs that are not parameters, with the parameter they belong to


def knobs_of(algorithm: Algorithm) -> dict[str, Knob]:
    """Return the knobs of an algorithm, without parameters that the catalog fixes to a string, since they define it."""
    options, way, found = algorithm.options, algorithm.make()._way, {}
    for name, knob in declared_knobs(algorithm.entry).items():
        fixed = isinstance(algorithm.parameters.get(name), str)
        if EXTRA_KNOBS.get(name, name) in options and way in knob.ways and knob.where(options) and not fixed:
            found[name] = _knob_of_algorithm(knob, algorithm)
    return found


def declared_knobs(entry: EstimatorEntry) -> dict[str, Knob]:
    """Return the knobs that an estimator may have, as far as they are known without its class, which takes long to import."""
    found = {name: _knob_of_option(name, option) for name, option in entry.options.items()} | KNOBS
    names = list(found)
    for name, given in entry.knobs.items():
        changes = cast(dict[str, Any], given or {})
        before = changes.get("before")
        if given is None or before is not None:
            names.remove(name)
        if before is not None:
            names.insert(names.index(before), name)
        found[name] = replace(found[name], **{field: value for field, value in changes.items() if field != "before"})
    return {name: found[name] for name in names}


def _knob_of_option(name: str, option: Option) -> Knob:
    """Return a knob for a parameter that only the catalog knows, with a range that its entry may change."""
    title = name.replace("_", " ")
    if option.kind in ("choice", "weights"):
        return Knob(name, title, option.help, kind="choice", choices=tuple((word, word) for word in option.words))
    if option.kind == "flag":
        return Knob(name, title, option.help, kind="flag")
    whole = option.kind == "int"
    return Knob(name, title, option.help, low=1 if whole else 0.001, high=1000.0, log=True, whole=whole)


def _knob_of_algorithm(knob: Knob, algorithm: Algorithm) -> Knob:
    """Return a knob with the default and the choices that the class of an algorithm gives."""
    if knob.name in EXTRA_KNOBS:
        return knob
    value, annotation = algorithm.options[knob.name], parameter_type(algorithm.estimator, knob.name)
    if knob.kind == "number" and not isinstance(value, int | float):
        value = None  # None or "auto"
    if knob.default is None or knob.name in algorithm.parameters:
        knob = replace(knob, default=value, optional=value is None)
    if knob.kind == "choice" and get_origin(annotation) is Literal:
        titles = dict(knob.choices)
        words = [word for word in get_args(annotation) if knob.name != "multiclass" or _accepts(algorithm, word)]
        knob = replace(knob, choices=tuple((word, titles.get(word, word)) for word in words))
    return knob


def _accepts(algorithm: Algorithm, scheme: str) -> bool:
    """Return whether an algorithm, with its parameters as they are, has a scheme for several classes."""
    try:
        algorithm.make(multiclass=scheme)._check_parameters()
    except ValueError:
        return False
    return True


def parameter_type(estimator: type, name: str) -> Any:
    """Return the type of a parameter; Any if it is written with a name that only type checkers import."""
    annotation = inspect.signature(estimator).parameters[name].annotation
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, vars(sys.modules[estimator.__module__]))
    except NameError:
        return Any


def accepts_none(estimator: type, name: str) -> bool:
    """Return whether a parameter may be None."""
    annotation = parameter_type(estimator, name)
    return annotation is Any or NoneType in get_args(annotation)


# --- The menu


def menu() -> list[dict[str, Any]]:
    """Return all algorithms for the page, in the order of the catalog."""
    return [_entry(name, algorithm) for name, algorithm in ALGORITHMS.items()]


def _entry(name: str, algorithm: Algorithm) -> dict[str, Any]:
    return {
        "name": name,
        "title": algorithm.title,
        "group": algorithm.entry.group,
        "estimator": algorithm.name,
        "summary": algorithm.summary,
        "logged": algorithm.logged,
        "margin": algorithm.entry.margin,
        "keep": algorithm.options.get("keep") if algorithm.logged else None,
        "knobs": [knob.to_json() for knob in knobs_of(algorithm).values()],
    }


# --- The entry and the knobs of a fitted model


def algorithm_of(model: LinearClassifier) -> str:
    """Return the name of a fitted model's algorithm: the most specific catalog entry that its parameters match."""
    given = model.get_params(deep=False)
    matches = [
        name
        for name, entry in ALGORITHMS.items()
        if entry.name == type(model).__name__ and all(given[key] == value for key, value in _fixed_choices(entry).items())
    ]
    if not matches:
        raise ValueError(f"the studio has no algorithm for a {type(model).__name__} with these parameters")
    return max(matches, key=lambda name: len(_fixed_choices(ALGORITHMS[name])))


def _fixed_choices(algorithm: Algorithm) -> dict[str, str]:
    """Return the parameters that the catalog fixes to a string."""
    return {name: value for name, value in algorithm.parameters.items() if isinstance(value, str)}


def knobs_set(model: LinearClassifier) -> dict[str, Any]:
    """Return a model's parameters as knobs that differ from the defaults of the page.

    "auto" becomes the value that was used, and no limit of updates becomes the maximum that the page plays.
    """
    found, given = {}, model.get_params(deep=False)
    for name, knob in _knobs(algorithm_of(model)).items():
        value = _resolve(model, name, given.get(name))
        plain = name not in EXTRA_KNOBS and isinstance(value, bool | int | float | str | None) and value != "auto"
        if plain and value != knob.default and (value is not None or knob.optional):
            found[name] = value
    return found | _first_weights(given)


def _first_weights(given: dict[str, Any]) -> dict[str, Any]:
    """Return an `init` array as knobs: the weights of all heads in one list, each with weight 0 first."""
    if not isinstance(given.get("init"), np.ndarray):
        return {}
    start = np.atleast_2d(given["init"])
    start = start if given["fit_intercept"] else np.column_stack([np.zeros(len(start)), start])
    return {"init": "given", "start": start.ravel().tolist()}


def _resolve(model: LinearClassifier, name: str, value: Any) -> Any:
    """Return the value of a parameter that was used."""
    if name == "max_updates":
        return MAX_UPDATES if value is None else min(value, MAX_UPDATES)
    if isinstance(value, str) and value == "auto":
        if name == "margin":
            return model._required_margin
        stop = vars(model).get("stop_")
        if name == "max_iter" and stop is not None and stop.reason == "passes":
            return model.n_iter_
    return value


@cache
def _knobs(algorithm: str) -> dict[str, Any]:
    return knobs_of(ALGORITHMS[algorithm])
