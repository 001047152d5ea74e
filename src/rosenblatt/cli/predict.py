"""`rosenblatt predict`: the labels of the rows of a file, chunk by chunk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from .cluster_options import on_cluster, open_cluster, refuse_with_cluster, refuse_without_cluster
from .console import Failure, check_writable, data_out, note
from .drift import DriftReport, drift_file
from .options import about_model_data, as_json, files_argument, files_of, load_first, model_argument, options_for

if TYPE_CHECKING:
    from ..array_types import FloatArray, IntArray
    from ..data.readers import Options
    from ..models.model import Model

# Bytes read at a time.
CHUNK_BYTES = 1 << 24


@click.command("predict")
@model_argument
@files_argument
@click.option(
    "--scores", is_flag=True, help="Add the score, or the scores of all classes, after each label, with tabs between."
)
@click.option(
    "--proba",
    is_flag=True,
    help="Add the probability of each class, in columns named in a first line. The default model has them, others after "
    "train --calibrate.",
)
@click.option(
    "-o", "--output", metavar="FILE", default="-",
    help="Write the labels here; with --cluster, a name that ends with / is a folder, in which workers write a file for each "
    "block.  [default: standard output]",
)  # fmt: skip
@drift_file
@about_model_data
@on_cluster
@as_json
def command(
    model: str,
    data: tuple[str, ...],
    scores: bool,
    proba: bool,
    output: str,
    drift: str | None,
    cluster: str | None,
    block_bytes: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Predict the labels of the rows of a file: one label per line.

    The file needs no labels; if it has some, the accuracy is printed to standard error. With two classes, a score above 0
    means the second class; with more, there is one score per class, in the order in which `show` lists the classes. The label
    follows the scores, and near the plane another class may be slightly more probable. --json prints one object per line.

    Several files, or a pattern in quotes, are read as one: the labels of all rows, in the order of the files. With --cluster,
    workers read and predict them block by block, which gives labels alone; a folder as output gets a file for each block, and
    index.json, which lists them.

    Standard error shows, for each column, the missing cells, the values that the training rows do not have, and numbers far
    outside of their range; --drift writes a comparison of all columns. Columns that the file lacks, up to half of them, count
    as missing cells, unless the model was trained with --missing refuse.

    \b
    Examples:
      rosenblatt predict adult.safetensors new.csv
      rosenblatt predict a9a.safetensors a9a.t --scores -o scores.tsv
      rosenblatt predict adult.safetensors new.csv --drift drift.json
      cat new.jsonl | rosenblatt predict m.safetensors - --format jsonl --json
      rosenblatt predict churn.safetensors "parts/*.csv" --cluster local:4 -o labels/
    """
    from ..models.files import load_model

    refuse_without_cluster(cluster, {"block_bytes": block_bytes})
    if cluster is not None:
        refuse_with_cluster({"scores": scores, "proba": proba, "drift": drift, "as_json": as_json})
    loaded = load_first(load_model, model, data[0])
    files = files_of(data, exist=cluster is not None)
    if cluster is not None:
        _predict_on_cluster(loaded, files, options_for(loaded, given), cluster, block_bytes, output, model)
        return
    report = DriftReport(loaded, files, drift, model)
    if scores and proba and not as_json:
        raise click.UsageError("--scores and --proba exclude each other, except with --json")
    if proba and loaded.probability_map is None:
        raise Failure(f"{model} has no probabilities; train it with --calibrate sigmoid")
    prediction = Prediction(loaded, files, report.options(options_for(loaded, given)), report, scores, proba, as_json)
    if output == "-":
        prediction.write(data_out())
        return
    from ..atomic_file import write_atomically

    check_writable(output, *files, model)
    if drift is not None and os.path.realpath(drift) == os.path.realpath(output):
        raise Failure("two output files have the same name")
    write_atomically(output, prediction.write)


