"""`rosenblatt show`: the contents of a model file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from .options import WholeNumber, as_json, model_argument

if TYPE_CHECKING:
    from rich.table import Table

    from ..models.model import Model

BAR_COLUMNS = 20
LISTED_PLANES = 12


@click.command("show")
@model_argument
@click.option("--features", type=WholeNumber(0), default=10, show_default=True, help="Largest weights to list, per class.")
@click.option("--card", metavar="FILE.md", help="Write a model card: data, test, classes, limits, in Markdown.")
@as_json
def command(model: str, features: int, card: str | None, as_json: bool) -> None:
    """Show the contents of a model file: parameters, test, the features with the largest weights, and provenance.

    The model card also has the results of each class, the ranges and categories of the training rows, and what was noticed.

    \b
    Examples:
      rosenblatt show a9a.safetensors --features 20
      rosenblatt show adult.safetensors --card adult.md
    """
    from ..models.description import heaviest
    from ..models.files import load_model
    from .console import check_writable, echo, out, print_fields, print_json

    check_writable(card, model, ending=".md")
    loaded = load_model(model)
    heavy = heaviest(loaded, features)
    if card is not None:
        from ..atomic_file import write_atomically

        write_atomically(card, loaded.card().encode())
    if as_json:
        print_json(_without_infinity(_as_dict(loaded)) | {"heaviest": heavy, "card": card})
        return
    print_fields([*_fields(_as_dict(loaded)), *([("card", card)] if card is not None else [])])
    if heavy:
        echo()
        out().print(_weights_table(heavy))
    elif loaded.coef is None and features:
        echo("\nno weights to list: the hypotheses of the run vote")


def _as_dict(model: Model) -> dict[str, Any]:
    from ..models.description import count_used, intercepts

    return {
        "kind": model.kind,
        "parameters": model.parameters,
        "classes": model.classes.tolist(),
        "features": model.n_features,
        "features_used": count_used(model.parameters, model.coef),
        "pairs": model.pairs,
        "intercepts": intercepts(model),
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
    from ..models.description import count_work, describe_scheme, describe_selection, shown_parameters
    from ..reporting.text import comma_list, plural

    classes = f"{plural(len(contents['classes']), 'class', 'classes')}: {comma_list(contents['classes'])}"
    fields = [("model", f"{contents['kind']}, {plural(contents['features'], 'feature')}, {classes}")]
    fields.append(("parameters", shown_parameters(contents["parameters"])))
    if scheme := describe_scheme(contents["parameters"], contents["pairs"], len(contents["classes"])):
        fields.append(("", scheme))
    if selection := describe_selection(contents["features_used"], contents["features"]):
        fields.append(("", selection))
    if contents["stop"]:
        fields.append(("fit", contents["stop"]["sentence"]))
    work = count_work(contents["n_iter"], contents["updates"])
    if work:
        fields.append(("work", work))
    fields += _intercept_fields(contents["intercepts"])
    for place, sentence in enumerate(contents["preprocessing"]):
        fields.append(("" if place else "preprocessing", sentence))
    return fields + _test_fields(contents["provenance"].get("training")) + _provenance_fields(dict(contents["provenance"]))


def _intercept_fields(planes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The intercept; of several planes with the class that each of them favors."""
    from ..reporting.text import comma_list, short

    if not planes:
        return []
    if len(planes) == 1:
        return [("intercept", short(planes[0]["intercept"], 4))]
    listed = [f"{each['class']} {short(each['intercept'], 4)}" for each in planes]
    return [("intercepts", comma_list(listed, LISTED_PLANES))]


def _test_fields(stored: Any) -> list[tuple[str, str]]:
    """The test of the model, beside the baseline, and what was noticed; nothing if the file does not store them."""
    from ..models.card.record import FILE, FOLDS, HELD_OUT, record_from_json
    from ..reporting.text import count, percent, percent_range

    record = record_from_json(stored)
    if record is None:
        return []
    noticed = [("" if place else "noticed", sentence) for place, sentence in enumerate(record.notes)]
    if record.test is None:
        return [("test", "none"), *noticed]
    tested, guess = record.test.counts, record.baseline
    rows = {HELD_OUT: "held-out rows", FILE: f"rows of {record.test.file}", FOLDS: f"rows in {len(record.test.folds)} folds"}
    wrong = f"error {percent(tested.error, 2)} ({count(tested.errors)} of {count(tested.rows)} {rows[record.test.by]} wrong)"
    fields = [("test", f"{wrong}, 95 % interval {percent_range(*tested.interval)}")]
    fields.append(("baseline", f"always {guess.label!r}: error {percent(guess.error, 2)}"))
    return [*fields, *(("warning", sentence) for sentence in record.warnings), *noticed]


def _provenance_fields(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """Data and command of the training, then the versions; entries that others have added come between, as they are."""
    from ..models.description import reading_options
    from ..reporting.text import join_and, plural

    sizes = [plural(provenance.pop(noun), noun[:-1]) for noun in ("rows", "columns") if isinstance(provenance.get(noun), int)]
    versions = [f"{name} {provenance.pop(name)}" for name in ("rosenblatt", "numpy", "python") if name in provenance]
    saved, reading = provenance.pop("saved", None), provenance.pop("reading", None)
    provenance.pop("training", None)  # `_test_fields` has it
    fields = [("data", str(provenance.pop("data")))] if "data" in provenance else []
    if sizes:
        fields.append(("size", join_and(sizes)))
    if isinstance(reading, dict):
        options, described = reading_options(reading)
        fields += [("read with", options), *(("", sentence) for sentence in described)]
    for name, value in provenance.items():
        listed = (
            value if not isinstance(value, dict) or not value else join_and([f"{each} {key}" for key, each in value.items()])
        )
        fields.append((name.replace("_", " "), str(listed)))
    if versions:
        fields.append(("saved by", join_and(versions)))
    return [*fields, ("saved at", str(saved))] if saved is not None else fields


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
