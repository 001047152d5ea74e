"""`rosenblatt train`: from a file to a model, and what there is to say about it."""

from __future__ import annotations

from typing import Any

import click

from ..catalog import ALGORITHMS
from .options import about_data, as_json, data_argument, holdout, options_of, seed, test_file
from .parameters import parameters, taken


@click.command("train")
@data_argument
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("-o", "--output", metavar="MODEL", help="Where the model goes.  [default: DATA's name and .safetensors, here]")
@click.option("-a", "--algorithm", type=click.Choice(list(ALGORITHMS)), default="average", show_default=True, metavar="NAME",
              help=f"One of {', '.join(ALGORITHMS)}.")  # fmt: skip
@parameters
@click.option("--degree", type=click.IntRange(1, 20), default=1, show_default=True, help="Polynomials of the features.")
@click.option("--scale", type=click.Choice(["auto", "none", "max", "standard"]), default="auto", show_default=True,
              help="Scale features; auto: where their ranges differ wildly.")  # fmt: skip
@test_file
@holdout
@click.option("--cv", type=click.IntRange(2), metavar="K", help="Test by K-fold cross-validation.")
@click.option("--certify/--no-certify", default=None, help="Prove whether the rows can be separated.  [default: if quick]")
@click.option("--stream", is_flag=True, help="Learn from a file larger than memory, through a cache on disk.")
@click.option("--cache", metavar="FOLDER", help="Keep the cache of --stream here (and FOLDER.test), and use it again.")
@click.option("--report", metavar="FILE.html", help="Write a report: one file with all figures.")
@click.option(
    "--plot", multiple=True, metavar="[FIGURE:]FILE", help="Write a figure as PNG, SVG or PDF, for example margins:m.png."
)
@about_data
@seed
@as_json
def command(data: str, model: str | None, output: str | None, report: str | None, plot: tuple[str, ...], **given: Any) -> None:
    """Learn a model from a file, and say how good it is.

    Without options: the averaged perceptron, tested on a fifth of the rows, with features scaled where their ranges differ
    wildly. --holdout 0 learns from all rows.

    \b
    Examples:
      rosenblatt train a9a --test a9a.t
      rosenblatt train adult.data --missing mean --report adult.html
      rosenblatt train sms_spam.tsv --label 0 -o spam.safetensors
      rosenblatt train example:iris --algorithm soft-margin --C 10 --cv 5
      rosenblatt train huge.svm.gz --stream --max-passes 3
    """
    from .training import run

    if model is not None and output is not None:
        raise click.UsageError("the model's name is given twice: as an argument and with --output")
    stream, cache, wants_json = given.pop("stream"), given.pop("cache"), given.pop("as_json")
    if cache == "":
        raise click.UsageError("--cache needs the name of a folder")
    if cache and not stream:
        raise click.UsageError("--cache is where --stream keeps its rows: give --stream too")
    options, said = options_of(given), taken(given)
    run(
        dict(data=data, options=options, parameters=said, **given),
        output=model or output, stream=stream, cache=cache, report=report, plots=plot, as_json=wants_json,
    )  # fmt: skip
