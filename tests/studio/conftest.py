"""The real page on a real server, in a fresh tab for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_page import FILES, data_of
from studio_serving import QUICK, Studio, studio
from visiting import Visit

from rosenblatt.studio.export import page_files
from rosenblatt.studio.page_data import open_page


@pytest.fixture(scope="module")
def there() -> Iterator[Studio]:
    """A server of a small page that has little patience."""
    with studio(**QUICK) as found:
        yield found


@pytest.fixture(scope="session")
def page_server() -> Iterator[Studio]:
    with studio(page_files(), open_page("server")) as found:
        yield found


@pytest.fixture
def visit(browser: Any, page_server: Studio) -> Iterator[Callable[..., Visit]]:
    """visit(state, **of the browser's context): a tab with the page in that state, at rest. All must stay without a fault."""
    tabs: list[Visit] = []

    def open_one(state: dict[str, Any] | None = None, **context: Any) -> Visit:
        tabs.append(Visit(browser, f"http://127.0.0.1:{page_server.port}/", **context))
        return tabs[-1].open(state)

    yield open_one
    for tab in tabs:
        tab.context.close()
    assert [fault for tab in tabs for fault in tab.faults] == []
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