def _predict_on_cluster(
    loaded: Model, files: tuple[str, ...], options: Options, cluster: str, block_bytes: int | None, output: str, model: str
) -> None:
    """Write the labels of the rows of files, which the workers of a cluster read."""
    folder = output if output.endswith("/") or os.path.isdir(output) else None
    if output != "-" and folder is None:
        check_writable(output, *files, model)
    from ..atomic_file import write_atomically
    from ..cluster.predictions import predict
    from ..cluster.read import BLOCK_BYTES, blocks_of_files
    from ..reporting.text import plural

    blocks = blocks_of_files(files, options, block_bytes=block_bytes or BLOCK_BYTES)
    with open_cluster(cluster) as client:
        try:
            found: Any = predict(loaded, blocks, client, to=folder)
        except ValueError as error:
            if not str(error).startswith("to="):
                raise
            raise Failure(f"--output {str(error).removeprefix('to=')}") from None
    if folder is not None:
        note(f"the labels are in {plural(blocks.n_blocks, 'file')}, which {found} lists")
        return
    lines = "".join(_text_line(label, ()) for label in found.tolist()).encode()
    if output == "-":
        data_out().write(lines)
    else:
        write_atomically(output, lines)


@dataclass(frozen=True)
class Prediction:
    """The labels of files, as lines of text or JSON."""

    model: Model
    files: Sequence[str]
    options: Options
    drift: DriftReport
    with_scores: bool = False
    with_probabilities: bool = False
    as_json: bool = False

    def write(self, file: IO[bytes]) -> None:
        """Write the labels, then report the accuracy and unused columns on standard error."""
        from ..data.readers.several import Files
        from ..data.table import DataError, codes_of
        from ..reporting.text import count, percent

        model = self.model
        correct = rows = 0
        unknown: DataError | None = None
        labeled = True
        if self.with_probabilities and not self.as_json:
            file.write(_text_line("label", list(map(str, model.classes.tolist()))).encode())
        with Files(self.files) as source:
            for chunk in source.chunks(self.options, CHUNK_BYTES):
                scores = model.scores(chunk)
                codes = model.winners(scores)
                file.write("".join(self._lines(model.classes[codes].tolist(), scores)).encode())
                file.flush()
                labeled = labeled and chunk.labels is not None
                if labeled and unknown is None:
                    try:
                        correct += int((codes_of(chunk, model.classes) == codes).sum())
                    except DataError as error:  # a label that the model does not have
                        unknown = error
                rows += chunk.n_rows
                self.drift.add(chunk)
        self.drift.finish()
        if labeled and unknown is not None:
            note(f"no accuracy: {unknown.problem}")
        elif labeled and rows:
            note(f"accuracy {percent(correct / rows, decimals=2)} on {source.name} ({count(correct)} of {count(rows)})")

    def _lines(self, labels: list[Any], scores: FloatArray) -> Iterator[str]:
        nothing: list[Any] = [()] * len(labels)
        shown = scores.tolist() if self.with_scores else nothing
        probable = self.model.probabilities_of(scores).tolist() if self.with_probabilities else nothing
        if self.as_json:
            return (self._json_line(*row) for row in zip(labels, shown, probable, strict=True))
        return (_text_line(label, map(repr, [*a, *b])) for label, a, b in zip(labels, shown, probable, strict=True))

    def _json_line(self, label: object, scores: list[float], probabilities: list[float]) -> str:
        result, names = {"label": label}, list(map(str, self.model.classes.tolist()))
        if scores:
            result["scores"] = scores[0] if len(scores) == 1 else dict(zip(names, scores, strict=False))
        if probabilities:
            result["probabilities"] = dict(zip(names, probabilities, strict=True))
        return json.dumps(result, ensure_ascii=False) + "\n"


def _text_line(label: object, cells: Iterable[str]) -> str:
    return "\t".join([str(label), *cells]) + "\n"


class PredictedRows(NamedTuple):
    """The true codes, the predicted codes and the scores of labeled files, and the digest of their contents, if any."""

    true: IntArray
    predicted: IntArray
    scores: FloatArray
    contents_sha256: str | None


def predict_labeled(model: Model, files: Sequence[str], options: Options, drift: DriftReport) -> PredictedRows:
    """Predict the rows of labeled files; report how they differ from the training rows."""
    import numpy as np

    from ..data.readers.several import Files
    from ..data.table import codes_of

    true, predicted, scores = [], [], []
    with Files(files) as source:
        for chunk in source.chunks(options, CHUNK_BYTES):
            true.append(codes_of(chunk, model.classes))
            scores.append(model.scores(chunk))
            predicted.append(model.winners(scores[-1]))
            drift.add(chunk)
        digest = source.digest()
    drift.finish()
    contents = None if digest is None else digest.contents
    return PredictedRows(np.concatenate(true), np.concatenate(predicted), np.concatenate(scores), contents)
