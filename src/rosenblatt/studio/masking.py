"""JavaScript with everything that is not code blanked out: comments, strings, templates and regular expressions become blanks
of the same length, so that words and brackets can be looked for, and found at the same place in the source."""

from __future__ import annotations

import re

# A slash after one of these begins a regular expression; after a name, a number or a closing bracket it divides.
_WORDS = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "instanceof", "await"}
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<tick>`)
      | (?P<word>[\w$]+)
      | (?P<blank>\s+)
      | (?P<slash>/)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)


def masked(source: str) -> str:
    """The source's code; what is inside ${} of a template is code, too."""
    kept: list[str] = []
    templates: list[int] = []  # for each template around here: how many braces are open in its ${}
    at, before = 0, ""

    def blank(end: int) -> None:
        nonlocal at
        kept.append(re.sub(r"[^\n]", " ", source[at:end]))
        at = end

    def text_of_template() -> None:
        nonlocal at
        found = _TEMPLATE.match(source, at)
        assert found is not None
        blank(found.end())
        if source.startswith("${", at):
            templates.append(0)
            blank(at + 2)
        else:
            blank(at + 1)

    while at < len(source):
        token = _TOKEN.match(source, at)
        assert token is not None
        kind, text = token.lastgroup, token.group()
        if kind == "tick" or (text == "}" and templates and templates[-1] == 0):
            if text == "}":
                templates.pop()
            blank(at + 1)
            text_of_template()
            before = "`"
            continue
        if kind == "slash" and (before in _WORDS or not re.fullmatch(r"[\w$]+|[)\]`'\"]", before)):
            regex = _REGEX.match(source, at)
            if regex is not None:
                blank(regex.end())
                before = "`"
                continue
        if kind in ("comment", "string"):
            blank(token.end())
            before = before if kind == "comment" else '"'
            continue
        if templates and text in "{}":
            templates[-1] += 1 if text == "{" else -1
        kept.append(text)
        at = token.end()
        before = before if kind == "blank" else text
    return "".join(kept)
