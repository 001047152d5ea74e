"""Elements of an SVG: escaped text, short coordinates, tones as CSS classes, tooltips."""

from __future__ import annotations

import re
from html import escape

from .style import CLASSES

# Mean width of a character at 12 px, and of a bold one in a wide font.
CHAR_PX, BOLD_CHAR_PX = 6.3, 7.6
# Charts of this width or more put names beside bars and lines.
WIDE_FROM_PX = 480


def escape_text(text: object) -> str:
    """Escape markup, and replace characters that XML forbids."""
    return escape(re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(text)), quote=True)


def px(number: float) -> str:
    """Write a coordinate with one decimal at most.

    >>> px(3.0), px(-2.25), px(-0.01)
    ('3', '-2.2', '0')
    """
    text = f"{number:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def tone_class(tone: str) -> str:
    """Return the CSS class of a tone."""
    if tone.startswith("class"):
        return f"t{int(tone.removeprefix('class')) % CLASSES}"
    return f"t-{tone}"


def text_element(x: float, y: float, text: str, *, tone: str = "quiet", anchor: str = "start", classes: str = "") -> str:
    """Return a text element; `classes` are CSS classes in addition to that of its tone."""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    names = " ".join(part for part in (tone_class(tone), "fill", classes) if part)
    return f'<text x="{px(x)}" y="{px(y)}"{anchored} class="{names}">{escape_text(text)}</text>'


def title_element(text: str) -> str:
    """Return the tooltip of an element, or nothing if the text is empty."""
    return f"<title>{escape_text(text)}</title>" if text else ""
