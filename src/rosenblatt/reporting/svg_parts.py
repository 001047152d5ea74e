"""The pieces every SVG is made of: safe text, short numbers, tones."""

from __future__ import annotations

import re
from html import escape

from .style import CLASSES

LETTER, BOLD = 6.3, 7.6  # the width of a letter of 12 pixels, on average, and of a bold one in a wide font


def clean(text: object) -> str:
    """Text that no file can smuggle markup into, nor what XML forbids."""
    return escape(re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(text)), quote=True)


def place(number: float) -> str:
    return (
        f"{number:.1f}".removesuffix(".0").replace("-0", "0", 1) if abs(number) < 0.05 else f"{number:.1f}".removesuffix(".0")
    )


def tone_class(tone: str) -> str:
    if tone.startswith("class"):
        return f"t{int(tone.removeprefix('class')) % CLASSES}"
    return f"t-{tone}"


def words(x: float, y: float, text: str, *, tone: str = "quiet", anchor: str = "start", classes: str = "") -> str:
    place_of = "" if anchor == "start" else f' text-anchor="{anchor}"'
    names = " ".join(part for part in (tone_class(tone), "fill", classes) if part)
    return f'<text x="{place(x)}" y="{place(y)}"{place_of} class="{names}">{clean(text)}</text>'


def told(text: str) -> str:
    return f"<title>{clean(text)}</title>" if text else ""
