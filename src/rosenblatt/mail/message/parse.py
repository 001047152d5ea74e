"""Raw mail to a `Message`. No input raises an exception; parsing takes linear time and stays within `Limits`."""

from __future__ import annotations

import re

from .encodings import cut, from_transfer, one_newline, to_utf8, valid, without_uuencoded
from .fields import HeaderFields
from .headers import end_of_head
from .html import links_of, strip
from .message import LIMITS, Limits, Message
from .mime import Part, parts_of

# Before the headers: the "From " line of an mbox, and empty lines if headers follow for certain.
_LINES_BEFORE_HEADERS = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[ \t]*+\n)*+(?:>?From [^\n]*+\n|(?=(?i:"
    rb"return-path|received|from|to|subject|date|message-id|mime-version):))"
)
_HTML = re.compile(rb"\s*+<(?:!doctype\s+html|html|head|body)[\s>]", re.I)
_HTML_TYPES = (b"text/html", b"text/xhtml", b"application/xhtml+xml")
_MAX_PART_LINES = 20  # parts whose types are recorded
_TEXT_NAMES = (b"txt", b"text", b"htm", b"html", b"shtml", b"xhtml", b"eml")


def parse(raw: bytes, limits: Limits = LIMITS) -> Message:
    """The fields of a raw mail.

    >>> parse(b"Subject: =?utf-8?q?caf=C3=A9?=\\nContent-Type: text/html\\n\\n<p>Cheap <b>pills</b>").subject.decode()
    'café'
    """
    raw = one_newline(bytes(raw[: limits.mail]))
    begin = _LINES_BEFORE_HEADERS.match(raw)
    start = begin.end() if begin else 0
    stop, body = end_of_head(raw, start, len(raw))
    head = raw[start:stop]
    fields = HeaderFields(head, limits)
    parts = _PartCollector(limits)
    for part in parts_of(raw, body, fields.content, limits):
        parts.add(part)
    return Message(
        cut(fields.subject, limits.field),
        cut(fields.sender, limits.field),
        cut(fields.reply_to, limits.field),
        cut(fields.to, limits.field),
        cut(fields.received, limits.field),
        cut(b"\n".join((fields.lines, *parts.kinds)), limits.field),
        valid(b"\n".join(parts.texts()).strip()[: limits.text]),
        valid(b"\n".join(dict.fromkeys(parts.links))[: limits.field]),
        cut(b"\n".join(parts.attachments), limits.field),
    )


class _PartCollector:
    """Texts, links and attachments of the parts of one mail."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.room, self.source = (
            4 * limits.text,
            limits.source,
        )  # bytes that may still be kept (alternatives repeat text) and read
        self.pieces: list[tuple[bytes, int, bool]] = []  # text, group of alternatives, whether it was HTML
        self.links: list[bytes] = []
        self.attachments: list[bytes] = []
        self.kinds: list[bytes] = []  # a line for each part: type, charset and encoding

    def add(self, part: Part) -> None:
        content = part.content
        if len(self.kinds) < _MAX_PART_LINES:
            kind = b" ".join((b"part:", content.type[:80], content.charset[:40].lower(), content.encoding[:20]))
            self.kinds.append(to_utf8(b" ".join(kind.split())))
        suffix = content.name.rpartition(b".")[2].strip().lower() if b"." in content.name else b""
        is_text = content.type.startswith(b"text/") or content.type in _HTML_TYPES
        if content.attached or content.name or not is_text:
            self._attach(content.type, suffix, content.name)
        if (is_text or suffix in _TEXT_NAMES) and self.room > 0 and self.source > 0:
            self._read(part, content.type in _HTML_TYPES or suffix.endswith((b"htm", b"html")))

    def _attach(self, kind: bytes, suffix: bytes, name: bytes) -> None:
        if len(self.attachments) < self.limits.attachments:
            line = b" ".join((kind, suffix[:20], name[-100:]))
            self.attachments.append(to_utf8(b" ".join(line.split())))

    def _read(self, part: Part, html: bool) -> None:
        body = part.body[: 3 * self.source]  # an encoded byte takes three at most
        text = one_newline(to_utf8(from_transfer(body, part.content.encoding)[: self.source], part.content.charset))
        self.source -= len(text)
        if html or _HTML.match(text, 0, 1000):
            html = True
            text, links = strip(text)
        else:
            if b"begin " in text:
                names: list[bytes] = []
                text = without_uuencoded(text, names)
                for name in names:
                    self._attach(b"x-uuencode", name.rpartition(b".")[2].lower(), name)
            links = links_of(text, self.limits.links)
        self.links += links[: self.limits.links - len(self.links)]
        self.room -= len(text)
        self.pieces.append((text[: self.limits.text], part.group, html))

    def texts(self) -> list[bytes]:
        """Texts in their order; of alternatives the HTML, which is shown, and plain text only if it differs."""
        rich: dict[int, list[bytes]] = {}
        for text, group, html in self.pieces:
            if html and group:
                rich.setdefault(group, []).append(text)
        found: list[bytes] = []
        words = {group: set(b" ".join(texts).split()) for group, texts in rich.items()}
        for text, group, html in self.pieces:
            if group in words:
                found += rich.pop(group, ())
                if html or not _differs(text, words[group]):
                    continue
            found.append(text)
        return found


def _differs(text: bytes, words: set[bytes]) -> bool:
    """Whether more than a quarter of the words of a text are not among `words`."""
    own = set(text.split())
    return 4 * len(own - words) > len(own)
