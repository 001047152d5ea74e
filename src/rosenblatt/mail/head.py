"""Where the headers of a raw mail are, whatever its line ends, and which of them are stamps of ours.

A line ends with LF, CR LF or CR. Headers are the lines from the first (after the "From " line of an mbox) that have a name and
a colon, or go on with white space; the first other line ends them, blank or not, as in Python's own parser.
"""

from __future__ import annotations

import re

STAMP = b"X-Rosenblatt"
# Nothing gives back what it took, so all is linear.
POSTMARK = re.compile(rb"From [^\r\n]*+(?:\r\n|[\r\n])")
HEADERS = re.compile(rb"(?:(?:[!-9;-~]*+:|[ \t])[^\r\n]*+(?:\r\n|[\r\n]|\Z))*+")
STAMPS = re.compile(
    rb"(?:\A|(?<=[\r\n]))" + STAMP + rb"[ \t]*+:[^\r\n]*+(?:(?:\r\n|[\r\n])[ \t][^\r\n]*+)*+(?:\r\n|[\r\n]|\Z)", re.I
)


def headers(raw: bytes) -> tuple[int, int]:
    """Where headers begin and end; a mail that begins with white space has none."""
    postmark = POSTMARK.match(raw)
    start = postmark.end() if postmark is not None else 0
    if raw[start : start + 1] in (b" ", b"\t"):
        return start, start
    found = HEADERS.match(raw, start)
    return start, found.end() if found is not None else start


def without_stamps(raw: bytes) -> bytes:
    """Without any stamp that some program may take for a header: some read on to the first blank line."""
    if STAMP.lower() not in raw.lower():
        return raw
    start, end = headers(raw)
    if not raw.startswith((b"\n", b"\r\n"), start):
        end = max(end, min(at + 1 if (at := raw.find(blank)) >= 0 else len(raw) for blank in (b"\n\n", b"\n\r\n")))
    kept, at = [], 0
    for found in STAMPS.finditer(raw, 0, end):
        kept.append(raw[at : found.start()])
        at = found.end()
        if raw.endswith(b"\r", 0, found.start()) and raw.startswith(b"\n", at):
            kept.append(b"\n")  # two line ends must not become one
    return b"".join((*kept, raw[at:])) if at else raw
