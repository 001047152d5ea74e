"""The studio: a page in the browser that plays the updates of an algorithm.

The package is callable, because its name is also that of the function for notebooks: `rb.studio(X, y)`.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anywidget import AnyWidget
    from numpy.typing import ArrayLike

    from ..array_types import MatrixLike

__all__ = ["studio"]


def studio(
    X: MatrixLike,
    y: ArrayLike,
    *,
    algorithm: str = "perceptron",
    columns: Sequence[str | int] | None = None,
    degree: int = 1,
    seed: int = 0,
    **knobs: float | str | Sequence[float] | None,
) -> AnyWidget:
    """Show an algorithm learning from data in a notebook, update by update, forward and backward.

    Needs the extra `rosenblatt[notebook]`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        At least two columns.
    y : array-like of shape (n_samples,)
        Labels of 2 to 6 classes.
    algorithm : str, default="perceptron"
        A name from the catalog, such as "pocket" or "soft-margin"; it can be changed on the page.
    columns : pair of str or int, default=None
        The two columns to show, by name or position. By default both columns of X, or the first two principal components if
        X has more than two.
    degree : int, default=1
        Degree of the boundary, 1 (a line) to 5.
    seed : int, default=0
        Seed of random orders.
    **knobs
        Parameters of the algorithm, such as margin=0.5 or C=10.

    Returns
    -------
    widget : anywidget.AnyWidget
        The page, which the notebook shows.

    See Also
    --------
    rosenblatt.Perceptron.show : The run of a fitted model.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> widget = rb.studio([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1], algorithm="pocket")  # doctest: +SKIP
    """
    from .notebook import data_widget

    return data_widget(X, y, columns, algorithm, knobs, degree=degree, seed=seed)


def __dir__() -> list[str]:
    return __all__


class _Studio(ModuleType):
    """A callable package: importing a submodule would replace a function of the same name."""

    __signature__ = inspect.signature(studio)
    __call__ = staticmethod(studio)


sys.modules[__name__].__class__ = _Studio
