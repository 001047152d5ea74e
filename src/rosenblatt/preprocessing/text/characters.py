"""Which characters are of words, which are blanks, and what each is in lower case: as this Python's `re` and `str` say."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

import numpy as np

# Their lower case is not one character, or depends on those around: texts with them are lowered by `str.lower`.
SPECIAL = "İΣ"


@cache
def tables(lowercase: bool, ascii_only: bool) -> tuple[Any, Any]:
    """For every character 1 (of a word), 2 (a blank) or 0; and its lower case, or itself where that is not wanted."""
    every = "".join(map(chr, range(128 if ascii_only else sys.maxunicode + 1)))
    kinds = np.zeros(len(every), np.uint8)
    for kind, pattern in ((1, r"\w+"), (2, r"\s+")):
        for run in re.finditer(pattern, every):
            kinds[run.start() : run.end()] = kind
    if not lowercase:
        return kinds, np.arange(len(every), dtype=np.uint32)
    lowered = every.translate(dict.fromkeys(map(ord, SPECIAL), "?")).lower()
    return kinds, np.frombuffer(lowered.encode("utf-32-le", "surrogatepass"), np.uint32)


def is_special(text: str) -> bool:
    """Whether the table of lower cases cannot lower this text."""
    return any(letter in text for letter in SPECIAL)
