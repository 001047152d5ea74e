"""Mails made to take a parser's time or memory: name -> the mail's bytes, with n bytes or so."""

from __future__ import annotations

from collections.abc import Callable

M = b"MIME-Version: 1.0\n"
MIXED = M + b'Content-Type: multipart/mixed; boundary="b"\n\n'


def _nested(n: int) -> bytes:
    levels = min(n // 80, 10_000)
    return (
        M
        + b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(levels))
        + b"\ninner text"
    )


def _messages(n: int) -> bytes:
    return b"Content-Type: message/rfc822\n\n" * min(n // 31, 100_000) + b"Subject: inner\n\ninner text"


def _one_boundary(n: int) -> bytes:
    return b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" * (n // 48)


def _prefixes(n: int) -> bytes:
    """Every line may be one of every boundary."""
    heads = b"".join(b"Content-Type: multipart/mixed; boundary=%s\n\n--%s\n" % ((b"b" * i,) * 2) for i in range(1, 30))
    return heads + (b"--" + b"b" * 40 + b"\n") * (n // 43)


def _quoted_messages(n: int) -> bytes:
    head = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: quoted-printable\n\n"
    return head * 30 + b"=3D=3D" * (n // 6)


def _attachment(n: int) -> bytes:
    return (
        MIXED
        + b'--b\n\nhello\n--b\nContent-Type: application/zip; name="a.zip"\nContent-Transfer-Encoding: base64\n\n'
        + ((b"QUJD" * 19 + b"\n") * (n // 77) + b"--b--\n")
    )


def _coded(encoding: bytes, line: bytes) -> Callable[[int], bytes]:
    return lambda n: M + b"Content-Type: text/plain\nContent-Transfer-Encoding: " + encoding + b"\n\n" + line * (n // len(line))


def _typed(value: bytes, body: bytes) -> Callable[[int], bytes]:
    return lambda n: M + b"Content-Type: " + value + b"\n\n" + body * (n // len(body))


def _repeated(before: bytes, again: bytes, after: bytes = b"") -> Callable[[int], bytes]:
    return lambda n: before + again * (n // len(again)) + after


END = b"\n\nbody"
SHAPES: dict[str, Callable[[int], bytes]] = {
    "nested": _nested,
    "messages in messages": _messages,
    "the same boundary again": _one_boundary,
    "boundaries that begin alike": _prefixes,
    "quoted messages": _quoted_messages,
    "attachment": _attachment,
    "parts": _repeated(MIXED, b"--b\n\nx\n", b"--b--\n"),
    "parts of headers": _repeated(MIXED, b'--b\nContent-Type: text/plain; name="' + b"x; y=" * 800 + b"\n\nx\n"),
    "alternatives": _repeated(
        M + b"Content-Type: multipart/alternative; boundary=b\n\n", b"--b\nContent-Type: text/html\n\n<b>x\n"
    ),
    "almost boundaries": _repeated(MIXED, b"--bb\n"),
    "boundary of dashes": _typed(b"multipart/mixed; boundary=" + b"-" * 70, b"-" * 70 + b"\n"),
    "long boundary": _typed(b"multipart/mixed; boundary=" + b"ab" * 1000, b"\n--" + b"ab" * 999 + b"a\n"),
    "empty boundary": _typed(b'multipart/mixed; boundary=""', b"--\n\nx\n"),
    "lost boundary": _typed(b"multipart/mixed", b"--x \n"),
    "lost boundaries": _repeated(MIXED, b"--b\nContent-Type: multipart/mixed\n\n--x" + b" " * 4000 + b"y\n"),
    "boundary of blanks": _typed(b'multipart/mixed; boundary="   "', b"--   \n"),
    "NULs": _repeated(b"", b"\0"),
    "NULs in text": _repeated(b"Subject: x\n\n", b"v\0"),
    "headers without end": _repeated(b"", b"X-A: b\n"),
    "header lines": _repeated(b"", b"A:\n", END),
    "types": _repeated(b"", b"Content-Type:\n", END),
    "types of parts": _repeated(MIXED, b"--b\n" + b"Content-Type:\n" * 5000 + b"\n"),
    "lines of blanks": _repeated(b"Subject: x\n", b" \n", END),
    "subjects of messages": _repeated(b"Content-Type: message/rfc822\n\n" * 19, b"Subject:\n", END),
    "one header": _repeated(b"Subject: ", b"x", END),
    "one folded header": _repeated(b"Subject: x", b"\n x", END),
    "one name": _repeated(b"", b"x"),
    "colons": _repeated(b"", b":"),
    "blanks": _repeated(b"", b" "),
    "newlines": _repeated(b"", b"\n"),
    "carriage returns": _repeated(b"Subject: x\r", b"\r"),
    "From lines": _repeated(b"", b"From x\n"),
    "Received": _repeated(b"", b"Received: from " + b"a." * 2000 + b"1 by b\n", END),
    "one long host": _repeated(b"Received: from ", b"a-", END),
    "words": _repeated(b"Subject: ", b"=?utf-8?q?=41?= ", END),
    "words without end": _repeated(b"Subject: ", b"=?utf-8?q?", END),
    "words without start": _repeated(b"Subject: ", b"=?", END),
    "words in folded lines": _repeated(b"Subject: x", b"\n =?utf-8?b?QUJD?=", END),
    "addresses": _repeated(b"To: ", b"a@b.example, ", END),
    "quotes": _typed(b'text/plain; a="' + b'\\"' * 2000, b"x"),
    "open quotes": _repeated(b"Content-Type: text/plain", b'; a="b', END),
    "numbered parameters": _repeated(b"Content-Type: text/plain", b"; name*1*=a", END),
    "base64": _coded(b"base64", b"QUJD" * 19 + b"\n"),
    "base64 of junk": _coded(b"base64", b"!?"),
    "base64 of padding": _coded(b"base64", b"A=="),
    "quoted-printable": _coded(b"quoted-printable", b"=41=\n"),
    "quoted-printable of =": _coded(b"quoted-printable", b"="),
    "uuencode": _coded(b"x-uuencode\n\nbegin 644 a", b"!a\n"),
    "uuencode of junk": _coded(b"x-uuencode\n\nbegin 644 a", b"~\n"),
    "uuencode without begin": _coded(b"x-uuencode", b"begin \n"),
    "idna": _typed(b"text/plain; charset=idna", b"xn--a.\xff"),
    "punycode": _typed(b"text/plain; charset=punycode", b"a-9"),
    "zlib": _typed(b"text/plain; charset=zlib_codec", b"x\xda\xff"),
    "utf-7": _typed(b"text/plain; charset=utf-7", b"+AOk-"),
    "utf-16": _typed(b"text/plain; charset=utf-16", b"\xd8\x00"),
    "hz": _typed(b"text/plain; charset=hz", b"~{"),
    "iso-2022-jp": _typed(b"text/plain; charset=iso-2022-jp", b"\x1b$B"),
    "links": _repeated(b"\n", b"http://a "),
    "links without end": _repeated(b"\n", b"http://"),
    "www": _repeated(b"\n", b"www."),
    "uuencoded": _repeated(b"\n", b"begin 644 a\n"),
    "uuencoded files": _repeated(b"\n", b"begin 644 a.exe\nend\n"),
    "nested tags": _typed(b"text/html", b"<b>"),
    "tags and letters": _typed(b"text/html", b"<p>a"),
    "tags and short words": _typed(b"text/html", b"ab<b>"),
    "references": _typed(b"text/html", b"&lt<b>"),
    "references that are none": _typed(b"text/html", b"&ab "),
    "addresses of references": _typed(b"text/html", b"<a href=&lt>"),
    "titles": _typed(b"text/html", b"<title></title>"),
    "comments": _typed(b"text/html", b"<!---->"),
    "tags outside of a charset": _typed(b"text/html; charset=windows-1253", b"\xff<b>"),
    "letters outside of a charset": _typed(b"text/html; charset=windows-1253", b"\xff"),
    "letters that are not seen": _typed(b"text/html; charset=utf-8", b"ab\xc2\xad"),
    "open tags": _typed(b"text/html", b"<a "),
    "html parts": _repeated(MIXED, b"--b\nContent-Type: text/html\n\n" + b"<i id=x><!-- -->&amp" * 12_000 + b"\n"),
    "html": _typed(b"text/html", b"<a href=http://x>&amp;</a>\n"),
}
