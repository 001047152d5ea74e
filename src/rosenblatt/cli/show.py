"""`rosenblatt show`: the contents of a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import as_json, model_argument

if TYPE_CHECKING:
    from rich.table import Table

    from ..models.model import Model

# Parameters that do not affect the learned weights.
HIDDEN_PARAMETERS = {"verbose", "warm_start", "log", "n_jobs"}
BAR_COLUMNS = 20


@click.command("show")
@model_argument
@click.option("--features", type=click.IntRange(0), default=10, show_default=True, help="Largest weights to list, per class.")
@as_json
def command(model: str, features: int, as_json: bool) -> None:
    """Show the contents of a model file: parameters, the features with the largest weights, and provenance.

    \b
    Example:
      rosenblatt show a9a.safetensors --features 20
    """
    from ..models.files import load_model
    from .console import out, print_fields, print_json

    loaded = load_model(model)
    heavy = heaviest(loaded, features)
    if as_json:
        print_json(_as_dict(loaded) | {"heaviest": heavy})
        return
    print_fields(_fields(_as_dict(loaded)))
    if heavy:
        out().print(_weights_table(heavy))


def heaviest(model: Model, count: int) -> list[dict[str, Any]]:
    """The features with the largest weights of each plane, and the class that a positive weight favors."""
    if model.coef is None or count == 0:
        return []
    import itertools

    import numpy as np

    names, classes, found = model.feature_names or range(1, model.n_features + 1), model.classes.tolist(), []
    heads = [classes[1]] if len(model.coef) == 1 else classes
    if model.pairs:  # one plane per pair; a positive score favors the second class
        heads = [f"{other} (not {one})" for one, other in itertools.combinations(classes, 2)]
    for head, weights in zip(heads, model.coef, strict=True):
        for j in np.argsort(-abs(weights), kind="stable")[:count].tolist():
            if weights[j] != 0.0:
                found.append({"class": head, "feature": str(names[j]), "weight": float(weights[j])})
    return found


def _as_dict(model: Model) -> dict[str, Any]:
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


def _fields(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """The contents of a model as names and text."""
    from ..reporting.text import comma_list, count, plural

    classes = f"{plural(len(contents['classes']), 'class', 'classes')}: {comma_list(contents['classes'])}"
    fields = [("model", f"{contents['kind']}, {plural(contents['features'], 'feature')}, {classes}")]
    shown = {
        name: value for name, value in contents["parameters"].items() if value is not None and name not in HIDDEN_PARAMETERS
    }
    fields.append(("parameters", ", ".join(f"{name}={value}" for name, value in shown.items())))
    if contents["stop"]:
        fields.append(("fit", contents["stop"]["sentence"]))
    work = [f"{count(contents[key])} {key}" for key in ("passes", "updates") if isinstance(contents[key], int)]
    if work:
        fields.append(("work", ", ".join(work)))
    fields += [("preprocessing", sentence) for sentence in contents["preprocessing"]]
    fields += [(name.replace("_", " "), _provenance_text(value)) for name, value in contents["provenance"].items()]
    return fields


def _provenance_text(value: object) -> str:
    return ", ".join(f"{name} {each}" for name, each in value.items()) if isinstance(value, dict) else str(value)


def _weights_table(heavy: list[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("class", "feature", "weight", "", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.columns[2].justify = "right"
    largest = max(abs(each["weight"]) for each in heavy)
    for each in heavy:
        size, positive = round(BAR_COLUMNS * abs(each["weight"]) / largest), each["weight"] > 0
        table.add_row(
            Text(str(each["class"])), Text(each["feature"]), f"{each['weight']:+.4g}",
            Text(("+" if positive else "-") * max(1, size), style="green" if positive else "red"),
        )  # fmt: skip
    return table
