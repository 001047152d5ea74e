"""The headers of a mail: where they end, their values, and those that say something about it, as lines of text."""

from __future__ import annotations

import re

from .charsets import cut
from .content import content_of
from .limits import LIMITS, Limits
from .received import hosts_of
from .shapes import date_shape, id_shape, results_of, signature_of, type_shape
from .words import decoded

# A name and a colon, or a line that carries on; mbox writes "From " lines, quoted or not, among them.
_HEAD = re.compile(rb"(?:[!-9;-~]++[ \t]*+:[^\n]*+(?:\n|\Z)|[ \t]++[^\n]++(?:\n|\Z)|>?From [^\n]*+(?:\n|\Z))*+")
_HEADERS = re.compile(rb"^([!-9;-~]++)[ \t]*+:[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)", re.M)
_CONTENT = re.compile(
    rb"^content-(type|transfer-encoding|disposition)[ \t]*+:[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)", re.M | re.I
)
_SUBJECT = re.compile(rb"^subject[ \t]*+:[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)", re.M | re.I)

# What filters, mail stores and the last hop add: it tells the label, or differs between copies of one mail.
_ADDED = re.compile(
    rb"x-(?:spam|rosenblatt|bogosity|status|uid|imap|mozilla|keywords?|virus|av-|antivirus|amavis|crm114|dspam|pyzor|razor|dcc|"
    rb"barracuda|proofpoint|ironport|forefront|ms-exchange|microsoft-antispam|gm-|gmail|google-|evolution|sieve|scanned|mailscanner|"
    rb"from-line|folder|original-to|delivered|apparently-to|envelope|antispam|rspamd|phish|clam|kaspersky|sophos|pmx-|cloudmark|"
    rb"vade|junk|ham-|classif|popfile|text-class|account-key|offlineimap|tuid|uidl|received-date|habeas|rcpt-to)"
    rb"|x-.{0,40}(?:spam|virus|mailscanner)|status$|lines$|content-length$|delivered-to$|envelope-to$|delivery-date$|old-|xref$|arc-"
)
# Their values have fields of their own, are numbers that nobody sees twice, or hang on those.
_NAME_ONLY = frozenset(
    b"subject from reply-to to cc bcc received references in-reply-to thread-index x-originalarrivaltime content-id x-face "
    b"x-original-date resent-date resent-message-id x-ms-tnef-correlator autocrypt openpgp x-gpg-fingerprint "
    b"x-google-smtp-source domainkey-signature".split()
)
_SHAPES = {
    b"date": date_shape,
    b"message-id": id_shape,
    b"content-type": type_shape,
    b"dkim-signature": signature_of,
    b"authentication-results": results_of,
    b"received-spf": results_of,
}
_CONTENT_NAMES = (b"content-type", b"content-transfer-encoding", b"content-disposition")
_VALUE_KEPT = 200
_NAMES_KEPT = 4096


def end_of_head(raw: bytes, start: int, end: int, limits: Limits = LIMITS) -> tuple[int, int]:
    """Where the headers that begin at `start` end, and where the body begins."""
    found = _HEAD.match(raw, start, min(end, start + limits.head))
    stop = found.end() if found else start
    if stop >= start + limits.head:  # cut within: the rest of the headers is left out
        blank = raw.find(b"\n\n", max(stop - 1, start), end)
        return stop, end if blank < 0 else blank + 2
    return stop, stop + 1 if raw[stop : stop + 1] == b"\n" and stop < end else stop


def headers_of(head: bytes, limits: Limits = LIMITS) -> list[tuple[bytes, bytes]]:
    """Names, in lower case, and values on one line, not decoded."""
    found = []
    for name, value in _HEADERS.findall(head):
        if len(value) > limits.value:
            value = value[: limits.value]
        found.append((name.lower(), unfolded(value) if b"\n" in value else value))
    return found


def unfolded(value: bytes) -> bytes:
    return b" ".join([line.strip() for line in value.split(b"\n")])


def content_headers(head: bytes, limits: Limits = LIMITS) -> tuple[bytes, bytes, bytes]:
    """Content-Type, Content-Transfer-Encoding and Content-Disposition: the first of each."""
    found: dict[bytes, bytes] = {}
    for name, value in _CONTENT.findall(head):
        found.setdefault(name.lower(), value[: limits.value])
    return found.get(b"type", b""), found.get(b"transfer-encoding", b""), found.get(b"disposition", b"")


def subject_of(head: bytes, limits: Limits = LIMITS) -> bytes:
    found = _SUBJECT.search(head)
    return decoded(unfolded(found[1][: limits.value])).strip() if found else b""


class Said:
    """The fields that a mail's headers fill."""

    __slots__ = ("content", "lines", "received", "reply_to", "sender", "subject", "to")

    def __init__(self, head: bytes, limits: Limits = LIMITS) -> None:
        self.subject = self.sender = self.reply_to = b""
        to: list[bytes] = []
        received: list[bytes] = []
        lines: list[bytes] = []
        content = dict.fromkeys(_CONTENT_NAMES, b"")
        for name, value in headers_of(head, limits):
            if name == b"received":
                received.append(hosts_of(value))
            elif name == b"subject":
                self.subject = self.subject or decoded(value).strip()
            elif name == b"from":
                self.sender = self.sender or decoded(value).strip()
            elif name == b"reply-to":
                self.reply_to = self.reply_to or decoded(value).strip()
            elif name in (b"to", b"cc"):
                to.append(decoded(value).strip())
            elif name in content:
                content[name] = content[name] or value
            elif not _kept(name):
                continue
            if name in _NAME_ONLY:
                lines.append(name)
            elif shape := _SHAPES.get(name):
                lines.append(name + b": " + shape(value))
            else:
                lines.append(name + b": " + cut(decoded(value).strip(), _VALUE_KEPT))
        self.to, self.received, self.lines = b"\n".join(filter(None, to)), b"\n".join(filter(None, received)), b"\n".join(lines)
        self.content = content_of(*content.values())


_kept_names: dict[bytes, bool] = {}


def _kept(name: bytes) -> bool:
    """Whether a header says something of the mail; remembered, for a while."""
    known = _kept_names.get(name)
    if known is None:
        if len(_kept_names) >= _NAMES_KEPT:
            _kept_names.clear()
        known = _kept_names[name[:100]] = _ADDED.match(name) is None
    return known
