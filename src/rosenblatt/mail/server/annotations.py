"""The text that the server adds to a mail: headers, and the report."""

from __future__ import annotations

import re

from ..identity import stamped
from ..message.headers import LINE_END, STAMP, header_span, without_headers
from ..verdict import header_value, supporting, symbols
from .engine import THRESHOLD, Judgment

# Headers of these names that a sender has written are removed.
SPAM_HEADERS = (b"X-Spam-Flag", b"X-Spam-Status", b"X-Spam-Level")
_LINE = re.compile(rb"[^\r\n]*+(%s?)" % LINE_END)


def report(judgment: Judgment) -> bytes:
    """The report of the commands REPORT and REPORT_IFSPAM."""
    verdict = judgment.verdict
    lines = [
        f"Rosenblatt: {verdict.label}, {judgment.points} points",
        f"(score {verdict.score:.4f}, probability of spam {verdict.probability:.4f}).",
        "",
        " weight  for spam (+) or ham (-)",
        "-------  -----------------------",
        *(f"{reason.weight:+7.3f}  {_one_line(reason.name)}" for reason in judgment.reasons),
        "",
    ]
    return "\n".join(lines).encode("utf-8", "replace")


def _one_line(name: str) -> str:
    return "".join(c if c.isprintable() else " " for c in name)[:80]


def marked(raw: bytes, judgment: Judgment) -> bytes:
    """The mail with the header X-Rosenblatt, and at its top headers in the format of SpamAssassin.

    Other headers of these names are removed; every other byte stays.
    """
    names = symbols(supporting(judgment.verdict.label, judgment.reasons))
    done = stamped(without_headers(raw, (*SPAM_HEADERS, STAMP)), header_value(judgment.verdict, judgment.reasons))
    start, _ = header_span(done)
    newline = _line_end(done, start)
    block = [
        *(["X-Spam-Flag: YES"] if judgment.points.spam else []),
        f"X-Spam-Level: {'*' * int(min(max(judgment.points.score, 0), 50))}",
        f"X-Spam-Status: {'Yes' if judgment.points.spam else 'No'}, score={judgment.points.score:.1f} required={THRESHOLD:.1f}"
        f"{newline}\ttests={names or 'none'}",
    ]
    marks = "".join(line + newline for line in block).encode()
    return b"".join((done[:start], marks, done[start:]))


def _line_end(raw: bytes, start: int) -> str:
    """The line end of the first header line of a mail."""
    line = _LINE.match(raw, start)
    return (line[1].decode() if line else "") or "\n"


def head_only(raw: bytes, done: bytes) -> bytes:
    """The headers of a marked mail up to the empty line where spamc splits it; spamc appends the rest of its own copy."""
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := raw.find(mark)) >= 0]
    return done[: len(done) - (len(raw) - min(ends))] if ends else done
