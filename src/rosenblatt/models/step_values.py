"""Parameters and learned values of the steps of a Pipeline, as JSON.

Values are encoded as in `values.py`. Arrays of text and of Python's numbers, types of NumPy, dtypes and slices are added:
{"text": [dtype, [...]]}, {"numbers": [...]}, {"type": "float64"}, {"dtype": "<f8"}, {"slice": [start, stop, step]}. Text of
type "O" may be missing: null, or {"float": "nan"}, as encoders keep it; a number may be NaN. A value that a file cannot hold,
such as a function, is refused: a Pipeline without it would not be the same.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..array_types import Array
from . import values
from .container import Arrays
from .strict_json import require

_NAN = {"float": "nan"}
_DTYPE = re.compile(r"[<>|=]?[fiubOU][0-9]{0,8}")
_NUMPY_TYPES: dict[str, type] = {
    np.dtype(code).type.__name__: np.dtype(code).type
    for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
}


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Encode a value as JSON; None for a value that a file cannot hold, and for None."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        text = [_NAN if _is_nan(each) else each for each in value.tolist()]
        dtype = "O" if value.dtype.kind == "O" else value.dtype.str[1:]
        valid = value.ndim == 1 and all(_is_text(each, dtype) for each in text)
        if valid and _fits(dtype, text):
            return {"text": [dtype, text]}
        return _encode_numbers(value) if dtype == "O" and value.ndim == 1 else None
    if isinstance(value, type):
        return {"type": value.__name__} if _NUMPY_TYPES.get(value.__name__) is value else None
    if isinstance(value, np.dtype):
        return {"dtype": value.str} if value.kind in "fiubOU" else None
    if isinstance(value, slice):
        inner = [encode(each, name, arrays) for each in (value.start, value.stop, value.step)]
        return {"slice": inner}
    if type(value) in (list, tuple):
        inner = [encode(each, f"{name}.{place}", arrays) for place, each in enumerate(value)]
        lost = any(one is None and each is not None for one, each in zip(inner, value, strict=True))
        return None if lost else {type(value).__name__: inner}
    if type(value) is dict:
        pairs = [[encode(key, name, {}), encode(each, f"{name}.{at}", arrays)] for at, (key, each) in enumerate(value.items())]
        lost = any(one[1] is None and each is not None for one, each in zip(pairs, value.values(), strict=True))
        return None if lost or any(key is None for key, _ in pairs) else {"dict": pairs}
    encoded = values.encode(value, name, arrays)
    return None if isinstance(encoded, dict) and not {"array", "float"} & encoded.keys() else encoded


def decode(encoded: Any, arrays: Arrays, depth: int = 0) -> Any:
    """Decode what `encode` returned."""
    require(depth < values.MAX_NESTING, "a parameter is nested too deeply")
    if not isinstance(encoded, dict):
        return values.decode(encoded, {})
    require(len(encoded) == 1, "a parameter is not encoded as docs/model-files.md describes")
    ((kind, inner),) = encoded.items()
    if kind == "text":
        return _text(*inner)
    if kind == "numbers":
        return _numbers(inner)
    if kind == "type":
        return _NUMPY_TYPES[inner]
    if kind == "dtype":
        # NumPy reads other texts as a program: "2,08" is a SyntaxError.
        require(isinstance(inner, str) and bool(_DTYPE.fullmatch(inner)), "a parameter has an unknown dtype")
        return np.dtype(inner)
    if kind == "slice":
        require(len(inner) == 3 and all(isinstance(each, int | str | None) for each in inner), "a slice is invalid")
        return slice(*inner)
    if kind in ("list", "tuple"):
        parts = [decode(each, arrays, depth + 1) for each in inner]
        return parts if kind == "list" else tuple(parts)
    if kind == "dict":
        return {decode(key, {}, depth + 1): decode(each, arrays, depth + 1) for key, each in inner}
    require(kind in ("array", "float"), f"a parameter has the unknown type {kind!r:.40}")
    return values.decode(encoded, arrays)


def _fits(dtype: str, text: list[Any]) -> bool:
    """Whether text takes about as much memory as in the file."""
    width = 0 if dtype == "O" else int(dtype[1:])
    return width == 0 or 4 * width * len(text) <= 400 + 16 * (sum(map(len, text)) + 3 * len(text))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _is_text(value: Any, dtype: str) -> bool:
    return type(value) is str or (dtype == "O" and (value is None or value == _NAN))


def _encode_numbers(array: Array) -> dict[str, list[Any]] | None:
    """Encode an array of Python's numbers, such as what `SimpleImputer` fills a constant in with; None for other objects."""
    encoded = [values.encode(each, "", {}) for each in array.tolist()]
    return {"numbers": encoded} if all(map(_is_number, encoded)) else None


def _is_number(encoded: Any) -> bool:
    return type(encoded) in (int, float) or encoded == _NAN


def _numbers(encoded: Any) -> Array:
    require(isinstance(encoded, list) and all(map(_is_number, encoded)), "an array of numbers is invalid")
    array = np.empty(len(encoded), object)
    array[:] = [np.nan if each == _NAN else each for each in encoded]
    return array


def _text(dtype: Any, text: Any) -> Array:
    listed = isinstance(text, list) and all(_is_text(each, dtype) for each in text)
    require(
        listed and isinstance(dtype, str) and (dtype == "O" or values.TEXT_DTYPE.fullmatch(dtype)),
        "an array of text is invalid",
    )
    require(dtype[0] in "OU" and _fits(dtype, text), f"text of type {dtype} takes too much memory")
    require(dtype == "O" or max(map(len, text), default=0) <= int(dtype[1:]), f"text does not match its type {dtype}")
    array = np.empty(len(text), object if dtype == "O" else dtype)
    array[:] = [np.nan if each == _NAN else each for each in text]
    return array
