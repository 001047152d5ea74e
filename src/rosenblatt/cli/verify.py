"""`rosenblatt verify`: check a certificate against a file."""

from __future__ import annotations

from typing import Any

import click

from .options import about_data, as_json, data_argument, options_of

REJECTED = 1


@click.command("verify")
@click.argument("certificate", metavar="CERTIFICATE")
@data_argument
@click.option("--degree", type=click.IntRange(1, 20), default=1, show_default=True, help="As it was given to certify.")
@about_data
@as_json
def command(certificate: str, data: str, degree: int, as_json: bool, **given: Any) -> None:
    """Check a certificate against a file, in exact arithmetic; exit code 0: it holds, 1: it does not.

    The check shares no code with what found the proof. `python -m rosenblatt.certificates.verify CERTIFICATE DATA` is the same
    for svmlight, CSV and npz files of numbers, and needs nothing but NumPy.

    \b
    Example:
      rosenblatt verify sonar.json sonar.all-data
    """
    from ..certificates.files import load_certificate
    from ..certificates.verify import verify
    from .console import print_json
    from .options import rows_and_labels

    claimed = load_certificate(certificate)
    found = rows_and_labels(data, options_of(given, columns=claimed.about.n_columns if degree == 1 else None), degree)
    check = verify(claimed, found.X, found.y)
    if as_json:
        print_json({"holds": bool(check), "verdict": claimed.verdict, "sentence": str(check)})
    else:
        click.echo(str(check))
    if not check:
        raise click.exceptions.Exit(REJECTED)
