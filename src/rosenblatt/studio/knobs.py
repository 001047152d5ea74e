"""The knobs of the page: which parameters of an algorithm it shows, with range, default and help text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..catalog import Algorithm

# The longest run that the page plays.
MAX_UPDATES = 10_000

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Knob:
    """A parameter with its range and texts. `where` decides from all parameters of an algorithm whether it is shown."""

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
    where: Callable[[Options], bool] = lambda _: True

    def to_json(self) -> dict[str, Any]:
        """Return the knob for the page."""
        return {
            "name": self.name, "title": self.title, "help": self.help, "kind": self.kind, "default": self.default,
            "low": self.low, "high": self.high, "log": self.log, "whole": self.whole, "optional": self.optional,
            "choices": [{"value": value, "title": title} for value, title in self.choices],
        }  # fmt: skip


def is_batch(options: Options) -> bool:
    """Return whether an algorithm updates with all rows at once."""
    return "batch" in (str(options.get("update", ""))[:5], str(options.get("solver", ""))[:5])


def _is_online(options: Options) -> bool:
    return not is_batch(options) and options.get("solver") != "minimum"


def _has_updates(options: Options) -> bool:
    return options.get("solver") != "minimum"


KNOBS = {
    knob.name: knob
    for knob in (
        Knob("margin", "margin b", "A point triggers an update if y · score ≤ b.", default=0.0, low=0.0, high=10.0),
        Knob(
            "step", "step ρ", "How far one update moves the weights.",
            default=1.0, low=0.001, high=1000.0, log=True, where=_has_updates,
        ),
        Knob(
            "schedule", "schedule of ρ", "Constant steps, or steps that shrink with the number k of the update.",
            kind="choice", default="constant", where=_has_updates,
            choices=(("constant", "constant"), ("1/k", "ρ/k"), ("1/sqrt(k)", "ρ/√k")),
        ),
        Knob(
            "init", "first weights", "The weights before the first update.", kind="choice", default="zeros",
            choices=(("zeros", "zeros"), ("sum", "sum of all y·x"), ("given", "given below")),
        ),
        Knob("start", "w₀, w₁, …", "The first weights, w₀ first.", kind="weights", optional=True),
        Knob(
            "order", "order of points",
            "Which point comes next: in turn; shuffled in each pass; drawn at random; drawn from the misclassified points.",
            kind="choice", default="cyclic", where=_is_online,
            choices=(("cyclic", "cyclic"), ("permuted", "permuted"), ("random", "random"), ("mistakes", "mistakes only")),
        ),
        Knob(
            "max_updates", "stop after … updates", "The run stops after this many updates at the latest.",
            default=1000, low=1, high=MAX_UPDATES, log=True, whole=True, where=_has_updates,
        ),
        Knob(
            "max_iter", "stop after … passes", "The run stops after this many passes over the points; empty: no limit.",
            low=1, high=10_000, log=True, whole=True, optional=True,
        ),
        Knob(
            "w_max", "stop when |w| exceeds", "The run stops when the weight vector is longer than this; empty: no limit.",
            low=0.01, high=1e6, log=True, optional=True,
        ),
        Knob(
            "tol", "tolerance", "The run stops after a step shorter than this; empty: no limit.",
            low=1e-9, high=10.0, log=True, optional=True,
            where=lambda options: "order" not in options or not _is_online(options),
        ),
        Knob("C", "C", "The cost of a point inside the margin.", default=1.0, low=0.001, high=1000.0, log=True,
             where=lambda options: options.get("variant") != "PA"),
        Knob("r", "r", "Larger values make smaller steps.", default=1.0, low=0.001, high=1000.0, log=True),
        Knob(
            "variant", "variant", "The rule for the length of a step.", kind="choice", default="PA-I",
            choices=(("PA", "PA"), ("PA-I", "PA-I"), ("PA-II", "PA-II")),
        ),
        Knob(
            "loss", "loss", "The cost of a point inside the margin.", kind="choice", default="hinge",
            choices=(("hinge", "hinge"), ("squared_hinge", "squared hinge")),
        ),
        Knob("alpha", "alpha", "The cost of the squared length of the weights.", default=0.0, low=0.0, high=100.0),
        Knob(
            "multiclass", "several classes",
            "How more than two classes are learned: all in one run; each against the rest; each pair, by votes.",
            kind="choice", default="joint",
            choices=(
                ("joint", "together"), ("ovr", "against the rest"), ("ovo", "in pairs"), ("crammer_singer", "Crammer-Singer"),
            ),
        ),
        Knob("fit_intercept", "intercept", "If off, the line passes through the origin.", kind="flag", default=True),
        Knob("penalize_intercept", "penalize intercept", "Whether the intercept counts in |w|.", kind="flag", default=False),
        Knob(
            "vote_count", "weight of a vote", "The points that a line survived; with or without the point that created it.",
            kind="choice", default="lifetime", choices=(("lifetime", "lifetime"), ("survivals", "survivals")),
            where=lambda options: options.get("keep") == "vote",
        ),
    )
}  # fmt: skip
EXTRA_KNOBS = {"schedule": "step", "start": "init"}  # knobs that are not parameters, with the parameter they belong to

# Differences of knobs by estimator.
_JOINT_OR_REST = ("joint", "ovr")
_ESTIMATOR_KNOBS: dict[str, dict[str, dict[str, Any]]] = {
    "Perceptron": {"multiclass": {"choices": _JOINT_OR_REST}},
    "PassiveAggressive": {
        "multiclass": {"choices": _JOINT_OR_REST},
        "C": {"help": "Aggressiveness: how far one update may move the weights."},
    },
    "AROW": {
        "multiclass": {"choices": _JOINT_OR_REST},
        "order": {"choices": ("cyclic", "permuted", "random")},
        "max_iter": {"default": 10, "high": 100, "optional": False, "help": "Passes over the points."},
    },
    "MaxMargin": {
        "multiclass": {"choices": ("ovr", "ovo"), "default": "ovr"},
        "tol": {"default": 1e-6, "optional": False, "high": 0.1, "help": "The accepted gap to the widest margin."},
    },
    "SoftMargin": {
        "multiclass": {"choices": ("ovr", "ovo", "crammer_singer"), "default": "ovr"},
        "tol": {"default": 1e-3, "optional": False, "high": 0.1, "help": "The accepted gap to the minimum."},
    },
    "NonlinearMSE": {
        "order": {"choices": ("cyclic", "permuted", "random")},
        "step": {
            "default": None,
            "optional": True,
            "help": "How far one update moves the weights; empty: chosen from the points.",
        },
        "tol": {"default": 1e-6, "optional": False, "help": "The run stops when a gradient or step is shorter than this."},
    },
}
# Parameters that are not shown because they hardly matter.
_HIDDEN_KNOBS = {"LinearMSE": ("tol",), "MaxMargin": ("max_iter",), "SoftMargin": ("max_iter",)}


def knobs_of(algorithm: Algorithm) -> dict[str, Knob]:
    """Return the knobs of an algorithm, without parameters that the catalog fixes to a string, since they define it."""
    options, found = algorithm.options, {}
    parameters = inspect.signature(algorithm.estimator).parameters
    for name, knob in KNOBS.items():
        fixed = algorithm.parameters.get(name)
        if (
            EXTRA_KNOBS.get(name, name) not in parameters
            or isinstance(fixed, str)
            or name in _HIDDEN_KNOBS.get(algorithm.name, ())
        ):
            continue
        if not knob.where(options):
            continue
        found[name] = (
            knob_for(algorithm.name, name) if fixed is None else replace(knob_for(algorithm.name, name), default=fixed)
        )
    return found


def knob_for(estimator: str, name: str) -> Knob:
    """Return a knob with the differences of an estimator."""
    knob, changes = KNOBS[name], dict(_ESTIMATOR_KNOBS.get(estimator, {}).get(name, {}))
    if "choices" in changes:
        changes["choices"] = tuple(choice for choice in knob.choices if choice[0] in changes["choices"])
    return replace(knob, **changes)
