"""Arrays as JSON: their bytes in base64 under the name of their type, little-endian and in C order."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..array_types import Array

TYPES: dict[str, np.dtype[Any]] = {"f64": np.dtype("<f8"), "f32": np.dtype("<f4"), "i32": np.dtype("<i4")}
Packed = dict[str, str]


def pack(array: ArrayLike, kind: str) -> Packed:
    """Encode an array; raise `OverflowError` if a number is not finite.

    >>> pack([1, 2], "i32")
    {'i32': 'AQAAAAIAAAA='}
    """
    values = np.ascontiguousarray(array, TYPES[kind])
    if not np.isfinite(values).all():
        raise OverflowError("a number is not finite")
    return {kind: base64.b64encode(values.tobytes()).decode("ascii")}


def unpack(packed: Packed, *shape: int) -> Array:
    """Decode an array, flat or in the given shape.

    >>> unpack(pack([[1.5, 2.0]], "f64"), 1, 2).tolist()
    [[1.5, 2.0]]
    """
    ((kind, text),) = packed.items()
    values = np.frombuffer(base64.b64decode(text), TYPES[kind])
    return values.reshape(shape) if shape else values


def finite(value: float | None) -> float | None:
    """Return a number that JSON can hold: None if it is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)
