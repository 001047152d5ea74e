"""`rosenblatt train`: from a file to a model, a summary, a report and figures."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..catalog import ALGORITHMS
from ..data.readers import FORMATS, data_name, is_example
from ..reporting.text import plural
from .cluster_options import fit_on_cluster, open_cluster, refuse_with_cluster, refuse_without_cluster, workers_text
from .console import Failure, bar, check_picture, check_writable, print_fields, print_json
from .options import (
    PATTERN_MARKS,
    AlgorithmName,
    Seconds,
    WholeNumber,
    about_training_data,
    as_json,
    files_of,
    holdout,
    options_of,
    parameters,
    pop_parameters,
    seed,
    test_file,
    text_features,
)

if TYPE_CHECKING:
    from ..cluster.options import Mode
    from ..models.model import Model
    from ..reporting.charts import Chart
    from ..reporting.story import Story
    from ..training.request import Request
    from ..training.train import Outcome

# Extensions of data: an argument with one of them is a file to read, not the model to write.
DATA_EXTENSIONS = {"csv", "data", "txt", *(extension for extensions in FORMATS.values() for extension in extensions)}
COMPRESSED_EXTENSIONS = (".gz", ".bz2", ".xz", ".zst")


@click.command("train")
@click.argument("data", metavar="DATA... [MODEL]", nargs=-1, required=True)
@click.option("-o", "--output", metavar="MODEL", help="Write the model here.  [default: name of DATA with .safetensors]")
@click.option("-a", "--algorithm", type=AlgorithmName(), default="auto", show_default=True, metavar="NAME",
              help=f"auto (by the size of the data), {', '.join(ALGORITHMS)}.")  # fmt: skip
@click.option("--tune", is_flag=True, help="Choose loss, parameters, scaling and degree by cross-validation; tested by --cv 5.")
@click.option("--budget", type=Seconds(), metavar="TIME", help="Time for the searches of --tune, such as 30s, 5m or 1h.")
@parameters
@click.option("--degree", type=WholeNumber(1, 20), default=1, show_default=True, help="Degree of polynomial features.")
@click.option("--scale", type=click.Choice(["auto", "none", "max", "standard"]), default="auto", show_default=True,
              help="Scaling of features; auto: standard (mean 0, deviation 1).")  # fmt: skip
@text_features
@click.option("--threshold", metavar="GOAL", help="Two classes: where to predict the positive one. A probability such as 0.3, "
              "cost=10:1 (of a missed row and a false alarm), f1, f2, precision=0.9 or recall=0.95.")  # fmt: skip
@click.option("--positive", metavar="LABEL", help="The class that --threshold is about.  [default: the rarer one]")
@test_file
@holdout
@click.option("--cv", type=WholeNumber(2), metavar="K", help="Test by K-fold cross-validation.")
@click.option("--certify/--no-certify", default=None, help="Prove whether the rows are separable.  [default: if it is fast]")
@click.option("--stream", is_flag=True, help="Train on a file larger than memory, through a cache on disk.")
@click.option("--cache", metavar="FOLDER", help="Keep the cache of --stream here (and in FOLDER.test) and reuse it.")
@click.option("--report", metavar="FILE.html", help="Write a report: one HTML file with all figures.")
@click.option(
    "--plot", multiple=True, metavar="[FIGURE:]FILE", help="Write a figure as PNG, SVG or PDF, for example margins:m.png."
)
@about_training_data
@seed
@fit_on_cluster
@as_json
def command(
    data: tuple[str, ...],
    output: str | None,
    report: str | None,
    plot: tuple[str, ...],
    stream: bool,
    cache: str | None,
    cluster: str | None,
    mode: Mode | None,
    shards: int | None,
    checkpoint: str | None,
    block_bytes: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Train a model on a file and report its accuracy.

    By default, a logistic regression is trained, whose C is chosen by cross-validation; a linear SVM if there is text and no
    column is numeric; or the averaged perceptron if the data is large, or streamed. Numeric columns are standardized,
    missing cells are filled, and a fifth of the rows is held out for testing, if that is at least 10 rows. --holdout 0 trains
    on all rows; --cv 5 tests on few rows.

    Several files, or a pattern in quotes, are read as one and streamed, as with --stream. With --cluster, workers read them
    and fit the model block by block: by default a logistic regression with C=1, or with --mode mixed the averaged perceptron.

    \b
    Examples:
      rosenblatt train a9a --test a9a.t
      rosenblatt train adult.data --report adult.html
      rosenblatt train sms_spam.tsv --label 0 -o spam.safetensors --text-features words-2
      rosenblatt train adult.data --tune --budget 2m
      rosenblatt train example:iris --algorithm soft-margin --C 10 --cv 5
      rosenblatt train huge.svm.gz --stream --max-iter 3
      rosenblatt train "parts/*.csv" -o churn.safetensors
      rosenblatt train "parts/*.csv" --test "test/*.csv" --cluster local:4
    """
    refuse_without_cluster(cluster, {"mode": mode, "shards": shards, "checkpoint": checkpoint, "block_bytes": block_bytes})
    if cluster is not None:
        rows = "draws rows, which stay on the workers"
        refuse_with_cluster({"stream": stream, "cache": cache}, "is for one machine")
        refuse_with_cluster({"report": report, "plot": plot}, rows)
    given_data, model = split_model(data)
    if model is not None and output is not None:
        raise click.UsageError("the model file is given twice: as an argument and with --output")
    files = files_of(given_data, exist=cluster is not None)
    stream_all = stream or (len(files) > 1 and cluster is None)
    if cache == "":
        raise click.UsageError("--cache needs the name of a folder")
    if cache and not stream_all:
        raise click.UsageError("--cache is used by --stream only: add --stream")
    _prepare_stream(stream_all, cache)
    from ..training.request import Request

    options, chosen = options_of(given), pop_parameters(given)
    request = Request(data=files[0] if len(files) == 1 else files, options=options, parameters=chosen, **given)
    outputs = Outputs.plan(request, model or output, report, plot, checkpoint)
    more: dict[str, str] = {}
    if cluster is not None:
        from ..cluster.read import BLOCK_BYTES
        from ..training.cluster import ClusterRun, complete_request, train_on_cluster

        complete_request(request, mode or "exact", shards)  # raises errors before a cluster is started
        with open_cluster(cluster, checkpoint) as client, bar("training") as watch:
            run = ClusterRun(client, mode or "exact", shards, checkpoint, block_bytes or BLOCK_BYTES)
            more = {"cluster": workers_text(client)}
            outcome = train_on_cluster(request, run, watch)
    elif stream_all:
        from ..training.stream import train_stream

        with bar("training") as watch:
            outcome = train_stream(request, cache, watch, outputs.model)
    else:
        from ..training.train import train

        with bar("training") as watch:
            outcome = train(request, watch)
    if stream_all and not stream:
        read_as_one = f"{plural(len(files), 'file')} were read as one and streamed, as with --stream."
        outcome = replace(outcome, notes=(read_as_one, *outcome.notes))
    written = outputs.write(outcome)
    from ..training.summary import as_dict, summarize

    if as_json:
        print_json(as_dict(outcome) | more | {"written": written})
    else:
        print_fields([*summarize(outcome), *more.items(), *written.items()])


