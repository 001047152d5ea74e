"""Readers of data files, one module per format, and the options they share. `read.py` chooses the reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FORMATS = ("svmlight", "csv", "tsv", "jsonl", "parquet", "arrow", "npz", "idx")


@dataclass(frozen=True)
class Options:
    """How a file is read. Columns are given by name or by position from 0.

    The last three options describe a model for which the file is read; the file then need not have labels.
    """

    format: str | None = None  # one of FORMATS; None: by the file's extension or contents
    label: str | None = None  # the label column; None: found by its name or contents
    header: bool | None = None  # whether the first line of a table holds names; None: decided by its contents
    ignore: tuple[str, ...] = ()  # columns to leave out
    text: tuple[str, ...] = ()  # columns of text, which become bags of words
    categorical: tuple[str, ...] = ()  # categorical columns, even if their cells look like numbers
    missing: Literal["refuse", "mean"] = "refuse"  # missing cells are an error or replaced by the mean
    zero_based: bool = False  # svmlight: whether columns are counted from 0
    columns: int | None = None  # svmlight: the number of columns; None: given by the largest index
    required: tuple[str, ...] | None = None  # the columns of the model
    numeric: tuple[str, ...] = ()  # those of them that must hold numbers
    required_width: int | None = None  # the number of columns of a model without names; a table of this width has no labels
