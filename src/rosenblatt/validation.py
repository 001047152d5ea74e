"""Checks of parameters, and the errors that they raise: each has the parameter, what is required of it, and the value."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from numbers import Integral, Real

from .reporting.text import short
from .safe_text import brief_repr

# What other libraries call a choice.
OTHER_NAMES = {"log": "logistic", "log_loss": "logistic", "logloss": "logistic", "cross_entropy": "logistic"}
MIN_SIMILAR_LENGTH = 4  # letters of a word that may be misspelled: shorter ones resemble each other by chance


class ParameterProblem(Exception):  # noqa: N818  a base; programs catch the errors below, as ValueError or TypeError
    """A parameter whose value is not accepted. Programs read the fields; `str(error)` is the sentence for people.

    Parameters
    ----------
    name : str
        The parameter.
    requirement : str
        What it must be, without None if that is `optional`.
    value : object
        The value that was given.
    got : str, optional
        The value as text; default: its repr, abbreviated if it is large.
    reason : str, default=""
        Why this is required, or what was probably meant.
    optional : bool, default=False
        Whether the parameter may also be None.

    Examples
    --------
    >>> error = ParameterError("n_jobs", "a whole number other than 0", 0, optional=True)
    >>> str(error)
    'n_jobs must be None or a whole number other than 0, got 0'
    >>> error.name, error.requirement
    ('n_jobs', 'a whole number other than 0')
    """

    def __init__(
        self, name: str, requirement: str, value: object, got: str | None = None, reason: str = "", optional: bool = False
    ) -> None:
        super().__init__(name, requirement, value, got, reason, optional)  # all of them, so that the error can be pickled
        self.name, self.requirement, self.value = name, requirement, value
        self.got = brief_repr(value) if got is None else got
        self.reason, self.optional = reason, optional

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"{self.name} must be {'None or ' if self.optional else ''}{self.requirement}, got {self.got}{why}"


class ParameterError(ParameterProblem, ValueError):
    """A parameter with a value that is not accepted."""


class ParameterTypeError(ParameterProblem, TypeError):
    """A parameter with a value of a wrong type."""


def check_choice(name: str, value: object, options: Iterable[str], *also: str) -> str:
    """Check that `value` is one of the options. `also` names other values that the caller accepts, for the message.

    >>> check_choice("max_iter", "x", ("auto",), "a whole number", "None")
    Traceback (most recent call last):
    rosenblatt.validation.ParameterError: max_iter must be 'auto', a whole number or None, got 'x'
    """
    allowed = tuple(options)
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(map(repr, allowed))
        if also:
            words = f"{', '.join([words, *also[:-1]])} or {also[-1]}"
        elif len(allowed) > 1:
            words = f"one of {words}"
        similar = nearest(value, allowed)
        raise ParameterError(name, words, value, reason="" if similar is None else f"did you mean {similar!r}?")
    return value


def nearest(value: object, options: Iterable[str]) -> str | None:
    """Return the option that a wrong value probably means: in other letters, by another name, or misspelled.

    >>> nearest("Logistic", ("hinge", "logistic")), nearest("log_loss", ("hinge", "logistic")), nearest("x", ("l1", "l2"))
    ('logistic', 'logistic', None)
    """
    if not isinstance(value, str):
        return None
    by_name = {option.casefold().replace("-", "_"): option for option in options}
    word = value.strip().casefold().replace("-", "_")
    word = OTHER_NAMES.get(word, word)
    if word in by_name:
        return by_name[word]
    similar = difflib.get_close_matches(word, by_name, 1) if len(word) >= MIN_SIMILAR_LENGTH else []
    return by_name[similar[0]] if similar else None


def check_number(
    name: str, value: object, *, over: float = 0.0, or_equal: bool = False, maximum: float = sys.float_info.max
) -> float:
    """Check for a real number greater than `over` (or equal, with `or_equal`) and at most `maximum`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterTypeError(name, "a number", value)
    try:
        real = float(value)
    except OverflowError:  # from an int
        raise ParameterError(name, f"at most {short(sys.float_info.max)}", value, "a larger number") from None
    inside = real >= over if or_equal else real > over
    if not (inside and real <= maximum):
        high = "" if maximum == float("inf") else f" and at most {short(maximum, 6)}"
        high = " and finite" if maximum == sys.float_info.max else high
        raise ParameterError(name, f"{'at least' if or_equal else 'greater than'} {short(over, 6)}{high}", value)
    return real


def check_integer(name: str, value: object, minimum: int = 1) -> int:
    """Check for an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterTypeError(name, "a whole number", value)
    if value < minimum:
        raise ParameterError(name, f"at least {minimum}", value)
    return int(value)


def check_flag(name: str, value: object) -> bool:
    """Check for True or False."""
    if type(value).__name__ not in ("bool", "bool_") and not (isinstance(value, int) and value in (0, 1)):
        raise ParameterTypeError(name, "True or False", value)
    return bool(value)
