"""Readers of data files, one module per format, and the options they share. `read.py` chooses the reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from .kinds import Form

# The formats and their extensions. A CSV file has any other extension, or none; `read.py` then looks at its first bytes.
FORMATS = {
    "svmlight": ("svm", "svmlight", "libsvm"),
    "csv": (),
    "tsv": ("tsv", "tab"),
    "jsonl": ("json", "jsonl", "ndjson"),
    "parquet": ("parquet", "pq"),
    "arrow": ("arrow", "feather", "ipc"),
    "npz": ("npz",),
    "idx": ("idx",),
}
SEPARATORS = "!#$%&*,/:;<=>?@\\^_`|~"  # marks that may separate cells, besides tabs and blanks
# What becomes of missing cells: they are an error, or filled by the mean or the median; auto is the median.
Missing = Literal["refuse", "auto", "mean", "median"]
MISSING_CHOICES: tuple[Missing, ...] = get_args(Missing)
EXAMPLE_PREFIX = "example:"


@dataclass(frozen=True)
class Options:
    """How a file is read. Columns are given by name or by position from 0.

    The last five options describe a model for which the file is read; the file then need not have labels.
    """

    format: str | None = None  # one of FORMATS; None: by the file's extension or contents
    label: str | None = None  # the label column; None: found by its name or contents
    header: bool | None = None  # whether the first line of a table holds names; None: decided by its contents
    skip_lines: int = 0  # delimited text: lines above the table to leave out, such as a title
    ignore: tuple[str, ...] = ()  # columns to leave out
    text: tuple[str, ...] = ()  # columns of text, which become words or n-grams
    categorical: tuple[str, ...] = ()  # categorical columns, even if their cells look like numbers
    missing: Missing = "refuse"  # missing cells are an error, or filled; auto: the median
    missing_indicator: bool = False  # whether numeric columns with missing cells get a feature that marks them
    decimal: Literal[".", ","] | None = None  # the decimal mark; None: found by the cells
    thousands: Literal[",", ".", " ", "'"] | None = None  # the mark between groups of thousands; None: any but the decimal mark
    sep: str | None = None  # the character between cells; None: found by the first lines
    encoding: str | None = None  # of text; None: UTF-8, or found by the first bytes
    dates: Literal["auto", "ignore", "dmy", "mdy"] = (
        "auto"  # read dates as numbers, or leave them out; or the order of day and month
    )
    zero_based: bool = False  # svmlight: whether columns are counted from 0
    max_memory: int | None = None  # bytes that the rows of a file read whole may take; None: see `limits.py`
    sheet: str | None = (
        None  # of a workbook, or file of a zip archive: a name, or a number from 1; None: the first, the only one
    )
    as_written: bool = False  # tables: whether numbers are read as text, digit by digit as in the file
    columns: int | None = None  # svmlight: the number of columns; None: given by the largest index
    required: tuple[str, ...] | None = None  # the columns of the model
    numeric: tuple[str, ...] = ()  # those of them that must hold numbers
    fill_absent: bool = False  # whether the file may lack some of them, whose cells are then missing
    forms: Mapping[str, Form] = field(default_factory=dict)  # how the training file wrote dates and formatted numbers
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of its categorical columns; no such cell is missing
    required_width: int | None = None  # the number of columns of a model without names; a table of this width has no labels

    def __post_init__(self) -> None:
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(f"decimal and thousands must differ, got {self.decimal!r} for both")
        if self.sep is not None and not (len(self.sep) == 1 and (self.sep in SEPARATORS or self.sep in "\t ")):
            raise ValueError(f"sep must be a comma, a semicolon, a tab, a blank or another mark, got {self.sep!r}")
        if self.skip_lines < 0:
            raise ValueError(f"skip_lines must be at least 0, got {self.skip_lines}")
        if self.encoding is not None:
            from .encoding import check_encoding

            check_encoding(self.encoding)


def is_example(path: object) -> bool:
    """Whether a path names an example, such as `example:iris`, instead of a file."""
    return isinstance(path, str) and path.startswith(EXAMPLE_PREFIX)


def data_name(path: str) -> str:
    """The name of a file without its folder, or that of an example without the prefix.

    >>> data_name("folder/rows.csv"), data_name("example:xor?rows=8")
    ('rows.csv', 'xor?rows=8')
    """
    return path.removeprefix(EXAMPLE_PREFIX) if is_example(path) else Path(path).name
