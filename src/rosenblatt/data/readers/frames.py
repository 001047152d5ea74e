"""Data frames (pandas, polars, pyarrow) as the bytes of an Arrow file, so that they are read as such files are."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ..table import DataError, pandas_column
from .sources import Source

if TYPE_CHECKING:
    import numpy.typing as npt

NAME = "data frame"  # in messages


def is_frame(X: object) -> bool:
    """Whether an object is a table with named columns."""
    return hasattr(X, "columns") and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "iloc"))


def is_truth_column(frame: Any, name: str | None) -> bool:
    """Whether a column of a frame holds true and false."""
    if name is None or name not in list(getattr(frame, "column_names", frame.columns)):
        return False
    kind = frame.schema.field(name).type if hasattr(frame, "column_names") else frame[name].dtype
    return str(kind).lower() in ("bool", "boolean")


def frame_source(frame: Any, labels: npt.ArrayLike | None = None, label: str = "label", name: str = NAME) -> Source:
    """The bytes of a data frame as an Arrow file.

    Parameters
    ----------
    frame : DataFrame or pyarrow.Table
        The columns. The index of a pandas DataFrame is left out.
    labels : array-like, optional
        A last column.
    label : str, default="label"
        The name of that column.
    name : str, optional
        The name of the frame in messages.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(name, "data frames need pyarrow: pip install 'rosenblatt[data]'") from None
    table = _from_pandas(frame, name) if hasattr(frame, "iloc") else pa.table(frame)
    if labels is not None:
        if label in table.column_names:
            raise DataError(name, f"the labels are given apart, but the frame has a column {label!r}", column=label)
        if len(cells := _plain(labels)) != table.num_rows:
            raise DataError(name, f"the frame has {table.num_rows} rows, but there are {len(cells)} labels")
        table = table.append_column(label, pa.array(cells, from_pandas=True))
    bytes_of = pa.BufferOutputStream()
    with pa.ipc.new_file(bytes_of, table.schema) as writer:
        writer.write_table(table)
    return Source(name, io.BytesIO(bytes_of.getvalue()))


def _from_pandas(frame: Any, name: str) -> Any:
    """A pyarrow table of a DataFrame, with columns of mixed objects as text."""
    import pyarrow as pa

    names = [str(each) for each in frame.columns]
    if twice := next((each for each in names if names.count(each) > 1), None):
        raise DataError(name, "two columns have the same name", column=twice)
    columns = []
    for at, column in enumerate(names):
        series = frame.iloc[:, at]
        if str(series.dtype).startswith("period"):
            series = series.dt.to_timestamp()
        try:
            cells = pa.array(series, from_pandas=True)
        except pa.ArrowException:
            cells = pa.array(pandas_column(series, column, name), from_pandas=True)
        if isinstance(cells.type, pa.BaseExtensionType):
            sentence = f"values of type {series.dtype} cannot be features"
            raise DataError(name, sentence, column=column, option="--ignore", advice=f"use --ignore {column!r}")
        columns.append(cells)
    return pa.table(columns, names=names)


def _plain(labels: npt.ArrayLike) -> Any:
    """Labels as pyarrow takes them."""
    import numpy as np

    return labels if hasattr(labels, "iloc") or hasattr(labels, "__arrow_array__") else np.asarray(labels)
