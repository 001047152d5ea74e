"""`rosenblatt certify`: a proof that the classes of a file are linearly separable, or that they are not."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .cluster_options import on_cluster, open_cluster, refuse_with_cluster, refuse_without_cluster
from .options import NumberOrWord, WholeNumber, about_data, as_json, files_argument, files_of, options_of, print_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..certificates.statements import Certificate
    from ..data.readers import Options
    from ..progress import ProgressCallback

# Exit codes; 0 means separable.
INSEPARABLE, UNDECIDED = 1, 3


@click.command("certify")
@files_argument
@click.option("-o", "--output", metavar="CERTIFICATE", help="Write the certificate to this file, as JSON.")
@click.option(
    "--fit-intercept/--no-fit-intercept", default=True, help="Allow an intercept; without it, planes pass through the origin."
)
@click.option(
    "--time-limit", type=NumberOrWord(float), metavar="SECONDS", help="Limit of the total time, with the check at the end."
)
@click.option(
    "--likelihood/--no-likelihood",
    default=None,
    help="Find out if logistic regression has an optimum: complete or quasi-complete separation, or overlap.  "
    "[default: yes, but not with --cluster]",
)
@click.option("--degree", type=WholeNumber(1, 20), default=1, show_default=True, help="Degree of polynomial features.")
@about_data
@on_cluster
@as_json
def command(
    data: tuple[str, ...],
    output: str | None,
    fit_intercept: bool,
    time_limit: float | None,
    likelihood: bool | None,
    degree: int,
    cluster: str | None,
    block_bytes: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Prove that the classes of a file are linearly separable, and by which margin, or that they are not.

    If they are not, planes may still separate some of the rows and misclassify none (quasi-complete separation): logistic
    regression without a penalty then has no optimum. The columns and rows that separate are named.

    Numeric columns are not scaled; categorical columns are one-hot encoded. Several files, or a pattern in quotes, are read as
    one; the rows of all are counted together. With --cluster, the rows stay on the workers.
    Exit code 0: separable, 1: not separable, 3: undecided within the time limit.

    \b
    Examples:
      rosenblatt certify sonar.all-data -o sonar.json && rosenblatt verify sonar.json sonar.all-data
      rosenblatt certify example:iris
      rosenblatt certify "parts/*.svm" --cluster local:4
    """
    from ..certificates.files import certificate_to_dict, save_certificate
    from ..data.readers import Options
    from ..reporting.text import duration
    from .console import bar, check_writable, note, out, print_json

    refuse_without_cluster(cluster, {"block_bytes": block_bytes})
    if cluster is not None:
        refuse_with_cluster({"likelihood": likelihood})
    as_json = as_json or output == "-"
    output = None if output == "-" else output
    files = files_of(data, exist=cluster is not None)
    check_writable(output, *files)
    question = Question(files, options_of(given), degree, fit_intercept, time_limit)
    with bar("proving") as watch:
        if cluster is None:
            answer = question.on_one_machine(likelihood is not False, quiet=as_json)
        else:
            with open_cluster(cluster) as client:
                answer = question.on_cluster(client, block_bytes, watch)
    certificate = answer.certificate
    if output is not None:
        save_certificate(certificate, output)
    if as_json:
        print_json(certificate_to_dict(certificate))
    else:
        for sentence in answer.notes:
            note(sentence)
        out().print(certificate.text(answer.feature_names), soft_wrap=True)
        if certificate.verdict == "undecided" and time_limit is not None:
            note(f"the time limit of {duration(time_limit)} ended before a decision: raise --time-limit, or leave it out")
        if output is not None:
            check = shlex.join(["rosenblatt", "verify", output, *(data if len(data) < len(files) else files)])
            more = " (with the same data options)" if question.options != Options() or degree > 1 else ""
            out().print(f"written to {output}; check it: {check}{more}", soft_wrap=True)
    if certificate.verdict != "separable":
        raise click.exceptions.Exit(INSEPARABLE if certificate.verdict == "inseparable" else UNDECIDED)


class Answer(NamedTuple):
    """A certificate, the names of its columns, and notes about the files."""

    certificate: Certificate
    feature_names: Sequence[str]
    notes: Sequence[str] = ()


class Question(NamedTuple):
    """What is to be proved about files."""

    files: tuple[str, ...]
    options: Options
    degree: int
    fit_intercept: bool
    time_limit: float | None

    def on_one_machine(self, likelihood: bool, *, quiet: bool) -> Answer:
        """Prove it with the rows in memory; unless `quiet`, notes are printed before the proof begins."""
        import numpy as np

        from ..proofs.certify import certify
        from ..training.preparation import check_classes
        from .options import read_labeled_rows

        rows = read_labeled_rows(self.files, self.options, self.degree)
        check_classes(rows.data.source, np.unique(rows.y), rows.data.n_rows)
        if not quiet:
            print_notes(rows)
        limits: dict[str, Any] = {"fit_intercept": self.fit_intercept, "time_limit": self.time_limit}
        return Answer(certify(rows.X, rows.y, likelihood=likelihood, **limits), rows.recipe.feature_names)

    def on_cluster(self, client: Any, block_bytes: int | None, watch: ProgressCallback | None) -> Answer:
        """Prove it with the rows on the workers."""
        from ..cluster.certify import certify
        from ..cluster.features import FeatureChoices
        from ..cluster.read import BLOCK_BYTES, blocks_of_files
        from ..progress import progress_callback
        from ..training.cluster import recipe_of

        data = blocks_of_files(self.files, self.options, FeatureChoices("none", self.degree), block_bytes or BLOCK_BYTES)
        with progress_callback(watch or (lambda progress: None)):
            found = certify(data, client, fit_intercept=self.fit_intercept, time_limit=self.time_limit)
        return Answer(found, recipe_of(data, found.about.n_columns).feature_names, data.notes)
