"""Data without a file: `example:iris`, or generated with parameters: `example:separable?margin=0.1&rows=500&seed=1`.

iris, wine, breast-cancer, digits    data sets of scikit-learn
blobs       normally distributed classes around centers drawn in a cube
spirals     two interleaved spiral arms in two columns
xor         two columns whose signs agree or differ
separable   rows in the unit ball whose smallest distance from a hidden plane through the origin is exactly `margin`
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from ...array_types import FloatArray
from ...reporting.text import count, short
from ..table import Data, DataError, Table
from . import EXAMPLE_PREFIX, Options
from .layout import find_column
from .limits import MemoryLimit

BUNDLED = ("iris", "wine", "breast-cancer", "digits")
# Parameter: default, minimum, maximum.
PARAMETERS: dict[str, dict[str, tuple[float, float, float]]] = {
    "blobs": {
        "rows": (300, 2, 1e7),
        "columns": (2, 1, 1e4),
        "classes": (3, 2, 1e3),
        "spread": (1.0, 0.0, 1e6),
        "seed": (0, 0, 2**32),
    },
    "spirals": {"rows": (300, 2, 1e7), "turns": (1.5, 0.1, 20), "noise": (0.05, 0.0, 1e6), "seed": (0, 0, 2**32)},
    "xor": {"rows": (300, 4, 1e7), "columns": (2, 2, 1e4), "noise": (0.0, 0.0, 1e6), "seed": (0, 0, 2**32)},
    "separable": {"rows": (500, 2, 1e7), "columns": (5, 2, 1e4), "margin": (0.1, 1e-9, 0.9), "seed": (0, 0, 2**32)},
}
MAX_CELLS = 10**9


def example(name: str, options: Options | None = None) -> Data:
    """The rows of `example:NAME`, with optional parameters after a ? or a comma.

    >>> example("example:xor?rows=8").n_rows
    8
    """
    kind, values = parse_example(name)
    MemoryLimit(name, options or Options()).check(32 * int(values.get("rows", 0) * values.get("columns", 2)))  # with copies
    data = _bundled(name, kind) if kind in BUNDLED else _generated(name, kind, values)
    table = cast(Table, data.features)
    ignored = {find_column(name, table.names, key, "to ignore") for key in (options or Options()).ignore}
    kept = [j for j in range(len(table.names)) if j not in ignored]
    if not kept:
        raise DataError(name, "there is no column besides the label")
    table = Table(tuple(table.names[j] for j in kept), tuple(table.columns[j] for j in kept))
    return replace(data, features=table)


def parse_example(name: str) -> tuple[str, dict[str, float]]:
    """The kind and the parameters of an example; raises DataError for an unknown one."""
    kind, _, given = name.removeprefix(EXAMPLE_PREFIX).replace("?", ",").replace("&", ",").partition(",")
    if kind in BUNDLED:
        if given:
            raise DataError(name, f"{kind} takes no parameters")
        return kind, {}
    if kind not in PARAMETERS:
        raise DataError(name, f"unknown example {kind!r:.60}; examples: {', '.join((*BUNDLED, *PARAMETERS))}")
    return kind, _parameters(name, kind, given)


def _parameters(name: str, kind: str, given: str) -> dict[str, float]:
    known = PARAMETERS[kind]
    values = {parameter: default for parameter, (default, _, _) in known.items()}
    for part in filter(None, given.split(",")):
        parameter, equals, text = part.partition("=")
        if parameter not in known or not equals:
            raise DataError(name, f"{kind} has no parameter {parameter!r:.60}; parameters: {', '.join(known)}")
        default, least, most = known[parameter]
        try:
            value: float = int(text) if isinstance(default, int) and len(text) < 20 else float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most or (isinstance(default, int) and value != int(value)):
            what = "an integer" if isinstance(default, int) else "a number"
            raise DataError(name, f"{parameter} must be {what} from {short(least, 6)} to {short(most, 6)}, got {text[:40]!r}")
        values[parameter] = int(value) if isinstance(default, int) else value
    if values["rows"] * values.get("columns", 2) > MAX_CELLS:
        raise DataError(name, f"rows times columns must be at most {count(MAX_CELLS)}")
    return values


def _generated(name: str, kind: str, values: dict[str, float]) -> Data:
    seed = int(values.pop("seed"))
    generators: dict[str, Any] = {"blobs": _blobs, "spirals": _spirals, "xor": _xor, "separable": _separable}
    X, labels = generators[kind](np.random.default_rng(seed), **values)
    names = tuple(f"x{j + 1}" for j in range(X.shape[1]))
    cells = np.empty(len(labels), object)
    cells[:] = labels
    return Data(name, Table(names, tuple(np.ascontiguousarray(X[:, j]) for j in range(X.shape[1]))), cells, "class")


def _blobs(rng: np.random.Generator, rows: int, columns: int, classes: int, spread: float) -> tuple[FloatArray, list[str]]:
    centers = rng.uniform(-5, 5, (classes, columns))
    codes = rng.permutation(np.arange(rows) % classes)
    return centers[codes] + spread * rng.standard_normal((rows, columns)), [f"blob {code + 1}" for code in codes]


def _spirals(rng: np.random.Generator, rows: int, turns: float, noise: float) -> tuple[FloatArray, list[str]]:
    codes = rng.permutation(np.arange(rows) % 2)
    along = np.sqrt(rng.uniform(0.01, 1, rows))  # evenly along the arm
    angle = 2 * np.pi * turns * along + np.pi * codes
    X = along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.standard_normal((rows, 2))
    return X, [("left arm", "right arm")[code] for code in codes]


def _xor(rng: np.random.Generator, rows: int, columns: int, noise: float) -> tuple[FloatArray, list[str]]:
    X = rng.uniform(-1, 1, (rows, columns))
    same = (X[:, 0] > 0) == (X[:, 1] > 0)
    return X + noise * rng.standard_normal((rows, columns)), ["same" if one else "different" for one in same]


def _separable(rng: np.random.Generator, rows: int, columns: int, margin: float) -> tuple[FloatArray, list[str]]:
    """Rows h u + v with u normal to the hidden plane, v parallel to it and |h| >= margin, with equality in each class."""
    normal = rng.standard_normal(columns)
    normal /= np.linalg.norm(normal)
    signs = np.where(rng.permutation(np.arange(rows) % 2) == 1, 1.0, -1.0)
    heights = rng.uniform(margin, 1, rows)
    for sign in (-1.0, 1.0):
        heights[np.flatnonzero(signs == sign)[0]] = margin
    across = rng.standard_normal((rows, columns))
    across -= np.outer(across @ normal, normal)
    across -= np.outer(across @ normal, normal)  # again, to remove rounding errors
    lengths = np.sqrt(1 - heights**2) * rng.uniform(0, 1, rows) ** (1 / max(1, columns - 1)) * (1 - 1e-12)
    across *= (lengths / np.linalg.norm(across, axis=1))[:, None]
    X = across + np.outer(signs * heights, normal)
    return X, ["above" if sign > 0 else "below" for sign in signs]


def _bundled(name: str, kind: str) -> Data:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{kind.replace('-', '_')}")()
    labels = np.empty(len(bunch.target), object)
    labels[:] = [str(bunch.target_names[code]) for code in bunch.target]
    columns = tuple(np.ascontiguousarray(column, dtype=np.float64) for column in bunch.data.T)
    return Data(name, Table(tuple(map(str, bunch.feature_names)), columns), labels, "class")
