"""Columns of Parquet and Arrow files: nested ones as several flat ones, and their cells as floats or strings.

Flat      Structs become columns with dotted names; lists of numbers or strings one column per position, such as `size.0`, if
          they have the same length in all rows. Lists of words are joined if the column is declared as text.
Floats    Numbers, decimals and booleans; dates and timestamps as days since 1970-01-01, times of day as fractions of a day,
          durations as days.
Strings   Strings and dictionaries of strings, and what is declared as text or categorical.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...array_types import Array, FloatArray
from ...reporting.text import count
from ..table import MIN_LOST_DIGITS, DataError, integer_losses
from . import Options
from .dates import DAY_S, DateForm
from .json_rows import prefixes
from .layout import other_kind_advice
from .notation import NumberForm
from .typed_layout import BLANKS, TypedLayout, value_of

if TYPE_CHECKING:
    import pyarrow

MAX_COLUMNS = 100_000
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Flattening:
    """Makes flat columns of those of a file; the first batch decides the lengths of lists, unless they are given."""

    def __init__(self, source: str, options: Options, lengths: Mapping[str, int] | None = None) -> None:
        self.source = source
        self._ignored, self._text = frozenset(options.ignore), frozenset(options.text)
        self._wanted = None if options.required is None else prefixes((*options.required, options.label or ""))
        self.lengths = dict(lengths or {})
        self.roots: dict[str, int] = {}  # for each flat column, the position of the column that it is part of

    def names(self, first: Any) -> list[str]:
        """The names of the flat columns, by the first batch."""
        names = []
        for root, name in enumerate(first.schema.names):
            for flat, _ in self._flat(name, first.column(root), 0):
                names.append(flat)
                self.roots[flat] = root
        if len(names) > MAX_COLUMNS:
            raise DataError(self.source, f"the file has {count(len(names))} columns; the limit is {count(MAX_COLUMNS)}")
        return names

    def columns(self, batch: Any, done: int) -> dict[str, Any]:
        """The flat columns of a batch, by name; `done`: rows before it."""
        pairs = zip(batch.schema.names, batch.columns, strict=True)
        return {flat: column for name, cells in pairs for flat, column in self._flat(name, cells, done)}

    def _flat(self, path: str, column: Any, done: int) -> Iterator[tuple[str, Any]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        skipped = path in self._ignored or (self._wanted is not None and path not in self._wanted)
        if skipped or not (is_list or pa.types.is_struct(kind)):
            yield path, column
        elif pa.types.is_struct(kind):
            for field, part in zip(kind, column.flatten(), strict=True):
                yield from self._flat(f"{path}.{field.name}", part, done)
        elif pa.types.is_nested(kind.value_type):
            sentence = "the value is a list of structs or lists, which has no place in a table"
            raise DataError(self.source, sentence, column=path, option="--ignore", advice=f"use --ignore {path!r}")
        elif path in self._text:
            yield path, pc.binary_join(column.cast(pa.list_(pa.string())), " ")
        else:
            for at in range(self._length(path, column, done)):
                yield f"{path}.{at}", pc.list_element(column, at)

    def _length(self, path: str, column: Any, done: int) -> int:
        """The length of the lists of a column; DataError if they have several."""
        import pyarrow.compute as pc

        lengths = np.asarray(pc.list_value_length(column).fill_null(-1).to_numpy(zero_copy_only=False))
        known = lengths[lengths >= 0]
        expected = self.lengths.setdefault(path, int(known[0]) if len(known) else 0)
        wrong = np.flatnonzero((lengths >= 0) & (lengths != expected))
        if len(wrong):
            found = count(int(lengths[wrong[0]]))
            sentence = f"the list has {found} values, but {count(expected)} in earlier rows: it cannot become columns"
            advice = f"use --ignore {path!r}, or --text {path!r} if they are words"
            row = done + int(wrong[0]) + 1
            raise DataError(self.source, sentence, column=path, row=row, option="--ignore", advice=advice)
        if expected > MAX_COLUMNS:
            raise DataError(
                self.source, f"the list has {count(expected)} values; the limit is {count(MAX_COLUMNS)}", column=path
            )
        return expected


def sample(column: Any) -> Array:
    """The first cells of a column, for its layout, with dates as text; empty if a cell is invalid, which is an error later."""
    try:
        return cells_of("", "", column, is_moment(column))
    except DataError:
        return np.zeros(0)


def content_of(column: Any) -> str:
    """What a column holds, in a word: files that are read together have the same in all."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(kind):
        return "nothing"
    if is_moment(column):
        return "times of day" if pa.types.is_time(kind) else "dates"
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return "numbers" if number else "text" if text else str(kind)


