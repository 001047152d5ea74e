"""Taking messages out of the log, and moving them to the other side of it: a batch of them in a transaction.

The state is not the log's afterwards; whoever has done all batches replays once, however many messages there were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from .identity import digest
from .parse import parse
from .results import Relearned, Unlearned
from .store import Store

T = TypeVar("T")
BATCH = 200


def batches(of: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    each = iter(of)
    while batch := list(islice(each, size)):
        yield batch


def take_back(store: Store, raws: list[bytes]) -> list[Unlearned]:
    names, told, log = [digest(raw) for raw in raws], [], store.log
    with store.writing, log.writing():
        for name in names:
            known = log.find(name)
            if known is not None and not known.folded:
                store.stale = True
                log.remove(known.seq)
            told.append(Unlearned(known is not None, known is None or not known.folded))
    return told


def move(store: Store, raws: list[bytes], spam: bool | None) -> list[Relearned]:
    """To one side, or each to the side where it is not."""
    mails, told, log = [(digest(raw), parse(raw).pack()) for raw in raws], [], store.log
    with store.writing, log.writing():
        for name, packed in mails:
            known = log.find(name)
            was = None if known is None else known.spam
            to = spam if spam is not None else None if was is None else not was
            if to is None or to == was:
                told.append(Relearned(was, was))
            elif known is not None and known.folded:
                told.append(Relearned(was, was, folded=True))
            else:
                store.stale = True
                if known is not None:
                    log.remove(known.seq)
                log.add(name, to, packed)
                told.append(Relearned(was, to))
    return told
