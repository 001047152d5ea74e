"""`rosenblatt certify`: a proof that a file's classes can be separated, or that they cannot."""

from __future__ import annotations

import shlex
from typing import Any

import click

from .options import about_data, as_json, data_argument, options_of

NO, UNDECIDED = 1, 3


@click.command("certify")
@data_argument
@click.option("-o", "--output", metavar="CERTIFICATE", help="Write the certificate here, as JSON.")
@click.option("--fit-intercept/--no-fit-intercept", default=True, help="Planes off the origin, or through it.")
@click.option("--time-limit", type=float, metavar="SECONDS", help="Give up searching after so long.")
@click.option("--degree", type=click.IntRange(1, 20), default=1, show_default=True, help="Of polynomials of the columns.")
@about_data
@as_json
def command(
    data: str, output: str | None, fit_intercept: bool, time_limit: float | None, degree: int, as_json: bool, **given: Any
) -> None:
    """Prove that planes separate a file's classes, and how widely; or that none do.

    Features are as they stand in the file (names are one-hot), not scaled. Exit code 0: separable, 1: not, 3: undecided in the
    time allowed.

    \b
    Examples:
      rosenblatt certify sonar.all-data -o sonar.json && rosenblatt verify sonar.json sonar.all-data
      rosenblatt certify example:iris
    """
    from ..certificates.files import certificate_to_dict, save_certificate
    from ..data.read_options import Options
    from ..proofs.certify import certify
    from .console import bar, check_writable, out, print_json
    from .options import rows_and_labels

    as_json = as_json or output == "-"
    output = None if output == "-" else output
    check_writable(output, data)
    said = options_of(given)
    found = rows_and_labels(data, said, degree)
    with bar("proving"):
        certificate = certify(found.X, found.y, fit_intercept, time_limit)
    if output is not None:
        save_certificate(certificate, output)
    if as_json:
        print_json(certificate_to_dict(certificate))
    else:
        out().print(str(certificate), markup=False, soft_wrap=True)
        if output is not None:
            check = shlex.join(["rosenblatt", "verify", output, data])
            more = " (with the options that were given here)" if said != Options() or degree > 1 else ""
            out().print(f"written to {output}; `{check}`{more} checks it", markup=False, soft_wrap=True)
    if certificate.verdict != "separable":
        raise click.exceptions.Exit(NO if certificate.verdict == "inseparable" else UNDECIDED)
