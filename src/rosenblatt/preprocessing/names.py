"""Names of features, made when asked for: a million columns are not a million strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from .categorical import Categories, Words
from .numeric import Numbers


class Counted(Sequence[str]):
    """The names of columns that have none: their numbers, from `first`.

    >>> Counted(3, 1)[-1], list(Counted(2, 0))
    ('3', ['0', '1'])
    """

    def __init__(self, columns: int, first: int) -> None:
        self.columns, self.first = columns, first

    def __len__(self) -> int:
        return self.columns

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        found = range(self.columns)[at]
        return str(found + self.first) if isinstance(found, int) else [str(one + self.first) for one in found]


class FeatureNames(Sequence[str]):
    """Those of the numbers and their products, then of each column of strings."""

    def __init__(self, numbers: Numbers, names: Sequence[str], strings: tuple[Categories | Words, ...]) -> None:
        self._numbers, self._names, self._strings = numbers, names, strings

    def __len__(self) -> int:
        return self._numbers.width + sum(block.width for block in self._strings)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        feature = range(len(self))[at]
        if feature < self._numbers.columns:
            return self._names[feature]
        if feature < self._numbers.width:
            return self._numbers.polynomial.name(feature, self._names)
        feature -= self._numbers.width
        for block in self._strings:
            if feature < block.width:
                return block.feature_name(feature)
            feature -= block.width
        raise AssertionError
