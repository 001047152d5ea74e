"""Types of options: numbers, sizes, durations and weights of classes, with errors in the words of `validation.py`."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import click

from ..reporting.text import short

SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
WORDS = {"none": None}  # values of words; all others stand for themselves


class WholeNumber(click.IntRange):
    """A whole number in a range, such as WholeNumber(1, 20)."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _in_range(self, _number_of(self, int, value, (), param, ctx), param, ctx)


class Number(click.FloatRange):
    """A real number in a range, such as Number(0.0, 0.5)."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _in_range(self, _number_of(self, float, value, (), param, ctx), param, ctx)


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A duration such as 30s, 5m, 1h, or a number of seconds."""

    name = "time"
    units = MappingProxyType({"s": 1.0, "m": 60.0, "h": 3600.0})

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip().lower().removesuffix("in").removesuffix("ec")
        unit = text[-1:] if text[-1:] in self.units else ""
        try:
            seconds = float(text.removesuffix(unit)) * self.units.get(unit, 1.0)
        except ValueError:
            self.fail(f"{value!r} is not a time: write 30s, 5m or 1h", param, ctx)
        if not 0.0 < seconds < float("inf"):
            self.fail(f"must be more than 0 seconds, got {value}", param, ctx)
        return seconds


class NumberOrWord(click.ParamType):  # type: ignore[type-arg]
    """A number of any size, or one of some words."""

    name = "number"

    def __init__(self, number: type[int] | type[float], words: tuple[str, ...] = ()) -> None:
        self.number, self.words = number, words

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "|".join(["NUMBER", *self.words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and value in self.words:
            return WORDS.get(value, value)
        return _number_of(self, self.number, value, self.words, param, ctx)


class ClassWeights(click.ParamType):  # type: ignore[type-arg]
    """Weights by label, such as spam=5,ham=1, as a dict with labels as text; or one of some words."""

    name = "weights"

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "|".join([*self.words, "LABEL=WEIGHT,..."])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value in self.words:
            return value
        found: dict[str, float] = {}
        for part in value.split(","):
            label, equals, text = (each.strip() for each in part.rpartition("="))
            if not equals or not label:
                self.fail(
                    f"must be {' or '.join(self.words)}, or weights of labels such as spam=5,ham=1, got {value!r}", param, ctx
                )
            if label in found:
                self.fail(f"label {label!r} has two weights", param, ctx)
            found[label] = _number_of(self, float, text, (), param, ctx)
            if not 0.0 <= found[label] < float("inf"):
                self.fail(f"the weight of label {label!r} must be 0 or more, got {text}", param, ctx)
        return found


def _number_of(
    own: click.ParamType,  # type: ignore[type-arg]
    number: type[int] | type[float],
    value: Any,
    words: tuple[str, ...],
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return number(value)
    except ValueError:
        kinds = " or ".join(["a whole number" if number is int else "a number", *words])
        own.fail(f"{value!r} is not {kinds}", param, ctx)


def _in_range(
    own: click.IntRange | click.FloatRange, value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> Any:
    low, high = own.min, own.max
    above = low is None or (value > low if own.min_open else value >= low)
    if above and (high is None or value <= high):
        return value
    assert low is not None  # every range of an option has a lower limit
    limits = f"from {_bound(low)} to {_bound(high)}" if high is not None else f"at least {_bound(low)}"
    own.fail(f"must be {f'greater than {_bound(low)}' if own.min_open else limits}, got {value}", param, ctx)


def _bound(value: float) -> str:
    return str(value) if isinstance(value, int) else short(value, 6)


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as 500M, 64MB or 8G."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        text = value.strip().upper()
        text = text.removesuffix("B").removesuffix("I") if not text[-2:-1].isdecimal() else text
        digits, unit = text[:-1], text[-1:]
        if unit not in SIZE_UNITS:
            digits, unit = text, ""
        if not (digits.isdecimal() and digits.isascii() and int(digits[:20])):
            self.fail(f"{value!r} is not a size such as 500M or 8G", param, ctx)
        return int(digits[:20]) * SIZE_UNITS[unit]
