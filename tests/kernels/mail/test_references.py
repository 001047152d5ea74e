"""Character references in HTML, against the standard library."""

from __future__ import annotations

import html as standard
from html.entities import html5

import numpy as np
import pytest

from rosenblatt.kernels.mail.html import html_text
from rosenblatt.mail.message.html import markup

VISIBLE = {name: value for name, value in html5.items() if value.isprintable() and not value.isspace()}


def text_and_links(html: bytes) -> tuple[bytes, bytes]:
    room = len(html) * 5 // 4 + 16
    text, links, done = np.empty(room, np.uint8), np.empty(room, np.uint8), np.zeros(2, np.int64)
    html_text(np.frombuffer(html, np.uint8), text, links, done, markup())
    return text[: done[0]].tobytes(), links[: done[1]].tobytes()


def test_all_names_have_the_characters_of_the_standard() -> None:
    """Also names without their semicolon, if the standard allows that, followed by something else."""
    assert len(VISIBLE) > 2000
    raw = "".join(f"[&{name}]" for name in VISIBLE)
    assert text_and_links(raw.encode())[0].decode() == standard.unescape(raw)


@pytest.mark.parametrize("form", ["&#{};", "&#{}", "&#x{:x};", "&#X{:X}", "&#0{};"])
def test_numbers_have_the_characters_of_the_standard(form: str) -> None:
    """Up to the end of Unicode, at both sides of the surrogates, and in the range of windows-1252."""
    numbers = [0, 0x80, 0x85, 0x8A, 0x9F, 0xA1, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFD, 0x10000, 0x10FFFF]
    numbers += [*range(33, 127), 0x110000, 10**12]
    for number in numbers:
        raw = f"({form.format(number)})"
        character = standard.unescape(raw) if number != 0x10FFFF else f"({chr(number)})"  # Python drops noncharacters
        assert text_and_links(raw.encode())[0].decode() == character, raw


@pytest.mark.parametrize("raw", ["&", "&;", "&#", "&#;", "&#x", "&#x;", "&#y;", "&1;", "& amp;", "&unknown;", "&amx", "a&b"])
def test_other_ampersands_are_text(raw: str) -> None:
    assert text_and_links(raw.encode())[0].decode() == raw


@pytest.mark.parametrize(
    ("address", "link"),
    [("?a&copy=1", "?a&copy=1"), ("?a&copyb", "?a&copyb"), ("?a&copy;=1", "?a©=1"), ("?a&copy", "?a©"), ("?&amp;&lt", "?&<")],
)
def test_names_without_a_semicolon_are_kept_in_addresses(address: str, link: str) -> None:
    """If "=", a letter or a digit follows, as the standard requires of attributes."""
    assert text_and_links(f"<a href='{address}'>x</a>".encode()) == (b"x", f"{link}\n".encode())
