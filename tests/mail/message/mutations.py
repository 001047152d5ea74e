"""Mails broken in the ways that mails get broken, and those in which people break them; the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]

JUNK = (
    b"\0", b"\0" * 50, b"\r", b"\n\n", b"\r\n.\r\n", b"\xff\xfe", b"\xef\xbb\xbf", b"--", b"\n--\n", b"<", b"<!--", b"=",
    b"=\n", b'"', b";", b"=?utf-8?q?", b"?=", b"=?x?b?////?=", b"&#x110000;", b"begin 644 a.exe\n", b"http://", b"\n>From x\n",
    b"From me Mon Jan  1 00:00:00 2001\n", b"\nContent-Type: multipart/mixed\n\n", b"\nContent-Transfer-Encoding: base64\n",
    b"\nContent-Type: text/html; charset=utf-16\n",
)  # fmt: skip
CHARSETS = (
    b"utf-16", b"utf-7", b"idna", b"punycode", b"zlib_codec", b"no-such", b"gb2312", b"iso-2022-jp", b"hz",
    b"\xff", b"", b"a" * 3000,
)  # fmt: skip
BOUNDARIES = (b"boundary", b"\n-", b"\n--x", b'boundary="', b"boundary*0=", b"\n")


def _flip(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    changed = bytearray(mail)
    for _ in range(draw.randint(1, 50)):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    at = draw.randrange(len(mail))
    return mail[:at] if draw.random() < 0.7 else mail[at:]


def _splice(draw: Random, mail: bytes, others: Sequence[bytes]) -> bytes:
    other = draw.choice(others)
    return mail[: draw.randrange(len(mail))] + other[draw.randrange(len(other)) :]


def _double(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    start = draw.randrange(len(mail))
    block = mail[start : start + draw.randint(1, 2000)]
    return mail[:start] + block * draw.randint(2, 20) + mail[start:]


def _insert(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    for _ in range(draw.randint(1, 10)):
        at = draw.randrange(len(mail) + 1)
        mail = mail[:at] + (draw.choice(JUNK) if draw.random() < 0.8 else draw.randbytes(draw.randint(1, 100))) + mail[at:]
    return mail


def _delete(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    start = draw.randrange(len(mail))
    return mail[:start] + mail[start + draw.randint(1, 500) :]


def _boundary(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    old = b"boundary=" if draw.random() < 0.5 else b"\n--"
    return mail.replace(old, draw.choice(BOUNDARIES), draw.randint(1, 3))


def _charset(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    if b"charset=" not in mail:
        return b"Content-Type: text/plain; charset=" + draw.choice(CHARSETS) + b"\n" + mail
    return mail.replace(b"charset=", b"charset=" + draw.choice(CHARSETS) + draw.choice((b"", b";", b'"')))


def _encoding(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    return b"Content-Transfer-Encoding: " + draw.choice((b"base64", b"quoted-printable", b"x-uuencode", b"7bit")) + b"\n" + mail


def _newlines(draw: Random, mail: bytes, _: Sequence[bytes]) -> bytes:
    new = draw.choice((b"", b"\r\n", b"\r", b"\n\n", b"\n ", b"\0"))
    return mail.replace(b"\n", new, draw.choice((1, 5, 30, -1)))


MUTATIONS: tuple[Mutation, ...] = (
    _flip, _cut, _splice, _double, _insert, _delete, _boundary, _charset, _encoding, _newlines,
)  # fmt: skip


def mutated(mails: Sequence[bytes], seed: int) -> bytes:
    """One of the mails after one to four mutations."""
    draw = Random(seed)
    mail = draw.choice(mails)
    for _ in range(draw.randint(1, 4)):
        mail = draw.choice(MUTATIONS)(draw, mail or b"\n", mails)
    return mail


def corpus(folder: Path, every: int = 1) -> list[bytes]:
    """The mails under a folder, in the order of their paths."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in ("LICENSE", "NOTICE"))
    return [mail for path in paths[::every] if (mail := path.read_bytes())]
