"""The page as one HTML file that works from disk, without a network and without Python.

Style, modules and data are inside, and a content security policy forbids everything else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .bundler import BundleError, bundle_modules
from .page_data import Record, export_page, record_request

INDEX = "index.html"
_CHARSET = '<meta charset="utf-8">'
_STYLE = re.compile(r'<link rel="stylesheet" href="(?P<file>[^"]+)" ?/?>')
_SCRIPT = re.compile(r'<script type="module" src="(?P<file>[^"]+)"></script>')
_DATA = '<script type="application/json" id="studio"></script>'
_REFERENCE = re.compile(r'\s(?:src|srcset|href|data|poster|action)\s*=\s*["\']?(?!data:|#|https?:)(?P<file>[^"\'\s>]+)')
_INLINE = re.compile(r"\s(?:style|on[a-z]+)\s*=|<style|<script(?! type=\"application/json\")", re.IGNORECASE)
_LOADED = re.compile(r"@import|url\(\s*[\"']?(?!data:|#)", re.IGNORECASE)


def bundle(files: Mapping[str, bytes], data: Mapping[str, Any]) -> str:
    """Return index.html with everything it refers to inside, and a policy that allows just that."""
    texts = {name: _text(name, content) for name, content in files.items() if name.endswith((".html", ".css", ".js"))}
    page = texts[INDEX]
    styles = [_css(texts, found["file"]) for found in _STYLE.finditer(page)]
    entry = _only(page, _SCRIPT, '<script type="module" src="main.js"></script>')["file"]
    code = bundle_modules(texts, posixpath.normpath(entry))
    # Functions as replacements, because the texts may contain backslashes.
    parts = iter(styles)
    page = _STYLE.sub(lambda _: f"<style>{next(parts)}</style>", page)
    _check_rest(_SCRIPT.sub("", _STYLE.sub("", texts[INDEX])))
    page = _SCRIPT.sub(lambda _: f'<script type="module">\n{code}</script>', page)
    page = _once(page, _CHARSET, f'{_CHARSET}\n<meta http-equiv="Content-Security-Policy" content="{_policy(code, styles)}">')
    return with_data(page, data)


def with_data(page: str, data: Mapping[str, Any]) -> str:
    """Return index.html with the page's data inside."""
    return _once(page, _DATA, _DATA.replace("></", f">{embedded(data)}</"))


def embedded(data: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element, since class names come from files."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for unsafe in "<>&\u2028\u2029":
        text = text.replace(unsafe, f"\\u{ord(unsafe):04x}")
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate is escaped, as in JSON


def _check_rest(page: str) -> None:
    """Raise if the page refers to other files or has inline code that the policy forbids."""
    left = _REFERENCE.search(page)
    if left is not None:
        raise BundleError(f"{INDEX} refers to {left['file']}, which cannot be part of one file")
    inline = _INLINE.search(page)
    if inline is not None:
        raise BundleError(f"{INDEX} contains {inline.group().strip()!r}, which the policy forbids")


def _policy(code: str, styles: list[str]) -> str:
    style = " ".join(_digest(each) for each in styles) or "'none'"
    allowed = f"script-src {_digest(chr(10) + code)}; style-src {style}; img-src data: blob:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _css(texts: Mapping[str, str], name: str) -> str:
    if posixpath.normpath(name) not in texts:
        raise BundleError(f"{INDEX} refers to {name}, which is not a file of the page")
    css = texts[posixpath.normpath(name)]
    if _LOADED.search(css):
        raise BundleError(f"{name} loads other files with @import or url(), which cannot be part of one file")
    if re.search("</style|<!--", css, re.IGNORECASE):
        raise BundleError(f"{name} contains </style or <!--, which would end the style element")
    return css


def _text(name: str, content: bytes) -> str:
    """Decode a file; browsers replace \\r\\n by \\n before they compare digests."""
    try:
        return content.decode().replace("\r\n", "\n").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise BundleError(f"{name} is not UTF-8") from None


def _only(page: str, pattern: re.Pattern[str], example: str) -> re.Match[str]:
    found = list(pattern.finditer(page))
    if len(found) != 1:
        raise BundleError(f"{INDEX} must contain {example} once, found {len(found)} times")
    return found[0]


def _once(page: str, old: str, new: str) -> str:
    if page.count(old) != 1:
        raise BundleError(f"{INDEX} must contain {old} once, found {page.count(old)} times")
    return page.replace(old, new)


# --- Files of the page

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


def page_files(folder: Path = PAGE) -> dict[str, bytes]:
    """Read all files of the page, by path: "index.html", "model/state.js", ... Only these are served."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in TYPES and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


# --- Export


def export(table: dict[str, Any] | None = None, state: Mapping[str, Any] | None = None, record: Record = record_request) -> str:
    """Return the page as HTML with recorded runs: all algorithms on the first state, some on all presets, and the tour."""
    return bundle(page_files(), export_page(table, state, record))
