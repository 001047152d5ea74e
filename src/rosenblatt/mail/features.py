"""The features of a message: which columns it has, and what they are called."""

from __future__ import annotations

from typing import Any

import numpy as np

from .message import Message

BITS = 22


def columns_of(message: Message, bits: int = BITS) -> Any:
    """The columns of a message's features, sorted, each once: uint32."""
    text = np.frombuffer(b"\n".join((message.subject, message.headers, message.body)), np.uint8).astype(np.uint32)
    if len(text) < 4:
        return np.zeros(0, np.uint32)
    grams = text[:-3] | text[1:-2] << 8 | text[2:-1] << 16 | text[3:] << 24
    return np.unique((grams * np.uint32(2654435761)) >> np.uint32(32 - bits))


def named_columns(message: Message, bits: int = BITS) -> dict[int, str]:
    """Every column of a message with what it stands for, such as `body: "free"`; the first of several that share a column."""
    return {}
