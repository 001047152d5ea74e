"""The fields of a mail that come from its headers: subject, addresses, hosts, and the other headers as lines.

Headers that filters, mail stores and deliveries add are left out (`is_added`): they reveal the label, or differ between copies
of one mail. The digest (`identity.py`) ignores the same headers; otherwise a copy would be another mail, which would be learned
twice and could not be unlearned.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from .encodings import cut, to_utf8
from .headers import content_headers, decoded, headers_of
from .message import LIMITS, Limits
from .mime import content_of, media_type, parameters_of

# --- hosts in Received headers, without dates, queue ids, versions and recipients ---------------------------------------------

# A match starts only where a word does, so that a long word is scanned once.
_HOST = re.compile(rb"(?<![\w.-])(?:(?:[\w-]++\.)++[A-Za-z][\w-]++(?![\w.-])|\d{1,3}(?:\.\d{1,3}){3}(?![\w.-]))")
_CLAUSES_AFTER_HOST = (b" with ", b" id ", b" for ", b" via ", b";")  # they follow the receiving host, in this order


def hosts_of(value: bytes) -> bytes:
    """Host names and addresses in lower case, in their order and without repetitions.

    >>> hosts_of(b"from yahoo.com ([61.50.141.181]) by lugh.tuatha.org (8.9.3/8.9.3) with ESMTP id QAA01654.xy; Fri")
    b'yahoo.com 61.50.141.181 lugh.tuatha.org'
    """
    by, end = max(value.find(b"by "), 0), len(value)
    for word in _CLAUSES_AFTER_HOST:
        found = value.find(word, by, end)
        if found >= 0:
            end = found
    return b" ".join(dict.fromkeys(_HOST.findall(value[:end].lower())))


# --- shapes of values that differ in every mail, but whose form depends on the program that wrote them ---------------------

_LETTERS = bytes(
    ord("9") if 48 <= c < 58 else ord("A") if 65 <= c < 91 else ord("a") if 97 <= c < 123 else c if 32 <= c < 127 else ord("?")
    for c in range(256)
)
_RUN = re.compile(rb"[9Aa]{2,}+")
_ZONE = re.compile(rb"[+-]\d{4}\b|\b(?:GMT|UTC?|[ECMP][SD]T)\b")
_TAG = re.compile(rb"(?:^|;)\s*+(a|c|d|s)\s*+=\s*+([\w./+-]{1,100})")
_RESULT = re.compile(rb"\b(?:spf|dkim|dmarc|arc|sender-id|iprev)\s?=\s?\w{1,20}", re.I)
_SHAPE_BYTES = 200


def shape(value: bytes) -> bytes:
    """Runs of letters and digits become one letter for their kind; other characters stay.

    >>> shape(b"----=_NextPart_000_01C2AB.9F")
    b'----=_a_9_h.h'
    """
    return _RUN.sub(_run, value[:_SHAPE_BYTES].translate(_LETTERS))


def _run(match: re.Match[bytes]) -> bytes:
    run = match[0]
    return b"h" if b"9" in run and len(run.strip(b"9")) else b"9" if b"9" in run else b"A" if run.isupper() else b"a"


def id_shape(value: bytes) -> bytes:
    """The shape of a message id with its host: `<200208231511.QAA01654@lugh.tuatha.org>` is `<9.h@lugh.tuatha.org>`."""
    left, at, host = value[:_SHAPE_BYTES].rpartition(b"@")
    return shape(left) + at + to_utf8(host) if at else shape(host)


def date_shape(value: bytes) -> bytes:
    """The shape of a date, with its time zone."""
    value = value[:100]
    zone = _ZONE.search(value)
    return value[: zone.start()].translate(_LETTERS) + zone[0] if zone else value.translate(_LETTERS)


def type_shape(value: bytes) -> bytes:
    """Content type and parameters, with the shape of the boundary and without file names."""
    found = [media_type(value, to_utf8(value[:40]))]
    for name, text in parameters_of(value).items():
        if name == b"boundary":
            text = shape(text)
        elif name in (b"name", b"filename"):
            continue
        found.append(to_utf8(name[:40] + b"=" + text[:_SHAPE_BYTES]))
    return b"; ".join(found)


def signature_of(value: bytes) -> bytes:
    """Signer and algorithm of a DKIM signature."""
    return b" ".join(name + b"=" + text for name, text in _TAG.findall(value))


def results_of(value: bytes) -> bytes:
    """The results of sender checks, such as `spf=fail dkim=pass`; for Received-SPF its first word."""
    return b" ".join(_RESULT.findall(value)).lower() or to_utf8(value[:20].split(b" ")[0])


# --- headers that are added on the way --------------------------------------------------------------------------------------

_ADDED = re.compile(
    rb"x-(?:spam|rosenblatt|bogosity|status|uid|imap|mozilla|keywords?|virus|av-|antivirus|amavis|crm114|dspam|pyzor|razor|dcc|"
    rb"barracuda|proofpoint|ironport|forefront|ms-exchange|microsoft-antispam|gm-|gmail|google-|evolution|sieve|scanned|mailscanner|"
    rb"from-line|folder|original-to|delivered|apparently-to|envelope|antispam|rspamd|phish|clam|kaspersky|sophos|pmx-|cloudmark|"
    rb"vade|junk|ham-|classif|popfile|text-class|account-key|offlineimap|tuid|received-date|rcpt-to|"
    rb"label|seen$|kmail-|dovecot|sylpheed|claws-|gnus-|vm-|sa-exim|messagesniffer|gbudb|declude|yahoofilter|ui-filter|ui-out-filter|"
    rb"eset|me-|cmae|cnfs-|aol-|mimecast|tm-as-|tmase|pstn-|mxl|assp-|mdav|brightmail|symantec|smx-|hmailserver|mailcleaner|vr-|"
    rb"ms-office365-filter|ms-publictraffic|ms-traffictype|eop|incomingheader|incomingtop|sid-|store-info)"
    rb"|x-.{0,40}(?:spam|virus|mailscanner)|spamdiagnostic|dkim-filter$|keywords$|status$|lines$|content-length$|delivered-to$|"
    rb"envelope-to$|delivery-date$|old-|xref$|arc-"
)


def is_added(name: bytes) -> bool:
    """Whether a header of this name, in lower case, is added by filters, mail stores or deliveries.

    >>> is_added(b"x-rspamd-server"), is_added(b"x-mailer")
    (True, False)
    """
    return _ADDED.match(name) is not None


# --- all headers of a mail --------------------------------------------------------------------------------------------------

# Their values have fields of their own, or never repeat.
_NAME_ONLY = frozenset(
    b"subject from reply-to to cc bcc received references in-reply-to thread-index x-originalarrivaltime content-id x-face "
    b"x-original-date resent-date resent-message-id x-ms-tnef-correlator autocrypt openpgp domainkey-signature".split()
)
_FIELDS = frozenset(b"subject from reply-to to cc received content-type content-transfer-encoding content-disposition".split())
_SHAPES: dict[bytes, Callable[[bytes], bytes]] = {
    b"date": date_shape,
    b"message-id": id_shape,
    b"content-type": type_shape,
    b"dkim-signature": signature_of,
    b"authentication-results": results_of,
    b"received-spf": results_of,
}
_VALUE_BYTES = 200


class HeaderFields:
    """The fields of a mail that come from its headers; of several headers with one name the first non-empty, or all."""

    __slots__ = ("content", "lines", "received", "reply_to", "sender", "subject", "to")

    def __init__(self, head: bytes, limits: Limits = LIMITS) -> None:
        fields: dict[bytes, list[bytes]] = {name: [] for name in _FIELDS}
        lines: list[bytes] = []
        charset = b"" if head.isascii() else parameters_of(content_headers(head, limits)[0]).get(b"charset", b"")
        for name, value in headers_of(head, limits):
            if name in fields and value:
                fields[name].append(value)
            write = _writer(name)
            if write is _unchanged:
                if b"=?" in value or not value.isascii():
                    value = decoded(value, charset)
                lines.append(name + b": " + (value if len(value) <= _VALUE_BYTES else cut(value, _VALUE_BYTES)))
            elif write is _as_name:
                lines.append(name)
            elif write is not None:
                lines.append(name + b": " + write(value))
        self.subject, self.sender, self.reply_to = (
            _first(fields[name], charset) for name in (b"subject", b"from", b"reply-to")
        )
        self.to = b"\n".join([decoded(value, charset).strip() for value in fields[b"to"] + fields[b"cc"]])
        self.received = b"\n".join(filter(None, map(hosts_of, fields[b"received"])))
        self.lines = b"\n".join(lines)
        kind, encoding, disposition = (fields[b"content-" + name] for name in (b"type", b"transfer-encoding", b"disposition"))
        self.content = content_of(*(values[0] if values else b"" for values in (kind, encoding, disposition)))


def _first(values: list[bytes], charset: bytes) -> bytes:
    return decoded(values[0], charset).strip() if values else b""


def _unchanged(value: bytes) -> bytes:
    return value


def _as_name(value: bytes) -> bytes:
    return b""


@lru_cache(4096)
def _writer(name: bytes) -> Callable[[bytes], bytes] | None:
    """The function that writes the line of a header; None if it is left out."""
    if name in _NAME_ONLY:
        return _as_name
    return None if is_added(name) else _SHAPES.get(name, _unchanged)
