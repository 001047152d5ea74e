"""Importing scikit-learn without pandas, which it loads where there is one: 60 MB that learning from a stream never uses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_pandas() -> Iterator[None]:
    """Inside, pandas cannot be imported unless it is loaded already; after that it can."""
    hidden = [name for name in ("pandas",) if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name) is None:
                sys.modules.pop(name, None)
