"""What models take: rows, and the recipes that make features of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from ..array_types import FloatArray, MatrixLike
from ..data.csr import CSRMatrix
from ..data.table import Data, Table
from .container import Arrays, Meta, Parts

# What `Model.predict` takes: rows, the path of a file, or what the recipe of the model takes, such as raw mails.
ModelInput: TypeAlias = "MatrixLike | Data | Table | CSRMatrix | Sequence[bytes] | str | os.PathLike[str]"


class RecipeLike(Protocol):
    """How the input of a model becomes features: the columns of a file, or raw mails."""

    @property
    def kind(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def feature_names(self) -> Sequence[str]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def required(self) -> tuple[str, ...] | None: ...
    @property
    def number_names(self) -> tuple[str, ...]: ...
    @property
    def text(self) -> tuple[str, ...]: ...
    @property
    def categorical(self) -> tuple[str, ...]: ...
    @property
    def values(self) -> Mapping[str, tuple[str, ...]]: ...
    def rows(self, X: ModelInput) -> FloatArray | CSRMatrix: ...
    def to_parts(self) -> Parts: ...
    @classmethod
    def from_parts(cls, meta: Meta, arrays: Arrays) -> RecipeLike: ...
