"""The way of a run through the blocks: their order in each pass, chains of tasks, and several runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ..array_types import IntArray
from ..reporting.text import plural
from .block_set import BlockSet, run_on_block
from .engine import Engine, Handle

Result = TypeVar("Result")
# A run that yields the handles of the results that it waits for, and is sent these results.
Conversation: TypeAlias = Generator[list[Handle], list[Any], Result]

# Heads of one-vs-rest that travel together, at least, and groups of them, at most. Groups are independent, so that the bits do
# not depend on their number; each group visits every block.
MIN_HEADS_PER_GROUP, MAX_GROUPS = 2, 8
DEFAULT_SHARDS = 8  # of mixed runs, at most


def blocks_of_pass(order: str, seed: int, passes: int, used: Sequence[int]) -> list[int]:
    """The order of blocks in the pass after `passes` passes: as they are, or a new random one each pass."""
    if order == "cyclic":
        return list(used)
    return [used[i] for i in np.random.default_rng((seed, passes)).permutation(len(used))]


def seed_of_block(seed: int, passes: int, number: int) -> int:
    """The seed of the order of rows in a block in the pass after `passes` passes."""
    return int(np.random.SeedSequence((seed, passes, number)).generate_state(1, np.uint64)[0])


def submit_on(blocks: BlockSet, number: int, function: Callable[..., Any], *arguments: Any) -> Handle:
    """Start `function(block, *arguments)` for one block."""
    return blocks.engine.submit(run_on_block, function, blocks.blocks[number], *arguments)


def submit_chain(
    blocks: BlockSet, order: Sequence[int], function: Callable[..., Any], value: Handle, *arguments: Any
) -> Handle:
    """Start `function(block, value, *arguments)` for one block after the other; each result is the value for the next."""
    for number in order:
        value = submit_on(blocks, number, function, value, *arguments)
    return value


def groups_of_heads(heads: int) -> list[IntArray]:
    """One-vs-rest heads in groups."""
    return np.array_split(np.arange(heads), max(1, min(MAX_GROUPS, heads // MIN_HEADS_PER_GROUP)))


def shards_of(used: Sequence[int], wanted: int | None) -> list[list[int]]:
    """Blocks in shards of consecutive ones."""
    if wanted is not None and wanted > len(used):
        raise ValueError(
            f"shards={wanted} needs as many blocks, got {plural(len(used), 'block')}: use fewer shards or smaller blocks"
        )
    count = min(DEFAULT_SHARDS, len(used)) if wanted is None else wanted
    return [[int(number) for number in some] for some in np.array_split(np.array(used), count)]


def run_together(engine: Engine, runs: Sequence[Conversation[Result]]) -> list[Result]:
    """The results of several runs, which wait for their tasks at the same time."""
    found: dict[int, Result] = {}
    waiting: dict[int, list[Handle]] = {}
    answers: dict[int, list[Any] | None] = dict.fromkeys(range(len(runs)))
    while answers:
        for i, answer in answers.items():
            try:
                waiting[i] = next(runs[i]) if answer is None else runs[i].send(answer)
            except StopIteration as end:
                found[i] = end.value
        results = iter(engine.gather([handle for handles in waiting.values() for handle in handles]) if waiting else [])
        answers = {i: [next(results) for _ in handles] for i, handles in waiting.items()}
        waiting = {}
    return [found[i] for i in range(len(runs))]
