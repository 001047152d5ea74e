"""Labels as class codes: positions among the sorted classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..array_types import Array, IntArray
from ..reporting.text import comma_list
from .table import Data, DataError, as_text

# Integers within a range of this size are counted instead of sorted, which is several times as fast.
MAX_COUNTED_RANGE = 1 << 16
MAX_CLASSES_SHOWN = 8


def classes_and_codes(y: Array) -> tuple[Array, IntArray]:
    """The sorted classes and the position of each row's label among them, as np.unique(y, return_inverse=True)."""
    if y.dtype.kind not in "iu":
        return np.unique(y, return_inverse=True)
    low, high = int(y.min()), int(y.max())
    if high - low >= MAX_COUNTED_RANGE:
        return np.unique(y, return_inverse=True)
    offsets = (y.astype(np.int64) - low).astype(np.int32)
    if high - low == 1:
        return np.array([low, high]).astype(y.dtype), offsets
    present = np.flatnonzero(np.bincount(offsets))
    places = np.zeros(high - low + 1, np.int32)
    places[present] = np.arange(len(present))
    return (present + low).astype(y.dtype), places[offsets]


def classes_of_chunk(y: Array, classes: npt.ArrayLike | None, known: Array | None, fixed: bool) -> tuple[Array, bool]:
    """The classes known after a chunk of a stream, and whether they are fixed, so that a new class is an error.

    classes : the argument of `partial_fit`, or None.
    known : the classes before this chunk; None at the start.
    fixed : whether `known` was given by the caller.
    """
    occurring = np.unique(y)
    if classes is not None and len(np.unique(classes)) < 2:
        raise ValueError(f"classes must name at least two classes, got {classes!r}")
    if known is None:
        known, fixed = (occurring, False) if classes is None else (np.unique(classes), True)
    elif classes is not None and not np.array_equal(np.unique(classes), known):
        raise ValueError(f"classes={classes!r} must be the same as in the first call, {known.tolist()}")
    if (occurring.dtype.kind in "biuf") != (known.dtype.kind in "biuf"):
        raise ValueError(f"y mixes numbers and text: {occurring.tolist()} after {known.tolist()}")
    new = np.setdiff1d(occurring, known)
    if len(new) and fixed:
        raise ValueError(f"y has labels {new.tolist()} that are not in classes {known.tolist()}")
    return (np.union1d(known, new) if len(new) else known), fixed


def codes_of(data: Data, classes: Array) -> IntArray:
    """The class code of each row of a file, by the classes of a model; raises DataError for an unknown label."""
    if data.labels is None:
        raise DataError(data.source, "the file has no labels to compare with")
    distinct, places = np.unique(as_text(data.labels), return_inverse=True)
    codes = [_code(label, classes) for label in distinct.tolist()]
    if None in codes and distinct.dtype.kind == "U" and all(label.endswith(".") for label in distinct.tolist()):
        codes = [_code(label[:-1], classes) for label in distinct.tolist()]  # UCI's adult.test has a period after each label
    if None in codes:
        unknown = distinct.tolist()[codes.index(None)]
        row = int(np.argmax(places == codes.index(None)))
        names = comma_list(classes.tolist(), MAX_CLASSES_SHOWN)
        raise data.error_at(row, f"label {unknown!r} is unknown to the model (its classes: {names})")
    return np.array(codes, np.int64)[places]


def _code(label: str | float, classes: Array) -> int | None:
    if classes.dtype.kind == "b" and str(label).lower() in ("true", "false"):
        label = str(label).lower() == "true"
    elif classes.dtype.kind in "biuf":
        try:
            label = float(label)
        except ValueError:
            return None
    else:
        label = str(label)
    matches = np.flatnonzero(classes == label)
    return int(matches[0]) if len(matches) else None
