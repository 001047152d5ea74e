"""The parser agrees with Python's email package on real mails."""

from __future__ import annotations

import email
from email.header import decode_header
from email.message import Message as Theirs

import pytest

from datasets import data_folder
from mutations import corpus
from rosenblatt.mail.message.encodings import from_transfer, to_utf8, undeclared
from rosenblatt.mail.message.fields import HeaderFields
from rosenblatt.mail.message.headers import end_of_head
from rosenblatt.mail.message.message import LIMITS
from rosenblatt.mail.message.mime import parts_of
from rosenblatt.mail.message.parse import parse

WIDE = LIMITS._replace(mail=1 << 30, value=1 << 20, field=1 << 20)


def mails(name: str, every: int = 1) -> list[bytes]:
    return corpus(data_folder(f"mail/{name}"), every)


def squeezed(text: bytes) -> bytes:
    return b"".join(text.split())


def their_subject(message: Theirs) -> bytes:
    words, body = decode_header(message["subject"] or ""), (message.get_content_charset() or "").encode()
    return b"".join(
        word.encode() if isinstance(word, str)
        else undeclared(word, body) if charset == "unknown-8bit"  # which is what they call no charset
        else to_utf8(word, (charset or "").encode())
        for word, charset in words
    )  # fmt: skip


def their_texts(message: Theirs) -> list[tuple[bytes, bytes]]:
    leaves = [part for part in message.walk() if not part.is_multipart() and part.get_content_maintype() == "text"]
    return [(leaf.get_content_type().encode(), squeezed(leaf.get_payload(decode=True) or b"")) for leaf in leaves]


def our_texts(raw: bytes) -> list[tuple[bytes, bytes]]:
    start = raw.find(b"\n") + 1 if raw.startswith(b"From ") else 0
    stop, body = end_of_head(raw, start, len(raw))
    leaves = parts_of(raw, body, HeaderFields(raw[start:stop], WIDE).content, WIDE)
    texts = [(leaf.content.type, squeezed(from_transfer(leaf.body, leaf.content.encoding))) for leaf in leaves]
    return [(kind, text) for kind, text in texts if kind.startswith(b"text/")]


def agreement(raws: list[bytes]) -> tuple[float, float]:
    """The shares of mails whose subjects, and whose texts of all parts before tags are taken off, are the same."""
    subjects = texts = 0
    for raw in raws:
        theirs = email.message_from_bytes(raw)
        subjects += squeezed(their_subject(theirs)) == squeezed(parse(raw, WIDE).subject)
        texts += their_texts(theirs) == our_texts(raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    return subjects / len(raws), texts / len(raws)


@pytest.mark.slow
def test_the_email_package_agrees_on_real_mails() -> None:
    # In all of them: 3,250 of 3,250 and 3,245 of 3,250; the five have subjects in attached mails, wrong boundaries and footers.
    subjects, texts = agreement(mails("spamassassin", every=3))
    assert subjects == 1.0
    assert texts > 0.998


def test_the_email_package_agrees_on_the_subjects_of_edge_cases() -> None:
    subjects, texts = agreement(mails("edge_cases"))
    assert subjects == 1.0
    assert (
        texts > 0.6
    )  # the others are where we read what it drops: boundaries that are wrong, reports, subjects of attached mails


def test_all_words_of_edge_cases_that_the_email_package_finds_are_in_the_body() -> None:
    for raw in mails("edge_cases"):
        body = squeezed(parse(raw).body)
        for kind, text in their_texts(email.message_from_bytes(raw)):
            if kind == b"text/plain" and text.isascii() and b"ENCODING" not in text:
                assert text in body


def test_parsing_is_a_function_of_the_bytes() -> None:
    for raw in mails("edge_cases"):
        assert parse(raw) == parse(bytes(bytearray(raw)))
