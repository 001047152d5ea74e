"""Sums over blocks in a fixed order: up a binary tree over the block numbers.

The tree of n blocks splits them at the largest power of two below n. Its shape depends on n alone, so that the bits of a sum do
not depend on the number of tasks that compute it, nor on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .engine import Engine, Handle

# Parts that one task adds: an aligned subtree, so that the bits are those of adding in pairs.
PARTS_PER_TASK = 8


def add(a: Any, b: Any) -> Any:
    """The sum of two parts: numbers, arrays, or tuples of them, which may be named."""
    if isinstance(a, tuple):
        return _like(a, (add(x, y) for x, y in zip(a, b, strict=True)))
    if isinstance(a, np.ndarray) and a.flags.writeable and a.ndim:
        np.add(a, b, out=a)
        return a
    return a + b


def _like(part: tuple[Any, ...], values: Iterable[Any]) -> Any:
    return part._make(values) if hasattr(part, "_make") else tuple(values)


def split(n: int) -> int:
    """The number of blocks in the left half of a tree of n > 1 blocks."""
    return 1 << ((n - 1).bit_length() - 1)


def tree_sum(parts: Sequence[Any], combine: Callable[[Any, Any], Any] = add) -> Any:
    """The sum of the parts of all blocks, or what `combine` makes of two neighbors.

    >>> tree_sum(list("abcde"), lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    if len(parts) == 1:
        return parts[0]
    half = split(len(parts))
    return combine(tree_sum(parts[:half], combine), tree_sum(parts[half:], combine))


def add_parts(parts: list[Any], combine: Callable[[Any, Any], Any] = add) -> Any:
    """A task that combines the parts of an aligned subtree; the parts themselves stay as they are."""
    first = parts[0]
    return first if len(parts) == 1 else tree_sum([_own(each) for each in parts], combine)


def _own(part: Any) -> Any:
    """A part whose arrays may be added to: those of other tasks must not change."""
    if isinstance(part, tuple):
        return _like(part, map(_own, part))
    return part.copy() if isinstance(part, np.ndarray) else part


def submit_tree(engine: Engine, parts: Sequence[Callable[[], Handle]], combine: Callable[[Any, Any], Any] = add) -> Handle:
    """Submit tasks whose results are combined up the tree; return the handle of the whole.

    parts : functions that submit the task of a block. They are called in an order in which few parts exist at a time if tasks
        run when they are submitted.
    """
    n = len(parts)
    if n <= PARTS_PER_TASK:
        return engine.submit(add_parts, [submit() for submit in parts], combine)
    width = PARTS_PER_TASK
    while width * PARTS_PER_TASK < n:
        width *= PARTS_PER_TASK
    handles = [submit_tree(engine, parts[start : start + width], combine) for start in range(0, n, width)]
    return engine.submit(add_parts, handles, combine)
