"""Which messages there are and in which order they came: TREC's index files, and the dates of headers."""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HEAD = 65_536  # bytes in which headers are looked for
_RECEIVED = re.compile(rb"^received:((?:[^\n]*\n[ \t])*[^\n]*)", re.I | re.M)
_DATE = re.compile(rb"^date:([^\n]*)", re.I | re.M)
_BLANK = re.compile(rb"\r?\n\r?\n")


def read_index(path: Any) -> list[tuple[Path, bool]]:
    """The messages of an index of TREC's, lines `spam ../data/inmail.1`, in its order; paths start at the index's folder."""
    path = Path(path)
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), 1):
        if not line.strip():
            continue
        label, _, name = line.strip().partition(" ")
        if label.lower() not in ("spam", "ham") or not name.strip():
            raise ValueError(f"line {number} of {path} must be `spam PATH` or `ham PATH`, got {line[:60]!r}")
        found.append((path.parent / name.strip(), label.lower() == "spam"))
    return found


def sent(raw: bytes) -> float:
    """When a mail came, in seconds of Unix; infinity where it does not say.

    By the uppermost `Received`, which the reader's own server wrote, else by `Date`, which the sender chose.

    >>> sent(b"Date: Thu, 1 Jan 1970 01:00:00 +0100\\n\\nHello")
    0.0
    """
    head = _BLANK.split(raw[:HEAD], maxsplit=1)[0]
    received, date = _RECEIVED.search(head), _DATE.search(head)
    for text in (received[1].rpartition(b";")[2] if received else b"", date[1] if date else b""):
        when = _seconds(text.decode("latin-1"))
        if when is not None:
            return when
    return math.inf


def _seconds(text: str) -> float | None:
    from email.utils import parsedate_tz

    try:
        parts = parsedate_tz(" ".join(text[:200].split()))
        return None if parts is None else float(calendar.timegm(parts[:9]) - (parts[9] or 0))
    except (ValueError, OverflowError, TypeError, IndexError):  # a date such as the 40th of month 13
        return None


def chronological(messages: Iterable[tuple[str, bytes, bool]]) -> list[tuple[str, bytes, bool]]:
    """Messages (name, raw, spam) in the order in which they came; at the same second by name, and without a date at the end."""
    return sorted(messages, key=lambda message: (sent(message[1]), message[0]))
