"""The real page on a real server, in a tab that is as it opens for each test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from page_visit import FINGERPRINT, OPENED, Visit
from small_page import FILES, data_of
from studio_serving import QUICK, Studio, studio

from rosenblatt.studio.html_export import page_files
from rosenblatt.studio.page_data import open_page


@pytest.fixture(scope="module")
def there() -> Iterator[Studio]:
    """A server of a small page with short time limits."""
    with studio(**QUICK) as found:
        yield found


@pytest.fixture(scope="session")
def page_server() -> Iterator[Studio]:
    with studio(page_files(), open_page("server")) as found:
        yield found


@pytest.fixture(scope="session")
def open_tabs() -> dict[str, list[Visit]]:
    """Tabs that tests have left, by the context that they are in."""
    return {}


@pytest.fixture
def visit(browser: Any, page_server: Studio, open_tabs: dict[str, list[Visit]]) -> Iterator[Callable[..., Visit]]:
    """visit(state, **of the browser's context): a tab with the page in that state, at rest. All must stay without a fault."""
    used: list[tuple[str, Visit]] = []

    def open_one(state: dict[str, Any] | None = None, **context: Any) -> Visit:
        key = json.dumps(context, sort_keys=True)
        left = open_tabs[key] = [tab for tab in open_tabs.get(key, []) if tab.browser is browser]
        while left:
            tab = left.pop()
            if tab.reopen(state):
                break
            tab.context.close()
        else:
            tab = Visit(browser, f"http://127.0.0.1:{page_server.port}/", **context).open()
            tab.looks = tab.set_back(OPENED).page.evaluate(FINGERPRINT)
            tab.requests.clear()
            if state is not None:
                tab.set_back(state)
        used.append((key, tab))
        return tab

    yield open_one
    faults = [fault for _, tab in used for fault in tab.faults]
    for key, tab in used:
        open_tabs[key].append(tab)
    assert faults == []
    assert page_server.faults == []


@pytest.fixture
def tab(visit: Callable[..., Visit]) -> Visit:
    """The page as it opens."""
    return visit()


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Visit, str], Path]:
    """saved(tab, "PNG"): the file that the button of this name in the dialog gives."""

    def save(tab: Visit, button: str) -> Path:
        if not tab.page.locator("#share").is_visible():
            tab.page.locator("#open-share").click()
        with tab.page.expect_download() as found:
            tab.page.locator("#share").get_by_role("button", name=button).click()
        path = tmp_path / str(found.value.suggested_filename)
        found.value.save_as(path)
        return path

    return save


@pytest.fixture
def svg_of(saved: Callable[[Visit, str], Path]) -> Callable[[Visit], str]:
    """What is seen, as elements that can be counted."""
    return lambda tab: saved(tab, "SVG").read_text(encoding="utf-8")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the page of a widget has to go by."""
    pytest.importorskip("anywidget")
    monkeypatch.setattr("rosenblatt.studio.notebook.page_files", lambda: FILES)
    return lambda widget: data_of(widget.page)
