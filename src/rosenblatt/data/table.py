"""Rows of a file before they become features: tables, sparse rows and arrays with their labels, and the error for bad files."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Array, FloatArray, IntArray, MatrixLike
from ..reporting.text import comma_list, count
from .csr import CSRMatrix

if TYPE_CHECKING:
    import pandas as pd

    from .readers.kinds import Form

MAX_CLASSES_SHOWN = 8
MIN_LOST_DIGITS = 16  # integers of fewer digits are floats
MIN_VANISHING_CHARS = 6  # of 2e-324, the shortest number that is 0 as a float
MAX_FLOAT_DIGITS = 309  # those of the largest float
LEADING_ZERO = re.compile(r"[+-]?0\d")
NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?\s*", re.IGNORECASE)  # `float` also accepts 1_000


class DataError(ValueError):
    """A file that cannot be used: one sentence with the file and, if known, the place in the file.

    Parameters
    ----------
    source : str
        The file.
    sentence : str
        What is wrong.
    line, row : int, optional
        The line of the file or, in files without lines, the row, counted from 1.
    column : int or str, optional
        The column of a table by its name, or if it has none by its position from 0, as options such as --ignore take it.
    character : int, optional
        The position in the line, counted from 1, in files whose lines have no columns.
    headers : sequence of str, default=()
        The names of all columns, if the user may have to choose one.
    option : str, optional
        The command-line option that solves the problem, such as "--missing mean".
    advice : str, optional
        How to use the option; default: "use" and the option. Only the message has it, not `problem`.

    Examples
    --------
    >>> error = DataError("a.csv", "the value is missing", line=2, column="age", option="--missing auto")
    >>> str(error)
    'a.csv, line 2, column age: the value is missing; use --missing auto'
    >>> error.problem, error.option
    ('a.csv, line 2, column age: the value is missing', '--missing auto')
    """

    def __init__(
        self,
        source: str,
        sentence: str,
        line: int | None = None,
        column: int | str | None = None,
        headers: Sequence[str] = (),
        *,
        row: int | None = None,
        character: int | None = None,
        option: str | None = None,
        advice: str | None = None,
    ) -> None:
        places = [f"line {count(line)}"] if line is not None else [f"row {count(row)}"] if row is not None else []
        if column is not None:
            places.append(f"column {str(column).removeprefix('column ')}")
        if character is not None:
            places.append(f"character {count(character)}")
        self.problem = f"{', '.join([source, *places])}: {sentence}"
        if advice is None and option is not None:
            advice = f"use {option}"
        super().__init__(self.problem if advice is None else f"{self.problem}; {advice}")
        self.source, self.sentence, self.line, self.column, self.row = source, sentence, line, column, row
        self.headers, self.option, self.character, self.advice = tuple(headers), option, character, advice

    def __reduce__(self) -> tuple[Any, ...]:
        """Workers of a cluster send errors to the client."""
        places: dict[str, Any] = {"row": self.row, "character": self.character, "option": self.option, "advice": self.advice}
        error = partial(type(self), **places)
        return error, (self.source, self.sentence, self.line, self.column, self.headers), {"args": self.args}

    def moved(self, lines: int, source: str | None = None) -> DataError:
        """The same error in a file whose text at hand begins after some lines; `source`: another name of the file."""
        line, name = None if self.line is None else self.line + lines, source or self.source
        return DataError(
            name, self.sentence, line, self.column, self.headers, row=self.row, character=self.character, option=self.option,
            advice=self.advice,
        )  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Named columns of different types.

    A column is a float64 array, with NaN for missing cells, or an object array of str, with None for missing cells.
    """

    names: tuple[str, ...]
    columns: tuple[Array, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns[0]) if self.columns else 0, len(self.names)

    def take(self, rows: Array) -> Table:
        return Table(self.names, tuple(column[rows] for column in self.columns))


class Loss(Enum):
    """What a number loses as a float: such a cell is more likely part of an identifier."""

    ZEROS = "leading zeros"  # 02163
    DIGITS = "digits"  # 9007199254740993, which is no float; 1e-400, which is 0 as a float


