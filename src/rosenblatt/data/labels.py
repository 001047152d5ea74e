"""Labels as class codes: positions among the sorted classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array_types import Array, IntArray
from .table import Data, DataError, as_text

# Integers within a range of this size are counted instead of sorted, which is several times as fast.
MAX_COUNTED_RANGE = 1 << 16
MAX_CLASSES_SHOWN = 8


def classes_and_codes(y: Array) -> tuple[Array, IntArray]:
    """The sorted classes and the position of each row's label among them: np.unique with its inverse."""
    if y.dtype.kind not in "iu":
        return np.unique(y, return_inverse=True)
    least, most = int(y.min()), int(y.max())
    if most - least >= MAX_COUNTED_RANGE:
        return np.unique(y, return_inverse=True)
    offsets = (y.astype(np.int64) - least).astype(np.int32)
    if most - least == 1:
        return np.array([least, most]).astype(y.dtype), offsets
    found = np.flatnonzero(np.bincount(offsets))
    places = np.zeros(most - least + 1, np.int32)
    places[found] = np.arange(len(found))
    return (found + least).astype(y.dtype), places[offsets]


def classes_of_chunk(y: Array, classes: Any, known: Array | None, fixed: bool) -> tuple[Array, bool]:
    """The classes known after a chunk of a stream, and whether no others may follow.

    classes : the argument of `partial_fit`, or None.
    known : the classes before this chunk; None at the start.
    fixed : whether `known` was given by the caller.
    """
    here = np.unique(y)
    if classes is not None and len(np.unique(classes)) < 2:
        raise ValueError(f"classes must name at least two classes, got {classes!r}")
    if known is None:
        known, fixed = (here, False) if classes is None else (np.unique(classes), True)
    elif classes is not None and not np.array_equal(np.unique(classes), known):
        raise ValueError(f"classes={classes!r} must be the same as in the first call, {known.tolist()}")
    if (here.dtype.kind in "biuf") != (known.dtype.kind in "biuf"):
        raise ValueError(f"y mixes numbers and text: {here.tolist()} after {known.tolist()}")
    new = np.setdiff1d(here, known)
    if len(new) and fixed:
        raise ValueError(f"y has labels {new.tolist()} that are not in classes {known.tolist()}")
    return (np.union1d(known, new) if len(new) else known), fixed


def codes_of(data: Data, classes: Array) -> IntArray:
    """The positions of a file's labels among a model's classes; raises DataError for a label that is not a class."""
    if data.labels is None:
        raise DataError(data.source, "the file has no labels to compare with")
    distinct, places = np.unique(as_text(data.labels), return_inverse=True)
    codes = [_code(label, classes) for label in distinct.tolist()]
    if None in codes and distinct.dtype.kind == "U" and all(label.endswith(".") for label in distinct.tolist()):
        codes = [_code(label[:-1], classes) for label in distinct.tolist()]  # as in UCI's adult.test
    if None in codes:
        unknown = distinct.tolist()[codes.index(None)]
        row = int(np.argmax(places == codes.index(None)))
        names = ", ".join(map(str, classes[:MAX_CLASSES_SHOWN].tolist())) + ", ..." * (len(classes) > MAX_CLASSES_SHOWN)
        raise data.error_at(row, f"label {unknown!r} is unknown to the model (its classes: {names})")
    return np.array(codes, np.int64)[places]


def _code(label: Any, classes: Array) -> int | None:
    if classes.dtype.kind == "b" and str(label).lower() in ("true", "false"):
        label = str(label).lower() == "true"
    elif classes.dtype.kind in "biuf":
        try:
            label = float(label)
        except ValueError:
            return None
    else:
        label = str(label)
    found = np.flatnonzero(classes == label)
    return int(found[0]) if len(found) else None
