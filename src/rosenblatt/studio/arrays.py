"""Arrays as JSON: their bytes in base64 under the name of their type, little-endian and in C order."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

TYPES: dict[str, np.dtype[Any]] = {"f64": np.dtype("<f8"), "f32": np.dtype("<f4"), "i32": np.dtype("<i4")}
Packed = dict[str, str]


def packed(array: Any, kind: str) -> Packed:
    """An `OverflowError` where a number is not finite.

    >>> packed([1, 2], "i32")
    {'i32': 'AQAAAAIAAAA='}
    """
    values = np.ascontiguousarray(array, TYPES[kind])
    if not np.isfinite(values).all():
        raise OverflowError("a number is not finite")
    return {kind: base64.b64encode(values.tobytes()).decode("ascii")}


def unpacked(found: Packed, *shape: int) -> Any:
    """The array again, flat or in a shape.

    >>> unpacked(packed([[1.5, 2.0]], "f64"), 1, 2).tolist()
    [[1.5, 2.0]]
    """
    ((kind, text),) = found.items()
    values = np.frombuffer(base64.b64decode(text), TYPES[kind])
    return values.reshape(shape) if shape else values


def finite(value: Any) -> float | None:
    """A number as JSON can hold it: what is not finite is null."""
    return None if value is None or not math.isfinite(value) else float(value)