def loss_of(cell: str | bytes) -> Loss | None:
    """What the text of a number loses as a float; fractions and exponents are rounded, and lose nothing unless they become 0.

    >>> [loss_of(cell) for cell in ("02163", "9007199254740993", "9007199254740992", "0.5", "1e23")]
    [<Loss.ZEROS: 'leading zeros'>, <Loss.DIGITS: 'digits'>, None, None, None]
    >>> loss_of("9007199254740993.0")
    <Loss.DIGITS: 'digits'>
    >>> loss_of("1E-400"), loss_of("0e-400"), loss_of("5e-324")
    (<Loss.DIGITS: 'digits'>, None, None)
    """
    text = cell if isinstance(cell, str) else cell.decode("latin-1")
    if vanishes(text):
        return Loss.DIGITS
    digits = text.lstrip("+-")
    whole, _, fraction = digits.partition(".")
    if not (digits.isascii() and whole.isdigit() and (fraction.isdigit() or not fraction)):
        return None
    if len(whole) >= MIN_LOST_DIGITS:
        value = float(whole) if len(whole) <= MAX_FLOAT_DIGITS else math.inf
        if math.isinf(value) or int(whole) != int(value):
            return Loss.DIGITS
    return Loss.ZEROS if len(whole) > 1 and whole.startswith("0") and len(whole) == len(text) else None


def vanishes(cell: str | bytes) -> bool:
    """Whether the text of a number that is not 0 is 0 as a float.

    >>> vanishes("1E-400"), vanishes("0.000"), vanishes("0x1")
    (True, False, False)
    """
    text = cell if isinstance(cell, str) else cell.decode("latin-1")
    if len(text) < MIN_VANISHING_CHARS or not NUMBER.fullmatch(text):
        return False
    return float(text) == 0.0 and bool(text.lower().partition("e")[0].strip(" \t\r\n+-.0"))


def integer_losses(values: Array, columns: Array | None = None) -> dict[str, str]:
    """For each column of a matrix of integers, by its position from 0: the first of them that a float does not hold.

    Of long doubles, also the first that is 0 as a float.

    `columns`: the values are entries of a sparse matrix, and these their columns.

    >>> integer_losses(np.array([[1, 2**53 + 1], [2, 5]]))
    {'1': '9007199254740993'}
    >>> integer_losses(np.array([2, 2**53 + 1]), columns=np.array([0, 7]))
    {'7': '9007199254740993'}
    """
    kind, size = values.dtype.kind, values.dtype.itemsize
    if not values.size or not ((kind in "iu" and size == 8) or (kind == "f" and size > 8)):
        return {}
    if kind in "iu" and max(int(values.max()), -int(values.min())) <= 2**53:
        return {}
    with np.errstate(over="ignore"):
        floats = values.astype(np.float64)
    if kind == "f":
        changed = (floats != values) & ((np.trunc(values) == values) | (floats == 0.0)) & np.isfinite(values)
    else:
        changed = (floats.astype(object) != values.astype(object)).astype(bool)
    places = np.nonzero(changed)
    found, first = np.unique(places[-1] if columns is None else columns[places[0]], return_index=True)
    rounded = values[changed][first].tolist()
    texts = (str(int(number)) if abs(number) >= 1 else str(number) for number in rounded)
    return dict(zip(map(str, found.tolist()), texts, strict=True))


@dataclass(frozen=True)
class Data:
    """All rows of a file, or a chunk of them."""

    source: str  # the file as error messages name it
    features: Table | CSRMatrix | FloatArray  # an array is float64, of shape (rows, columns)
    labels: Array | None  # as written in the file: float64, or object array of str; bool of rows in memory; None: no labels
    label_name: str | None = None  # the column of a table that holds the labels
    note: str | None = None  # how the file was read, for the user
    text: tuple[str, ...] = ()  # names of the columns declared as text
    categorical: tuple[str, ...] = ()  # names of the columns declared as categorical
    headers: tuple[str, ...] = ()  # names of all columns of a table, in the order of the file
    lines: Sequence[int] | None = None  # the file's line number of each row, from 1; None: unknown
    first_row: int = 0  # number of rows of the file before these
    positions: IntArray | None = None  # of these rows in the file, from 0; None: consecutive from `first_row`
    numerals: tuple[str, ...] = ()  # names of the columns of numbers that were read as text, as written
    absent: tuple[str, ...] = ()  # names of the columns of a model that the file does not have; their cells are missing
    losses: dict[str, str] = field(default_factory=dict)  # columns with numbers that lose something (see `loss_of`): the first
    dates: dict[str, str] = field(
        default_factory=dict
    )  # columns of dates: "date" or "datetime", days since 1970-01-01, or "time"
    forms: dict[str, Form] = field(default_factory=dict)  # how text files write such columns, see `readers/kinds.py`

    @property
    def n_rows(self) -> int:
        return int(self.features.shape[0])

    def take(self, rows: Array) -> Data:
        """Some of the rows, by a mask."""
        features = self.features[rows] if isinstance(self.features, np.ndarray) else self.features.take(rows)
        labels = None if self.labels is None else self.labels[rows]
        lines = None if self.lines is None else np.asarray(self.lines)[rows].tolist()
        before = np.arange(self.first_row, self.first_row + self.n_rows) if self.positions is None else self.positions
        return replace(self, features=features, labels=labels, lines=lines, positions=before[rows])

    def error_at(self, row: int, sentence: str, column: str | None = None) -> DataError:
        """A `DataError` for one of these rows, counted from 0; the message gives its line in the file or its row number."""
        if self.lines is not None:
            return DataError(self.source, sentence, int(self.lines[row]), column)
        position = self.first_row + row if self.positions is None else int(self.positions[row])
        return DataError(self.source, sentence, column=column, row=position + 1)


