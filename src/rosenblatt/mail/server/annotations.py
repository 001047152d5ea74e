"""What is written about a mail: headers in it, the report, the names of what decided."""

from __future__ import annotations

import re

from ..identity import stamped
from ..message.headers import END, STAMP, headers, without
from ..verdict import header_value, supporting, symbols
from .engine import THRESHOLD, Judgment

# Where ours go, theirs leave: a sender who writes `X-Spam-Flag` himself decides nothing.
SPAM_HEADERS = (b"X-Spam-Flag", b"X-Spam-Status", b"X-Spam-Level")
_LINE = re.compile(rb"[^\r\n]*+(%s?)" % END)


def report(judged: Judgment) -> bytes:
    verdict = judged.verdict
    lines = [
        f"Rosenblatt says {verdict.label}: {judged.points} points, a score of {verdict.score:.4f},",
        f"and a probability of spam of {verdict.probability:.4f}.",
        "",
        " weight  what spoke for spam (+) or against it (-)",
        "-------  ------------------------------------------",
        *(f"{reason.weight:+7.3f}  {_one_line(reason.name)}" for reason in judged.reasons),
        "",
    ]
    return "\n".join(lines).encode("utf-8", "replace")


def _one_line(name: str) -> str:
    return "".join(c if c.isprintable() else " " for c in name)[:80]


def marked(raw: bytes, judged: Judgment) -> bytes:
    """The mail with our stamp, and headers as SpamAssassin writes them at its top, without others of these names; every other
    byte as it was."""
    names = symbols(supporting(judged.verdict.label, judged.reasons))
    done = stamped(without(raw, (*SPAM_HEADERS, STAMP)), header_value(judged.verdict, judged.reasons))
    start, _ = headers(done)
    newline = _line_end(done, start)
    block = [
        *(["X-Spam-Flag: YES"] if judged.points.spam else []),
        f"X-Spam-Level: {'*' * int(min(max(judged.points.score, 0), 50))}",
        f"X-Spam-Status: {'Yes' if judged.points.spam else 'No'}, score={judged.points.score:.1f} required={THRESHOLD:.1f}"
        f"{newline}\ttests={names or 'none'}",
    ]
    marks = "".join(line + newline for line in block).encode()
    return b"".join((done[:start], marks, done[start:]))


def _line_end(raw: bytes, start: int) -> str:
    """That of a mail's first header line."""
    line = _LINE.match(raw, start)
    return (line[1].decode() if line else "") or "\n"


def head_only(raw: bytes, done: bytes) -> bytes:
    """The head of a marked mail, to and with the empty line where spamc cuts: it adds what follows in its own copy."""
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := raw.find(mark)) >= 0]
    return done[: len(done) - (len(raw) - min(ends))] if ends else done
