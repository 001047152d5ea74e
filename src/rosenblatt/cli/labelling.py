"""Rows to labels, a chunk at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.labels_ import codes_of
from ..data.readers.read import chunks
from ..data.readers.sources import display_name
from ..data.table import DataError
from .console import note

if TYPE_CHECKING:
    from ..data.options import Options
    from ..models.model import Model

# Bytes that are read at a time.
CHUNK = 1 << 24


def label_rows(model: Model, data: str, options: Options, write: Any, with_scores: bool, as_json: bool) -> None:
    met = rows = strange = 0
    comparable = True
    for chunk in chunks(data, options, CHUNK):
        scores = model.scores(chunk)
        codes = model.winners(scores)
        write(_lines(model.classes[codes].tolist(), scores if with_scores else None, model.classes.tolist(), as_json))
        if chunk.labels is None:
            comparable = False
        elif comparable:
            try:
                met += int((codes_of(chunk, model.classes) == codes).sum())
            except DataError:  # labels that are not the model's: nothing to compare
                comparable = False
        rows += chunk.n_rows
        strange = max(strange, 0 if model.recipe is None else model.recipe.strangers(chunk))
    if strange:
        note(f"left out: {strange:,} of the columns of {display_name(data)}, which the model does not know")
    if comparable and rows:
        note(f"{met / rows:.2%} of the labels in {display_name(data)} were met ({met:,} of {rows:,})")


def _lines(labels: list[Any], scores: Any, classes: list[Any], as_json: bool) -> Iterator[str]:
    each: Any = [None] * len(labels) if scores is None else scores.tolist()
    for label, row in zip(labels, each, strict=True):
        if as_json:
            told = {"label": label}
            if row is not None:
                told["scores"] = row[0] if len(row) == 1 else dict(zip(map(str, classes), row, strict=False))
            yield json.dumps(told, ensure_ascii=False) + "\n"
        else:
            yield "\t".join([str(label), *map(repr, row or ())]) + "\n"


def codes_and_scores(model: Model, data: str, options: Options) -> tuple[Any, Any, Any]:
    """(true codes, predicted codes, scores) of a whole file that has labels."""
    true, predicted, scores = [], [], []
    for chunk in chunks(data, options, CHUNK):
        true.append(codes_of(chunk, model.classes))
        scores.append(model.scores(chunk))
        predicted.append(model.winners(scores[-1]))
    return np.concatenate(true), np.concatenate(predicted), np.concatenate(scores)
