"""`rosenblatt doctor`: why a perceptron does not converge on a file."""

from __future__ import annotations

from typing import Any

import click

from .options import about_data, as_json, data_argument, options_of


@click.command("doctor")
@data_argument
@click.option("--time-limit", type=float, default=30.0, show_default=True, metavar="SECONDS", help="Of the whole examination.")
@about_data
@as_json
def command(data: str, time_limit: float, as_json: bool, **given: Any) -> None:
    """Say why a perceptron does not converge on a file: the rows that clash, scales, duplicates, what would help.

    \b
    Example:
      rosenblatt doctor spambase.data
    """
    from ..proofs.doctor.doctor import doctor
    from .console import bar, note, out, print_json
    from .options import rows_and_labels

    found = rows_and_labels(data, options_of(given))
    if found.data.note and not as_json:
        note(found.data.note)
    with bar("examining"):
        diagnosis = doctor(found.X, found.y, time_limit=time_limit, feature_names=list(found.recipe.feature_names))
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        out().print(str(diagnosis), markup=False, soft_wrap=True)
