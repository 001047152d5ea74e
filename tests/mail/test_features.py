"""Columns of messages: compiled code against plain Python, and the names of columns."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from rosenblatt.mail import features
from rosenblatt.mail.features import FIELD_BYTES, FeatureName, columns_of, columns_of_many, named_columns
from rosenblatt.mail.message.message import FIELDS, Message
from rosenblatt.preprocessing.text.murmur import murmur3_of

LETTERS = st.text(" \n\t\x0b\x0c\r\0abAB:.-@_'$é日", max_size=60).map(lambda text: text.encode())
TEXTS = (
    st.binary(max_size=30)
    | LETTERS
    | st.sampled_from([b"x-mailer: Outlook 5\nfrom\n\nto: ", b"A" * 3500, b" \n" * 13000 + b"a"])
)
MESSAGES = st.lists(TEXTS, min_size=len(FIELDS), max_size=len(FIELDS)).map(lambda texts: Message(*texts))


@pytest.mark.once
@settings(max_examples=examples(100))
@given(st.lists(MESSAGES, max_size=4), st.sampled_from([8, 11, 18, 22, 26]))
def test_compiled_columns_are_the_plain_ones(messages: list[Message], bits: int) -> None:
    indptr, columns = columns_of_many(messages, bits)
    assert (indptr.dtype, columns.dtype, len(indptr)) == (np.int64, np.uint32, len(messages) + 1)
    for i, message in enumerate(messages):
        plain = features._columns(message, bits)
        assert columns[indptr[i] : indptr[i + 1]].tolist() == plain.tolist()
        assert columns_of(message, bits).tolist() == plain.tolist()


@given(MESSAGES)
def test_every_column_has_a_name_and_every_name_a_column(message: Message) -> None:
    names = named_columns(message, 22)
    assert sorted(names) == columns_of(message, 22).tolist()
    assert all(str(name).isprintable() for name in names.values())
    assert all(FeatureName.from_stored(str(name)) == name for name in names.values())


def test_in_blocks_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [Message(subject=b"Free money %d" % i, body=b"text " * i) for i in range(50)]
    whole = columns_of_many(messages)
    monkeypatch.setattr(features, "BYTES_PER_BLOCK", 300)
    for a, b in zip(whole, columns_of_many(messages), strict=True):
        assert a.tolist() == b.tolist()


def naive(message: Message) -> set[int]:
    """Word by word and gram by gram, for fields of plain ASCII words."""
    found: set[int] = set()
    for f, (field, text) in enumerate(zip(FIELDS, message, strict=True)):
        if field == "headers":
            continue
        words = text.lower().split()
        hashes = [int(murmur3_of([word], 16 + f)[0]) for word in words]
        found.update(hashes)
        if field != "body":
            found.update((a * 0x9E3779B1 + b) % 2**32 for a, b in pairwise(hashes))
        spaced = b" " + b" ".join(words) + b" "
        grams = [int(murmur3_of([spaced[i : i + 5]], f)[0]) for i in range(len(spaced) - 4)]
        found.update(h for h in grams if field != "body" or h < 1 << 31)
    return {h & (1 << 22) - 1 for h in found}


@given(
    st.lists(st.lists(st.sampled_from([b"Free", b"a", b"mOney", b"x9"]), max_size=5).map(b"\n ".join), min_size=9, max_size=9)
)
def test_features_are_words_pairs_and_grams(texts: list[bytes]) -> None:
    message = Message(*texts)._replace(headers=b"")
    assert set(columns_of(message).tolist()) == naive(message)


def test_names_read_well() -> None:
    message = Message(
        subject=b"FREE  Money!", headers=b"x-mailer: The Bat 1.0\nreceived", body=b"now", links=b"http://a.example/x"
    )
    names = set(map(str, named_columns(message).values()))
    assert {
        'subject: "free"', 'subject: "free money"', 'subject: ~"ee mo"', 'header: "x-mailer: the bat 1.0"',
        'header: "x-mailer" has "bat"', 'header: "received"', 'body: "now"', 'link: "a.example"',
    } <= names  # fmt: skip


def test_no_two_features_of_a_mail_have_one_name() -> None:
    message = Message(subject=b"Free bulk", headers=b"precedence: bulk\nlist: bulk\nbulk", body=b"precedence: bulk")
    names = list(map(str, named_columns(message).values()))
    assert len(names) == len(set(names))
    assert {'header: "precedence: bulk"', 'header: "precedence" has "bulk"'} <= set(names)


def test_case_layout_and_what_lies_behind_the_cut_do_not_matter() -> None:
    body = b"w%d " * 1000 % tuple(range(1000))
    plain = columns_of(Message(body=body))
    assert columns_of(Message(body=body.upper().replace(b" ", b"\r\n\t"))).tolist() == plain.tolist()
    assert (
        columns_of(Message(body=body[: FIELD_BYTES["body"]] + b"other")).tolist()
        == columns_of(Message(body=body[: FIELD_BYTES["body"]] + b"o")).tolist()
    )
    assert columns_of(Message(subject=body[:400])).tolist() != columns_of(Message(sender=body[:400])).tolist()


def test_one_small_mail_needs_no_compiler() -> None:
    code = """if True:
        import sys
        from rosenblatt.mail.features import columns_of, columns_of_many
        from rosenblatt.mail.message.message import Message
        message = Message(subject=b"Free", headers=b"x-mailer: y", body=b"some words")
        assert columns_of_many([message, message])[1].tolist() == 2 * columns_of(message).tolist()
        assert not {"numba", "scipy", "sklearn", "email"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", code], check=True)
