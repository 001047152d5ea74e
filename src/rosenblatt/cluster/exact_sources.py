"""Blocks for proofs: their numbers are those that were given, without rounding, and so are their labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ..certificates.exact_arrays import exact_labels
from ..data.csr import CSRMatrix
from ..data.readers.forms import FileForm
from ..data.table import rounded_integers
from ..proofs.certify import exact_rows
from .block_set import DelayedSource
from .blocks import BlockError, RawBlock, Source, as_raw
from .engine import Engine
from .file_sources import CACHE, FilePart, ReadSource, read_part
from .read import FileBlocks
from .sources import sources_of


def exact_sources(data: Any, block_rows: int | None, engine: Engine) -> list[Source]:
    """The sources of some data. A block with numbers or labels that cannot be kept exactly raises an error that names it.

    The columns of files become features, but are not scaled.
    """
    sources = sources_of(data, block_rows)
    if not isinstance(data, FileBlocks):
        return [_exact(source) for source in sources]
    read = data.unscaled().learn(engine)
    if data.form.kind != CACHE:
        form = engine.put(data.form)
        engine.gather([engine.submit(_check_integers, source.source.part, form) for source in read])
    return [ReadSource(source.source, engine.submit(exact_block, source.raw, source.name)) for source in read]


def _check_integers(part: FilePart, form: FileForm) -> None:
    """A task: raise an error if an integer of a block of a file is not the number that was read."""
    with part.errors():
        data = read_part(part, form)
        rounded = None if data is None else rounded_integers(data)
        if rounded is not None:
            raise rounded


def _exact(source: Source) -> Source:
    if isinstance(source, DelayedSource):
        return _exact_delayed(source)
    return ExactSource(source)


def _exact_delayed(source: DelayedSource) -> DelayedSource:
    from dask.delayed import delayed

    return DelayedSource(source.number, delayed(partial(exact_block, name=source.name))(source.delayed))


@dataclass(frozen=True)
class ExactSource:
    """A source whose rows are canonical: columns ascend, none is repeated, and no stored value is zero."""

    source: Source

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def identity(self) -> str:
        return self.source.identity

    def load(self) -> RawBlock:
        return exact_block(self.source.load(), self.name)

    def place(self, row: int) -> tuple[str, dict[str, Any]]:
        return self.source.place(row)


def exact_block(block: Any, name: str) -> RawBlock:
    """A pair (X, y) with the numbers of X as float32 or float64; raises `BlockError` if one of them would be rounded."""
    if isinstance(block, tuple | list) and len(block) in (2, 3):
        if len(block) == 3 and block[2] is not None:
            raise BlockError(f"{name} has weights, but a proof counts every row: leave the weights out")
        X = block[0].to_scipy() if isinstance(block[0], CSRMatrix) else block[0]
        try:
            rows = exact_rows(X)
            block = rows, exact_labels(block[1], rows.shape[0])
        except ValueError as error:
            raise BlockError(f"{name}: {error}") from None
    return as_raw(block, name)
