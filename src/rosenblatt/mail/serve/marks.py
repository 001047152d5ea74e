"""What is written about a mail: headers in it, the report, the names of what decided."""

from __future__ import annotations

import re

from ..head import headers
from ..stamp import stamped
from ..verdict import header_value, supporting, symbols
from .engine import Judged
from .scale import THRESHOLD

# Where ours go, theirs leave: a sender who writes `X-Spam-Flag` himself decides nothing.
OURS = (b"X-Spam-Flag", b"X-Spam-Status", b"X-Spam-Level")
_END = rb"(?:\r\n|[\r\n])"
_FOREIGN = re.compile(
    rb"(?:\A|(?<=[\r\n]))(?:%s)[ \t]*+:[^\r\n]*+(?:%s[ \t][^\r\n]*+)*+(?:%s|\Z)" % (b"|".join(OURS), _END, _END), re.I
)
_LINE = re.compile(rb"[^\r\n]*+(%s?)" % _END)


def report(judged: Judged) -> bytes:
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


def marked(raw: bytes, judged: Judged) -> bytes:
    """The mail with our stamp, and headers as SpamAssassin writes them at its top, without others of these names; every other
    byte as it was."""
    names = symbols(supporting(judged.verdict.label, judged.reasons))
    done = stamped(raw, header_value(judged.verdict, judged.reasons))
    start, end = headers(done)
    blanks = (done.find(blank, start) + 1 or len(done) for blank in (b"\n\n", b"\n\r\n"))
    end = max(end, min(blanks))  # some read headers on to the first empty line, whatever comes between
    newline = _line_end(done, start)
    block = [
        *(["X-Spam-Flag: YES"] if judged.points.spam else []),
        f"X-Spam-Level: {'*' * int(min(max(judged.points.score, 0), 50))}",
        f"X-Spam-Status: {'Yes' if judged.points.spam else 'No'}, score={judged.points.score:.1f} required={THRESHOLD:.1f}"
        f"{newline}\ttests={names or 'none'}",
    ]
    marks = "".join(line + newline for line in block).encode()
    return b"".join((done[:start], marks, _without_foreign(done[start:end]), done[end:]))


def _line_end(raw: bytes, start: int) -> str:
    """That of a mail's first header line."""
    line = _LINE.match(raw, start)
    return (line[1].decode() if line else "") or "\n"


def _without_foreign(head: bytes) -> bytes:
    kept, at = [], 0
    for found in _FOREIGN.finditer(head):
        kept.append(head[at : found.start()])
        at = found.end()
        if head.endswith(b"\r", 0, found.start()) and head.startswith(b"\n", at):
            kept.append(b"\n")  # two line ends must not become one
    return b"".join((*kept, head[at:]))


def head_only(raw: bytes, done: bytes) -> bytes:
    """The head of a marked mail, to and with the empty line where spamc cuts: it adds what follows in its own copy."""
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := raw.find(mark)) >= 0]
    return done[: len(done) - (len(raw) - min(ends))] if ends else done
