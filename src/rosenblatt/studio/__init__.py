"""The studio: a page in the browser that plays what the real kernels did.

In a notebook, the package itself is what is called, since it has the name: `rb.studio(X, y)` is `notebook.studio(X, y)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Studio(ModuleType):
    """A package that can be called: importing a part of it would put it in the place of a function of its name."""

    def __call__(self, X: Any, y: Any, **given: Any) -> Any:
        from .notebook import studio

        return studio(X, y, **given)


sys.modules[__name__].__class__ = _Studio
