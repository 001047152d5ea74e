"""Draws studio.png, the studio in a browser: python docs/pictures/studio.py. Needs chromium and playwright."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from rosenblatt.studio.html_export import export

HERE = Path(__file__).parent
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
    written = Path(folder, "studio.html")
    written.write_text(export(), encoding="utf-8")
    browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
    page = browser.new_page(viewport={"width": 1440, "height": 1120}, color_scheme="light")
    page.goto(written.as_uri())
    page.locator("#verdict", has_text="separable").wait_for()
    page.keyboard.press("Home")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    page.locator("#now", has_text="Update 9").wait_for()
    page.screenshot(path=HERE / "studio.png")
    browser.close()
