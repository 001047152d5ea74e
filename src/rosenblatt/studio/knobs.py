"""The knobs: which parameters of an algorithm the page shows, between which ends, and what they are where nothing is said."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..catalog import Algorithm

# What the page can play; longer runs are refused, or cut where their length shows only on the way.
MOST_UPDATES = 10_000

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Knob:
    """`kind`: number, choice, flag or weights. `where` says which estimators show it, from all their parameters."""

    name: str
    title: str
    help: str
    kind: str = "number"
    default: Any = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    optional: bool = False
    choices: tuple[tuple[Any, str], ...] = ()
    where: Callable[[Options], bool] = lambda _: True

    def told(self) -> dict[str, Any]:
        """For the page."""
        return {
            "name": self.name, "title": self.title, "help": self.help, "kind": self.kind, "default": self.default,
            "low": self.low, "high": self.high, "log": self.log, "whole": self.whole, "optional": self.optional,
            "choices": [{"value": value, "title": title} for value, title in self.choices],
        }  # fmt: skip


def is_batch(options: Options) -> bool:
    return "batch" in (str(options.get("update", ""))[:5], str(options.get("solver", ""))[:5])


def _row_by_row(options: Options) -> bool:
    return not is_batch(options) and options.get("solver") != "minimum"


def _sweeps(options: Options) -> bool:
    return options.get("solver") != "minimum"


KNOBS = {
    knob.name: knob
    for knob in (
        Knob("margin", "margin b", "A row is corrected where y · score ≤ b.", default=0.0, low=0.0, high=10.0),
        Knob(
            "step", "step ρ", "How far one update moves the weights.",
            default=1.0, low=0.001, high=1000.0, log=True, where=_sweeps,
        ),
        Knob(
            "schedule", "schedule of ρ", "Steps as long as the first, or shorter from update to update k.",
            kind="choice", default="constant", where=_sweeps,
            choices=(("constant", "constant"), ("1/k", "ρ/k"), ("1/sqrt(k)", "ρ/√k")),
        ),
        Knob(
            "init", "start", "The weights before the first update.", kind="choice", default="zeros",
            choices=(("zeros", "zeros"), ("sum", "sum of all y·x"), ("given", "given")),
        ),
        Knob("start", "given start", "Weight 0 first; used where the start is “given”.", kind="weights", optional=True),
        Knob(
            "order", "order of rows",
            "Which row comes next: one after the other; shuffled each pass; drawn with replacement; drawn from the wrong ones.",
            kind="choice", default="cyclic", where=_row_by_row,
            choices=(("cyclic", "cyclic"), ("permuted", "permuted"), ("random", "random"), ("mistakes", "mistakes only")),
        ),
        Knob(
            "max_updates", "updates T", "The run ends after so many updates at the latest.",
            default=1000, low=1, high=MOST_UPDATES, log=True, whole=True, where=_sweeps,
        ),
        Knob(
            "max_iter", "passes", "The run ends after so many passes over the rows; empty: no limit.",
            low=1, high=10_000, log=True, whole=True, optional=True,
        ),
        Knob(
            "w_max", "largest |w|", "The run ends when the weights are longer than this; empty: no limit.",
            low=0.01, high=1e6, log=True, optional=True,
        ),
        Knob(
            "tol", "tolerance", "The run ends after a step shorter than this; empty: no limit.",
            low=1e-9, high=10.0, log=True, optional=True,
            where=lambda options: "order" not in options or not _row_by_row(options),
        ),
        Knob("C", "C", "What a row on the wrong side costs.", default=1.0, low=0.001, high=1000.0, log=True,
             where=lambda options: options.get("variant") != "PA"),
        Knob("r", "r", "The larger, the smaller the steps.", default=1.0, low=0.001, high=1000.0, log=True),
        Knob(
            "variant", "variant", "How far a step goes.", kind="choice", default="PA-I",
            choices=(("PA", "PA"), ("PA-I", "PA-I"), ("PA-II", "PA-II")),
        ),
        Knob(
            "loss", "loss", "What a row inside the margin costs.", kind="choice", default="hinge",
            choices=(("hinge", "hinge"), ("squared_hinge", "squared hinge")),
        ),
        Knob("alpha", "alpha", "What the squared length of the weights costs.", default=0.0, low=0.0, high=100.0),
        Knob(
            "multiclass", "several classes",
            "How more than two classes are told apart: all in one run; each against the rest; each pair, by votes.",
            kind="choice", default="joint",
            choices=(
                ("joint", "together"), ("ovr", "against the rest"), ("ovo", "in pairs"), ("crammer_singer", "Crammer-Singer"),
            ),
        ),
        Knob("fit_intercept", "intercept", "Whether the plane may leave the origin.", kind="flag", default=True),
        Knob("penalize_intercept", "penalize intercept", "Whether the intercept counts in |w|.", kind="flag", default=False),
        Knob(
            "vote_count", "what a vote weighs", "The rows that a hypothesis met; with or without the one it was born on.",
            kind="choice", default="lifetime", choices=(("lifetime", "lifetime"), ("survivals", "survivals")),
            where=lambda options: options.get("keep") == "vote",
        ),
    )
}  # fmt: skip
PSEUDO = {"schedule": "step", "start": "init"}  # knobs that are no parameters, and the parameters they go with

# What differs from estimator to estimator.
_JOINT_OR_REST = ("joint", "ovr")
_OTHERWISE: dict[str, dict[str, dict[str, Any]]] = {
    "Perceptron": {"multiclass": {"choices": _JOINT_OR_REST}},
    "PassiveAggressive": {
        "multiclass": {"choices": _JOINT_OR_REST},
        "C": {"help": "Aggressiveness: how far one update may move the weights."},
    },
    "AROW": {
        "multiclass": {"choices": _JOINT_OR_REST},
        "order": {"choices": ("cyclic", "permuted", "random")},
        "max_iter": {"default": 10, "high": 100, "optional": False, "help": "Passes over the rows."},
    },
    "MaxMargin": {
        "multiclass": {"choices": ("ovr", "ovo"), "default": "ovr"},
        "tol": {"default": 1e-6, "optional": False, "high": 0.1, "help": "The gap that may be left to the widest margin."},
    },
    "SoftMargin": {
        "multiclass": {"choices": ("ovr", "ovo", "crammer_singer"), "default": "ovr"},
        "tol": {"default": 1e-3, "optional": False, "high": 0.1, "help": "The gap that may be left to the minimum."},
    },
    "NonlinearMSE": {
        "order": {"choices": ("cyclic", "permuted", "random")},
        "step": {"default": None, "optional": True, "help": "How far one update moves the weights; empty: as the rows ask."},
        "tol": {"default": 1e-6, "optional": False, "help": "The run ends at a gradient or a step as short as this."},
    },
}
# Parameters that nobody would turn: the tolerance of a solver that has no need of it.
_HIDDEN = {"LinearMSE": ("tol",), "MaxMargin": ("max_iter",), "SoftMargin": ("max_iter",)}


def knobs_of(algorithm: Algorithm) -> dict[str, Knob]:
    """Those parameters that there is a knob for, without those that the registry fixes by a word: these name the algorithm."""
    options, found = algorithm.options, {}
    own = inspect.signature(algorithm.estimator).parameters
    for name, knob in KNOBS.items():
        fixed = algorithm.parameters.get(name)
        if PSEUDO.get(name, name) not in own or isinstance(fixed, str) or name in _HIDDEN.get(algorithm.name, ()):
            continue
        if not knob.where(options):
            continue
        found[name] = (
            knob_for(algorithm.name, name) if fixed is None else replace(knob_for(algorithm.name, name), default=fixed)
        )
    return found


def knob_for(estimator: str, name: str) -> Knob:
    """A knob as an estimator has it, if it does."""
    knob, other = KNOBS[name], dict(_OTHERWISE.get(estimator, {}).get(name, {}))
    if "choices" in other:
        other["choices"] = tuple(choice for choice in knob.choices if choice[0] in other["choices"])
    return replace(knob, **other)
