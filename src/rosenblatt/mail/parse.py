"""Raw mail to a `Message`: never an exception, whatever the bytes."""

from __future__ import annotations

import re

from .message import Message


def parse(raw: bytes) -> Message:
    """The fields of a raw mail."""
    head, _, body = raw.partition(b"\n\n")
    found = re.search(rb"^subject:[ \t]*(.*)$", head, re.M | re.I)
    return Message(subject=found[1] if found else b"", headers=head[:2000], body=body[:3000])
