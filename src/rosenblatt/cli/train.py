"""`rosenblatt train`: from a file to a model, and what there is to say about it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..catalog import ALGORITHMS
from .console import Failure, bar, check_picture, check_writable, print_json, say
from .options import about_data, as_json, data_argument, holdout, options_of, seed, test_file
from .parameters import parameters, pop_parameters

if TYPE_CHECKING:
    from ..models.model import Model
    from ..reporting.charts import Chart
    from ..reporting.story import Story
    from ..training.train import Outcome


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
      rosenblatt train huge.svm.gz --stream --max-iter 3
    """

    if model is not None and output is not None:
        raise click.UsageError("the model's name is given twice: as an argument and with --output")
    stream, cache, wants_json = given.pop("stream"), given.pop("cache"), given.pop("as_json")
    if cache == "":
        raise click.UsageError("--cache needs the name of a folder")
    if cache and not stream:
        raise click.UsageError("--cache is where --stream keeps its rows: give --stream too")
    options, said = options_of(given), pop_parameters(given)
    run(
        dict(data=data, options=options, parameters=said, **given),
        output=model or output, stream=stream, cache=cache, report=report, plots=plot, as_json=wants_json,
    )  # fmt: skip


# --- What `train` does: check where things will go, learn, write, say.


def run(
    asked: dict[str, Any], *, output: str | None, stream: bool, cache: str | None, report: str | None, plots: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    from ..models.files import save
    from ..training.request import Request
    from ..training.summary import as_dict, summarize

    if stream:
        with without_pandas():
            from ..estimators import base, online  # noqa: F401  which load scikit-learn
    if cache is not None:
        from ..data.cache_writer import check_cache_path

        check_cache_path(Path(cache))
    request = Request(**asked)
    target = _target(request.data, output)
    figures = [_figure(plot) for plot in plots]
    for path in (target, *(path for _, path in figures)):
        check_writable(path, request.data, request.test)
    check_writable(report, request.data, request.test, ending=".html")
    outputs = [target, *([report] if report else []), *(path for _, path in figures)]
    if len({os.path.realpath(path) for path in outputs}) < len(outputs):
        raise Failure("two of the files that would be written have the same name")
    exact = request.choice.name == "Perceptron" and request.choice.options | dict(request.parameters)
    with bar("learning", "mistakes" if exact and not exact["margin"] else "corrections") as watch:
        if stream:
            from ..training.stream import train_stream

            outcome = train_stream(request, cache, watch, target)
        else:
            from ..training.train import train

            outcome = train(request, watch)
    charts = []
    if figures:
        charts = [(name, path, chart_of(outcome, name)) for name, path in figures]  # before anything is written
    save(model_of(outcome), target)
    written = {"model": target}
    if report is not None:
        write_report_of(outcome, report, command_line())
        written["report"] = report
    for name, path, chart in charts:
        from ..reporting.page import save_chart

        save_chart(chart, path)
        written[f"plot of {name}"] = path
    if as_json:
        print_json(as_dict(outcome) | {"written": written})
    else:
        say([*summarize(outcome), *written.items()])


def model_of(outcome: Outcome) -> Model:
    from ..models.state import model_of as as_model

    told = {name: value for name, value in outcome.provenance.items() if value is not None}
    return as_model(outcome.estimator, recipe=outcome.recipe, provenance=told | {"command": command_line()})


def command_line() -> str:
    return shlex.join(["rosenblatt", *sys.argv[1:]])


def _target(data: str, output: str | None) -> str:
    """Where the model goes: as told, or a file here with the name of the data."""
    if output is not None:
        return output
    name = data.removeprefix("example:").split("?")[0] if data.startswith("example:") else Path(data).name
    for ending in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(ending)
    stem = "model" if data == "-" else name.rsplit(".", 1)[0] if name.count(".") else name
    path = f"{stem}.safetensors"
    if os.path.exists(path):
        from ..models.files import load

        try:
            load(path)
        except ValueError:
            raise Failure(f"{path} is there, and is no model of ours: name another with --output") from None
    return path


def _figure(plot: str) -> tuple[str, str]:
    """FIGURE:FILE, or a file named after its figure."""
    from ..reporting.page import FIGURES

    name, mark, path = plot.partition(":")
    if not mark:
        name, path = Path(plot).stem, plot
        name = name if name in FIGURES else "plane"
    check_picture(path)
    if name not in FIGURES:
        raise Failure(f"no figure is called {name!r}; there are {', '.join(FIGURES)}")
    return name, path


# --- An outcome as a story, and the story as a page or a figure.


def story_of(outcome: Outcome, command: str = "") -> Story:
    from ..reporting.story import Story
    from ..training.summary import list_facts

    prepared = outcome.prepared
    rows: dict[str, Any] = {}
    notes = list(outcome.notes)
    if prepared is not None:
        rows = {"X": prepared.X, "y": prepared.y}
        if prepared.codes_test is not None:
            rows |= {"X_test": prepared.X_test, "y_test": prepared.classes[prepared.codes_test]}
    elif outcome.sample is not None:
        rows = {"X": outcome.sample[0], "y": outcome.sample[1]}
        notes.append(f"The figures are drawn from {len(outcome.sample[1]):,} of the {outcome.rows:,} rows that were streamed.")
    return Story(
        title=Path(outcome.request.data.removeprefix("example:")).name,
        estimator=outcome.estimator,
        summary=list_facts(outcome),
        feature_names=outcome.recipe.feature_names,
        class_names=[str(label) for label in outcome.classes.tolist()],
        certificate=outcome.certificate,
        command=command,
        version=__version__,
        notes=notes,
        **rows,
    )


def write_report_of(outcome: Outcome, path: str, command: str) -> None:
    from ..models.atomic_file import write_atomically
    from ..reporting.page import write_report

    page = write_report(story_of(outcome, command)).encode()
    write_atomically(path, lambda file: file.write(page))


def chart_of(outcome: Outcome, name: str) -> Chart:
    from ..reporting.page import draw

    try:
        return draw(story_of(outcome), name)
    except ValueError:
        raise ValueError(f"{outcome.request.algorithm} has nothing to draw as {name!r}: choose another figure") from None


# --- Importing scikit-learn without pandas, which it loads where there is one: 60 MB that learning from a stream never uses.


@contextmanager
def without_pandas() -> Iterator[None]:
    """Inside, pandas cannot be imported unless it is loaded already; after that it can."""
    hidden = [name for name in ("pandas",) if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name) is None:
                sys.modules.pop(name, None)
