"""`python -m rosenblatt.certificates.verify certificate.json data`."""

from __future__ import annotations

import argparse
import sys

from .files import load_certificate
from .plain_files import read_data
from .verify import verify


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rosenblatt.certificates.verify",
        description="Check a certificate against its data, in exact arithmetic. Exit status: 0 it holds, 1 it does not, 2 a "
        "file cannot be read.",
        epilog="example: python -m rosenblatt.certificates.verify certificate.json heart_scale",
    )
    parser.add_argument("certificate", help="a JSON file, as rb.save_certificate writes it")
    parser.add_argument("data", help="svmlight, CSV, TSV or .npz, also .gz, .bz2, .xz")
    parser.add_argument("--label", default="last", help="the column of labels in CSV: first, last, or its number from 0")
    options = parser.parse_args(arguments)
    try:
        label = {"first": 0, "last": -1}[options.label] if options.label in ("first", "last") else int(options.label)
        certificate = load_certificate(options.certificate)
        check = verify(certificate, *read_data(options.data, certificate.about.n_columns, label))
    except (ValueError, OSError, MemoryError) as wrong:
        sys.stderr.write(f"{wrong or type(wrong).__name__}\n")
        return 2
    sys.stdout.write(f"{check}\n{certificate}\n" if check else f"{check}\n")
    return 0 if check else 1
