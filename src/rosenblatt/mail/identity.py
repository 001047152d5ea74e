"""Which mail is the same mail."""

from __future__ import annotations

import hashlib


def digest(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
