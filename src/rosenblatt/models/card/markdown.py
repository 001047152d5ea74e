r"""Markdown that shows foreign text as it is: names, labels and values from files are no markup, no HTML and no links.

Names stand in code spans, which hold no markup; sentences, in which names occur, have their punctuation escaped. Control
characters are escaped first, as on a terminal, so that no name begins a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...safe_text import printable

PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
# What means something inside a line: markup, HTML, entities, tables, formulas.
MARKUP = re.compile(r"[\\`*_\[\]<>&|~$]")
# What would begin a list, a heading, a quotation or a rule at the beginning of a line, and what makes links of plain addresses.
LINE_START, ADDRESS = re.compile(r"^([#+=-]|\d+(?=[.)]))"), re.compile(r"(:)(?=//)|(?<=www)(\.)", re.IGNORECASE)


def escape(text: object) -> str:
    r"""A sentence with names from files, as plain text.

    >>> print(escape("Column '<b>*x*' looks like a row id."), escape("1|2"), escape("http://a.b"))
    Column '\<b\>\*x\*' looks like a row id. 1\|2 http\://a.b
    """
    line = MARKUP.sub(r"\\\g<0>", printable(text))
    return ADDRESS.sub(r"\\\g<0>", line)


def paragraph(text: object) -> str:
    r"""A sentence like `escape`, for the beginning of a line or of an item of a list.

    >>> print(paragraph("- 1"), paragraph("# 1"), paragraph("12. x"))
    \- 1 \# 1 12\. x
    """
    return LINE_START.sub(lambda found: found[0] + "\\" if found[0].isdigit() else f"\\{found[0]}", escape(text).lstrip())


def code(text: object) -> str:
    """A name, a label or a value as a code span, also inside a table.

    >>> print(code("age"), code("a`b"), code("x|y"), code(""))
    `age` ``a`b`` <code>x&#124;y</code> (empty)
    """
    line = printable(text)
    if not line:
        return "(empty)"
    if "|" in line:  # no code span can hold it in a table
        return f"<code>{PUNCTUATION.sub(lambda found: f'&#{ord(found[0])};', line)}</code>"
    runs = [len(run) for run in re.findall("`+", line)]
    fence = "`" * (1 + max(runs, default=0))
    padded = line[0] in "` " or line[-1] in "` "
    return f"{fence} {line} {fence}" if padded else f"{fence}{line}{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """A table of cells that are Markdown; `right`: the columns that are aligned to the right.

    >>> print("\\n".join(table(["class", "rows"], [["`yes`", "3"]], right=[1])))
    | class | rows |
    |---|---:|
    | `yes` | 3 |
    """
    rule = ["---:" if place in right else "---" for place in range(len(head))]
    return [f"| {' | '.join(head)} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(row)} |" for row in rows)]