def is_exact(column: pyarrow.Array) -> bool:
    """Whether a column holds integers or decimals, which a float may not hold."""
    import pyarrow as pa

    return bool(pa.types.is_integer(column.type) or pa.types.is_decimal(column.type))


def is_moment(column: Any) -> bool:
    """Whether a column holds dates, timestamps or times."""
    import pyarrow as pa

    return bool(
        pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type) and not pa.types.is_interval(column.type)
    )


def is_truth(column: Any) -> bool:
    """Whether a column holds true and false."""
    import pyarrow as pa

    return bool(pa.types.is_boolean(column.type))


def lost_integers(column: pyarrow.Array) -> list[str]:
    """The first integer of a column that a float does not hold, if there is one; decimals count by their integers."""
    import pyarrow as pa

    if pa.types.is_int64(column.type) or pa.types.is_uint64(column.type):
        kind = np.uint64 if pa.types.is_uint64(column.type) else np.int64
        return list(integer_losses(column.fill_null(0).to_numpy(zero_copy_only=False).astype(kind)[:, None]).values())
    if pa.types.is_decimal(column.type) and column.type.precision - column.type.scale >= MIN_LOST_DIGITS:
        whole = (int(cell) for cell in column.to_pylist() if cell is not None)
        return [str(cell) for cell in whole if int(float(cell)) != cell][:1]
    return []


def cells_of(source: str, name: str, column: Any, as_strings: bool) -> Array:
    """The cells of a column: floats with NaN, or strings with None, for those that are missing."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    moment = is_moment(column)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if text or (as_strings and (number or moment or pa.types.is_boolean(kind))):
        cells = np.empty(len(column), object)
        cells[:] = (column if text else _written(column) if moment else column.cast(pa.string())).to_pylist()
        return cells
    if moment or pa.types.is_duration(kind):
        return _days(column)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not number and not pa.types.is_null(kind):
        sentence = f"values of type {kind} cannot be features"
        raise DataError(source, sentence, column=name, option="--ignore", advice="leave the column out with --ignore")
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def values_of(source: str, name: str, column: Any, layout: TypedLayout, done: int, *, written: bool = False) -> Array:
    """The cells of a column of dates or numbers that the file has as such or as text; `written`: numbers as text."""
    import pyarrow as pa

    form = layout.forms[name]
    if isinstance(form, NumberForm) and is_moment(column):
        raise DataError(source, "the column holds dates, but the model reads numbers", column=name)
    cells = cells_of(source, name, column, written and is_exact(column))
    if cells.dtype.kind == "f" and isinstance(form, DateForm) and not (pa.types.is_null(column.type) or is_moment(column)):
        raise DataError(source, f"the column is numeric, but the model reads {form.describe()}", column=name)
    if cells.dtype.kind == "f" or (written and is_exact(column)):
        return cells
    known: dict[str | None, float | str | None] = {None: None if written else np.nan}
    for row, cell in enumerate(cells.tolist(), done + 1):
        if cell not in known:
            try:
                known[cell] = value_of(cell, form)
            except ValueError as fault:
                advice = other_kind_advice(name)
                raise DataError(source, str(fault), column=name, row=row, option="--categorical", advice=advice) from None
            if written and isinstance(form, NumberForm):
                known[cell] = form.plain(cell.strip(BLANKS))
    return np.array([known[cell] for cell in cells.tolist()], object if written else np.float64)


def without_words(column: Any, missing: Collection[str]) -> Any:
    """A column whose strings that stand for missing cells are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not missing or not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        return column
    column = column.cast(pa.large_string())
    words = pc.is_in(pc.utf8_trim(column, characters=BLANKS), pa.array(sorted(missing), pa.large_string()))
    return pc.if_else(words, pa.scalar(None, pa.large_string()), column) if pc.any(words).as_py() else column


def _written(column: Any) -> Any:
    """Dates and times as text, without the zeros of a fraction of a second."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.replace_substring_regex(column.cast(pa.string()), r"\.0+(Z?)$", r"\1")


def _days(column: Any) -> FloatArray:
    """Dates, times and durations as days, computed as those of text are."""
    import pyarrow as pa

    kind = column.type
    per_second = 0 if pa.types.is_date32(kind) else PER_SECOND["ms" if pa.types.is_date64(kind) else kind.unit]
    missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool)
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    ticks = np.asarray(column.cast(width).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    if per_second:
        days, rest = np.divmod(ticks, DAY_S * per_second)
        seconds, fraction = np.divmod(rest, per_second)
        values = days + (seconds + fraction / per_second) / DAY_S
    else:
        values = ticks.astype(np.float64)
    values[missing] = np.nan
    return values
