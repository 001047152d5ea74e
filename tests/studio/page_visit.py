"""A browser tab with the page of the studio: actions of a user, what is shown, and faults that must not happen."""

from __future__ import annotations

import base64
import json
import re
import time
import zlib
from collections.abc import Callable
from typing import Any

WIDE = {"width": 1280, "height": 1000}
PRESETS = ["separable", "nearly", "xor", "rings", "moons", "outlier", "three", "six", "lecture"]
# The page writes its link a moment after the last change; tests need not wait for that.
LINK = "async () => { await rosenblatt.writeLink(); return location.href; }"
REST = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const until = performance.now() + 60000;
  await frame();
  do await frame(); while (!rosenblatt.atRest && performance.now() < until);
  return rosenblatt.atRest;
}"""
# Resets a used page to its initial state, as far as a script can.
SET_BACK = """async hash => {
  const app = rosenblatt;
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  document.querySelector("#tour:not([hidden]) [aria-label='Close the tour']")?.click();
  document.querySelector("#brush[aria-pressed=true]")?.click();
  document.querySelector("input[name=class]")?.click();
  for (const node of document.querySelectorAll("[data-reached]")) delete node.dataset.reached;
  document.activeElement?.blur();
  scrollTo(0, 0);
  localStorage.clear();
  for (const key of [...app.source.kept.keys()].slice(app.source.fixed)) app.source.kept.delete(key);
  app.forget();
  app.ran = null;
  history.replaceState(null, "", hash);
  await app.restoreLink(true);
}"""
# The state of the page in the document. A tour or a table that was opened leaves traces, and such a tab is not used
# again. The dialog and the list of voters are filled again whenever they are shown.
FINGERPRINT = """() => {
  clearTimeout(rosenblatt.linked);
  const whole = document.documentElement.cloneNode(true);
  for (const node of whole.querySelectorAll("script, canvas, #share, #voters")) node.remove();
  const fields = [...document.querySelectorAll("input, select, button")].filter(node => !node.closest("#share"))
    .map(node => [node.id, node.value, node.checked, node.disabled]);
  const media = ["(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)"].map(query => matchMedia(query).matches);
  return JSON.stringify([whole.outerHTML.replace(/ aria-busy="false"| style=""| class=""/g, ""), fields, media,
    devicePixelRatio, innerWidth, innerHeight, scrollX, scrollY, localStorage.length]);
}"""
OPENED = {"data": {"preset": "separable"}}
# Waits long enough for animations to change the page.
FRAMES_LATER = """async () => { for (let n = 0; n < 12; n++) await new Promise(requestAnimationFrame); }"""


def hash_of(state: dict[str, Any]) -> str:
    """The fragment of a link to this state, as the page writes it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def state_in(address: str) -> dict[str, Any]:
    """The state in a link: only what differs from the start."""
    found = re.search(r"#s=([\w-]+)$", address)
    if found is None:
        return {}
    packed = base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4))
    return json.loads(zlib.decompress(packed, -15))


