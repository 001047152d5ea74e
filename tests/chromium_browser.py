"""Debian's chromium through Playwright, and what a person sees in it; tests are skipped where either is absent."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
# Every visible text with its color, and the color of the nearest background that is not transparent.
CONTRASTS = """() => {
  const numbers = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = node => { for (; node; node = node.parentElement) {
    const [r, g, b, a] = numbers(getComputedStyle(node).backgroundColor); if (a === undefined || a > 0) return [r, g, b] }
    return [255, 255, 255] };
  const found = [];
  for (const node of document.querySelectorAll("h1,h2,p,b,span,dt,dd,figcaption,text,th,td,summary,button,li,code")) {
    if (!node.getClientRects().length || !node.textContent.trim()) continue;
    const style = getComputedStyle(node), ink = numbers(node.tagName === "text" ? style.fill : style.color);
    const [low, high] = [light(ink), light(ground(node))].sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), node.tagName + ": " + node.textContent.trim().slice(0, 40)]);
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, 3);
}"""


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="no Playwright here")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium here")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()
