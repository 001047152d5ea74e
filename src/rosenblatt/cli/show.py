"""`rosenblatt show`: what is in a model file."""

from __future__ import annotations

from typing import Any

import click

from .options import as_json, model_argument

# Parameters that say nothing about what was learnt.
UNTOLD = {"verbose", "warm_start", "log", "n_jobs"}


@click.command("show")
@model_argument
@click.option("--features", type=click.IntRange(0), default=10, show_default=True, help="Heaviest features to list, per class.")
@as_json
def command(model: str, features: int, as_json: bool) -> None:
    """Show what is in a model file: parameters, the heaviest features by name, and where it comes from.

    \b
    Example:
      rosenblatt show a9a.safetensors --features 20
    """
    from ..models.files import load_model
    from .console import out, print_json, say

    found = load_model(model)
    heavy = heaviest(found, features)
    if as_json:
        print_json(described(found) | {"heaviest": heavy})
        return
    told = described(found)
    lines = [
        ("model", f"{told['kind']}, {told['features']:,} features, {len(told['classes'])} classes: {_listed(told['classes'])}")
    ]
    said = {name: value for name, value in told["parameters"].items() if value is not None and name not in UNTOLD}
    lines.append(("parameters", ", ".join(f"{name}={value}" for name, value in said.items())))
    if told["stop"]:
        lines.append(("stopped", f"{told['stop']['reason']}: {told['stop']['sentence']}"))
    counts = [(told[key], word) for key, word in (("passes", "passes"), ("updates", "updates")) if isinstance(told[key], int)]
    if counts:
        lines.append(("work", ", ".join(f"{count:,} {word}" for count, word in counts)))
    lines += [("features", sentence) for sentence in told["preprocessing"]]
    lines += [(name.replace("_", " "), _said(value)) for name, value in told["provenance"].items()]
    say(lines)
    if heavy:
        out().print(_table(heavy))


def described(model: Any) -> dict[str, Any]:
    return {
        "kind": model.kind,
        "parameters": model.parameters,
        "classes": model.classes.tolist(),
        "features": model.n_features,
        "stop": None if model.stop is None else {"reason": model.stop.reason, "sentence": model.stop.sentence},
        "passes": model.n_iter,
        "updates": model.n_updates,
        "preprocessing": [] if model.recipe is None else list(model.recipe.notes),
        "provenance": model.provenance,
    }


def heaviest(model: Any, count: int) -> list[dict[str, Any]]:
    """The features of the largest weights of each plane, and the class that they speak for."""
    if model.coef is None or count == 0:
        return []
    import itertools

    import numpy as np

    names, classes, found = model.feature_names or range(1, model.n_features + 1), model.classes.tolist(), []
    heads = [classes[1]] if len(model.coef) == 1 else classes
    if model.pairs:  # a plane between each two, over 0 for the second
        heads = [f"{other} (not {one})" for one, other in itertools.combinations(classes, 2)]
    for head, weights in zip(heads, model.coef, strict=True):
        for j in np.argsort(-abs(weights), kind="stable")[:count].tolist():
            if weights[j] != 0.0:
                found.append({"class": head, "feature": str(names[j]), "weight": float(weights[j])})
    return found


def _table(heavy: list[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table("for class", "feature", "weight", "", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.columns[2].justify = "right"
    largest = max(abs(each["weight"]) for each in heavy)
    for each in heavy:
        size, sign = round(20 * abs(each["weight"]) / largest), each["weight"] > 0
        table.add_row(
            Text(str(each["class"])), Text(each["feature"]), f"{each['weight']:+.4g}",
            Text(("+" if sign else "-") * max(1, size), style="green" if sign else "red"),
        )  # fmt: skip
    return table


def _said(value: Any) -> str:
    return ", ".join(f"{name} {each}" for name, each in value.items()) if isinstance(value, dict) else str(value)


def _listed(classes: list[Any]) -> str:
    return ", ".join(map(str, classes[:12])) + (", ..." if len(classes) > 12 else "")
