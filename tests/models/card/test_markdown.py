"""Foreign text in Markdown: whatever it is, a renderer shows the text itself and makes no markup of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from effort import examples
from rosenblatt.models.card.markdown import code, escape, paragraph, table
from rosenblatt.safe_text import printable

NASTY = st.text(st.sampled_from("ab1 \\`*_[]()<>&|~$#+-.!=:/'\"\n\t@;x"), max_size=14)
HOSTILE = [
    "<script>alert(1)</script>", "[a](javascript:b)", "![a](b)", "# a", "- a", "1. a", "1) a", "> a", "a\n# b", "`a`", "``",
    "|", "a|b`c", "&lt;", "&#60;", "*a*", "__a__", "~~a~~", "<https://a.b>", "---", "===", "    a", "\\", "a\\", "\\|", "$a$",
    "[a]: b", "\x1b]0;a\x07",
]  # fmt: skip


def rendered(text: str) -> tuple[str, set[str]]:
    """The text that a browser shows, and the tags of the page."""
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    tags = set(re.findall(r"</?(\w+)", page))
    shown = re.sub(r"<[^>]*>", "", page)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        shown = shown.replace(entity, character)
    return " ".join(shown.split()), tags


def squeezed(text: str) -> str:
    return " ".join(printable(text).split())


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_it_is(text: str) -> None:
    assert rendered(paragraph(text)) == (squeezed(text), {"p"})
    assert rendered(f"- {paragraph(text)}")[1] == {"ul", "li"}
    assert rendered(f"x {code(text)} y") == (f"x {squeezed(text)} y", {"p", "code"})
    assert rendered("\n".join(table(["a", "b"], [[code(text), "1"]])))[1] == {
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "code",
    }


@settings(max_examples=examples(300), deadline=None)
@given(NASTY)
def test_any_text_is_shown_as_it_is(text: str) -> None:
    if not squeezed(text):
        return
    assert rendered(f"x {escape(text)} y") == (squeezed(f"x {text} y"), {"p"})
    shown, tags = rendered(paragraph(printable(text).strip()))
    assert (shown, tags) == (squeezed(text), {"p"})
    page = "\n".join(table([code(text), "b"], [[f"x {code(text)}", "1"]]))
    assert rendered(page)[0] == squeezed(f"{text} b x {text} 1")