class Visit:
    """faults: messages of the console, errors of the page, and requests to other hosts; a test that provokes one removes it."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.address = address
        self.browser = browser
        self.context = browser.new_context(**{"viewport": WIDE} | context)
        self.context.set_default_timeout(60_000)  # against hanging only: the first run compiles
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[Any] = []  # requests to Python, with their answers
        self.looks = ""  # the fingerprint of the page as it opens
        self.page.on("console", lambda line: self.faults.append(line.text) if line.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self._begun)

    def _begun(self, request: Any) -> None:
        if not request.url.startswith((self.address, "about:blank", "data:", "blob:")):
            self.faults.append(f"a request to {request.url}")
        if "/api/" in request.url:
            self.requests.append(request)

    def open(self, state: dict[str, Any] | None = None) -> Visit:
        return self.follow(self.address + (hash_of(state) if state else ""))

    def follow(self, link: str) -> Visit:
        """As from a mail: into an empty tab, since in the page itself only what follows the # would change."""
        if self.page.url != "about:blank":
            self.page.goto("about:blank")
        self.page.goto(link)
        self.page.locator("#now:not(:empty), #banner:not([hidden])").first.wait_for()
        return self.rest()

    def reopen(self, state: dict[str, Any] | None = None) -> bool:
        """Use an open page for another test: a tenth of the time of a new one. False: something is left of the last test."""
        if self.page.url.partition("#")[0] != self.address:
            return False
        self.page.unroute_all()
        self.page.mouse.move(0, 0)
        if self.set_back(OPENED).page.evaluate(FINGERPRINT) != self.looks:
            return False
        self.faults.clear()
        self.requests.clear()
        if state is not None:
            self.set_back(state)
        return True

    def set_back(self, state: dict[str, Any]) -> Visit:
        self.page.evaluate(SET_BACK, hash_of(state))
        return self.rest()

    def rest(self) -> Visit:
        """Wait until the page reports that it has no pending work and has drawn everything."""
        assert self.page.evaluate(REST), "the page was still busy after 60 seconds"
        return self

    def soon(self, what: Callable[[], Any], wanted: Any = True) -> None:
        """Wait until `what()` equals `wanted`; fail after 30 seconds."""
        until = time.monotonic() + 30
        while (found := what()) != wanted:
            assert time.monotonic() < until, found
            self.page.wait_for_timeout(20)

    # --- what is seen --------------------------------------------------------------------------------------------------------

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    @property
    def now(self) -> str:
        return self.text("#now")

    @property
    def t(self) -> int:
        return int(self.page.locator("#scrub").input_value())

    @property
    def length(self) -> int:
        return int(self.page.locator("#scrub").get_attribute("max"))

    @property
    def trouble(self) -> str:
        banner = self.page.locator("#banner")
        return str(banner.locator("span").inner_text()) if banner.is_visible() else ""

    @property
    def link(self) -> str:
        """The page's address, once what was done is in it."""
        return str(self.page.evaluate(LINK))

    @property
    def state(self) -> dict[str, Any]:
        return state_in(self.link)

    def picture(self, selector: str = ".canvas") -> list[str]:
        """The pixels of what is drawn there, layer by layer."""
        self.rest()
        drawn = self.page.locator(selector).first.locator("canvas")
        return list(drawn.evaluate_all("all => all.map(each => each.toDataURL())"))

    def answers(self, path: str = "/api/run") -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Requests to Python so far, with their answers."""
        found = [request for request in self.requests if request.url.endswith(path)]
        return [(request.post_data_json, request.response().json()) for request in found]

    # --- what is done --------------------------------------------------------------------------------------------------------

    def press(self, *keys: str) -> Visit:
        for key in keys:
            self.page.keyboard.press(key)
        return self.rest()

    def click(self, selector: str) -> Visit:
        self.page.locator(selector).click()
        return self.rest()

    def choose(self, selector: str, value: str) -> Visit:
        self.page.locator(selector).select_option(value)
        return self.rest()

    def fill(self, selector: str, value: str) -> Visit:
        self.page.locator(selector).fill(value)
        self.page.locator(selector).blur()
        return self.rest()

    def pixel(self, x: float, y: float, box: tuple[float, float, float, float], plane: int = 0) -> tuple[float, float]:
        """Where in the window a point of the plane is: both axes have one scale, and the box is in the middle."""
        seen = self.page.locator(".canvas").nth(plane)
        seen.scroll_into_view_if_needed()
        there = seen.bounding_box()
        scale = min(there["width"] / (box[1] - box[0]), there["height"] / (box[3] - box[2]))
        middle = (box[0] + box[1]) / 2, (box[2] + box[3]) / 2
        return (
            there["x"] + there["width"] / 2 + (x - middle[0]) * scale,
            there["y"] + there["height"] / 2 - (y - middle[1]) * scale,
        )
