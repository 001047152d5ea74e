"""The page as one file that works from a disk, without a network and without Python."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .bundler import BundleError, script
from .page_data import exported

# --- The page as one HTML file that loads nothing: style, modules and data are inside, and the network is forbidden.

INDEX = "index.html"
_CHARSET = '<meta charset="utf-8">'
_STYLE = re.compile(r'<link rel="stylesheet" href="(?P<file>[^"]+)" ?/?>')
_SCRIPT = re.compile(r'<script type="module" src="(?P<file>[^"]+)"></script>')
_DATA = '<script type="application/json" id="studio"></script>'
_REFERENCE = re.compile(r'\s(?:src|srcset|href|data|poster|action)\s*=\s*["\']?(?!data:|#|https?:)(?P<file>[^"\'\s>]+)')
_INLINE = re.compile(r"\s(?:style|on[a-z]+)\s*=|<style|<script(?! type=\"application/json\")", re.IGNORECASE)
_LOADED = re.compile(r"@import|url\(\s*[\"']?(?!data:|#)", re.IGNORECASE)


def bundle(files: Mapping[str, bytes], data: Mapping[str, Any]) -> str:
    """index.html, with everything that it refers to in it, and a policy that allows just that."""
    texts = {name: _text(name, content) for name, content in files.items() if name.endswith((".html", ".css", ".js"))}
    page = texts[INDEX]
    styles = [_css(texts, found["file"]) for found in _STYLE.finditer(page)]
    entry = _only(page, _SCRIPT, '<script type="module" src="main.js"></script>')["file"]
    code = script(texts, posixpath.normpath(entry))
    # Functions, since what is put in may have backslashes.
    parts = iter(styles)
    page = _STYLE.sub(lambda _: f"<style>{next(parts)}</style>", page)
    _check_rest(_SCRIPT.sub("", _STYLE.sub("", texts[INDEX])))
    page = _SCRIPT.sub(lambda _: f'<script type="module">\n{code}</script>', page)
    page = _once(page, _CHARSET, f'{_CHARSET}\n<meta http-equiv="Content-Security-Policy" content="{_policy(code, styles)}">')
    return with_data(page, data)


def with_data(page: str, data: Mapping[str, Any]) -> str:
    """index.html with its data inside; nothing in them can end the script that they are in."""
    return _once(page, _DATA, _DATA.replace("></", f">{embedded(data)}</"))


def embedded(data: Mapping[str, Any]) -> str:
    """JSON for a script of HTML: the names of classes come from anybody's files."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for unsafe in "<>&\u2028\u2029":
        text = text.replace(unsafe, f"\\u{ord(unsafe):04x}")
    return text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair is \udc80 again, as JSON writes it


def _check_rest(page: str) -> None:
    """What an export has no file for, and what its policy forbids."""
    left = _REFERENCE.search(page)
    if left is not None:
        raise BundleError(f"{INDEX} refers to {left['file']}, which one file cannot")
    inline = _INLINE.search(page)
    if inline is not None:
        raise BundleError(f"{INDEX} has {inline.group().strip()!r} in it, which its policy forbids")


def _policy(code: str, styles: list[str]) -> str:
    style = " ".join(_digest(each) for each in styles) or "'none'"
    allowed = f"script-src {_digest(chr(10) + code)}; style-src {style}; img-src data: blob:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _css(texts: Mapping[str, str], name: str) -> str:
    if posixpath.normpath(name) not in texts:
        raise BundleError(f"{INDEX} refers to {name}, and there is no such file in the page")
    css = texts[posixpath.normpath(name)]
    if _LOADED.search(css):
        raise BundleError(f"{name} loads other files, by @import or url(), which one file cannot")
    if re.search("</style|<!--", css, re.IGNORECASE):
        raise BundleError(f"{name} has </style or <!-- in it, which would end the style of an export")
    return css


def _text(name: str, content: bytes) -> str:
    """A browser counts \\r\\n as \\n before it compares digests."""
    try:
        return content.decode().replace("\r\n", "\n").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise BundleError(f"{name} is not UTF-8") from None


def _only(page: str, pattern: re.Pattern[str], example: str) -> re.Match[str]:
    found = list(pattern.finditer(page))
    if len(found) != 1:
        raise BundleError(f"{INDEX} must have {example} once, and has it {len(found)} times")
    return found[0]


def _once(page: str, what: str, instead: str) -> str:
    if page.count(what) != 1:
        raise BundleError(f"{INDEX} must have {what} once, and has it {page.count(what)} times")
    return page.replace(what, instead)


# --- The files of the page: all that there are, read at once, so that nothing else can ever be served.

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


def page_files(folder: Path = PAGE) -> dict[str, bytes]:
    """What a browser may ask for, by its path in the page: "index.html", "model/state.js", ..."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in TYPES and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


# ---


def export(table: dict[str, Any] | None = None, state: Mapping[str, Any] | None = None) -> str:
    """HTML with the recorded runs inside: all algorithms on the starting data, some on all presets, and the tour's."""
    return bundle(page_files(), exported(table, state))
