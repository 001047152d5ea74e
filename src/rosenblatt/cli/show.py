"""`rosenblatt show`: the contents of a model file."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

import click

from .options import WholeNumber, as_json, model_argument

if TYPE_CHECKING:
    from rich.table import Table

    from ..models.model import Model

# Parameters that do not affect the learned weights.
HIDDEN_PARAMETERS = {"verbose", "warm_start", "log", "n_jobs"}
BAR_COLUMNS = 20


@click.command("show")
@model_argument
@click.option("--features", type=WholeNumber(0), default=10, show_default=True, help="Largest weights to list, per class.")
@as_json
def command(model: str, features: int, as_json: bool) -> None:
    """Show the contents of a model file: parameters, the features with the largest weights, and provenance.

    \b
    Example:
      rosenblatt show a9a.safetensors --features 20
    """
    from ..models.files import load_model
    from .console import echo, out, print_fields, print_json

    loaded = load_model(model)
    heavy = heaviest(loaded, features)
    if as_json:
        print_json(_without_infinity(_as_dict(loaded)) | {"heaviest": heavy})
        return
    print_fields(_fields(_as_dict(loaded)))
    if heavy:
        echo()
        out().print(_weights_table(heavy))
    elif loaded.coef is None and features:
        echo("\nno weights to list: the hypotheses of the run vote")


def heaviest(model: Model, count: int) -> list[dict[str, Any]]:
    """The features with the largest weights of each plane, and the class that a positive weight favors."""
    if model.coef is None or count == 0:
        return []
    import itertools

    import numpy as np

    names, classes, found = model.feature_names or range(model.n_features), model.classes.tolist(), []
    heads = classes[-1:] if len(model.coef) == 1 else classes  # a stream may have one class so far
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
        "pairs": model.pairs,
        "stop": None if model.stop is None else {"reason": model.stop.reason, "sentence": model.stop.sentence},
        "n_iter": model.n_iter,
        "updates": model.n_updates,
        "preprocessing": [] if model.recipe is None else list(model.recipe.notes),
        "provenance": model.provenance,
    }


def _without_infinity(value: Any) -> Any:
    """Values for JSON, which has no infinity, such as that of C=inf, and only text as keys."""
    if isinstance(value, dict):
        return {str(key): _without_infinity(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinity(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _fields(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """The contents of a model as names and text."""
    from ..reporting.text import comma_list, plural
    from ..training.summary import count_work, describe_scheme

    classes = f"{plural(len(contents['classes']), 'class', 'classes')}: {comma_list(contents['classes'])}"
    fields = [("model", f"{contents['kind']}, {plural(contents['features'], 'feature')}, {classes}")]
    shown = {
        name: value for name, value in contents["parameters"].items() if value is not None and name not in HIDDEN_PARAMETERS
    }
    fields.append(("parameters", ", ".join(f"{name}={value}" for name, value in shown.items())))
    if scheme := describe_scheme(contents["parameters"].get("multiclass"), contents["pairs"], len(contents["classes"])):
        fields.append(("", scheme))
    if contents["stop"]:
        fields.append(("fit", contents["stop"]["sentence"]))
    work = count_work(contents["n_iter"], contents["updates"])
    if work:
        fields.append(("work", work))
    for place, sentence in enumerate(contents["preprocessing"]):
        fields.append(("" if place else "preprocessing", sentence))
    return fields + _provenance_fields(dict(contents["provenance"]))


def _provenance_fields(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """Data and command of the training, then the versions; entries that others have added come between, as they are."""
    from ..data.readers.kinds import describe_forms, form_from_json
    from ..reporting.text import join_and, plural

    sizes = [plural(provenance.pop(noun), noun[:-1]) for noun in ("rows", "columns") if isinstance(provenance.get(noun), int)]
    versions = [f"{name} {provenance.pop(name)}" for name in ("rosenblatt", "numpy", "python") if name in provenance]
    saved, reading = provenance.pop("saved", None), provenance.pop("reading", None)
    reading = dict(reading) if isinstance(reading, dict) else reading
    fields = [("data", str(provenance.pop("data")))] if "data" in provenance else []
    if sizes:
        fields.append(("size", join_and(sizes)))
    if isinstance(reading, dict):
        forms = reading.pop("forms", {})
        fields.append(("read with", " ".join(_as_option(name, value) for name, value in reading.items() if value is not False)))
        described = describe_forms({name: form_from_json(form) for name, form in forms.items()})
        fields += [("", sentence) for sentence in described]
    for name, value in provenance.items():
        listed = (
            value if not isinstance(value, dict) or not value else join_and([f"{each} {key}" for key, each in value.items()])
        )
        fields.append((name.replace("_", " "), str(listed)))
    if versions:
        fields.append(("saved by", join_and(versions)))
    return [*fields, ("saved at", str(saved))] if saved is not None else fields


def _as_option(name: str, value: object) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option} {shlex.quote(str(value))}"


def _weights_table(heavy: list[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from ..reporting.text import short

    table = Table("class", "feature", "weight", "", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.columns[2].justify = "right"
    largest = max(abs(each["weight"]) for each in heavy)
    for each in heavy:
        size, positive = round(BAR_COLUMNS * (abs(each["weight"]) / largest)), each["weight"] > 0
        table.add_row(
            Text(str(each["class"])), Text(each["feature"]), f"{'+' if each['weight'] >= 0 else ''}{short(each['weight'], 4)}",
            Text(("+" if positive else "-") * max(1, size), style="green" if positive else "red"),
        )  # fmt: skip
    return table
