"""Raw mails as rows of features, for a filter that is used as one of the library's models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.table import Data, DataError, Sparse
from ...models.container import require
from ..features import VERSION, columns_of
from ..message.parse import parse

KIND = "mail"


class ColumnNames(Sequence[str]):
    """Names of the strongest columns, where somebody looked them up; the others go by number."""

    def __init__(self, width: int, known: dict[int, str]) -> None:
        self.width, self.known = width, known

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[k] for k in range(*j.indices(self.width))]
        if not -self.width <= j < self.width:
            raise IndexError(f"there are {self.width} columns, and none is {j}")
        return self.known.get(int(j) % self.width) or f"column {int(j) % self.width}"


@dataclass(frozen=True)
class MailRecipe:
    """Every column that a mail has is 1 over the root of their number.

    >>> MailRecipe(bits=10).rows([b"Subject: hello\\n\\nHow are you?"]).shape
    (1, 1024)
    """

    bits: int
    features: int = VERSION  # the version of features.py
    names: tuple[tuple[int, str], ...] = ()  # of a few columns

    kind = KIND
    wanted = None
    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return 1 << self.bits

    @property
    def feature_names(self) -> ColumnNames:
        return ColumnNames(self.width, dict(self.names))

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"raw mails, whose words and n-grams are hashed into 2^{self.bits} columns",)

    def rows(self, X: Any) -> Sparse:
        """Of raw mails: bytes, or text that stands for UTF-8."""
        if isinstance(X, Data):
            raise DataError(X.source, "this model is a mail filter and reads raw mails: use `rosenblatt mail classify`")
        mails = [X] if isinstance(X, bytes | str) else list(X)
        strange = [mail for mail in mails if not isinstance(mail, bytes | str)]
        if strange:
            raise ValueError(f"X must be raw mails, as bytes or text, got {type(strange[0]).__name__}")
        raws = [mail.encode("utf-8", "surrogateescape") if isinstance(mail, str) else mail for mail in mails]
        columns = [columns_of(parse(raw), self.bits) for raw in raws]
        lengths = np.array([len(each) for each in columns], np.int64)
        values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
        indices = np.concatenate([*columns, np.zeros(0, np.uint32)]).astype(np.int32)
        return Sparse(values, indices, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), self.width)

    def strangers(self, X: Any) -> int:
        return 0

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"kind": KIND, "bits": self.bits, "features": self.features, "names": [list(pair) for pair in self.names]}, {}

    @classmethod
    def from_parts(cls, told: dict[str, Any], arrays: dict[str, Any]) -> MailRecipe:
        bits, version, names = told["bits"], told["features"], told["names"]
        if set(told) != {"kind", "bits", "features", "names"} or arrays:
            raise ValueError("a mail filter's recipe has other parts")
        if type(bits) is not int or not 1 <= bits <= 30 or type(version) is not int:
            raise ValueError("a mail filter's recipe has no right number of columns")
        require(version == VERSION, f"cannot be used: its features are of version {version}, and this Rosenblatt has {VERSION}")
        if not all(type(column) is int and 0 <= column < 1 << bits and type(name) is str for column, name in names):
            raise ValueError("a mail filter's recipe has names of no columns")
        return cls(bits, version, tuple((column, name) for column, name in names))
