"""The library's sentences as the page says them: rows are points there, and limits have no names."""

from __future__ import annotations

import re

SAID = (
    (r"max_updates=(\d+) updates were made", lambda found: f"{int(found[1]):,} updates were made, as many as allowed"),
    (r"max_passes=(\d+) used up", lambda found: f"{int(found[1]):,} passes were made, as many as allowed"),
    (r"\bover w_max=", lambda found: "over the largest allowed, "),
    (r"\brow(s?)\b", lambda found: f"point{found[1]}"),
)


def in_points(sentence: str) -> str:
    """
    >>> in_points("max_updates=1000 updates were made.")
    '1,000 updates were made, as many as allowed.'
    """
    for pattern, said in SAID:
        sentence = re.sub(pattern, said, sentence)
    return sentence
