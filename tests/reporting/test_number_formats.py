"""Numbers for people are formatted in `reporting/text.py` alone; those of certificates in `exact_numbers.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rosenblatt

ROOT = Path(rosenblatt.__file__).parent
# The lines of a file that may format a number, by a piece of each, and why.
ALLOWED = {
    "models/explanations/sentences.py": ("{value:,.12g}", "a value that changes the prediction, with all its digits"),
    "cli/mail/learn.py": ("{value:g}", "an option to type again"),
    "data/readers/notation.py": ("{exact:f}", "a cell as a file writes it, which is read again"),
    "data/readers/excel.py": ("{Decimal(number).scaleb(2):f}%", "a cell as written, which is read again"),
    "mail/server/engine.py": ("{self.score:.1f} / {THRESHOLD:.1f}", "the header of the spamd protocol"),
    "mail/server/monitoring.py": ("rosenblatt_mail_", "metrics for Prometheus"),
    "mail/server/spamd.py": ("score={", "the header X-Spam-Status"),
    "mail/store/log.py": ("PRAGMA busy_timeout=", "SQL"),
    "mail/verdict.py": ("score={score:.4f}; probability={probability:.4f}", "the header X-Rosenblatt"),
    "studio/page_data.py": ('float(f"{value:.6g}")', "rounds a number, and is not shown"),
}
# The modules that format.
FORMATTERS = ("reporting/", "certificates/exact_numbers.py")  # certificates import nothing of ours
# Thousands separators, a number of decimals or digits, or the types e, f, g and % without one; not ".80", which cuts text.
NUMBER_SPEC = re.compile(r"[,_]|\.\d+[efgEFG%]|(?:^|[^A-Za-z%])[efgEFG%]$")
PRINTF_SPEC = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[efgEFG]")


def number_formats(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that format a number: in f-strings, by format() and str.format, and by %."""
    for node in ast.walk(tree):
        text: str | None = None
        match node:
            case ast.FormattedValue(format_spec=ast.JoinedStr(values=parts)):
                text = "".join(part.value if isinstance(part, ast.Constant) else "0" for part in parts)
            case ast.Call(func=ast.Name(id="format"), args=[_, ast.Constant(value=str(spec))]):
                text = spec
            case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str(template)))):
                specs = re.findall(r"\{[^{}:]*:([^{}]*)\}", template)
                text = next((spec for spec in specs if NUMBER_SPEC.search(spec)), None)
            case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(template))) if PRINTF_SPEC.search(template):
                text = ","
        if text is not None and NUMBER_SPEC.search(text):
            yield node.lineno


def lines_that_format(name: str) -> dict[str, str]:
    """The lines of a file that format a number, by their place."""
    text = (ROOT / name).read_text()
    lines = text.splitlines()
    return {f"{name}:{line}": lines[line - 1] for line in sorted(set(number_formats(ast.parse(text))))}


def test_numbers_for_people_are_formatted_in_one_place() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*.py"))]
    places = []
    for name in names:
        if not name.startswith(FORMATTERS):
            allowed = ALLOWED.get(name, ("\n", ""))[0]
            places += [place for place, line in lines_that_format(name).items() if allowed not in line]
    assert not places, "use rosenblatt.reporting.text: count, plural, short, fixed or percent"


@pytest.mark.parametrize("name", ALLOWED)
def test_every_exception_is_needed(name: str) -> None:
    assert any(ALLOWED[name][0] in line for line in lines_that_format(name).values())


@pytest.mark.parametrize(
    "code",
    [
        "f'{n:,}'", "f'{x:.3g}'", "f'{x:.{d}f}'", "f'{x:g}'", "f'{x:+.1f}'", "f'{x:>8.2f}'", "f'{x:.0%}'", "f'{x:%}'",
        "f'{x:12g}'", "format(n, ',')", "format(x, '.2e')", "'{:.3g}'.format(x)", "'{0:,} {1}'.format(n, s)", "'%.3f' % x",
        "'%g' % x",
    ],
)  # fmt: skip
def test_formats_of_numbers_are_found(code: str) -> None:
    assert list(number_formats(ast.parse(code))) == [1]


@pytest.mark.parametrize(
    "code",
    [
        "f'{s!r:.80}'",
        "f'{n}'",
        "f'{n:03d}'",
        "f'{byte:02x}'",
        "f'{s:>12}'",
        "f'{t:%H:%M}'",
        "format(n, 'x')",
        "'%s' % s",
        "a % b",
    ],
)
def test_other_formats_are_not(code: str) -> None:
    assert not list(number_formats(ast.parse(code)))
