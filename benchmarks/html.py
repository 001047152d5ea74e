"""HTML to text: megabytes per second compared with the standard library, on one thread, and hostile pages of 10 MB.

Real pages are the HTML parts of SpamAssassin's mails, in the folder ROSENBLATT_DATA or in `shared/data` next to the repository.
The parser of the standard library does the least that turns a page into text, and gets a thousandth of each hostile page, since
it takes quadratic time for some of them.
"""

# ruff: noqa: A005 - it shadows nothing within the package
from __future__ import annotations

import email
import gc
import re
import time
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from typing import Any

from rosenblatt.mail.message.html import compiled, plain

from .measure import interleave
from .workloads import DATA

REQUIRED_MB_PER_S, MAX_SECONDS = 200.0, 0.5  # on real pages; for each hostile page
HOSTILE = {
    "<": b"<", "<a ": b"<a ", "<a>": b"<a>", "<div>": b"<div>", "unclosed quotes": b"<a b='<a c=\"", "<!--": b"<!--",
    "<!-- -->": b"<!-- -->", "&": b"&", "&#": b"&#", "&lt": b"&lt", "<script>": b"<script>", "</script": b"</script",
    "</": b"</", "<![CDATA[": b"<![CDATA[", "<a href=x>": b"<a href=x>", "blanks": b" ", "not UTF-8": b"\xff",
    "<title>": b"<title>", "<title></title>": b"<title></title>", "<textarea></textare": b"<textarea></textare",
    "<xmp></xm": b"<xmp></xm", "<xmp></xmp>": b"<xmp></xmp>", "<iframe>": b"<iframe>", "<plaintext>": b"<plaintext>",
}  # fmt: skip
INSIDE = {
    "one value": (b"<a href='", b"x"), "attributes": (b"<a ", b"x "), "quotes": (b"<a ", b"\"'"), "--": (b"<!--", b"--"),
    "</title in a title": (b"<title>", b"</title"), "&lt in a title": (b"<title>", b"&lt"), "< in xmp": (b"<xmp>", b"</"),
}  # fmt: skip


class Standard(HTMLParser):
    """Text outside of scripts and style sheets, and alternative texts of pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.raw = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.raw = tag in ("script", "style")
        self.words += [f" {value} " for name, value in attrs if name == "alt" and value]

    def handle_endtag(self, tag: str) -> None:
        self.raw = False

    def handle_data(self, data: str) -> None:
        if not self.raw:
            self.words.append(data)


def standard(html: bytes) -> str:
    parser = Standard()
    parser.feed(html.decode("utf-8", "replace"))
    parser.close()
    return "".join(parser.words)


def _real() -> list[bytes]:
    pages = []
    for path in sorted((DATA / "mail" / "spamassassin").glob("*/*")):
        for part in email.message_from_bytes(path.read_bytes()).walk():
            if part.get_content_type() == "text/html":
                raw: Any = part.get_payload(decode=True)
                pages.append((raw or b"").decode("latin-1").encode())
    return pages


def _generated(size: int) -> bytes:
    row = (
        "<tr><td class='n'>%d</td><td><a href=\"http://a.example/%d?b=1&amp;c=2\">Item &eacute; %d</a></td><td>new</td></tr>\n"
    )
    rows = "".join(row % (k, k, k) for k in range(size // 110))
    page = f"<html><head><title>A page</title><style>p {{ color: red }}</style></head><body><table>{rows}</table></body></html>"
    return page.encode()


def _all(strip: Any, pages: list[bytes]) -> list[Any]:
    return [strip(page) for page in pages]


def _letters(text: str) -> str:
    return re.sub(r"[\s\x00-\x1f\x7f\u00a0\u00ad\u200b-\u200f\u2060\ufeff]+", "", text)


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    gc.freeze()  # or the garbage collector walks through all that the other parts have imported
    real, size = _real(), 1_000_000 if quick else 10_000_000
    works = {f"{len(real)} pages of mails": real, "the same as one page": [b"\n".join(real)]} if real else {}
    for work, pages in (works | {"a generated page": [_generated(size)]}).items():
        megabytes = sum(map(len, pages)) / 1e6
        contestants = {"html.parser": standard, "ours": compiled, "ours, plain": plain}
        seconds = interleave({name: partial(_all, strip, pages) for name, strip in contestants.items()}, min(repeats, 3))
        same = sum(_letters(standard(page)) == _letters(compiled(page)[0].decode()) for page in pages)
        yield {
            "work": work,
            "megabytes": megabytes,
            "seconds": seconds,
            "rate": megabytes / seconds["ours"],
            "required": REQUIRED_MB_PER_S,
            "agree": same / len(pages),
        }
    for name, (start, shape) in ({name: (b"", shape) for name, shape in HOSTILE.items()} | INSIDE).items():
        page = start + shape * (size // len(shape))
        small = page[: size // 1000]
        began = time.thread_time()
        standard(small)
        theirs = time.thread_time() - began
        began = time.thread_time()
        compiled(page)
        ours = time.thread_time() - began
        yield {
            "work": f"hostile: {name}",
            "megabytes": len(page) / 1e6,
            "seconds": {"html.parser": theirs, "ours": ours},
            "rate": len(page) / 1e6 / ours,
            "at most": MAX_SECONDS,
        }
