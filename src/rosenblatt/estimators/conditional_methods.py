"""Methods that an estimator has with some of its parameters only: `hasattr` is then False, and the error says why.

scikit-learn's `available_if` does the same, but its message is only that there is no such attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, cast


class ConditionalMethod:
    """A descriptor of a method, which `check` of the object precedes."""

    def __init__(self, function: Callable[..., Any], check: Callable[[Any], None]) -> None:
        self._function, self._check = function, check
        update_wrapper(cast(Callable[..., Any], self), function)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self._function
        self._check(owner)
        return MethodType(self._function, owner)


def method_if(check: Callable[[Any], None]) -> Callable[[Callable[..., Any]], ConditionalMethod]:
    """Decorate a method that an object has unless `check` of it raises `AttributeError`."""
    return lambda function: ConditionalMethod(function, check)
