"""The page opens from the server, from a file without a network, and inside a notebook's frame, and plays in all three."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_visit import Visit

from rosenblatt.studio import answers
from rosenblatt.studio.answers import answer_message
from rosenblatt.studio.html_export import bundle, export, page_files
from rosenblatt.studio.page_data import open_page

pytestmark = pytest.mark.slow
# A notebook as far as the messenger sees one: a model that sends to Python and receives its messages.
NOTEBOOK = """async ([page, messenger]) => {
  const { default: widget } = await import(URL.createObjectURL(new Blob([messenger], { type: "text/javascript" })));
  const listeners = [];
  const model = {
    get: () => page,
    on: (_, listener) => listeners.push(listener),
    off: () => {},
    send: async (request, _, buffers = []) => {
      const texts = buffers.map(each => Array.from(new Uint8Array(each)));
      const message = await window.compute(request, texts);
      for (const listener of listeners) listener(message);
    },
  };
  const el = document.createElement("div");
  document.body.append(el);
  widget.render({ model, el });
}"""


def test_the_page_opens_with_its_first_run_inside(tab: Visit) -> None:
    assert tab.page.title() == "Rosenblatt studio"
    assert "Update 19 of 19" in tab.now
    assert "0 of 60 points on the wrong side" in tab.now
    assert tab.text("#about-data").startswith("60 points.")
    assert tab.trouble == ""
    assert tab.requests == []  # nothing had to be computed for it
    assert tab.page.locator(".plane figcaption b").inner_text() == "Perceptron"


def test_nothing_but_the_servers_own_address_can_be_reached(tab: Visit) -> None:
    """By the policy, not by good will."""
    other = tab.page.evaluate("() => fetch('http://127.0.0.1:9/').then(() => 'answered', error => error.name)")
    assert other == "TypeError"
    assert any("Content Security Policy" in fault for fault in tab.faults)
    tab.faults.clear()


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "page.html"
    path.write_text(export(), encoding="utf-8")
    return path


@pytest.fixture
def offline(browser: Any, one_file: Path) -> Iterator[Visit]:
    """The file from the disk; a request for anything else is a fault."""
    tab = Visit(browser, one_file.as_uri(), offline=True)
    tab.context.route("http*://**", lambda route: route.abort())
    yield tab.open()
    tab.context.close()
    assert tab.faults == []


def test_an_export_plays_without_a_network(offline: Visit) -> None:
    assert "Update 19 of 19" in offline.now
    end = offline.picture()
    offline.press("Home")
    assert offline.now.startswith("Before the first of 19 updates")
    assert offline.picture() != end
    offline.fill("#speed", "6")
    offline.click("#play")
    offline.soon(lambda: offline.t, 19)
    offline.page.mouse.move(0, 0)
    assert offline.picture() == end


def test_an_export_has_all_algorithms_and_presets_inside(offline: Visit) -> None:
    for name in offline.page.locator("#algorithm-0 option").evaluate_all("all => all.map(each => each.value)"):
        offline.choose("#algorithm-0", name)
        assert (name, offline.trouble) == (name, "")
        assert "of 60 points on the wrong side" in offline.now
    offline.choose("#algorithm-0", "perceptron")
    for name in offline.page.locator("#preset option").evaluate_all("all => all.map(each => each.value).filter(Boolean)"):
        offline.choose("#preset", name)
        assert (name, offline.trouble) == (name, "")
        assert "points on the wrong side" in offline.now


def test_what_the_tour_proposes_to_try_is_inside_an_export(offline: Visit) -> None:
    tried = {
        "Why it must end": lambda: offline.choose("#preset", "separable"),
        "Margins": lambda: offline.fill("#knob-0-margin", "5"),
        "What a loss counts": lambda: offline.choose("#algorithm-0", "soft-margin"),
        "Several classes": lambda: offline.choose("#preset", "three"),
        "Curves": lambda: offline.choose("#degree", "1"),
    }
    offline.click("#open-tour")
    while offline.page.locator("#tour").is_visible():
        title = offline.text("#tour h2").split(". ")[1]
        if title in tried:
            before = offline.now
            tried.pop(title)()
            assert offline.now != before
        assert (title, offline.trouble) == (title, "")
        offline.click("#tour .primary")
    assert tried == {}


def test_an_export_reports_that_it_cannot_compute_and_recovers(offline: Visit) -> None:
    offline.page.mouse.click(*offline.pixel(-1, 1, (-1.25, 1.25, -1.25, 1.25)))
    offline.rest()
    assert "plays recorded runs" in offline.trouble
    offline.click("#undo")
    assert offline.trouble == ""
    assert "Update 19 of 19" in offline.now


def test_an_exports_link_restores_its_state(offline: Visit, browser: Any) -> None:
    offline.choose("#preset", "xor")
    offline.press("Home", "ArrowRight", "ArrowRight")
    again = Visit(browser, offline.address, offline=True)
    assert again.follow(offline.link).now == offline.now
    assert again.picture() == offline.picture()
    assert again.now.startswith("Update 2 of ")
    again.context.close()
    assert again.faults == []


@pytest.fixture
def notebook(browser: Any) -> Iterator[tuple[Any, Any, list[str]]]:
    """A tab whose frame holds the page, and Python behind its messenger: the tab, the frame, the requests."""
    context = browser.new_context(viewport={"width": 1280, "height": 950})
    page, faults, requests = context.new_page(), [], []
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))

    def compute(message: dict[str, Any], buffers: list[list[int]]) -> dict[str, Any]:
        requests.append(message["path"])
        return answer_message(message, [bytes(each) for each in buffers])

    page.expose_function("compute", compute)
    messenger = Path(answers.__file__).with_name("notebook.js").read_text(encoding="utf-8")
    page.evaluate(NOTEBOOK, [bundle(page_files(), open_page("notebook")), messenger])
    frame = page.frame_locator("iframe")
    frame.locator("#now", has_text="Update 19 of 19").wait_for()
    assert requests == []
    yield page, frame, requests
    context.close()
    assert faults == []


def test_a_frame_that_may_do_nothing_else_plays_and_computes_through_its_parent(
    notebook: tuple[Any, Any, list[str]], tmp_path: Path
) -> None:
    page, frame, requests = notebook
    frame.locator("#algorithm-0").select_option("pa")
    frame.locator(".plane figcaption b", has_text="Passive-aggressive").wait_for()
    frame.locator("#now", has_text="0 of 60").wait_for()
    assert requests[0] == "/api/run"
    frame.locator("#degree").select_option("2")
    frame.locator("#first").click()
    frame.locator("#now", has_text="Before the first of").wait_for()
    frame.locator("#open-share").click()
    with page.expect_download() as saved:
        frame.get_by_role("button", name="JSON of the run").click()
    saved.value.save_as(tmp_path / "run.json")
    run = json.loads((tmp_path / "run.json").read_text())["runs"][0]
    assert run["request"]["algorithm"] == "pa"
    assert run["request"]["degree"] == 2


def test_a_file_reaches_python_through_a_notebook(notebook: tuple[Any, Any, list[str]]) -> None:
    _, frame, requests = notebook
    rows = b"a,b,kind\n1,2,yes\n2,1,no\n3,3,yes\n4,1,no\n"
    frame.locator("#file").set_input_files({"name": "my points.csv", "mimeType": "text/csv", "buffer": rows})
    frame.locator("#columns", has_text="my points.csv: 4 of 4 rows").wait_for()
    assert requests[0] == "/api/table?name=my%20points.csv"
    frame.locator("#file").set_input_files({"name": "bad.csv", "mimeType": "text/csv", "buffer": b"only words"})
    frame.locator("#banner", has_text="bad.csv").wait_for()


def test_without_scripts_the_page_names_what_it_needs(browser: Any, one_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(one_file.as_uri())
    assert page.locator("noscript p").is_visible()
    context.close()
