"""Headers of Orange, a workbench for data mining: names with the types and roles of the columns.

Three lines   Names; types (c, d, s, t, or continuous, discrete, string, time, or the values of a discrete column with blanks
              between them); and roles (class, meta, ignore, weight, or nothing). Letters alone and values count as types in
              files named .tab.
One line      Names after a role and a type, as in cD#species, mS#name or C#size.

The column with the role class has the labels; those with another role are left out. Discrete columns are categories, whatever
their cells look like.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...reporting.text import quoted_list
from . import Options

TYPE_WORDS = {
    b"continuous": "C",
    b"numeric": "C",
    b"discrete": "D",
    b"categorical": "D",
    b"string": "S",
    b"text": "S",
    b"time": "T",
}
TYPE_LETTERS = {b"c": "C", b"n": "C", b"d": "D", b"s": "S", b"t": "T"}
ROLES = {b"class": "c", b"c": "c", b"meta": "m", b"m": "m", b"ignore": "i", b"i": "i", b"weight": "w", b"w": "w", b"": ""}
ATTRIBUTES = re.compile(rb"(?:\S+=\S*\s*)+")  # among the roles, such as color=#ff0000
PREFIX = re.compile(rb"(?!#)([cmiw]?)([CDNST]?)#(.+)", re.DOTALL)
TAB = "tab"


@dataclass(frozen=True)
class OrangeHeader:
    """The header of a file: for each column its name, its type C, D, S, T or nothing, and its role c, m, i, w or nothing."""

    lines: int
    names: tuple[bytes, ...]
    types: tuple[str, ...]
    roles: tuple[str, ...]

    def apply(self, options: Options) -> tuple[Options, str | None]:
        """The options that the header stands for, where the user has not given others, and a note for the user."""
        names = [name.decode("utf-8", "replace") for name in self.names]
        options = replace(options, header=True)
        if options.required is not None:
            return options, None
        label = options.label
        if label is None:
            label = next((name for name, role in zip(names, self.roles, strict=True) if role == "c"), None)
        notes = ["header of Orange"]
        chosen = {label, *options.text, *options.categorical, *options.ignore}
        named = list(zip(names, self.types, self.roles, strict=True))
        left_out = tuple(name for name, _, role in named if role in ("m", "i", "w") and name not in chosen)
        categorical = tuple(name for name, kind, _ in named if kind == "D" and name not in {*chosen, *left_out})
        if left_out:
            notes.append(f"left out by their roles: {quoted_list(left_out)}")
        options = replace(
            options, label=label, ignore=(*options.ignore, *left_out), categorical=(*options.categorical, *categorical)
        )
        return options, "; ".join(notes)


def orange_header(rows: Sequence[Sequence[bytes]], extension: str) -> OrangeHeader | None:
    """The header that the first rows of a file are; None if they are none of Orange."""
    found = [PREFIX.fullmatch(cell) for cell in rows[0]]
    if all(found) or any(match is not None and match[1] for match in found):  # not C#4 beside F#4
        names = tuple(cell if match is None else match[3] for cell, match in zip(rows[0], found, strict=True))
        types = tuple("" if match is None else match[2].decode().replace("N", "C") for match in found)
        return OrangeHeader(1, names, types, tuple("" if match is None else match[1].decode() for match in found))
    if len(rows) < 3:
        return None
    width = len(rows[0])
    second, third = (tuple(row) + (b"",) * (width - len(row)) for row in rows[1:3])  # trailing tabs may be absent
    if not len(second) == len(third) == width:
        return None
    kinds = [kind for cell in second if (kind := _type(cell, extension)) is not None]
    roles = [role for cell in third if (role := _role(cell)) is not None]
    if not len(kinds) == len(roles) == width or not any(kinds):
        return None
    return OrangeHeader(3, tuple(rows[0]), tuple(kinds), tuple(roles))


def _role(cell: bytes) -> str | None:
    """The role that a cell of the third line stands for; None if it is no role."""
    return ROLES.get(cell.lower(), "" if ATTRIBUTES.fullmatch(cell) else None)


def _type(cell: bytes, extension: str) -> str | None:
    """The type that a cell of the second line stands for; None if it is no type."""
    kind = TYPE_WORDS.get(cell.lower())
    if kind is None and extension == TAB:
        kind = TYPE_LETTERS.get(cell.lower()) or ("D" if b" " in cell else "" if not cell else None)
    return kind
