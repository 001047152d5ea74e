"""The recipe of a mail filter: raw mails as rows of features, for a filter that is loaded as a model of the library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.csr import CSRMatrix
from ..data.table import Data, DataError
from ..models.container import Arrays, Meta, Parts, require
from ..models.model import ModelInput
from .features import VERSION, columns_of
from .message.parse import parse

KIND = "mail"


class ColumnNames(Sequence[str]):
    """The known names of columns; the others have a number."""

    def __init__(self, width: int, known: dict[int, str]) -> None:
        self.width, self.known = width, known

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, j: int | slice) -> Any:
        if isinstance(j, slice):
            return [self[k] for k in range(*j.indices(self.width))]
        if not -self.width <= j < self.width:
            raise IndexError(f"column must be from {-self.width} to {self.width - 1}, got {j}")
        return self.known.get(int(j) % self.width) or f"column {int(j) % self.width}"


@dataclass(frozen=True)
class MailRecipe:
    """Raw mails as rows: each of the n columns of a mail has the value 1/sqrt(n).

    >>> MailRecipe(bits=10).rows([b"Subject: hello\\n\\nHow are you?"]).shape
    (1, 1024)
    """

    bits: int
    features: int = VERSION  # the version of `features.py`
    names: tuple[tuple[int, str], ...] = ()  # names of the heaviest columns

    kind = KIND
    required = None
    number_names: tuple[str, ...] = ()
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
        return (f"Raw mails: their words and n-grams were hashed into 2^{self.bits} columns.",)

    def rows(self, X: ModelInput) -> CSRMatrix:
        """The rows of raw mails, given as bytes or as text, which is encoded in UTF-8."""
        if isinstance(X, Data):
            raise DataError(X.source, "this model is a mail filter and reads raw mails; use `rosenblatt mail classify`")
        mails: list[object] = [X] if isinstance(X, bytes | str) or not isinstance(X, Iterable) else list(X)
        raws = []
        for mail in mails:
            if not isinstance(mail, bytes | str):
                raise ValueError(f"X must be raw mails, as bytes or text, got {type(mail).__name__}")
            raws.append(mail.encode("utf-8", "surrogateescape") if isinstance(mail, str) else mail)
        columns = [columns_of(parse(raw), self.bits) for raw in raws]
        lengths = np.array([len(each) for each in columns], np.int64)
        values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
        indices = np.concatenate([*columns, np.zeros(0, np.uint32)]).astype(np.int32)
        return CSRMatrix(values, indices, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), self.width)

    def count_unknown_columns(self, X: ModelInput) -> int:
        return 0

    def to_parts(self) -> Parts:
        return {"kind": KIND, "bits": self.bits, "features": self.features, "names": [list(pair) for pair in self.names]}, {}

    @classmethod
    def from_parts(cls, meta: Meta, arrays: Arrays) -> MailRecipe:
        bits, version, names = meta["bits"], meta["features"], meta["names"]
        if set(meta) != {"kind", "bits", "features", "names"} or arrays:
            raise ValueError("the recipe of a mail filter has unknown parts")
        if type(bits) is not int or not 1 <= bits <= 30 or type(version) is not int:
            raise ValueError("the recipe of a mail filter has an invalid number of columns")
        this = f"this version of Rosenblatt has {VERSION}"
        require(version == VERSION, f"cannot be used: its features have version {version}, and {this}")
        if not all(type(column) is int and 0 <= column < 1 << bits and type(name) is str for column, name in names):
            raise ValueError("the recipe of a mail filter has invalid names of columns")
        return cls(bits, version, tuple((column, name) for column, name in names))
