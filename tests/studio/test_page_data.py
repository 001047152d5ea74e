"""Where points come from: presets, files that are dropped or chosen, and the table that the command was given."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from page_visit import Visit

from rosenblatt.studio.presets import PRESETS

pytestmark = pytest.mark.slow
# A real drop of a real file, as far as a script can make one.
DROP = """([name, text]) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], name, { type: "text/csv" }));
  const dispatch = kind => document.body.dispatchEvent(
    new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
  dispatch("dragover");
  const offered = !document.getElementById("drop").hidden;
  dispatch("drop");
  return offered && document.getElementById("drop").hidden;
}"""
FLOWERS = "width,height,depth,kind\n" + "".join(
    f"{n / 10:.1f},{(n * n) % 7},{5 - n},{'rose' if n < 10 else 'tulip'}\n" for n in range(20)
)


def drop(tab: Visit, name: str, text: str) -> None:
    assert tab.page.evaluate(DROP, [name, text])
    tab.rest()


def test_every_preset_is_shown_as_it_is(tab: Visit) -> None:
    seen = set()
    for name, preset in PRESETS.items():
        tab.choose("#preset", name)
        assert tab.text("#about-data") == f"{len(preset.points)} points. {preset.about}"
        assert f"of {len(preset.points)} points on the wrong side" in tab.now
        assert tab.trouble == ""
        seen.add(str(tab.picture()))
    assert len(seen) == len(PRESETS)
    assert tab.state["data"] == {"preset": "lecture"}


def test_a_csv_dropped_on_the_page(tab: Visit) -> None:
    drop(tab, "flowers.csv", FLOWERS)
    assert tab.trouble == ""
    assert "flowers.csv: 20 of 20 rows" in tab.text("#columns")
    assert tab.text("#about-data").startswith("20 points.")
    assert tab.page.locator("#classes span").all_inner_texts()[:2] == ["rose", "tulip"]
    assert "of 20 points" in tab.now
    across, up = (tab.page.get_by_label(label) for label in ("Horizontal column", "Vertical column"))
    names = across.locator("option").all_inner_texts()
    assert [name.split(" (")[0] for name in names] == [
        "principal component 1", "principal component 2", "width", "height", "depth",
    ]  # fmt: skip
    across.select_option(label="width")
    up.select_option(label="depth")
    tab.rest()
    data = tab.state["data"]
    assert data["points"] == [[n / 10, 5 - n] for n in range(20)]
    assert data["labels"] == [0] * 10 + [1] * 10
    assert data["axes"] == ["width", "depth"]
    assert tab.answers()[-1][0]["points"] == data["points"]
    tab.click("#undo")
    assert tab.state["data"]["points"] != data["points"]


def test_a_file_chosen(tab: Visit) -> None:
    with tab.page.expect_file_chooser() as chosen:
        tab.page.locator("#open-file").click()
    chosen.value.set_files(
        {"name": "two.svm", "mimeType": "text/plain", "buffer": b"+1 1:1 2:2\n-1 1:3\n+1 1:2 2:2\n-1 2:-1\n"}
    )
    tab.page.locator("#columns", has_text="two.svm: 4 of 4 rows").wait_for()
    assert tab.rest().trouble == ""
    assert "of 4 points" in tab.now


REFUSED = [
    ("empty.csv", "", "empty.csv"),
    ("one.csv", "a,b,kind\n1,2,x\n2,3,x\n", "at least two classes are needed"),
    ("torn.csv", "a,b,kind\n1,2,x\n2,3,x,7,8\n", "torn.csv"),
    ("words.csv", "a,class\nthis,x\nthat,y\n", "no column of numbers"),
    ("plain.csv", "a,b\nthis,x\nthat,y\n", "cannot tell which column is the label; choose the label column"),
    ("picture.png", "\x89PNG\r\n\x1a\n", "picture.png"),
]


def test_a_file_that_cannot_be_shown_is_refused_in_a_sentence(tab: Visit) -> None:
    for name, text, reason in REFUSED:
        drop(tab, name, text)
        tab.page.locator("#banner", has_text=reason).wait_for()
        assert "\n" not in tab.trouble
        assert "internal error" not in tab.trouble
        assert tab.text("#about-data").startswith("60 points.")  # what was there, is
    assert len(tab.faults) == len(REFUSED)
    assert all("400" in fault for fault in tab.faults)  # the browser reports them, too
    tab.faults.clear()
    tab.press("Home", "ArrowRight")
    assert tab.now.startswith("Update 1 of 19")
    tab.choose("#preset", "three")
    assert tab.trouble == ""


def test_a_file_that_is_too_large_is_not_even_sent(tab: Visit) -> None:
    drop(tab, "large.csv", "x" * (8 * 2**20 + 1))
    tab.page.locator("#banner").wait_for()
    assert "rosenblatt studio large.csv" in tab.trouble
    assert tab.requests == []


def test_axes_are_named_and_far_numbers_keep_their_digits(tab: Visit, svg_of: Callable[[Visit], str]) -> None:
    rows = "".join(f"{1000 + n / 4},{200000 + 50000 * (n % 5)},{'ab'[n % 2]}\n" for n in range(8))
    drop(tab, "prices.csv", f"year,price,kind\n{rows}")
    drawn = svg_of(tab)
    for words in ("year", "price", "1000.5", "1001.5", "200k", "400k"):
        assert f">{words}</text>" in drawn


def test_names_from_a_file_are_only_text(tab: Visit) -> None:
    mark = "<img src=x onerror=alert(1)>"
    drop(tab, f"{mark}.csv", f"a{mark},b,kind\n1,2,{mark}\n2,1,other\n3,4,{mark}\n")
    assert tab.page.locator("main img").count() == 0
    assert mark in tab.page.locator("#classes").inner_text()


@pytest.fixture
def command() -> Iterator[Callable[..., str]]:
    """`rosenblatt studio ...` as a program of its own; gives its address."""
    begun: list[subprocess.Popen[str]] = []
    program = shutil.which("rosenblatt", path=sys.prefix + "/bin")
    assert program is not None

    def start(*words: str) -> str:
        line = [program, "studio", *words, "--no-browser", "--port", "0"]
        begun.append(subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        assert begun[-1].stdout is not None
        return begun[-1].stdout.readline().strip()

    yield start
    for process in begun:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode in (0, 130)


def test_the_command_shows_a_data_set_in_its_principal_components(command: Callable[..., str], browser: Any) -> None:
    address = command("example:iris", "--algorithm", "soft-margin", "--set", "C=10")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    tab = Visit(browser, address).open()
    assert tab.text("#about-data").startswith("150 points.")
    assert tab.page.locator("#classes span").all_inner_texts()[:3] == ["setosa", "versicolor", "virginica"]
    assert tab.text(".plane figcaption b") == "Soft margin"
    assert tab.page.locator("#knob-0-C").input_value() == "10"
    across, up = (tab.page.get_by_label(label) for label in ("Horizontal column", "Vertical column"))
    assert "principal component 1" in across.locator("option:checked").inner_text()
    assert "principal component 2" in up.locator("option:checked").inner_text()
    assert tab.requests == []  # the first picture was inside
    before = tab.picture()
    across.select_option(index=2)
    assert tab.rest().picture() != before
    assert tab.trouble == ""
    tab.context.close()
    assert tab.faults == []
