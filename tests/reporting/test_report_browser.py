"""The page in a browser."""

from __future__ import annotations

import pytest
from small_stories import story

import rosenblatt as rb
from chromium_browser import CONTRASTS
from rosenblatt.reporting.page import write_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Names as long as they come, and many classes."""
    names = [f"a_feature_with_a_very_long_name_number_{n}_" * 3 for n in range(20)]
    classes = [f"class called {'x' * 40} {n}" for n in range(14)]
    summary = [("rows", "60"), ("model", "/a/path/" + "without_a_place_to_break" * 6), ("stopped", "a sentence " * 9)]
    folder = tmp_path_factory.mktemp("pages")
    stories = {
        "two": story(rb.Perceptron(keep="average", random_state=0), summary=summary, d=20, feature_names=names, title="w" * 90),
        "many": story(n=140, k=14, class_names=classes, summary=summary, command="rosenblatt train " + "x" * 200),
        "flat": story(d=2, k=4, class_names=classes[:4], notes=["y" * 200]),
    }
    for name, report in stories.items():
        (folder / f"{name}.html").write_text(write_report(report), encoding="utf-8")
    return folder


BRIEF = [(360, "light"), (1280, "dark")]
LONG = [(360, "dark"), (768, "light"), (768, "dark"), (1280, "light")]


@pytest.mark.parametrize(("width", "theme"), [*BRIEF, *(pytest.param(*both, marks=pytest.mark.thorough) for both in LONG)])
@pytest.mark.parametrize("name", ["two", "many", "flat"])
def test_a_page_fits_and_can_be_read(browser, pages, name, width, theme):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=theme)
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: messages.append(request.url) if not request.url.startswith(("file:", "data:")) else None)
    page.goto((pages / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    worst = page.evaluate(CONTRASTS)
    assert worst[0][0] >= 4.5, worst
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if theme == "light" else "light")
    assert page.evaluate(CONTRASTS)[0][0] >= 4.5
    assert messages == []
    page.close()


def test_a_page_is_complete_without_scripts(browser, pages):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto((pages / "two.html").as_uri())
    assert page.locator("figure").count() == 6
    assert not page.locator("#theme").is_visible()
    assert page.locator("#margins .narrow svg").is_visible()
    assert not page.locator("#margins .wide svg").is_visible()
    context.close()
