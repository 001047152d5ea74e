"""Mails drawn by Hypothesis: short ones of the lines that matter, with every kind of line end, and any bytes."""

from __future__ import annotations

import re

from hypothesis import strategies as st

LINES = st.lists(
    st.sampled_from(
        b"Subject: x|To: y| more|\tmore|Status: RO|X-Rosenblatt: ham|x-rosenblatt : a|From me|>From me|>>From you||text|:"
        b"|Name : z|\xff\0|X-Spam-Flag: YES|x-spam-status : No|Received: from a".split(b"|")
    ),
    max_size=12,
)
MAIL = st.tuples(LINES, st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=1, max_size=3)).map(
    lambda drawn: b"".join(line + drawn[1][k % len(drawn[1])] for k, line in enumerate(drawn[0]))
)
ANY = st.one_of(st.binary(max_size=40), MAIL, MAIL.map(lambda raw: raw[:-1]))


def naively_without(lines: list[bytes], names: re.Pattern[bytes]) -> list[bytes]:
    """The lines of a mail without the headers of these names, which every program sees that knows its line ends."""
    kept, gone, body = [], False, False
    for line in lines:
        body = body or not line
        if not line.startswith((b" ", b"\t")):
            gone = names.match(line) is not None
        if body or not gone:
            kept.append(line)
    return kept


def seen_by_any(raw: bytes) -> list[bytes]:
    """The lines before the first empty one, to a program that knows LF, CR LF and CR, and to one that knows only LF."""
    seen = []
    for lines in (raw.splitlines(), [line.removesuffix(b"\r") for line in raw.split(b"\n")]):
        seen += lines[: lines.index(b"")] if b"" in lines else lines
    return seen
