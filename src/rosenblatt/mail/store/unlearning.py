"""Taking messages out of the log, and moving them to the other side of it: all of them in one transaction, or none.

The state is not the log's afterwards; whoever has done it replays once, however many messages there were. A mail may be there
several times, as in a box with copies: that is one thing to do, and of each copy it is told that it was done.
"""

from __future__ import annotations

from .results import Relearned, Unlearned
from .store import Store


def take_back(store: Store, names: list[bytes]) -> list[Unlearned]:
    """Messages by their digests."""
    told, log = dict[bytes, Unlearned](), store.log
    with store.writing, log.writing():
        for name in dict.fromkeys(names):
            known = log.find(name)
            if known is not None and not known.folded:
                store.stale = True
                log.remove(known.seq)
            told[name] = Unlearned(known is not None, known is None or not known.folded)
    return [told[name] for name in names]


def move(store: Store, mails: list[tuple[bytes, bytes]], spam: bool | None) -> list[Relearned]:
    """Messages, by digest and packed, to one side, or each to the side where it is not."""
    told, log, sides = [], store.log, dict[bytes, bool | None]()
    with store.writing, log.writing():
        for name, packed in mails:
            known = log.find(name)
            was = None if known is None else known.spam
            to = sides.setdefault(name, spam if spam is not None else None if was is None else not was)
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
