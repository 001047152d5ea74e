"""What `train` does: check where things will go, learn, write, say."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models.files import save
from ..models.model import Model
from ..models.state import model_of as as_model
from ..training.request import Request
from ..training.summary import as_dict, summary
from .console import bar, print_json, say
from .failing import Failure
from .writing import check_picture, check_writable

if TYPE_CHECKING:
    from ..training.train import Outcome


def run(
    asked: dict[str, Any], *, output: str | None, stream: bool, cache: str | None, report: str | None, plots: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    if stream:
        from .lean import without_pandas

        with without_pandas():
            from ..estimators import base, online  # noqa: F401  which load scikit-learn
    if cache is not None:
        from ..data.cache_writer import check_place

        check_place(Path(cache))
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
        from .reporting import chart_of

        charts = [(name, path, chart_of(outcome, name)) for name, path in figures]  # before anything is written
    save(model_of(outcome), target)
    written = {"model": target}
    if report is not None:
        from .reporting import write_report_of

        write_report_of(outcome, report, command_line())
        written["report"] = report
    for name, path, chart in charts:
        from ..reporting.save import save_chart

        save_chart(chart, path)
        written[f"plot of {name}"] = path
    if as_json:
        print_json(as_dict(outcome) | {"written": written})
    else:
        say([*summary(outcome), *written.items()])


def model_of(outcome: Outcome) -> Model:
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
    from ..reporting.draw import FIGURES

    name, mark, path = plot.partition(":")
    if not mark:
        name, path = Path(plot).stem, plot
        name = name if name in FIGURES else "plane"
    check_picture(path)
    if name not in FIGURES:
        raise Failure(f"no figure is called {name!r}; there are {', '.join(FIGURES)}")
    return name, path
