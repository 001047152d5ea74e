"""Whatever the bytes, a message comes out, of valid UTF-8 and within the limits."""

from __future__ import annotations

import base64
import binascii

from hypothesis import example, given
from hypothesis import strategies as st

from mutations import MUTATIONS, mutated
from rosenblatt.mail.message.encodings import CODECS, from_uuencode, to_utf8
from rosenblatt.mail.message.message import LIMITS, Limits, Message
from rosenblatt.mail.message.parse import parse

PLAIN = b"From: a@b.example\nSubject: =?utf-8?q?caf=C3=A9?=\nContent-Type: text/plain; charset=iso-8859-1\n\nna\xefve http://a.example\n"
RICH = (
    b'Received: from a.example by b.example; Mon\nContent-Type: multipart/alternative; boundary="b"\n\n--b\n\nplain\n--b\n'
    b"Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    + base64.encodebytes(b"<p>rich <a href=x>text</a>" * 9)
) + b'\n--b\nContent-Type: application/zip; name="a.zip"\n\nQUJD\n--b--\n'  # fmt: skip
NESTED = b"Content-Type: message/rfc822\n\n" + RICH + b"begin 644 a.exe\nM123\nend\n"
MAILS = (PLAIN, RICH, NESTED)
SMALL = Limits(mail=4000, head=500, value=100, depth=2, parts=3, source=300, text=200, field=50, links=2, attachments=1)
PIECES = st.sampled_from(
    [
        b"Content-Type: ", b"multipart/mixed; boundary=b", b"text/html", b"; charset=", b"utf-16", b"message/rfc822", b"From ",
        b"Content-Transfer-Encoding: base64", b"quoted-printable", b"Subject: ", b"\n", b"\n\n", b"--b", b"--b--",
        b"=?utf-8?q?", b"=?utf-8?b?", b"?=", b" ", b";", b'"', b"\0", b"\r", b"=", b"\xe9", b"<", b"http://", b"www.",
        b"begin 644 a\n", b"name*0*=", b"''%41",
    ]
)  # fmt: skip


def sound(message: Message, limits: Limits = LIMITS) -> None:
    for name, field in zip(message._fields, message, strict=True):
        assert "\0" not in field.decode()
        assert len(field) <= (limits.text if name == "body" else limits.field)
    assert Message.unpack(message.pack()) == message


@given(st.binary(max_size=300))
def test_any_bytes(raw: bytes) -> None:
    sound(parse(raw))
    sound(parse(raw, SMALL), SMALL)


@given(st.lists(st.one_of(PIECES, st.binary(max_size=5)), max_size=40).map(b"".join))
def test_pieces_of_mails_in_any_order(raw: bytes) -> None:
    sound(parse(raw))
    sound(parse(raw, SMALL), SMALL)


@given(st.one_of(st.binary(max_size=100), st.text(st.characters(min_codepoint=10, max_codepoint=100)).map(str.encode)))
@example(b"!  !")
def test_any_bytes_may_be_uuencoded(data: bytes) -> None:
    sound(parse(b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n" + data))
    lines = (binascii.b2a_uu(data[start : start + 45]) for start in range(0, len(data), 45))
    assert from_uuencode(b"begin 644 a\n" + b"".join(lines) + b"`\nend") == data


def test_mutated_mails() -> None:
    for seed in range(1000):
        raw = mutated(MAILS, seed)
        sound(parse(raw))
        sound(parse(raw, SMALL), SMALL)


def test_a_mutation_is_the_same_for_the_same_seed_and_changes_mails() -> None:
    assert [mutated(MAILS, seed) for seed in range(50)] == [mutated(MAILS, seed) for seed in range(50)]
    assert len({mutated(MAILS, seed) for seed in range(50)}) > 45
    assert len(MUTATIONS) == 10


@given(st.sampled_from(sorted(CODECS)), st.binary(max_size=100))
def test_every_charset_takes_any_bytes(charset: str, data: bytes) -> None:
    to_utf8(data, charset.encode()).decode()


def test_every_charset_exists_and_is_of_text() -> None:
    for codec in set(CODECS.values()):
        to_utf8(b"a\xff\0b", codec.encode())
        assert isinstance(b"a".decode(codec, "replace"), str)
