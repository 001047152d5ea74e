"""`rosenblatt verify`: check a certificate against a file."""

from __future__ import annotations

from typing import Any

import click

from .options import WholeNumber, about_data, as_json, files_argument, files_of, load_first, options_of

# Exit code; 0 means that the certificate holds.
REJECTED = 1


@click.command("verify")
@click.argument("certificate", metavar="CERTIFICATE")
@files_argument
@click.option("--degree", type=WholeNumber(1, 20), default=1, show_default=True, help="Degree that was given to certify.")
@about_data
@as_json
def command(certificate: str, data: tuple[str, ...], degree: int, as_json: bool, **given: Any) -> None:
    """Check a certificate against a file, or several files read as one, in exact arithmetic. Exit code 0: it holds, 1: not.

    The check shares no code with the solver that found the proof. `python -m rosenblatt.certificates.verify CERTIFICATE DATA`
    does the same for numeric svmlight, CSV and npz files and needs NumPy only.

    \b
    Example:
      rosenblatt verify sonar.json sonar.all-data
    """
    from ..certificates.files import load_certificate
    from ..certificates.sentences import describe_likelihood
    from ..certificates.verify import verify
    from .console import echo, print_json
    from .options import read_labeled_rows

    claim = load_first(load_certificate, certificate, data[0])
    rows = read_labeled_rows(files_of(data), options_of(given, columns=claim.about.n_columns if degree == 1 else None), degree)
    check = verify(claim, rows.X, rows.y)
    if as_json:
        print_json({"holds": bool(check), "verdict": claim.verdict, "separation": claim.separation, "sentence": str(check)})
    else:
        echo(str(check))
        if check and claim.likelihood is not None:
            echo(describe_likelihood(claim.likelihood, claim.about, rows.recipe.feature_names))
    if not check:
        raise click.exceptions.Exit(REJECTED)
