"""Options for reading a data file."""

from __future__ import annotations

from dataclasses import dataclass

FORMATS = ("svmlight", "csv", "tsv", "jsonl", "parquet", "arrow", "npz", "idx")


@dataclass(frozen=True)
class Options:
    format: str | None = None  # None: by the file's extension
    label: str | None = None  # the column of labels, by name or position; None: found
    header: bool | None = None  # whether the first line of a table has names; None: found
    ignore: tuple[str, ...] = ()  # columns that are left out, by name or position
    text: tuple[str, ...] = ()  # columns of text, which become bags of words
    categorical: tuple[str, ...] = ()  # columns of names, even where they look like numbers
    missing: str = "refuse"  # or "mean"
    zero_based: bool = False  # svmlight: whether columns are counted from 0
    columns: int | None = None  # svmlight: how many there are; None: as many as the largest index says
    wanted: tuple[str, ...] | None = None  # the columns that a model reads; labels may then be absent
    width: int | None = None  # how many columns a model without names reads: a table of just so many has no labels