def split_model(arguments: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """The data, and the model if the last argument is one: by its name, by its contents, or because there is no such file.

    >>> split_model(("a.csv", "b.csv")), split_model(("a.csv", "b.csv", "m.safetensors")), split_model(("a.csv", "m"))
    ((('a.csv', 'b.csv'), None), (('a.csv', 'b.csv'), 'm.safetensors'), (('a.csv',), 'm'))
    """
    *data, last = arguments
    if not data or last == "-" or is_example(last) or PATTERN_MARKS & set(last):
        return arguments, None
    from ..data.readers.sources import extension_of

    if os.path.isfile(last) and os.path.getsize(last):
        is_model = last.endswith(".safetensors") or _is_model(last)
    else:
        is_model = last.endswith(".safetensors") or (len(data) == 1 and not os.path.isdir(last))
    if extension_of(last) in DATA_EXTENSIONS or not is_model:
        return arguments, None
    return tuple(data), last


def _prepare_stream(stream: bool, cache: str | None) -> None:
    if stream:
        with without_pandas():
            from ..estimators import base, online  # noqa: F401  import scikit-learn
    if cache is not None:
        from ..data.cache_writer import check_cache_path

        check_cache_path(Path(cache))


# --- output files ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outputs:
    """The files that a run writes."""

    model: str
    report: str | None
    figures: tuple[tuple[str, str], ...]  # name and path

    @classmethod
    def plan(
        cls, request: Request, model: str | None, report: str | None, plots: tuple[str, ...], checkpoint: str | None = None
    ) -> Outputs:
        """Choose the files and check, before training, that they can be written."""
        outputs = cls(_model_path(request.files[0], model), report, tuple(_parse_plot(plot) for plot in plots))
        figure_paths, read = [path for _, path in outputs.figures], (*request.files, request.test)
        for path in (outputs.model, checkpoint, *figure_paths):
            check_writable(path, *read)
        _check_replaceable(outputs.model)
        check_writable(report, *read, ending=".html")
        paths = [outputs.model, *(path for path in (report, checkpoint) if path), *figure_paths]
        if len({os.path.realpath(path) for path in paths}) < len(paths):
            raise Failure("two output files have the same name")
        return outputs

    def write(self, outcome: Outcome) -> dict[str, str]:
        """Write the files; returns their paths by kind."""
        from ..models.files import save

        charts = [(name, path, _draw(outcome, name)) for name, path in self.figures]  # may fail: before any file is written
        save(build_model(outcome), self.model)
        written = {"model": self.model}
        if self.report is not None:
            write_report_file(outcome, self.report, command_line())
            written["report"] = self.report
        for name, path, chart in charts:
            from ..reporting.page import save_chart

            save_chart(chart, path)
            written[f"plot of {name}"] = path
        return written


def _is_model(path: str) -> bool:
    from ..models.container import starts_as_model

    return starts_as_model(path)


def _check_replaceable(path: str) -> None:
    """Raise a `Failure` if the model would replace a file that is not a model, such as rows given after the data."""
    if os.path.isfile(path) and os.path.getsize(path) and not _is_model(path):
        raise Failure(f"{path}: not overwritten, because it is not a model file; to test on it: --test {path}")


def _model_path(data: str, output: str | None) -> str:
    """The given path, or a file in the current folder that is named after the data."""
    if output is not None:
        return output
    name = data_name(data).split("?")[0] if is_example(data) else data_name(data)
    for extension in COMPRESSED_EXTENSIONS:
        name = name.removesuffix(extension)
    stem = "model" if data == "-" else name.rsplit(".", 1)[0] if name.count(".") else name
    path = f"{stem}.safetensors"
    if os.path.exists(path):
        from ..models.files import load

        try:
            load(path)
        except ValueError:
            raise Failure(f"{path} exists and is not a Rosenblatt model: choose another name with --output") from None
    return path


def _parse_plot(plot: str) -> tuple[str, str]:
    """Split FIGURE:FILE; a file without a figure is named after it, or shows the plane."""
    from ..reporting.page import FIGURES

    name, mark, path = plot.partition(":")
    if not mark:
        name, path = Path(plot).stem, plot
        name = name if name in FIGURES else "plane"
    check_picture(path)
    if name not in FIGURES:
        raise Failure(f"unknown figure {name!r}; choose from {', '.join(FIGURES)}")
    return name, path


def build_model(outcome: Outcome) -> Model:
    """The trained model for its file."""
    from ..training.record import model_of_outcome

    return model_of_outcome(outcome, command=command_line())


def command_line() -> str:
    return shlex.join(["rosenblatt", *sys.argv[1:]])


# --- reports and figures ---------------------------------------------------------------------------------------------------


def write_report_file(outcome: Outcome, path: str, command: str) -> None:
    """Write the HTML report of a run."""
    from ..atomic_file import write_atomically
    from ..reporting.page import write_report

    write_atomically(path, write_report(_story(outcome, command)).encode())


def _draw(outcome: Outcome, name: str) -> Chart:
    from ..reporting.page import draw

    try:
        return draw(_story(outcome), name)
    except ValueError:
        message = f"the figure {name!r} is not available for {outcome.request.algorithm}: choose another figure"
        raise ValueError(message) from None


def _story(outcome: Outcome, command: str = "") -> Story:
    """The input of a report."""
    from ..reporting.story import Story
    from ..reporting.text import count
    from ..training.summary import judge, list_facts

    prepared = outcome.prepared
    rows: dict[str, Any] = {}
    notes = list(outcome.notes)
    if prepared is not None:
        rows = {"X": prepared.X, "y": prepared.y}
        if prepared.codes_test is not None:
            rows |= {"X_test": prepared.X_test, "y_test": prepared.classes[prepared.codes_test]}
    elif outcome.sample is not None:
        rows = {"X": outcome.sample[0], "y": outcome.sample[1]}
        notes.append(f"The figures show {count(len(outcome.sample[1]))} of the {count(outcome.rows)} streamed rows.")
    return Story(
        title=data_name(outcome.request.name),
        estimator=outcome.estimator,
        summary=list_facts(outcome),
        feature_names=outcome.recipe.feature_names,
        class_names=[str(label) for label in outcome.classes.tolist()],
        certificate=outcome.certificate,
        bound=outcome.bound,
        scaled=outcome.recipe.scales,
        command=command,
        version=__version__,
        notes=notes,
        warnings=judge(outcome).warnings,
        **rows,
    )


# --- imports ---------------------------------------------------------------------------------------------------------------


@contextmanager
def without_pandas() -> Iterator[None]:
    """Prevent the import of pandas, which scikit-learn imports if installed: 60 MB that streamed training does not use."""
    hidden = [name for name in ("pandas",) if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name) is None:
                sys.modules.pop(name, None)
