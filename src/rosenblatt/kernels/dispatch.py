"""Operations whose body depends on the type of their first argument, in Python and in machine code alike.

A kernel is written once, on operations such as `dot(rows, i, w)`. Which body runs is decided by the NamedTuple type of the
first argument: `Dense` or `CSR` rows, one scheme of labels or another, this rule or that one. Numba decides when it
compiles, so the choice costs nothing at run time; with `NUMBA_DISABLE_JIT=1` the same bodies run as plain Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload

Body = TypeVar("Body", bound=Callable[..., Any])

# Sums may be reordered, so that they run in vector lanes; nothing is assumed about NaN and infinity.
REORDER = frozenset({"reassoc", "contract", "nsz"})


def operation(stub: Callable[..., Any]) -> Any:
    """Make `stub` an operation: `@stub.of(Type)` adds the body for a first argument of that type."""
    bodies: dict[type, Callable[..., Any]] = {}

    @functools.wraps(stub)
    def call(*args: Any) -> Any:
        return bodies[type(args[0])](*args)

    def of(first: type, *, fastmath: frozenset[str] = frozenset()) -> Callable[[Body], Body]:
        def register(body: Body) -> Body:
            bodies[first] = body

            def choose(*args: Any) -> Callable[..., Any] | None:
                return body if getattr(args[0], "instance_class", None) is first else None

            options: Any = {"fastmath": set(fastmath), "error_model": "numpy", "_nrt": False, "forceinline": True}
            overload(call, strict=False, jit_options=options, inline="never")(choose)
            return body

        return register

    call.of = of  # type: ignore[attr-defined]
    return call
