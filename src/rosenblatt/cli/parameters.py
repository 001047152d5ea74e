"""The estimators' parameters as options, under the library's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class _NumberOr(click.ParamType):  # type: ignore[type-arg]
    """A number, or one of some words."""

    def __init__(self, number: type, words: dict[str, Any]) -> None:
        self.number, self.words = number, words
        self.name = "|".join(["NUMBER", *words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if value in self.words:
            return self.words[value]
        try:
            return self.number(value)
        except ValueError:
            kind = "whole number" if self.number is int else "number"
            self.fail(f"{value!r} is not a {kind}{''.join(f' and not {word}' for word in self.words)}", param, ctx)


COUNT = _NumberOr(int, {})
NUMBER = _NumberOr(float, {})

PARAMETERS: dict[str, tuple[Any, str]] = {
    "max_iter": (
        _NumberOr(int, {"auto": "auto", "none": None}),
        "Passes over the rows, or iterations of a solver, at most; none: no limit.",
    ),
    "max_updates": (COUNT, "Updates, at most."),
    "margin": (_NumberOr(float, {"auto": "auto"}), "Update where y * score is at most this."),
    "step": (_NumberOr(float, {"auto": "auto"}), "Step size rho."),
    "init": (click.Choice(["zeros", "sum"]), "Weights to start from."),
    "order": (click.Choice(["cyclic", "permuted", "random", "mistakes"]), "The order in which rows are visited."),
    "w_max": (NUMBER, "Stop where the norm of the weights passes this."),
    "tol": (NUMBER, "Stop at a batch step this short, or a relative gap this small."),
    "multiclass": (click.Choice(["joint", "ovr", "ovo", "crammer_singer"]), "How more than two classes are told apart."),
    "intercept_scaling": (NUMBER, "x_0, the constant before every row."),
    "vote_count": (click.Choice(["lifetime", "survivals"]), "What a vote weighs."),
    "class_weight": (click.Choice(["balanced"]), "Weigh classes against their number of rows."),
    "C": (NUMBER, "Cost of errors (soft margin), aggressiveness (PA)."),
    "r": (NUMBER, "AROW: the larger, the smaller the steps."),
    "variant": (click.Choice(["PA", "PA-I", "PA-II"]), "Passive-aggressive variant."),
    "loss": (click.Choice(["hinge", "squared_hinge"]), "Soft margin: the loss."),
    "alpha": (NUMBER, "Least squares: what the squared length of w costs."),
    "activation": (click.Choice(["tanh", "logistic"]), "Nonlinear least squares: the function."),
    "solver": (str, "How a minimum is found, where there is a choice."),
    "inseparable": (click.Choice(["raise", "soft"]), "Widest margin: what to do where there is none."),
    "n_jobs": (COUNT, "Threads."),
}

FLAGS = {
    "fit_intercept": "Whether the plane may leave the origin.",
    "penalize_intercept": "Soft margin: count the intercept in |w|, as LIBLINEAR does.",
}


def parameters(command: Command) -> Command:
    for name, (kind, text) in reversed(PARAMETERS.items()):
        command = click.option(f"--{name.replace('_', '-')}", name, type=kind, default=None, help=text)(command)
    for name, text in reversed(FLAGS.items()):
        option = name.replace("_", "-")
        command = click.option(f"--{option}/--no-{option}", name, default=None, help=text)(command)
    return command


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """What a person said of the parameters, out of a command's arguments; `none` is said too."""
    context = click.get_current_context()
    said = {}
    for name in (*PARAMETERS, *FLAGS):
        value = given.pop(name)
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            said[name] = value
    return said
