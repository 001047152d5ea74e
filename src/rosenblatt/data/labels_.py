"""Labels of a file as positions among a model's classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .table import Data, DataError, as_text


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
