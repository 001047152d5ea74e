"""The catalog: every estimator and every algorithm, in one table that the rest of the package reads.

The package's public names, model files, the options of the command line, the page's menu, the contract tests and the benchmarks
all read this table. Adding an algorithm means a rule or a solver, an estimator, and an entry below.

This module imports nothing heavy: an estimator is imported when it is made.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeGuard

if TYPE_CHECKING:
    from .estimators.base import LinearClassifier


@dataclass(frozen=True)
class Option:
    """A parameter as an option of the command line."""

    kind: Literal["int", "float", "choice", "flag", "weights"]  # "weights": of classes, or one of some words
    help: str
    words: tuple[str, ...] = ()  # the choices, or words allowed instead of a number; "none" is None


class KnobChanges(TypedDict, total=False):
    """Fields of a knob of the page that differ from `studio.menu.KNOBS`, or from what the class and an `Option` give.

    `choices` are pairs of a value and its title. `before` names the shared knob that an own one precedes; default: the first.
    """

    title: str
    help: str
    default: Any
    low: float
    high: float
    log: bool
    choices: tuple[tuple[str, str], ...]
    before: str


@dataclass(frozen=True)
class EstimatorEntry:
    """An estimator class.

    Attributes
    ----------
    module : str
        The module that defines the class.
    group : str
        The heading of its algorithms in the page's menu.
    attributes : tuple of str
        The fitted attributes that a model file holds, besides those that all models have.
    state : {"run", "gaussian", "moments", "solutions"} or None
        What else a model file holds, from which `partial_fit` or `warm_start` continues: the run of an `OnlineClassifier`,
        the mean and variance of the weights, moments of the rows, or solutions of a support vector machine.
    margin : float or None
        Rows with y * score up to this (or the least `threshold`) move the weights; None: all do. A parameter `margin` precedes.
    options : mapping of str to Option
        Parameters that no other estimator has, as options of the command line and, unless `knobs` hides them, of the page.
    knobs : mapping of str to KnobChanges or None
        How the page shows parameters of this estimator: what differs from the other estimators; None hides a parameter.
    grid : mapping of str to sequence
        The values that `tune` tries by default.
    """

    module: str
    group: str
    attributes: tuple[str, ...] = ()
    state: Literal["run", "gaussian", "moments", "solutions"] | None = None
    margin: float | None = 0.0
    options: Mapping[str, Option] = field(default_factory=dict)
    knobs: Mapping[str, KnobChanges | None] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def load(self, name: str) -> type[LinearClassifier]:
        found: type[LinearClassifier] = getattr(importlib.import_module(self.module), name)
        return found


@dataclass(frozen=True)
class Algorithm:
    """An estimator with some of its parameters fixed, under the name that the command line and the page use.

    Attributes
    ----------
    title : str
        The name for people.
    name : str
        The name of the estimator.
    summary : str
        One line for the page's menu.
    parameters : dict
        The parameters that are fixed.
    logged : bool
        Whether its runs leave an update log.
    """

    title: str
    name: str
    summary: str
    parameters: dict[str, Any] = field(default_factory=dict)
    logged: bool = False

    @property
    def entry(self) -> EstimatorEntry:
        return ESTIMATORS[self.name]

    @property
    def estimator(self) -> type[LinearClassifier]:
        return self.entry.load(self.name)

    @property
    def options(self) -> dict[str, Any]:
        """The parameters and their defaults."""
        signature = inspect.signature(self.estimator)
        return {name: parameter.default for name, parameter in signature.parameters.items()} | self.parameters

    def make(self, **parameters: Any) -> LinearClassifier:
        return self.estimator(**{**self.parameters, **parameters})


ESTIMATORS = {
    "AROW": EstimatorEntry(
        "rosenblatt.estimators.arow",
        "Passive-aggressive",
        attributes=("validation_errors_",),
        state="gaussian",
        margin=1.0,
        options={"r": Option("float", "AROW: a larger r makes smaller steps.")},
        knobs={
            "max_iter": {"default": 10, "high": 100, "help": "Passes over the points."},
            "r": {"help": "Larger values make smaller steps.", "before": "multiclass"},
        },
        grid={"r": (0.01, 0.1, 1.0, 10.0, 100.0)},
    ),
    "LinearMSE": EstimatorEntry(
        "rosenblatt.estimators.linear_mse",
        "Least squares",
        attributes=("mse_", "rank_", "solver_"),
        state="moments",
        margin=None,
        options={"alpha": Option("float", "Least squares: the penalty of |w|^2.")},
        knobs={
            "tol": None, "max_iter": None,  # not used with the few columns of the page
            "alpha": {
                "help": "The cost of the squared length of the weights.",
                "low": 0.0, "high": 100.0, "log": False, "before": "multiclass",
            },
        },
        grid={"alpha": (0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)},
    ),
    "MaxMargin": EstimatorEntry(
        "rosenblatt.estimators.max_margin",
        "Support vector machines",
        attributes=("support_", "multipliers_", "margin_", "gap_", "solver_"),
        margin=1.0,
        options={"inseparable": Option("choice", "Widest margin: what to do if no plane separates.", ("raise", "soft"))},
        knobs={
            "tol": {"high": 0.1, "help": "The accepted gap to the widest margin."},
            "max_iter": None,  # never reached
            "inseparable": None,  # the page fits both if it must
        },
    ),
    "NonlinearMSE": EstimatorEntry(
        "rosenblatt.estimators.nonlinear_mse",
        "Least squares",
        attributes=("loss_", "gradient_norm_", "saturated_", "_auto", "pocket_errors_", "validation_errors_"),
        state="run",
        margin=None,
        options={"activation": Option("choice", "Nonlinear least squares: the function.", ("tanh", "logistic"))},
        knobs={
            "step": {"help": "How far one update moves the weights; empty: chosen from the points."},
            "tol": {"help": "The run stops when a gradient or step is shorter than this."},
            "activation": None,  # each function is an algorithm of its own
        },
        grid={"activation": ("tanh", "logistic")},
    ),
    "PassiveAggressive": EstimatorEntry(
        "rosenblatt.estimators.passive_aggressive",
        "Passive-aggressive",
        attributes=("pocket_errors_", "validation_errors_"),
        state="run",
        margin=1.0,
        options={"variant": Option("choice", "Passive-aggressive: the step.", ("PA", "PA-I", "PA-II"))},
        knobs={
            "C": {"help": "Aggressiveness: how far one update may move the weights."},
            "variant": {"help": "The rule for the length of a step.", "before": "multiclass"},
        },
        grid={"keep": ("average",), "C": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)},
    ),
    "Perceptron": EstimatorEntry(
        "rosenblatt.estimators.perceptron",
        "Perceptron",
        attributes=("pocket_errors_", "_margin_used", "certificate_", "validation_errors_"),
        state="run",
        options={
            "margin": Option("float", "Perceptron: a row triggers an update if y * score is at most this.", ("auto",)),
            "init": Option("choice", "Perceptron: the first weights.", ("zeros", "sum")),
            "w_max": Option("float", "Perceptron: stop when |w| exceeds this."),
        },
        knobs={
            "margin": {
                "title": "margin b", "low": 0.0, "high": 10.0, "log": False,
                "help": "A point triggers an update if y · score ≤ b.",
            },
            "init": {
                "title": "first weights", "help": "The weights before the first update.", "before": "start",
                "choices": (("zeros", "zeros"), ("sum", "sum of all y·x"), ("given", "given below")),
            },
            "w_max": {
                "title": "stop when |w| exceeds", "low": 0.01, "high": 1e6, "before": "tol",
                "help": "The run stops when the weight vector is longer than this; empty: no limit.",
            },
        },
        grid={"keep": ("average", "last", "pocket"), "margin": (0.0, "auto")},
    ),
    "SoftMargin": EstimatorEntry(
        "rosenblatt.estimators.soft_margin",
        "Support vector machines",
        attributes=("support_", "multipliers_", "margin_", "gap_", "dual_gap_", "objective_", "solver_", "_scheme"),
        state="solutions",
        margin=1.0,
        options={
            "loss": Option("choice", "Soft margin: the loss.", ("hinge", "squared_hinge", "logistic")),
            "penalty": Option("choice", "Soft margin: l1 uses few features (not with the hinge).", ("l2", "l1")),
            "penalize_intercept": Option("flag", "Soft margin: count the intercept in |w|, as LIBLINEAR does."),
        },
        knobs={
            "tol": {"high": 0.1, "help": "The accepted gap to the minimum."},
            "loss": {
                "help": "The cost of a point inside the margin.", "before": "multiclass",
                "choices": (("hinge", "hinge"), ("squared_hinge", "squared hinge"), ("logistic", "logistic")),
            },
            "penalty": {
                "help": "The cost of the weights; the sum of their absolute values makes some of them zero.",
                "before": "multiclass", "choices": (("l2", "squared length"), ("l1", "absolute values")),
            },
            "penalize_intercept": {"help": "Whether the intercept counts in |w|.", "before": "vote_count"},
            "max_iter": None,  # never reached
        },
        grid={
            "loss": ("logistic", "hinge", "squared_hinge"),
            "C": (1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1e4),
        },
    ),
    "SoftMarginCV": EstimatorEntry(
        "rosenblatt.estimators.soft_margin_cv",
        "Support vector machines",
        attributes=(
            "support_", "multipliers_", "margin_", "gap_", "dual_gap_", "objective_", "solver_", "_scheme", "C_", "Cs_",
            "scores_",
        ),
        margin=1.0,
    ),
}  # fmt: skip

# Parameters that several estimators have, as options of the command line.
SHARED_OPTIONS = {
    "max_iter": Option("int", "Largest number of passes or iterations; none: no limit (perceptrons, pa).", ("auto", "none")),
    "max_updates": Option("int", "Largest number of updates."),
    "step": Option("float", "The step size rho.", ("auto",)),
    "order": Option("choice", "The order of the rows.", ("cyclic", "permuted", "random", "mistakes")),
    "tol": Option("float", "Tolerance: stop when a batch step or the relative gap is smaller."),
    "multiclass": Option(
        "choice",
        "How several classes are separated; auto: in pairs, or each against the rest for sparse rows of over 1,000 columns.",
        ("joint", "auto", "ovr", "ovo", "crammer_singer", "multinomial"),
    ),
    "fit_intercept": Option("flag", "Learn an intercept; without it, planes pass through the origin."),
    "intercept_scaling": Option("float", "Value of x_0, the constant feature of the intercept."),
    "vote_count": Option("choice", "How votes are counted.", ("lifetime", "survivals")),
    "class_weight": Option(
        "weights", "Weights of classes, such as spam=5,ham=1; balanced: inversely to their numbers of rows.", ("balanced",)
    ),
    "C": Option("float", "Cost of errors (soft margin), or limit of a step (passive-aggressive)."),
    "solver": Option(
        "choice",
        "The solver: one of the first four for soft-margin, one of the last four for nonlinear-mse.",
        ("auto", "newton", "interior-point", "dual-coordinates", "minimum", "online", "batch", "batch-mean"),
    ),
    "early_stopping": Option("flag", "Stop when the error on held-out training rows no longer falls; keep the best pass."),
    "validation_fraction": Option("float", "Share of the training rows that early stopping holds out."),
    "n_iter_no_change": Option("int", "Passes without a smaller error that end the run."),
    "calibrate": Option(
        "choice", "Learn probabilities on held-out folds, which takes five more fits.", ("sigmoid", "isotonic", "temperature")
    ),
    "n_jobs": Option("int", "Number of threads."),
}

ALGORITHMS = {
    "perceptron": Algorithm(
        "Perceptron",
        "Perceptron",
        "Look at the points one by one. If one is on the wrong side, add it to w (class B) or subtract "
        "it (class A). Stop when none is wrong.",
        logged=True,
    ),
    "pocket": Algorithm(
        "Pocket perceptron",
        "Perceptron",
        "The perceptron; the line with the fewest errors so far is kept.",
        {"keep": "pocket"}, logged=True,
    ),
    "average": Algorithm(
        "Averaged perceptron",
        "Perceptron",
        "The perceptron; the result is the mean of the weights over all visited points.",
        {"keep": "average"}, logged=True,
    ),
    "vote": Algorithm(
        "Voted perceptron",
        "Perceptron",
        "The perceptron; all lines of the run vote, and a line that survived more points counts more.",
        {"keep": "vote"}, logged=True,
    ),
    "margin": Algorithm(
        "Perceptron with margin",
        "Perceptron",
        "The perceptron; a point triggers an update unless it is right by more than a margin b.",
        {"margin": 1.0}, logged=True,
    ),
    "batch": Algorithm(
        "Batch perceptron",
        "Perceptron",
        "All misclassified points at once: each update adds their sum to the weights.",
        {"update": "batch"}, logged=True,
    ),
    "batch-mean": Algorithm(
        "Batch perceptron, mean step",
        "Perceptron",
        "All misclassified points at once: each update adds their sum, divided by the number of points.",
        {"update": "batch-mean"}, logged=True,
    ),
    "mistakes": Algorithm(
        "Perceptron on random mistakes",
        "Perceptron",
        "The perceptron; each update uses a misclassified point drawn at random.",
        {"order": "mistakes"}, logged=True,
    ),
    "pa": Algorithm(
        "Passive-aggressive",
        "PassiveAggressive",
        "The smallest step that gives the point a margin of 1.",
        {"variant": "PA"}, logged=True,
    ),
    "pa-1": Algorithm(
        "Passive-aggressive I",
        "PassiveAggressive",
        "The smallest step that gives the point a margin of 1, with a factor of at most C.",
        {"variant": "PA-I"}, logged=True,
    ),
    "pa-2": Algorithm(
        "Passive-aggressive II",
        "PassiveAggressive",
        "A step toward a margin of 1; a smaller C makes it shorter.",
        {"variant": "PA-II"}, logged=True,
    ),
    "arow": Algorithm(
        "Adaptive regularization (AROW)",
        "AROW",
        "Every weight has a variance; weights of rarely seen features move farther.",
    ),
    "max-margin": Algorithm(
        "Widest margin",
        "MaxMargin",
        "The line with the largest distance to the nearest points, if one separates them.",
    ),
    "soft-margin": Algorithm(
        "Soft margin",
        "SoftMargin",
        "A wide margin, with a cost C for every point inside it or on the wrong side.",
    ),
    "logistic": Algorithm(
        "Logistic regression",
        "SoftMargin",
        "The line whose scores are the best log odds of the classes, with a cost for long weight vectors.",
        {"loss": "logistic"},
    ),
    "linear-mse": Algorithm(
        "Linear least squares",
        "LinearMSE",
        "The line whose scores are closest to -1 and +1 in the sum of squares.",
    ),
    "ridge": Algorithm(
        "Linear least squares with a ridge",
        "LinearMSE",
        "Least squares with an additional cost for long weight vectors.",
        {"alpha": 1.0},
    ),
    "nonlinear-mse": Algorithm(
        "Least squares through tanh",
        "NonlinearMSE",
        "Least squares of tanh(score): points far on the right side cost nothing.",
    ),
    "logistic-mse": Algorithm(
        "Least squares through the logistic function",
        "NonlinearMSE",
        "Least squares of the logistic function of the score, with targets 0 and 1.",
        {"activation": "logistic"},
    ),
    "nonlinear-mse-online": Algorithm(
        "Least squares through tanh, row by row",
        "NonlinearMSE",
        "Least squares of tanh(score), by a small step for each point.",
        {"solver": "online"}, logged=True,
    ),
    "nonlinear-mse-batch": Algorithm(
        "Least squares through tanh, batch steps",
        "NonlinearMSE",
        "Least squares of tanh(score), by gradient steps over all points.",
        {"solver": "batch"}, logged=True,
    ),
}  # fmt: skip

# What packages use of those above them, above all of the applications `mail` and `studio`. Nothing imports what is above it, so
# a loaded filter's recipe, and `model.show` and `model.explain` of estimators are named here, as "module:name", and imported on
# first use.
APPLICATION_HOOKS = {
    "explain": "rosenblatt.models.explanations.explanation:explain_estimator",
    "mail recipe": "rosenblatt.mail.features:MailRecipe",
    "show": "rosenblatt.studio.notebook:show",
}


def application_hook(name: str) -> Any:
    """Import what an application provides under a name of `APPLICATION_HOOKS`."""
    module, _, attribute = APPLICATION_HOOKS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def command_line_options() -> dict[str, Option]:
    """Return the parameters of all estimators as options of the command line."""
    options = dict(SHARED_OPTIONS)
    for entry in ESTIMATORS.values():
        options.update(entry.options)
    return options


def is_estimator(value: object) -> TypeGuard[LinearClassifier]:
    """Return whether something is an estimator of the catalog, without importing any."""
    entry = ESTIMATORS.get(type(value).__name__)
    return entry is not None and type(value).__module__ == entry.module
