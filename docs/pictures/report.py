"""Draws report.png, the report of a run in a browser: python docs/pictures/report.py. Needs chromium and playwright."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

with tempfile.TemporaryDirectory() as folder:
    command = ["train", "example:breast-cancer", "--report", "report.html"]
    run = "import sys; from rosenblatt.cli import main; main(sys.argv[1:])"
    subprocess.run([sys.executable, "-c", run, *command], cwd=folder, check=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1100, "height": 1000}, color_scheme="light")
        page.goto(f"file://{folder}/report.html")
        page.screenshot(path=HERE / "report.png", full_page=True)
        browser.close()
