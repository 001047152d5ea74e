"""`rosenblatt certify`: a proof that the classes of a file are linearly separable, or that they are not."""

from __future__ import annotations

import shlex
from typing import Any

import click

from .options import NumberOrWord, WholeNumber, about_data, as_json, data_argument, options_of

# Exit codes; 0 means separable.
INSEPARABLE, UNDECIDED = 1, 3


@click.command("certify")
@data_argument
@click.option("-o", "--output", metavar="CERTIFICATE", help="Write the certificate to this file, as JSON.")
@click.option(
    "--fit-intercept/--no-fit-intercept", default=True, help="Allow an intercept; without it, planes pass through the origin."
)
@click.option(
    "--time-limit", type=NumberOrWord(float), metavar="SECONDS", help="Limit of the total time, with the check at the end."
)
@click.option(
    "--likelihood/--no-likelihood",
    default=True,
    help="Find out if logistic regression has an optimum: complete or quasi-complete separation, or overlap.",
)
@click.option("--degree", type=WholeNumber(1, 20), default=1, show_default=True, help="Degree of polynomial features.")
@about_data
@as_json
def command(
    data: str,
    output: str | None,
    fit_intercept: bool,
    time_limit: float | None,
    likelihood: bool,
    degree: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Prove that the classes of a file are linearly separable, and by which margin, or that they are not.

    If they are not, planes may still separate some of the rows and misclassify none (quasi-complete separation): logistic
    regression without a penalty then has no optimum. The columns and rows that separate are named.

    Numeric columns are not scaled; categorical columns are one-hot encoded. Exit code 0: separable, 1: not separable,
    3: undecided within the time limit.

    \b
    Examples:
      rosenblatt certify sonar.all-data -o sonar.json && rosenblatt verify sonar.json sonar.all-data
      rosenblatt certify example:iris
    """
    import numpy as np

    from ..certificates.files import certificate_to_dict, save_certificate
    from ..data.readers import Options
    from ..proofs.certify import certify
    from ..reporting.text import duration
    from ..training.preparation import check_classes
    from .console import bar, check_writable, note, out, print_json
    from .options import print_notes, read_labeled_rows

    as_json = as_json or output == "-"
    output = None if output == "-" else output
    check_writable(output, data)
    options = options_of(given)
    rows = read_labeled_rows(data, options, degree)
    check_classes(rows.data.source, np.unique(rows.y), rows.data.n_rows)
    if not as_json:
        print_notes(rows)
    with bar("proving"):
        certificate = certify(rows.X, rows.y, fit_intercept=fit_intercept, time_limit=time_limit, likelihood=likelihood)
    if output is not None:
        save_certificate(certificate, output)
    if as_json:
        print_json(certificate_to_dict(certificate))
    else:
        out().print(certificate.text(rows.recipe.feature_names), soft_wrap=True)
        if certificate.verdict == "undecided" and time_limit is not None:
            note(f"the time limit of {duration(time_limit)} ended before a decision: raise --time-limit, or leave it out")
        if output is not None:
            check = shlex.join(["rosenblatt", "verify", output, data])
            more = " (with the same data options)" if options != Options() or degree > 1 else ""
            out().print(f"written to {output}; check it: {check}{more}", soft_wrap=True)
    if certificate.verdict != "separable":
        raise click.exceptions.Exit(INSEPARABLE if certificate.verdict == "inseparable" else UNDECIDED)
