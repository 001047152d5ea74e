"""The studio: a page in the browser that plays what the real kernels did.

In a notebook, the package itself is what is called, since it has the name: `rb.studio(X, y)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Studio(ModuleType):
    """A package that can be called: importing a part of it would put it in the place of a function of its name."""

    def __call__(
        self,
        X: Any,
        y: Any,
        *,
        algorithm: str = "perceptron",
        columns: Any = None,
        degree: int = 1,
        seed: int = 0,
        **knobs: Any,
    ) -> Any:
        """Watch an algorithm learn from rows, in a notebook: step by step, forwards and backwards.

        Needs the extra `rosenblatt[notebook]`.

        Parameters
        ----------
        X, y : rows and their labels, of 2 to 6 classes
        algorithm : the name of one, such as "perceptron", "pocket", "soft-margin"; the page can change it
        columns : two of X's columns, by name or position; None: its first two principal components, where it has more than two
        degree : of polynomials of the two, 1 to 5
        seed : of everything that is drawn
        **knobs : the algorithm's parameters, such as margin=0.5 or C=10
        """
        from .notebook import studio

        return studio(X, y, algorithm=algorithm, columns=columns, degree=degree, seed=seed, **knobs)


sys.modules[__name__].__class__ = _Studio
