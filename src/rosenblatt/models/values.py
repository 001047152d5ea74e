"""Parameters, fitted attributes and class labels in a model file.

Parameters and attributes are JSON. Numbers, text, true, false and null stand for themselves. Every other value is an object
with one key that names its type: {"float": "inf"}, {"list": [...]}, {"tuple": [...]}, {"dict": [[key, value], ...]},
{"array": "name of an array"}, {"certificate": {...}}, and {"unsaved": "description"} for functions and other objects that a
file cannot hold.

Class labels keep their dtype: numbers and booleans are the array `classes`, text is JSON.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from ..array_types import Array
from ..certificates.digit_budget import measure
from .container import Arrays, Meta, Parts, all_finite
from .strict_json import InvalidContentError, require

MAX_NESTING = 20
# Products of digits, for each character of a certificate: fractions may have about 20,000 digits above and below.
MAX_PRODUCTS_PER_CHAR = 10_000
# Text labels take as much memory as the longest of them: up to this many bytes, and this multiple of the file.
MAX_LABEL_BYTES, MAX_LABEL_GROWTH = 1 << 20, 16
TEXT_DTYPE = re.compile(r"[US][1-9][0-9]{0,7}")
_INT_LIMIT = 1 << 63
_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_MALFORMED = "a parameter is not encoded as docs/model-files.md describes"


class Unsaved:
    """Placeholder for a value that a model file cannot hold, such as a function: it has a description and cannot be used."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<not saved: {self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unsaved) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __call__(self, *_: Any) -> Any:
        raise ValueError(f"the model file does not contain {self.text}: set the parameter with set_params before fitting")


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Encode a value as JSON; its arrays are added to `arrays` under names that start with `name`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if type(value) is int and -_INT_LIMIT <= value < _INT_LIMIT:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and _storable(value):
        arrays[name] = value
        return {"array": name}
    if type(value) in (list, tuple):
        return {type(value).__name__: [encode(each, f"{name}.{place}", arrays) for place, each in enumerate(value)]}
    if type(value) is dict:
        pairs = enumerate(value.items())
        return {"dict": [[encode(key, name, {}), encode(each, f"{name}.{place}", arrays)] for place, (key, each) in pairs]}
    if type(value).__module__ == "rosenblatt.certificates.statements":
        from ..certificates.files import certificate_to_dict

        content = certificate_to_dict(value)
        _check_fractions(content, json.dumps(content))
        return {"certificate": content}
    return {"unsaved": value.text if isinstance(value, Unsaved) else _describe(value)}


def _check_fractions(content: Any, text: str) -> None:
    """Limit the time that a certificate takes to parse to a multiple of its length."""
    fits = measure(content).digit_products <= MAX_PRODUCTS_PER_CHAR * len(text)
    require(fits, "a certificate has fractions too long for a model file")


def _storable(array: Array) -> bool:
    return array.dtype.kind in "biuf" and array.dtype.itemsize <= 8 and array.dtype != np.float16


def _describe(value: object) -> str:
    """Describe a value by its name or type; its repr may contain a memory address."""
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str) and callable(value):
        return f"the function {name}"
    return f"an object of type {type(value).__name__}"


def decode(encoded: Any, arrays: Arrays, depth: int = 0) -> Any:
    """Decode what `encode` returned. Arrays are removed from `arrays`, because each of them has one place."""
    require(depth < MAX_NESTING, "a parameter is nested too deeply")
    if encoded is None or isinstance(encoded, bool | int | float | str):
        return encoded
    require(isinstance(encoded, dict) and len(encoded) == 1, _MALFORMED)
    ((kind, inner),) = encoded.items()
    if kind == "float":
        require(isinstance(inner, str) and inner in _NON_FINITE, _MALFORMED)
        return _NON_FINITE[inner]
    if kind == "unsaved":
        require(isinstance(inner, str), _MALFORMED)
        return Unsaved(inner)
    if kind == "array":
        require(isinstance(inner, str) and inner in arrays, "a parameter refers to a missing array, or to one that is in use")
        return arrays.pop(inner)
    if kind == "certificate":
        from ..certificates.files import parse_certificate

        text = json.dumps(inner)
        _check_fractions(inner, text)
        return parse_certificate(text.encode("ascii"))
    if kind not in ("dict", "list", "tuple"):
        raise InvalidContentError(f"a parameter has the unknown type {kind!r:.40}")
    require(isinstance(inner, list), _MALFORMED)
    if kind == "dict":
        require(all(isinstance(pair, list) and len(pair) == 2 for pair in inner), _MALFORMED)
        return {decode(key, {}, depth + 1): decode(each, arrays, depth + 1) for key, each in inner}
    parts = [decode(each, arrays, depth + 1) for each in inner]
    return parts if kind == "list" else tuple(parts)


def encode_classes(classes: Array) -> Parts:
    """Encode class labels as metadata and arrays."""
    if _storable(classes):
        return {}, {"classes": classes}
    kind = classes.dtype.kind
    if kind == "U":
        return {"text": classes.tolist(), "dtype": classes.dtype.str[1:]}, {}
    if kind == "S":
        return {"text": [label.decode("latin-1") for label in classes.tolist()], "dtype": classes.dtype.str[1:]}, {}
    if kind == "O" and all(type(label) is str for label in classes.tolist()):
        return {"text": classes.tolist(), "dtype": "O"}, {}
    raise TypeError(f"a model file cannot hold these labels: {classes.tolist()!r:.80}; use numbers, text or booleans")


def check_label_width(meta: Meta, file_bytes: int) -> None:
    """Raise unless text labels take about as much memory as their file, whose arrays have `file_bytes`."""
    dtype, text = meta.get("dtype"), meta.get("text")
    if not isinstance(dtype, str) or not isinstance(text, list) or not TEXT_DTYPE.fullmatch(dtype):
        return  # object labels, or refused by `decode_classes`
    taken = len(text) * int(dtype[1:]) * (4 if dtype[0] == "U" else 1)
    stored = file_bytes + sum(len(label) for label in text if isinstance(label, str))
    fits = taken <= MAX_LABEL_BYTES + MAX_LABEL_GROWTH * stored
    require(fits, f"{len(text)} class labels of type {dtype} take {taken >> 20} MB: use labels of dtype object")


def decode_classes(meta: Meta, arrays: Arrays) -> Array:
    """Decode class labels; they must be sorted and distinct."""
    require(not (meta and arrays), "the file has class labels of two types")
    classes = arrays["classes"] if "classes" in arrays else _text_classes(meta)
    require(classes.ndim == 1 and len(classes) >= 1, "the class labels are missing")
    require(classes.dtype.kind != "f" or all_finite(classes), "the class labels contain NaN or infinity")
    ascending = all(a < b for a, b in zip(classes[:-1].tolist(), classes[1:].tolist(), strict=True))
    require(ascending, "the class labels are not sorted and distinct")
    return classes


def _text_classes(meta: Meta) -> Array:
    require(set(meta) == {"text", "dtype"} and isinstance(meta["dtype"], str), "the class labels are missing")
    text, dtype = meta["text"], meta["dtype"]
    require(isinstance(text, list) and all(isinstance(label, str) for label in text), "a class label is not text")
    if dtype == "O":
        return np.array(text, object)
    require(TEXT_DTYPE.fullmatch(dtype), "the class labels have an unknown type")
    fits = max(map(len, text), default=0) <= int(dtype[1:])
    require(fits, f"the class labels do not match their type {dtype}")
    return np.array([label.encode("latin-1") for label in text] if dtype[0] == "S" else text, dtype)
