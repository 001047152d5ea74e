"""The JSON in the header of a model file, and the error for contents that are invalid.

Sizes are checked before anything is parsed, and every number is finite, so that whatever is parsed can be written again.
"""

from __future__ import annotations

import json
from typing import Any

# List items and object fields of the header; each takes up to 300 bytes of memory while it is parsed.
MAX_PARTS = 2_000_000
MAX_NESTING = 100  # lists and objects inside each other
NOT_A_MODEL = "not a Rosenblatt model file"


class InvalidContentError(ValueError):
    """The contents of a model file are invalid; `container.read` adds the name of the file."""


def require(condition: object, problem: str) -> None:
    """Raise `InvalidContentError(problem)` unless the condition holds."""
    if not condition:
        raise InvalidContentError(problem)


def strict_json(text: str, part: str) -> Any:
    """Parse JSON without duplicate keys, NaN, infinity, numbers beyond int64 and float64, or deep nesting."""
    value = _parse(text, part, parse_float=_finite_float, parse_int=_short_int)
    _check_nesting(value, part)
    return value


def header_json(text: str) -> Any:
    """Parse the header without duplicate keys. `container` checks every entry, and with it the numbers: a function call for
    each of them would double the time to parse the header of a file of many arrays."""
    return _parse(text, "header")


def _parse(text: str, part: str, **hooks: Any) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, **hooks)
    except json.JSONDecodeError:
        raise InvalidContentError(f"{NOT_A_MODEL}: the {part} is not JSON") from None


def count_parts(text: str) -> int:
    """Upper limit of the number of values in JSON, counted before it is parsed."""
    return sum(map(text.count, ",[{"))


def _check_nesting(value: Any, part: str) -> None:
    """Writing, comparing and printing a value call themselves for each level, so that few levels are allowed."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [each for one in level if one for each in _items(one) if type(each) is dict or type(each) is list]
        if not level:
            return
    raise InvalidContentError(f"{NOT_A_MODEL}: the {part} is nested too deeply")


def _items(value: Any) -> Any:
    return value.values() if type(value) is dict else value if type(value) is list else ()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise InvalidContentError("damaged: the header has a duplicate key")
    return unique


def _refuse_constant(text: str) -> Any:
    raise InvalidContentError(f"damaged: {text} in the header is not a number")


def _finite_float(text: str) -> float:
    number = float(text)
    if number - number != 0.0:
        raise InvalidContentError(f"damaged: {text:.40} in the header exceeds the range of numbers")
    return number


def _short_int(text: str) -> int:
    number = int(text) if len(text) <= 20 else 1 << 63
    if not -(1 << 63) <= number < 1 << 63:
        raise InvalidContentError(f"damaged: {text:.40} in the header exceeds the range of numbers")
    return number
