"""Parameters and fitted attributes as JSON: exactly what they were, or in words where JSON cannot hold them.

Numbers, text, True, False and None stand for themselves. Everything else is an object with one name that says what it is:
{"float": "inf"}, {"list": [...]}, {"tuple": [...]}, {"dict": [[key, value], ...]}, {"array": "the name of a tensor"},
{"certificate": {...}}, and {"unsaved": "what it looked like"} for functions and the like.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .container import UnfitError, require

_INTEGERS = 1 << 63
_ODD = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_MOST_DEPTH = 20


class Unsaved:
    """Stands for something that a model file cannot hold, such as a function; it can be looked at, and not used."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<not saved: {self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unsaved) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __call__(self, *_: Any) -> Any:
        raise ValueError(f"{self.text} is not in the model's file: give the parameter again with set_params before fitting")


def encode(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """As JSON; arrays go to `arrays` under names that begin with `name`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if type(value) is int and -_INTEGERS <= value < _INTEGERS:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8 and value.dtype != np.float16:
        arrays[name] = value
        return {"array": name}
    if type(value) in (list, tuple):
        return {type(value).__name__: [encode(each, f"{name}.{place}", arrays) for place, each in enumerate(value)]}
    if type(value) is dict:
        pairs = enumerate(value.items())
        return {"dict": [[encode(key, name, {}), encode(each, f"{name}.{place}", arrays)] for place, (key, each) in pairs]}
    if type(value).__module__ == "rosenblatt.certificates.statements":
        from ..certificates.files import certificate_to_dict

        return {"certificate": certificate_to_dict(value)}
    return {"unsaved": unnamed(value)}


def unnamed(value: Any) -> str:
    """What something looks like that cannot be kept, without the address it happened to have."""
    called = getattr(value, "__qualname__", None)
    return (
        f"a function, {called}" if isinstance(called, str) and callable(value) else f"an object of type {type(value).__name__}"
    )


def decode(told: Any, arrays: dict[str, Any], depth: int = 0) -> Any:
    require(depth < _MOST_DEPTH, "has parameters that are nested too deeply")
    if told is None or isinstance(told, bool | int | float | str):
        return told
    require(isinstance(told, dict) and len(told) == 1, "has a parameter that is not written as parameters are")
    ((kind, inner),) = told.items()
    if kind == "float":
        return _ODD[inner]
    if kind == "unsaved":
        require(isinstance(inner, str), "has a parameter that is not written as parameters are")
        return Unsaved(inner)
    if kind == "array":
        return arrays[inner]
    if kind == "certificate":
        from json import dumps

        from ..certificates.files import parse_certificate

        return parse_certificate(dumps(inner).encode("ascii"))
    if kind not in ("dict", "list", "tuple"):
        raise UnfitError(f"has a parameter of an unknown kind, {kind!r:.40}")
    require(isinstance(inner, list), "has a parameter that is not written as parameters are")
    if kind == "dict":
        return {decode(key, {}, depth + 1): decode(each, arrays, depth + 1) for key, each in inner}
    parts = [decode(each, arrays, depth + 1) for each in inner]
    return parts if kind == "list" else tuple(parts)