def rounded_integers(data: Data) -> DataError | None:
    """Return an error if an integer of the file is not the number that was read: a proof would be about other rows."""
    for name, text in lost_integers(data).items():
        what = "numbers" if vanishes(text) else "integers"
        cells = _numbers_with(data.features, name)
        is_id = isinstance(data.features, Table) and len(np.unique(cells)) == len(cells)
        instead = "" if is_id else f", or read it as categories with --categorical {name!r}"
        return DataError(
            data.source,
            f"column {name!r} has {what} that floats may not hold, such as {text}, so that nothing can be proved about it",
            advice=f"exclude it with --ignore {name!r}{instead}",
        )
    return None


def lost_integers(data: Data) -> dict[str, str]:
    """The columns with integers that floats do not hold, or may not hold, and one of them."""
    found = {}
    for name, text in data.losses.items():
        if loss_of(text) is Loss.DIGITS:
            found[name] = text
            continue
        # Only the first loss of a column is known: one that begins with zeros may be followed by one that is rounded.
        largest = float(np.nanmax(abs(_numbers_with(data.features, name)), initial=0.0))
        if largest >= 2**53:
            found[name] = str(int(largest))
    return found


def _numbers_with(features: Table | CSRMatrix | FloatArray, name: str) -> FloatArray:
    """The numbers of a column of a table, or all numbers of a matrix."""
    if isinstance(features, Table):
        return features.columns[features.names.index(name)]
    return features if isinstance(features, np.ndarray) else features.values


def parse_numerals(data: Data, kept: Container[str] = ()) -> Data:
    """A table that was read as written, with floats for its numbers and dates, except in the columns `kept` as text."""
    assert isinstance(data.features, Table)
    columns, losses, dates = [], dict(data.losses), dict(data.dates)
    for name, cells in zip(data.features.names, data.features.columns, strict=True):
        parsed = name in data.numerals and name not in kept
        form = data.forms.get(name)
        if form is not None and form.kind != "number" and name not in kept and cells.dtype.kind == "O":
            cells = np.array([np.nan if cell is None else form.value(cell) for cell in cells], np.float64)
            dates[name] = form.kind
        columns.append(np.array([np.nan if cell is None else float(cell) for cell in cells]) if parsed else cells)
        lost = [cell for cell in cells if cell is not None and loss_of(cell) is not None] if parsed else []
        if lost:
            losses.setdefault(name, next(filter(vanishes, lost), lost[0]))
    return replace(data, features=Table(data.features.names, tuple(columns)), losses=losses, dates=dates)


def as_text(labels: Array) -> Array:
    """Labels in one sortable type: strings, or floats for formats without strings."""
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def typed_labels(labels: Array) -> Array:
    """Labels as integers if all of them are, else as text; fractions and numbers such as 01 stay text.

    >>> typed_labels(np.array(["1", "-1.0", "1"], object)).tolist(), typed_labels(np.array(["1", "b"], object)).tolist()
    ([1, -1, 1], ['1', 'b'])
    >>> typed_labels(np.array([1.5, 2.0])).tolist(), typed_labels(np.array(["01", "02"], object)).tolist()
    (['1.5', '2.0'], ['01', '02'])
    """
    if labels.dtype.kind == "b":  # of rows in memory
        return labels
    distinct, codes = np.unique(as_text(labels), return_inverse=True)
    if distinct.dtype.kind == "U" and not all(map(NUMBER.fullmatch, distinct.tolist())):
        return distinct[codes]
    numbers = distinct.astype(np.float64)
    integers = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and (abs(numbers) < 2**53).all()
    texts = [label for label in distinct.tolist() if isinstance(label, str)]
    if not integers or any(LEADING_ZERO.match(label) or vanishes(label) for label in texts):
        return distinct.astype(str)[codes]
    return numbers.astype(np.int64)[codes]


