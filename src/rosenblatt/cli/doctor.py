"""`rosenblatt doctor`: why a perceptron does not converge on a file."""

from __future__ import annotations

import shlex
from typing import Any

import click

from .options import NumberOrWord, about_filled_data, as_json, data_argument, options_of


@click.command("doctor")
@data_argument
@click.option(
    "--time-limit",
    type=NumberOrWord(float),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Limit of the total time.",
)
@about_filled_data
@as_json
def command(data: str, time_limit: float, as_json: bool, **given: Any) -> None:
    """Explain why a perceptron does not converge on a file: conflicting rows, scales, duplicates, and possible remedies.

    \b
    Example:
      rosenblatt doctor spambase.data
    """
    import numpy as np

    from ..data.table import Table
    from ..proofs.doctor.doctor import diagnose
    from ..training.consultation import columns_to_examine
    from ..training.preparation import check_classes
    from .console import bar, out, print_json
    from .options import print_notes, read_labeled_rows

    train = _train_command(data, given)
    options = options_of(given)
    rows = read_labeled_rows(data, options)
    check_classes(rows.data.source, np.unique(rows.y), rows.data.n_rows)
    if not as_json:
        print_notes(rows)
    with bar("examining"):
        names, unnamed = list(rows.recipe.feature_names), not isinstance(rows.data.features, Table)
        diagnosis = diagnose(
            rows.X,
            rows.y,
            time_limit=time_limit,
            feature_names=[f"column {name}" for name in names] if unnamed else names,
            train=train,
            columns=columns_to_examine(rows.data, options),
            dates=rows.data.dates,
        )
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        out().print(str(diagnosis), soft_wrap=True)


def _train_command(data: str, given: dict[str, Any]) -> str:
    """The beginning of a command that trains on the same data, read with the same options."""
    context, words = click.get_current_context(), ["rosenblatt", "train", data]
    for option in context.command.params:
        name = option.name or ""
        if name in given and context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            values = given[name] if isinstance(given[name], tuple) else (given[name],)
            for value in values:
                flag = option.secondary_opts[0] if value is False else option.opts[0]
                words += [flag] if isinstance(value, bool) else [flag, str(value)]
    return shlex.join(words)
