"""Mails drawn by Hypothesis: short ones of the lines that matter, with every kind of line end, and any bytes."""

from __future__ import annotations

from hypothesis import strategies as st

LINES = st.lists(
    st.sampled_from(
        b"Subject: x|To: y| more|\tmore|Status: RO|X-Rosenblatt: ham|x-rosenblatt : a|From me|>From me|>>From you||text|:"
        b"|Name : z|\xff\0|X-Spam-Flag: YES|Received: from a".split(b"|")
    ),
    max_size=12,
)
MAIL = st.tuples(LINES, st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=1, max_size=3)).map(
    lambda drawn: b"".join(line + drawn[1][k % len(drawn[1])] for k, line in enumerate(drawn[0]))
)
ANY = st.one_of(st.binary(max_size=40), MAIL, MAIL.map(lambda raw: raw[:-1]))
