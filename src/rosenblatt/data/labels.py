"""Labels as class codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .table import Data, DataError, as_text

# Whole numbers that span no more than this are counted instead of sorted, which is several times as fast.
SPAN = 1 << 16


def classes_and_codes(y: Any) -> tuple[Any, Any]:
    """The sorted labels that occur, and the position of each row's label among them: np.unique with its inverse."""
    if y.dtype.kind not in "iu":
        return np.unique(y, return_inverse=True)
    least, most = int(y.min()), int(y.max())
    if most - least >= SPAN:
        return np.unique(y, return_inverse=True)
    offsets = (y.astype(np.int64) - least).astype(np.int32)
    if most - least == 1:
        return np.array([least, most]).astype(y.dtype), offsets
    found = np.flatnonzero(np.bincount(offsets))
    places = np.zeros(most - least + 1, np.int32)
    places[found] = np.arange(len(found))
    return (found + least).astype(y.dtype), places[offsets]


def classes_of_chunk(y: Any, classes: Any, known: Any | None, fixed: bool) -> tuple[Any, bool]:
    """All classes known after a chunk of a stream, and whether the list is closed; `known`: before it, None at the start."""
    here = np.unique(y)
    if classes is not None and len(np.unique(classes)) < 2:
        raise ValueError(f"classes must name at least two classes, got {classes!r}")
    if known is None:
        known, fixed = (here, False) if classes is None else (np.unique(classes), True)
    elif classes is not None and not np.array_equal(np.unique(classes), known):
        raise ValueError(f"classes={classes!r} is not what the first call gave, {known.tolist()}")
    if (here.dtype.kind in "biuf") != (known.dtype.kind in "biuf"):
        raise ValueError(f"y has labels of another kind than before: {here.tolist()} after {known.tolist()}")
    new = np.setdiff1d(here, known)
    if len(new) and fixed:
        raise ValueError(f"y has labels that were not announced: {new.tolist()}; the classes are {known.tolist()}")
    return (np.union1d(known, new) if len(new) else known), fixed


# --- Labels of a file as positions among a model's classes.


def codes_of(data: Data, classes: Any) -> Any:
    """The class code of each row; a label that is none of the classes is refused, by name."""
    if data.labels is None:
        raise DataError(data.source, "there are no labels to compare with")
    distinct, places = np.unique(as_text(data.labels), return_inverse=True)
    known = [_code(label, classes) for label in distinct.tolist()]
    if None in known and distinct.dtype.kind == "U" and all(label.endswith(".") for label in distinct.tolist()):
        known = [_code(label[:-1], classes) for label in distinct.tolist()]  # as in UCI's adult.test
    if None in known:
        stranger = distinct.tolist()[known.index(None)]
        row = int(np.argmax(places == known.index(None)))
        names = ", ".join(map(str, classes[:8].tolist())) + (", ..." if len(classes) > 8 else "")
        raise DataError(data.source, f"the label {stranger!r} of row {row:,} is none of the model's classes: {names}")
    return np.array(known, np.int64)[places]


def _code(label: Any, classes: Any) -> int | None:
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