def codes_of(data: Data, classes: Array) -> IntArray:
    """The class code of each row of a file, by the classes of a model; raises DataError for an unknown label."""
    if data.labels is None:
        advice = "name their column with --label"
        raise DataError(data.source, "the file has no labels to compare with", option="--label", advice=advice)
    distinct, places = np.unique(as_text(data.labels), return_inverse=True)
    codes = [_class_code(label, classes) for label in distinct.tolist()]
    if None in codes and distinct.dtype.kind == "U" and all(label.endswith(".") for label in distinct.tolist()):
        # UCI's adult.test has a period after each label.
        codes = [_class_code(label[:-1], classes) for label in distinct.tolist()]
    if None in codes:
        unknown = distinct.tolist()[codes.index(None)]
        row = int(np.argmax(places == codes.index(None)))
        names = comma_list(classes.tolist(), MAX_CLASSES_SHOWN)
        raise data.error_at(row, f"label {unknown!r} is unknown to the model (its classes: {names})")
    return np.array(codes, np.int64)[places]


def _class_code(label: str | float, classes: Array) -> int | None:
    if classes.dtype.kind == "b" and str(label).lower() in ("true", "false"):
        label = str(label).lower() == "true"
    elif classes.dtype.kind in "biuf":
        if isinstance(label, str) and (NUMBER.fullmatch(label) is None or LEADING_ZERO.match(label)):
            return None  # 01 is not the class 1
        label = float(label)
    else:
        label = str(label)
    matches = np.flatnonzero(classes == label)
    return int(matches[0]) if len(matches) else None


def as_data(X: MatrixLike | Data | Table | CSRMatrix, source: str = "X") -> Data:
    """Rows as `Data`: an array, a list of lists, a SciPy matrix, a pandas DataFrame, a `Table` or a `CSRMatrix`.

    Neither SciPy nor pandas is imported.

    >>> as_data([[1, 2], [3, 4]]).features.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if isinstance(X, Data):
        return X
    if isinstance(X, Table | CSRMatrix):
        return Data(source, X, None)
    if hasattr(type(X), "tocsr"):
        csr = CSRMatrix.from_scipy(X)
        values, indices = np.asarray(csr.values, np.float64), np.asarray(csr.indices, np.int32)
        return Data(source, replace(csr, values=values, indices=indices), None)
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        names = tuple(str(name) for name in X.columns)
        if len(set(names)) < len(names):
            raise DataError(source, "two columns have the same name")
        columns = tuple(pandas_column(X.iloc[:, j], name, source) for j, name in enumerate(names))
        return Data(source, Table(names, columns), None)
    return Data(source, _float_matrix(X, source), None)


def _float_matrix(X: MatrixLike, source: str) -> FloatArray:
    try:
        array = np.asarray(X)
        array = array if array.dtype == np.float64 else array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(source, "an array must hold numbers; use a pandas DataFrame for columns of different types") from None
    if array.ndim != 2:
        raise DataError(source, f"rows must be a matrix, got an array of {array.ndim} dimensions")
    return array


def pandas_column(series: pd.Series, name: str, source: str) -> Array:
    """A column of a DataFrame: numbers and booleans as floats, everything else as str."""
    if getattr(series.dtype, "kind", "O") in "biuf":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    missing = np.asarray(series.isna(), bool)
    cells = np.empty(len(series), object)
    for at, cell in enumerate(series):
        if missing[at]:
            cells[at] = None
        elif isinstance(cell, str):
            cells[at] = cell
        elif isinstance(cell, bool | int | float | np.number | np.bool_):
            cells[at] = number_as_text(float(cell))
        else:
            sentence = f"cells must be numbers or text, got {type(cell).__name__}"
            raise DataError(source, sentence, column=name, row=at + 1)
    return cells


def number_as_text(value: float) -> str:
    """A number as it would be written in a file.

    >>> number_as_text(3.0), number_as_text(0.1)
    ('3', '0.1')
    """
    return str(int(value)) if value == round(value) and abs(value) < 2**53 else repr(float(value))
