"""Text from files, mails, labels and paths, and values of any kind, as they may be printed in a message.

Every module may import this one; it imports the standard library alone.
"""

from __future__ import annotations

import re
import reprlib

# Characters that a terminal executes or that hide or reorder others: C0 and C1 controls, line separators, marks of the writing
# direction, and halves of characters, which cannot be encoded.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
UNSAFE_IN_LINES = re.compile(UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))

# Items, levels and characters of a value that a message shows; the rest is not even formatted, which may take seconds.
_BRIEF = reprlib.Repr()
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxset = _BRIEF.maxfrozenset = _BRIEF.maxdict = 6
_BRIEF.maxlevel, _BRIEF.maxlong, _BRIEF.maxstring, _BRIEF.maxother = 3, 60, 80, 80


def printable(text: object, *, lines: bool = False) -> str:
    r"""Escape what is unsafe on a terminal, as in a string literal of Python. Text from files, mails and labels is printed so.

    Line feeds and tabs stay with ``lines=True``. Bytes of a file name that are not UTF-8 are escaped as bytes.

    >>> print(printable("ev\x1b]52;c;\x07il\n.eml"), printable("\udcff"))
    ev\x1b]52;c;\x07il\n.eml \xff
    >>> print(printable("two\nlines\r", lines=True))
    two
    lines\r
    """
    return (UNSAFE_IN_LINES if lines else UNSAFE).sub(_escape, str(text))


def brief_repr(value: object, chars: int = 200) -> str:
    """The repr of a value, of which a large one is abbreviated before it is formatted.

    >>> brief_repr(0.5), brief_repr("red"), brief_repr(list(range(10**6)))
    ('0.5', "'red'", '[0, 1, 2, 3, 4, 5, ...]')
    """
    try:
        text = _BRIEF.repr(value)
    except Exception:  # from the object itself, or of an integer with more digits than Python writes
        text = f"<{type(value).__name__}>"
    return text if len(text) <= chars else text[: chars - 3] + "..."


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if "\udc80" <= character <= "\udcff":  # a byte that os.fsdecode could not decode
        return f"\\x{ord(character) - 0xDC00:02x}"
    return repr(character)[1:-1]
