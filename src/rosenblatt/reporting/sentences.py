"""Words of messages."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], most: int = 12) -> str:
    """Some names as words of a sentence.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    some = ", ".join(repr(name if len(name) <= 60 else name[:57] + "...") for name in names[:most])
    return some if len(names) <= most else f"{some} and {len(names) - most:,} more"
