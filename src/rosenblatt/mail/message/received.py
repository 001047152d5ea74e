"""The hosts that a Received header names: no dates, numbers of queues, versions or recipients."""

from __future__ import annotations

import re

# Starts only where a word does, so that a long word is looked at once.
_HOST = re.compile(rb"(?<![\w.-])(?:(?:[\w-]++\.)++[A-Za-z][\w-]++(?![\w.-])|\d{1,3}(?:\.\d{1,3}){3}(?![\w.-]))")
_AFTER = (b" with ", b" id ", b" for ", b" via ", b";")  # in this order, after the host that received it


def hosts_of(value: bytes) -> bytes:
    """Host names and addresses in their order, each once, in lower case.

    >>> hosts_of(b"from yahoo.com ([61.50.141.181]) by lugh.tuatha.org (8.9.3/8.9.3) with ESMTP id QAA01654.xy; Fri")
    b'yahoo.com 61.50.141.181 lugh.tuatha.org'
    """
    by, end = max(value.find(b"by "), 0), len(value)
    for word in _AFTER:
        found = value.find(word, by, end)
        if found >= 0:
            end = found
    return b" ".join(dict.fromkeys(_HOST.findall(value[:end].lower())))
