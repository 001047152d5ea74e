"""The studio in a browser: seconds until the first picture, and frames per second during playback.

Debian's chromium without a graphics card: all pixels are drawn by the processor, which also computes the runs.
"""

from __future__ import annotations

import base64
import json
import shutil
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
POINTS, UPDATES, SECONDS = 2000, 10_000, 4.0
VIEWPORT: Any = {"width": 1440, "height": 1000}
SHOWN = """async ([hash, updates]) => {
  const start = performance.now();
  location.hash = hash;
  const now = document.getElementById("now"), scrub = document.getElementById("scrub");
  while (Number(scrub.max) !== updates || !now.textContent.includes(updates.toLocaleString("en"))) {
    if (performance.now() - start > 60_000) throw new Error(`no run of ${updates} updates is shown: ${now.textContent}`);
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  return (performance.now() - start) / 1000;
}"""
REST = """async () => {
  while (!rosenblatt.atRest) await new Promise(requestAnimationFrame);
}"""
FRAMES = """async seconds => {
  document.getElementById("first").click();
  document.getElementById("play").click();
  const gaps = [], start = performance.now();
  for (let last = start; last - start < 1000 * seconds;) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }
  document.getElementById("play").click();
  return gaps;
}"""


def measure(repeats: int, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Rows: work and seconds (the median), or frames per second with the median and the 95th percentile of their gaps."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("the studio is measured in Debian's chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    points, updates = (POINTS // 10, UPDATES // 10) if quick else (POINTS, UPDATES)
    size = f"{updates:,} updates on {points:,} points"
    yield {"work": f"Python alone: {size}, as JSON", "seconds": _computed(points, updates, repeats)}
    with _server() as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        yield {"work": "open the page: until the first picture", "seconds": _opened(browser, address, repeats)}
        page = browser.new_page(viewport=VIEWPORT)
        page.goto(address)
        page.locator("#now", has_text="wrong side").wait_for()
        yield {"work": f"{size}: requested, computed and shown", "seconds": _shown(page, points, updates, repeats)}
        for what, more in (
            ("plane, weight space, proof, curves", {}),
            ("the same with pocket, average and vote", {"show": {"pocket": True, "average": True, "vote": True}}),
            ("the same at degree 3", {"degree": 3}),
        ):  # fmt: skip
            page.evaluate(SHOWN, [_link(_state(points, updates, 99) | more), updates])
            page.evaluate(REST)  # until the proofs are done
            gaps = page.evaluate(FRAMES, SECONDS)
            yield {
                "work": f"frames per second: {what}", "frames": len(gaps) / SECONDS,
                "gaps": [float(np.percentile(gaps, part)) for part in (50, 95)],
            }  # fmt: skip
        browser.close()


def _state(points: int, updates: int, seed: int) -> dict[str, Any]:
    """Return two overlapping clouds, so that every run reaches its limit of updates."""
    rng = np.random.default_rng(7)
    labels = np.arange(points) % 2
    places = rng.normal(0.0, 0.3, (points, 2)) + np.where(labels, 0.35, -0.35)[:, None]
    data = {"points": places.round(3).tolist(), "labels": labels.tolist(), "names": ["A", "B"], "box": [-1.6, 1.6, -1.6, 1.6]}
    knobs = {"max_updates": updates, "order": "permuted"}
    return {"data": data, "runs": [{"algorithm": "perceptron", "knobs": knobs}], "seed": seed, "speed": 1000}


def _link(state: dict[str, Any]) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _computed(points: int, updates: int, repeats: int) -> float:
    from rosenblatt.studio.recording import run

    times = []
    for seed in range(-1, repeats):  # the first warms up
        state = _state(points, updates, max(0, seed))
        chosen = state["runs"][0]
        request = {"points": state["data"]["points"], "labels": state["data"]["labels"], "seed": seed + 1} | chosen
        start = time.perf_counter()
        json.dumps(run(request), separators=(",", ":"))
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def _shown(page: Any, points: int, updates: int, repeats: int) -> float:
    """Measure a run that is not cached, starting from another one that is shown."""
    times = []
    for seed in range(repeats):
        page.evaluate(SHOWN, [_link(_state(points, updates // 10, seed)), updates // 10])
        page.evaluate(REST)
        times.append(page.evaluate(SHOWN, [_link(_state(points, updates, seed)), updates]))
    return float(statistics.median(times))


def _opened(browser: Any, address: str, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        context = browser.new_context(viewport=VIEWPORT)  # nothing is cached
        page = context.new_page()
        start = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.locator("#now", has_text="wrong side").wait_for()
        times.append(time.perf_counter() - start)
        context.close()
    return statistics.median(times)


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, "-m", "rosenblatt", "studio", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
