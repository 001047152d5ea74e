"""`rosenblatt doctor`: why a perceptron does not converge on a file."""

from __future__ import annotations

from typing import Any

import click

from .options import about_data, as_json, data_argument, options_of


@click.command("doctor")
@data_argument
@click.option("--time-limit", type=float, default=30.0, show_default=True, metavar="SECONDS", help="Limit of the total time.")
@about_data
@as_json
def command(data: str, time_limit: float, as_json: bool, **given: Any) -> None:
    """Explain why a perceptron does not converge on a file: conflicting rows, scales, duplicates, and possible remedies.

    \b
    Example:
      rosenblatt doctor spambase.data
    """
    import numpy as np

    from ..proofs.doctor.doctor import doctor
    from ..training.preparation import check_classes
    from .console import bar, out, print_json
    from .options import print_notes, read_labeled_rows

    rows = read_labeled_rows(data, options_of(given))
    check_classes(rows.data, np.unique(rows.y))
    if not as_json:
        print_notes(rows)
    with bar("examining"):
        diagnosis = doctor(rows.X, rows.y, time_limit=time_limit, feature_names=list(rows.recipe.feature_names))
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        out().print(str(diagnosis), markup=False, soft_wrap=True)
