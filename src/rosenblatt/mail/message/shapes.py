"""Headers whose values are drawn anew for every mail: what programs leave of themselves in them, without what is random."""

from __future__ import annotations

import re

from .content import media_type, parameters_of
from .encodings import to_utf8

_LETTERS = bytes(
    ord("9") if 48 <= c < 58 else ord("A") if 65 <= c < 91 else ord("a") if 97 <= c < 123 else c if 32 <= c < 127 else ord("?")
    for c in range(256)
)
_RUN = re.compile(rb"[9Aa]{2,}+")
_ZONE = re.compile(rb"[+-]\d{4}\b|\b(?:GMT|UTC?|[ECMP][SD]T)\b")
_TAG = re.compile(rb"(?:^|;)\s*+(a|c|d|s)\s*+=\s*+([\w./+-]{1,100})")
_RESULT = re.compile(rb"\b(?:spf|dkim|dmarc|arc|sender-id|iprev)\s?=\s?\w{1,20}", re.I)
_KEPT = 200


def shape(value: bytes) -> bytes:
    """Runs of letters and digits as one letter that says which kinds are in it; what stands between as it is.

    >>> shape(b"----=_NextPart_000_01C2AB.9F")
    b'----=_a_9_h.h'
    """
    return _RUN.sub(_run, value[:_KEPT].translate(_LETTERS))


def _run(found: re.Match[bytes]) -> bytes:
    run = found[0]
    return b"h" if b"9" in run and len(run.strip(b"9")) else b"9" if b"9" in run else b"A" if run.isupper() else b"a"


def id_shape(value: bytes) -> bytes:
    """The host is kept: `<200208231511.QAA01654@lugh.tuatha.org>` is `<9.h@lugh.tuatha.org>`."""
    left, at, host = value[:_KEPT].rpartition(b"@")
    return shape(left) + at + to_utf8(host) if at else shape(host)


def date_shape(value: bytes) -> bytes:
    """How it is written, and the time zone."""
    value = value[:100]
    zone = _ZONE.search(value)
    return value[: zone.start()].translate(_LETTERS) + zone[0] if zone else value.translate(_LETTERS)


def type_shape(value: bytes) -> bytes:
    """Type and parameters, with the shape of the boundary and no names of files."""
    found = [media_type(value, to_utf8(value[:40]))]
    for name, text in parameters_of(value).items():
        if name == b"boundary":
            text = shape(text)
        elif name in (b"name", b"filename"):
            continue
        found.append(to_utf8(name[:40] + b"=" + text[:_KEPT]))
    return b"; ".join(found)


def signature_of(value: bytes) -> bytes:
    """Who signed, and how."""
    return b" ".join(name + b"=" + text for name, text in _TAG.findall(value))


def results_of(value: bytes) -> bytes:
    """What the receiver found about the sender: `spf=fail dkim=pass`; for Received-SPF its first word."""
    return b" ".join(_RESULT.findall(value)).lower() or to_utf8(value[:20].split(b" ")[0])
