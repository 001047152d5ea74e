"""Class labels in a file: numbers as an array, text as JSON, in exactly the type they had."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .container import Parts, all_finite, require


def to_parts(classes: Any) -> Parts:
    kind = classes.dtype.kind
    if kind in "biuf" and classes.dtype.itemsize <= 8 and classes.dtype != np.float16:
        return {}, {"classes": classes}
    if kind == "U":
        return {"text": classes.tolist(), "dtype": classes.dtype.str[1:]}, {}
    if kind == "S":
        return {"text": [label.decode("latin-1") for label in classes.tolist()], "dtype": classes.dtype.str[1:]}, {}
    if kind == "O" and all(type(label) is str for label in classes.tolist()):
        return {"text": classes.tolist(), "dtype": "O"}, {}
    raise TypeError(f"labels must be numbers, text or truth values to be saved, got {classes.tolist()!r:.80}")


def from_parts(told: dict[str, Any], arrays: dict[str, Any]) -> Any:
    classes = arrays["classes"] if "classes" in arrays else _text(told)
    require(classes.ndim == 1 and len(classes) >= 1, "has no classes")
    require(classes.dtype.kind != "f" or all_finite(classes), "has classes that are not finite")
    ascending = all(a < b for a, b in zip(classes[:-1].tolist(), classes[1:].tolist(), strict=True))
    require(ascending, "has classes that are not sorted, or there twice")
    return classes


def _text(told: dict[str, Any]) -> Any:
    require(set(told) == {"text", "dtype"} and isinstance(told["dtype"], str), "has no classes")
    text, dtype = told["text"], told["dtype"]
    require(isinstance(text, list) and all(isinstance(label, str) for label in text), "has classes that are no labels")
    if dtype == "O":
        return np.array(text, object)
    require(re.fullmatch(r"[US][0-9]{1,7}", dtype), "has classes of an unknown type")
    longest = max(map(len, text), default=0)
    require(longest <= int(dtype[1:]) <= max(1 << 16, longest), "has classes that are longer than they should be")
    return np.array([label.encode("latin-1") for label in text] if dtype[0] == "S" else text, dtype)
