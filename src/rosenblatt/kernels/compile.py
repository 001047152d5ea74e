"""Compilation of kernels with Numba, and operations that dispatch on the type of their first argument.

Kernels run without the interpreter lock and are cached on disk. Numba's own cache checks only the file of the decorated
function, but kernels call operations in other files, so an edited rule would keep its old machine code. The stamp of this
cache is a digest of all sources in `kernels/` and `online/rules/`: an edit of any of them recompiles everything. If no cache
directory is writable, each process compiles the kernels again. So it does for rules outside this package, which the digest
does not cover.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.extending import overload

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


Kernel = TypeVar("Kernel", bound=Callable[..., Any])
COMPILED = not getattr(numba.config, "DISABLE_JIT", 0)
# Kernels allocate no memory. Without reference counts for the arrays of each tuple they take half the time. C does not call
# them: without an entry for C, and for bodies of operations for Python, compilation takes a tenth less.
BODY_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
# Without `fastmath`, a function would be compiled as its first caller is, and its bits would depend on the order of the calls.
OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": False, **BODY_OPTIONS}
# Sums may be reordered, so that they use vector lanes; NaN and infinity keep their meaning.
REORDER = frozenset({"reassoc", "contract", "nsz"})
PACKAGE = __name__.removesuffix("kernels.compile")
SOURCES = tuple(Path(__file__).parent.parent / folder for folder in ("kernels", "online/rules"))


@cache
def digest_of_sources() -> str:
    """A digest of all files that kernels are compiled from."""
    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class _Impl(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self.locator.get_source_stamp = digest_of_sources


class _Cache(FunctionCache):
    """A disk cache that ignores errors: unreadable entries are compiled, unwritable ones are not stored."""

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        # Numba unpickles an index before it compares stamps, which fails if a class was renamed. It compares versions first.
        self._cache_file._version += f" {digest_of_sources()}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with contextlib.suppress(OSError):
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        classes = [getattr(kind, "instance_class", None) for kind in sig]
        if not all(each is None or each.__module__.startswith(PACKAGE) for each in classes):
            return
        # Two processes that save at the same time may choose the same file for different machine code.
        with contextlib.suppress(OSError):
            self._impl.locator.ensure_cache_path()
            with open(Path(self.cache_path) / "rosenblatt.lock", "w") as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def kernel(function: Kernel, **options: Any) -> Kernel:
    """Compile `function` on its first call; with `NUMBA_DISABLE_JIT=1` it stays plain Python, also silent about overflow."""
    if not COMPILED:
        return np.errstate(all="ignore")(function)
    compiled: Any = numba.njit(**{**OPTIONS, **options})(function)
    cache: Any = _Cache
    with contextlib.suppress(RuntimeError):  # no writable cache directory
        compiled._cache = cache(function)
    return cast(Kernel, compiled)


def inlined(function: Kernel) -> Kernel:
    """A kernel that is inlined into its callers, for functions so short that a call would take most of their time."""
    return kernel(function, forceinline=True)


def sum_kernel(function: Kernel) -> Kernel:
    """A kernel whose own sums may be reordered, so that they use vector lanes; not those of the functions it calls."""
    return kernel(function, fastmath=set(REORDER))


# --- operations ------------------------------------------------------------------------------------------------------------
#
# A kernel is written once, with operations such as `dot(rows, i, w)`. The NamedTuple type of the first argument selects the
# body: `Dense` or `CSR` rows, a label scheme, a rule. Numba selects it at compile time, so the choice takes no time at run
# time; with `NUMBA_DISABLE_JIT=1` the same bodies run as plain Python.

Body = TypeVar("Body", bound=Callable[..., Any])


def operation(stub: Callable[..., Any]) -> Any:
    """Make `stub` an operation: `@stub.of(Type)` registers the body for a first argument of that type.

    `@stub.of(None)` registers the body for types without one. `stub.bodies` holds the bodies by type. A body with more or
    fewer arguments than the stub raises a TypeError.
    """
    bodies: dict[type | None, Callable[..., Any]] = {}

    @functools.wraps(stub)
    def call(*args: Any) -> Any:
        kind: type = type(args[0])
        return bodies[kind if kind in bodies else None](*args)

    def of(first: type | None, *, fastmath: frozenset[str] = frozenset()) -> Callable[[Body], Body]:
        def register(body: Body) -> Body:
            expected, given = (tuple(inspect.signature(function).parameters) for function in (stub, body))
            if len(given) != len(expected):
                name = "other types" if first is None else first.__name__
                raise TypeError(
                    f"{getattr(stub, '__name__', stub)} of {name} has {len(given)} arguments ({', '.join(given)}): "
                    f"give it {len(expected)} ({', '.join(expected)})"
                )
            bodies[first] = body

            def choose(*args: Any) -> Callable[..., Any] | None:
                kind = getattr(args[0], "instance_class", None)
                return body if (kind if kind in bodies else None) is first else None

            options: Any = {"fastmath": set(fastmath), **BODY_OPTIONS, "no_cpython_wrapper": True, "forceinline": True}
            overload(call, strict=False, jit_options=options, inline="never")(choose)
            return body

        return register

    call.of = of  # type: ignore[attr-defined]
    call.bodies = bodies  # type: ignore[attr-defined]
    return call
