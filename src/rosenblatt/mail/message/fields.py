"""What a mail's headers say: the fields they fill, and the rest as lines, without what others added on the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from .encodings import cut, to_utf8
from .headers import content_headers, decoded, headers_of
from .message import LIMITS, Limits
from .mime import content_of, media_type, parameters_of

# --- The hosts that a Received header names: no dates, numbers of queues, versions or recipients.

# Starts only where a word does, so that a long word is looked at once.
_HOST = re.compile(rb"(?<![\w.-])(?:(?:[\w-]++\.)++[A-Za-z][\w-]++(?![\w.-])|\d{1,3}(?:\.\d{1,3}){3}(?![\w.-]))")
_AFTER = (b" with ", b" id ", b" for ", b" via ", b";")  # in this order, after the host that received it


def hosts_of(value: bytes) -> bytes:
    """Host names and addresses in their order, each once, in lower case.

    >>> hosts_of(b"from yahoo.com ([61.50.141.181]) by lugh.tuatha.org (8.9.3/8.9.3) with ESMTP id QAA01654.xy; Fri")
    b'yahoo.com 61.50.141.181 lugh.tuatha.org'
    """
    by, end = max(value.find(b"by "), 0), len(value)
    for word in _AFTER:
        found = value.find(word, by, end)
        if found >= 0:
            end = found
    return b" ".join(dict.fromkeys(_HOST.findall(value[:end].lower())))


# --- Headers whose values are drawn anew for every mail: what programs leave of themselves in them, without what is random.

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
    """Runs of letters and digits as one letter that says which kinds are in it; what stands between as it is.

    >>> shape(b"----=_NextPart_000_01C2AB.9F")
    b'----=_a_9_h.h'
    """
    return _RUN.sub(_run, value[:_SHAPE_BYTES].translate(_LETTERS))


def _run(found: re.Match[bytes]) -> bytes:
    run = found[0]
    return b"h" if b"9" in run and len(run.strip(b"9")) else b"9" if b"9" in run else b"A" if run.isupper() else b"a"


def id_shape(value: bytes) -> bytes:
    """The host is kept: `<200208231511.QAA01654@lugh.tuatha.org>` is `<9.h@lugh.tuatha.org>`."""
    left, at, host = value[:_SHAPE_BYTES].rpartition(b"@")
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
        found.append(to_utf8(name[:40] + b"=" + text[:_SHAPE_BYTES]))
    return b"; ".join(found)


def signature_of(value: bytes) -> bytes:
    """Who signed, and how."""
    return b" ".join(name + b"=" + text for name, text in _TAG.findall(value))


def results_of(value: bytes) -> bytes:
    """What the receiver found about the sender: `spf=fail dkim=pass`; for Received-SPF its first word."""
    return b" ".join(_RESULT.findall(value)).lower() or to_utf8(value[:20].split(b" ")[0])


# --- Headers that filters, mail stores and the last hop add: they tell the label, or differ between copies of one mail.
#
# One list, for the features and for the digest: where the digest counted such a header, a copy of a mail would be another mail,
# learnt twice, and could not be taken back.

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
    """Whether a header of this name, in lower case, is such a one.

    >>> is_added(b"x-rspamd-server"), is_added(b"x-mailer")
    (True, False)
    """
    return _ADDED.match(name) is not None


# ---

# Their values have fields of their own, or are numbers that nobody sees twice.
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
    """The fields that a mail's headers fill; of several with one name the first that is not empty, or all of them."""

    __slots__ = ("content", "lines", "received", "reply_to", "sender", "subject", "to")

    def __init__(self, head: bytes, limits: Limits = LIMITS) -> None:
        fields: dict[bytes, list[bytes]] = {name: [] for name in _FIELDS}
        lines: list[bytes] = []
        charset = b"" if head.isascii() else parameters_of(content_headers(head, limits)[0]).get(b"charset", b"")
        for name, value in headers_of(head, limits):
            if name in fields and value:
                fields[name].append(value)
            way = _way(name)
            if way is _plainly:
                if b"=?" in value or not value.isascii():
                    value = decoded(value, charset)
                lines.append(name + b": " + (value if len(value) <= _VALUE_BYTES else cut(value, _VALUE_BYTES)))
            elif way is _as_name:
                lines.append(name)
            elif way is not None:
                lines.append(name + b": " + way(value))
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


def _plainly(value: bytes) -> bytes:
    return value


def _as_name(value: bytes) -> bytes:
    return b""


@lru_cache(4096)
def _way(name: bytes) -> Callable[[bytes], bytes] | None:
    """How a header's line is written; None where it is left out."""
    if name in _NAME_ONLY:
        return _as_name
    return None if is_added(name) else _SHAPES.get(name, _plainly)
