"""A spam filter: mailboxes, parsing, features, an online learner with an exact undo, explanations and a server.

`Filter` and the types that its methods take, return and raise are imported from here. They are loaded on first use, so that
`import rosenblatt.mail` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .filter import Filter as Filter
    from .message.message import Message as Message
    from .store.changes import Learned as Learned
    from .store.changes import Relearned as Relearned
    from .store.changes import Unlearned as Unlearned
    from .store.connection import FilterError as FilterError
    from .store.connection import FoldedError as FoldedError
    from .store.filter_state import Settings as Settings
    from .verdict import Calibration as Calibration
    from .verdict import Reason as Reason
    from .verdict import Verdict as Verdict

_HOMES = {
    "Calibration": "verdict",
    "Filter": "filter",
    "FilterError": "store.connection",
    "FoldedError": "store.connection",
    "Learned": "store.changes",
    "Message": "message.message",
    "Reason": "verdict",
    "Relearned": "store.changes",
    "Settings": "store.filter_state",
    "Unlearned": "store.changes",
    "Verdict": "verdict",
}

__all__ = [
    "Calibration",
    "Filter",
    "FilterError",
    "FoldedError",
    "Learned",
    "Message",
    "Reason",
    "Relearned",
    "Settings",
    "Unlearned",
    "Verdict",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'rosenblatt.mail' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
