"""What is written about a mail: headers in it, the report, the names of what decided."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..verdict import Reason
from .engine import Judged
from .scale import THRESHOLD

# Where ours go, theirs leave: a sender who writes `X-Spam-Flag` himself decides nothing.
OURS = (b"X-Rosenblatt", b"X-Spam-Flag", b"X-Spam-Status", b"X-Spam-Level")
_FOREIGN = re.compile(rb"(?:%s)[ \t]*:" % b"|".join(OURS), re.I)
_UNSAFE = re.compile(r"[^0-9A-Za-z_.@:$%/+-]+")
MOST_NAME = 40


def symbols(reasons: Sequence[Reason]) -> str:
    """Names of features as SpamAssassin writes names of tests: no blanks, no commas; ASCII.

    >>> symbols([Reason('body: "free money"', 0.5), Reason('subject: "caf\\u00e9, now"', -0.1)])
    'body:free_money,subject:caf_now'
    """
    names = (_UNSAFE.sub("_", reason.name.replace('"', "").replace(": ", ":"))[:MOST_NAME].strip("_") for reason in reasons)
    return ",".join(dict.fromkeys(name for name in names if name))


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
    """The mail with our headers at its top, and without others of these names; every other byte as it was."""
    newline = "\r\n" if raw[: raw.find(b"\n") + 1].endswith(b"\r\n") else "\n"
    verdict, names = judged.verdict, symbols(judged.reasons)
    headers = [
        *(["X-Spam-Flag: YES"] if judged.points.spam else []),
        f"X-Spam-Level: {'*' * int(min(max(judged.points.score, 0), 50))}",
        f"X-Spam-Status: {'Yes' if judged.points.spam else 'No'}, score={judged.points.score:.1f} required={THRESHOLD:.1f}"
        f"{newline}\ttests={names or 'none'}",
        f"X-Rosenblatt: {verdict.label}; score={verdict.score:.4f}; probability={verdict.probability:.4f}; reasons={names}",
    ]
    lines, at = _lines_of_head(raw)
    first = _before_headers(lines)
    kept, dropping = [], False
    for line in lines[first:]:
        dropping = bool(_FOREIGN.match(line)) or (dropping and line[:1] in b" \t")
        if not dropping:
            kept.append(line)
    block = "".join(header + newline for header in headers).encode("ascii", "replace")
    return b"".join((*lines[:first], block, *kept, raw[at:]))


def head_only(raw: bytes, done: bytes) -> bytes:
    """The head of a marked mail, to and with the empty line where spamc cuts: it adds what follows in its own copy."""
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := raw.find(mark)) >= 0]
    return done[: len(done) - (len(raw) - min(ends))] if ends else done


def _lines_of_head(raw: bytes) -> tuple[list[bytes], int]:
    """The lines before the first empty one, and where that one is."""
    lines, at = [], 0
    while at < len(raw):
        end = raw.find(b"\n", at) + 1 or len(raw)
        line = raw[at:end]
        if line in (b"\n", b"\r\n"):
            break
        lines.append(line)
        at = end
    return lines, at


def _before_headers(lines: Sequence[bytes]) -> int:
    """Lines that stay on top: mbox's first, and continuations of nothing, which would else continue ours."""
    at = 1 if lines and lines[0].startswith(b"From ") else 0
    while at < len(lines) and lines[at][:1] in b" \t":
        at += 1
    return at
