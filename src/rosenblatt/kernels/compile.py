"""`@kernel`: compile with Numba, without the interpreter lock, cached on disk under a digest of every kernel source.

Numba's own disk cache looks at the file of the decorated function only. Our kernels call operations that live in other
files, so an edited rule would keep its old machine code. The stamp of our cache is a digest of all sources under `kernels/`
and `rules/`: edit any of them and everything recompiles. Where no cache can be had, as for a service without a home, kernels
are compiled in each process anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
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
# Kernels own no memory, so nothing needs counting: counting the references to every tuple's arrays took half the time.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
SOURCES = tuple(Path(__file__).parent.parent / folder for folder in ("kernels", "online/rules"))


@cache
def digest_of_sources() -> str:
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
    """On a disk that may become full, or another's: what cannot be read is compiled, what cannot be written is not kept."""

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        # Numba unpickles an index before it compares stamps, which fails where a class has since been renamed. It compares
        # versions before that.
        self._cache_file._version += f" {digest_of_sources()}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with contextlib.suppress(OSError):
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        # Two processes that save at once may choose the same file for different machine code: one at a time.
        with contextlib.suppress(OSError):
            self._impl.locator.ensure_cache_path()
            with open(Path(self.cache_path) / "rosenblatt.lock", "w") as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def kernel(function: Kernel, **options: Any) -> Kernel:
    """Compile `function` on its first call; `NUMBA_DISABLE_JIT=1` leaves it plain Python, as silent about overflow."""
    if not COMPILED:
        return np.errstate(all="ignore")(function)
    compiled: Any = numba.njit(**OPTIONS, **options)(function)
    cache: Any = _Cache
    with contextlib.suppress(RuntimeError):  # no folder for a cache may be written
        compiled._cache = cache(function)
    return cast(Kernel, compiled)


def inlined(function: Kernel) -> Kernel:
    """A kernel that becomes part of those that call it: for steps so short that a call would be most of their time."""
    return kernel(function, forceinline=True)


# --- Operations whose body depends on the type of their first argument, in Python and in machine code alike.
#
# A kernel is written once, on operations such as `dot(rows, i, w)`. Which body runs is decided by the NamedTuple type of the
# first argument: `Dense` or `CSR` rows, one scheme of labels or another, this rule or that one. Numba decides when it
# compiles, so the choice costs nothing at run time; with `NUMBA_DISABLE_JIT=1` the same bodies run as plain Python.

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
