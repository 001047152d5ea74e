"""A training set in blocks: what solvers use in place of rows in memory.

A solver hands in functions of a block. `sum` adds their results up the fixed tree, `each` returns those of all blocks, and
`start` leaves them where they were computed, as handles that later tasks of the same block get.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from .blocks import Block, BlockFacts, Layout, RawBlock, Source, as_raw, merge_facts, prepare, survey
from .engine import Engine, Handle, size_in_bytes
from .file_sources import ReadSource
from .tree import add, submit_tree, tree_sum

# Results up to this size are sent to the client and added there: a task that adds them takes longer.
MAX_GATHERED_BYTES = 1 << 14
# Larger arguments are made available to all tasks once, instead of being sent with each task.
MAX_INLINE_BYTES = 1 << 16


class Work:
    """How many rows tasks have visited so far."""

    def __init__(self) -> None:
        self.rows = 0


@dataclass(frozen=True)
class BlockSet:
    """The blocks of a training set, and the facts about all rows."""

    engine: Engine
    blocks: tuple[Handle, ...]  # each gives a `Block`
    facts: BlockFacts
    classes: Array
    counts: IntArray  # rows of each class
    total_weight: float
    work: Work = field(default_factory=Work, compare=False)

    @property
    def n_rows(self) -> int:
        return self.facts.rows

    @property
    def n_features(self) -> int:
        return self.facts.width

    @property
    def dtype(self) -> type[np.floating[Any]]:
        return np.float32 if self.facts.float32 else np.float64

    def start(self, function: Callable[..., Any], *arguments: Any, of_each: Sequence[Sequence[Handle]] = ()) -> list[Handle]:
        """Start `function(block, *own, *arguments)` for every block; `own` are its entries of the lists in `of_each`."""
        shared = self.share(*arguments)
        submit = self.engine.submit
        self.work.rows += self.n_rows
        return [submit(run_on_block, function, block, *own, *shared) for block, *own in zip(self.blocks, *of_each, strict=True)]

    def each(self, function: Callable[..., Any], *arguments: Any, of_each: Sequence[Sequence[Handle]] = ()) -> list[Any]:
        """The results for all blocks, in their order."""
        return self.engine.gather(self.start(function, *arguments, of_each=of_each))

    def sum(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        of_each: Sequence[Sequence[Handle]] = (),
        size: int = 0,
        combine: Callable[[Any, Any], Any] = add,
    ) -> Any:
        """The results for all blocks, added up the tree; `size` is about the number of bytes of one of them."""
        if size <= MAX_GATHERED_BYTES:
            return tree_sum(self.each(function, *arguments, of_each=of_each), combine)
        shared = self.share(*arguments)
        self.work.rows += self.n_rows
        parts = [
            partial(self.engine.submit, run_on_block, function, block, *own, *shared)
            for block, *own in zip(self.blocks, *of_each, strict=True)
        ]
        return self.engine.gather([submit_tree(self.engine, parts, combine)])[0]

    def share(self, *arguments: Any) -> list[Any]:
        """The arguments of tasks, of which large ones are sent only once."""
        return [
            self.engine.put(each) if isinstance(each, np.ndarray | tuple) and size_in_bytes(each) > MAX_INLINE_BYTES else each
            for each in arguments
        ]


def run_on_block(function: Callable[..., Any], block: Block, *arguments: Any) -> Any:
    """A task: apply a function to a block."""
    return function(block, *arguments)


def _load(source: Source) -> RawBlock:
    return as_raw(source.load(), source.name)


def _survey(raw: RawBlock, source: Source) -> BlockFacts:
    return survey(raw, source)


def _prepare_raw(raw: RawBlock, layout: Layout, number: int, start: int, name: str) -> Block:
    return prepare(raw, layout, number, start, name)


def _raw_of(block: Any, name: str) -> RawBlock:
    return as_raw(block, name)


def _weight(block: Block) -> float:
    return float(block.weights.sum()) if block.weights.size else float(block.n_rows)


class DelayedSource:
    """A block that Dask computes: a delayed pair of rows and labels. The engine gets its value."""

    def __init__(self, number: int, delayed: Any) -> None:
        self.number, self.delayed = number, delayed

    @property
    def name(self) -> str:
        return f"block {self.number + 1}"

    @property
    def identity(self) -> str:
        return str(self.delayed.key)  # made of a digest of what is computed

    def load(self) -> RawBlock:
        raise AssertionError("a delayed block is computed by the engine")

    def place(self, row: int) -> tuple[str, dict[str, Any]]:
        return self.name, {}


class NamedBlock:
    """The name of a block in error messages, without its rows."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def identity(self) -> str:
        return self.name

    def load(self) -> RawBlock:
        raise AssertionError("a named block has no rows")

    def place(self, row: int) -> tuple[str, dict[str, Any]]:
        return self.name, {}


@dataclass(frozen=True)
class ArraySource:
    """A block of rows in memory."""

    number: int
    X: Any
    y: Array
    weights: Array | None = None

    @property
    def name(self) -> str:
        return f"block {self.number + 1}"

    @property
    def identity(self) -> str:
        digest = hashlib.sha256()
        parts = (self.X.data, self.X.indices, self.X.indptr) if hasattr(self.X, "indptr") else (self.X,)
        for part in (*parts, self.y, self.weights):
            array = np.asarray(part)
            digest.update(
                str(array.dtype).encode() + (repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())
            )
        return digest.hexdigest()

    def load(self) -> RawBlock:
        return RawBlock(self.X, self.y, self.weights)

    def place(self, row: int) -> tuple[str, dict[str, Any]]:
        return self.name, {}


def open_blocks(
    engine: Engine,
    sources: Sequence[Source],
    class_weights: Callable[[Array, FloatArray], Array | None] = lambda classes, sums: None,
    *,
    any_order: bool = False,
) -> BlockSet:
    """Survey the blocks and prepare them for tasks.

    class_weights : returns the weight of each class, from the classes and the sums of the weights of their rows.
    any_order : whether the columns of sparse rows may have any order.
    """
    if not sources:
        raise ValueError("there are no blocks")
    given = iter(engine.compute([source.delayed for source in sources if isinstance(source, DelayedSource)]))
    raws: list[Handle] = []
    named: list[Any] = []  # the sources, without results of other tasks
    for source in sources:
        late = isinstance(source, DelayedSource)
        named.append(NamedBlock(source.name) if late else source.source if isinstance(source, ReadSource) else source)
        if isinstance(source, ReadSource):
            raws.append(source.raw)
        else:
            raws.append(engine.submit(_raw_of, next(given), source.name) if late else engine.submit(_load, source))
    found = engine.gather([engine.submit(_survey, raw, source) for raw, source in zip(raws, named, strict=True)])
    facts: BlockFacts = tree_sum(found, merge_facts)
    if not facts.rows:
        raise ValueError("the blocks have no rows")
    own = class_weights(facts.classes, facts.sums)
    layout = Layout(facts.classes, facts.width, facts.float32, facts.weighted or own is not None, own, any_order)
    places = enumerate(zip(facts.starts, sources, strict=True))
    blocks = [
        engine.submit(_prepare_raw, raw, layout, number, start, source.name)
        for raw, (number, (start, source)) in zip(raws, places, strict=True)
    ]
    some = BlockSet(engine, tuple(blocks), facts, facts.classes, facts.counts, 0.0)
    weight = some.sum(_weight) if layout.weighted else float(facts.rows)
    return BlockSet(engine, tuple(blocks), facts, facts.classes, facts.counts, weight)
